"""Continuous queries become plans: from the algebra to one SQL statement a shape of query (docs/architecture.md).

``plan`` is the door. It has ``refusals`` look first, ``parameters`` lift constants out, and ``services`` take
``SERVICE`` apart; ``passes`` make less work of what is left, over ``algebra``; ``sql`` makes a tree of SQL of it,
which ``shape_statement`` keeps for all queries of that shape. ``conditions`` and ``facts`` are for windows with
predicates and for facts, ``entailment`` says which queries may have a regime.
"""
