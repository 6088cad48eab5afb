"""Request bodies become columns of timestamped elements (docs/http.md, "Appending").

The way of a body, one module a step: ``bodies`` and ``marked_bodies`` have it validated and made columns of canonical
terms (``parsing``; ``statement_lines`` for formats with a statement a line, ``turtle_statements`` for Turtle and TriG
as programs write them; all by ``terms.quads``), ``terms.facets`` adds the values of objects, ``messages.timestamps``
and ``messages.timestamped_graphs`` find the elements' times, ``messages.names`` names blank nodes by their message and
its time (``messages.blank_nodes`` scopes them to the request where the log gives the time), ``columns`` puts the record
batch together.
"""
