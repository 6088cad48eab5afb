"""Statements in N-Quads become columns of terms."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

# Typed, because inferring a scalar's type costs a tenth of a millisecond.
_FIRST, _SECOND, _THIRD = (pa.scalar(index, pa.int32()) for index in range(3))
_TWO = pa.scalar(2, pa.int32())


@dataclass(frozen=True)
class Quads:
    """Columns of canonical terms, one row a statement, as indices (int32) into their distinct terms.

    ``g`` is null for the default graph. A dictionary may hold terms that no row has, none twice.
    """

    g: pa.DictionaryArray
    s: pa.DictionaryArray
    p: pa.DictionaryArray
    o: pa.DictionaryArray

    def __len__(self) -> int:
        return len(self.s)

    def filter(self, mask: pa.BooleanArray) -> Quads:
        """The statements for which the mask is true."""
        return Quads(self.g.filter(mask), self.s.filter(mask), self.p.filter(mask), self.o.filter(mask))


def split_statements(lines: pa.StringArray, graphs: bool) -> Quads:
    """The terms of canonical N-Quads lines without their full stops. ``graphs``: whether any may name a graph.

    IRIs hold no spaces. Literals do, and may hold what looks like a graph name, but no unescaped quote.
    """
    fields = pc.split_pattern(lines, " ", max_splits=2)
    s, p, rest = (pc.list_element(fields, index).dictionary_encode() for index in (_FIRST, _SECOND, _THIRD))
    o, g = split_graphs(rest) if graphs else (rest, no_graphs(len(rest)))
    return Quads(g, s, p, o)


def no_graphs(rows: int) -> pa.DictionaryArray:
    """The column ``g`` of statements in the default graph."""
    return pa.nulls(rows, pa.string()).dictionary_encode()


def split_graphs(rest: pa.DictionaryArray) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
    """The columns ``o`` and ``g`` of what follows the predicates of N-Quads lines without their full stops."""
    objects, graphs = (column.dictionary_encode() for column in _split_graph(rest.dictionary))
    return taken(objects, rest.indices), taken(graphs, rest.indices)


def taken(column: pa.DictionaryArray, rows: pa.Int32Array) -> pa.DictionaryArray:
    """The column at these rows, over the same dictionary."""
    return pa.DictionaryArray.from_arrays(column.indices.take(rows), column.dictionary)


def _split_graph(rest: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    """Object and graph name (null for none) of what follows the predicate."""
    no_graph = pa.nulls(len(rest), pa.string())
    parts = pc.split_pattern(rest, " ", max_splits=1, reverse=True)
    has_space = pc.equal(pc.list_value_length(parts), _TWO)
    if not pc.any(has_space).as_py():
        return rest, no_graph
    every_has = pc.all(has_space).as_py()
    if not every_has:
        parts = parts.filter(has_space)
    objects, last = pc.list_element(parts, _FIRST), pc.list_element(parts, _SECOND)
    # After its closing quote a literal has no space, so a last word with a quote is still the literal's.
    is_graph = pc.invert(pc.match_substring(last, '"'))
    if every_has and pc.all(is_graph).as_py():
        return objects, last
    has_graph = pc.replace_with_mask(has_space, has_space, is_graph)
    return (
        pc.replace_with_mask(rest, has_graph, objects.filter(is_graph)),
        pc.replace_with_mask(no_graph, has_graph, last.filter(is_graph)),
    )


def without_start(texts: pa.StringArray, count: int) -> pa.StringArray:
    """The texts without their first ``count`` characters, which are ASCII."""
    # binary_slice without an end overflows (pyarrow 26: "Negative buffer resize").
    return pc.binary_replace_slice(texts.cast(pa.binary()), 0, count, b"").cast(pa.string())
