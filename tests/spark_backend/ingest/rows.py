"""Statements as rows of terms: those that were made of a text, and those that Oxigraph's parser finds in it."""

from __future__ import annotations

import pyarrow.compute as pc
import pyoxigraph as ox

from spark_backend.ingest.terms.quads import Quads

Row = tuple[str | None, str, str, str]
"""g (None: the default graph), s, p and o, as N-Triples writes them."""


def parsed_rows(text: str, format: ox.RdfFormat, base: str | None = None) -> list[Row]:
    """What the parser finds. Raises SyntaxError."""
    return [
        (
            None if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name),
            str(quad.subject),
            str(quad.predicate),
            str(quad.object),
        )
        for quad in ox.parse(text, format, base_iri=base)
    ]


def rows_of(quads: Quads) -> list[Row]:
    """The statements of columns that are as they should be: whole, and no term twice in a dictionary."""
    for column in quads.columns:
        column.validate(full=True)
        assert len(pc.unique(column.dictionary)) == len(column.dictionary)
    return list(zip(*(column.to_pylist() for column in quads.columns), strict=True))
