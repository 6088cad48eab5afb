"""Statements in N-Quads become columns of terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.formats.media_types import RdfSyntax
from spark_backend.ingest.terms.lines import Lines
from spark_backend.ingest.terms.texts import Bounds, slices

_NO_GRAPH = pa.scalar(None, pa.string())


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

    @property
    def columns(self) -> tuple[pa.DictionaryArray, ...]:
        """g, s, p and o."""
        return self.g, self.s, self.p, self.o

    def take(self, rows: pa.IntegerArray) -> Quads:
        """The statements of these rows."""
        return Quads(self.g.take(rows), self.s.take(rows), self.p.take(rows), self.o.take(rows))

    def filter(self, mask: pa.BooleanArray) -> Quads:
        """The statements for which the mask is true."""
        return Quads(self.g.filter(mask), self.s.filter(mask), self.p.filter(mask), self.o.filter(mask))


def quads_of(canonical: bytes, format: RdfSyntax) -> Quads:
    """The statements of canonical N-Quads that were read from this format."""
    lines = Lines.of(canonical)
    assert lines is not None  # control characters are escaped
    _, bounds = lines.terms(graphs=format.names_graphs)
    return quads_between(canonical, bounds)


def quads_between(text: bytes, bounds: Sequence[Bounds]) -> Quads:
    """The statements whose terms are at these places of a text, as ``Lines.terms`` gives them."""
    s, p, o, *graphs = slices(text, *bounds)
    if not graphs:
        g = pa.nulls(len(s), pa.string()).dictionary_encode()
    else:
        begins, ends = bounds[3]
        g = pc.if_else(pa.array(begins < ends), graphs[0], _NO_GRAPH).dictionary_encode()
        # After its closing quote a literal has no space, so a last word with a quote is still the literal's.
        words = pc.match_substring(g.dictionary, '"')
        if pc.any(words).as_py():
            of_literal = pc.fill_null(words.take(g.indices), False).to_numpy(zero_copy_only=False)
            o_begins, o_ends = bounds[2]
            objects = (o_begins, np.where(of_literal, ends, o_ends))
            return quads_between(text, [*bounds[:2], objects, (np.where(of_literal, ends, begins), ends)])
    return Quads(g, s.dictionary_encode(), p.dictionary_encode(), o.dictionary_encode())


def joined(several: Sequence[Quads]) -> Quads:
    """The statements of all, one behind the other."""
    if len(several) == 1:
        return several[0]
    g, s, p, o = (pa.concat_arrays(columns) for columns in zip(*(quads.columns for quads in several), strict=True))
    return Quads(g, s, p, o)
