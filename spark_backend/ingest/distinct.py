"""Rows as sets: which rows of several columns are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_LIMIT = 2**62


@dataclass(frozen=True)
class Codes:
    """An int64 per row, at least 0 and below ``size``; rows are the same if and only if their codes are."""

    values: pa.Int64Array
    size: int

    @classmethod
    def of(cls, column: pa.DictionaryArray) -> Codes:
        size = len(column.dictionary)
        return cls(pc.fill_null(column.indices.cast(pa.int64()), pa.scalar(size, pa.int64())), size + 1)

    def combined(self, other: Codes) -> Codes:
        """The codes of rows by both columns."""
        left = self if self.size * other.size < _LIMIT else self._compact()
        values = pc.add(pc.multiply(left.values, pa.scalar(other.size, pa.int64())), other.values)
        return Codes(values, left.size * other.size)

    def filter(self, mask: pa.BooleanArray) -> Codes:
        """The codes of the rows for which the mask is true."""
        return Codes(self.values.filter(mask), self.size)

    def _compact(self) -> Codes:
        return Codes.of(self.values.dictionary_encode())


def combine(columns: Sequence[pa.DictionaryArray]) -> Codes:
    """Codes of the rows of all columns together."""
    codes = Codes.of(columns[0])
    for column in columns[1:]:
        codes = codes.combined(Codes.of(column))
    return codes


def repeated_rows(codes: Codes, sets: pa.Int32Array, count: int) -> pa.BooleanArray | None:
    """True for a row that is the same as an earlier one of its set; None if no row is.

    ``sets``: which of ``count`` sets each row belongs to.
    """
    rows = len(codes.values)
    if pc.count_distinct(codes.values).as_py() == rows:
        return None
    in_set = codes.combined(Codes(sets.cast(pa.int64()), count))
    row = pa.array(range(rows), pa.int64())
    first = (
        pa.table({"code": in_set.values, "row": row})
        .group_by("code", use_threads=False)
        .aggregate([("row", "min")])
        .column("row_min")
        .combine_chunks()
    )
    return None if len(first) == rows else pc.invert(pc.is_in(row, value_set=first))
