"""Relations of two geometries (OGC GeoSPARQL 1.1, section 9) in SQL: by their bounding boxes first.

What two geometries with boxes apart are to each other is known without looking at them. What the boxes leave open the
prelude decides. In a join DuckDB has ranges for two of the comparisons, whose sides are computed once for each row; the
other two are made for each pair that these leave, and the prelude sees the pairs that pass all four.
"""

from __future__ import annotations

from protocol.functions.geosparql import RELATIONS
from spark_backend.compiler.sql.tree.expressions import Parentheses, call, every, infix, negated, some
from spark_backend.compiler.sql.tree.nodes import Expression


def relation(iri: str, left: Expression, right: Expression, asked: Expression) -> Expression:
    """The truth of a relation of two terms; NULL for an error. ``asked`` is what the prelude says.

    An unknown box is without bounds (``spark_backend.evaluation.prelude.boxes``), so that errors stay what they are.
    """
    near = [
        infix(call(f"geo_{least}", one), "<=", call(f"geo_{greatest}", other))
        for least, greatest in (("west", "east"), ("south", "north"))
        for one, other in ((left, right), (right, left))
    ]
    if RELATIONS[iri]:
        return Parentheses(some([negated(Parentheses(every(near))), asked]))
    return Parentheses(every([*near, asked]))
