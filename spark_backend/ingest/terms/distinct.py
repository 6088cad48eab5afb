"""Rows as sets: which rows of several columns are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_LIMIT = 2**62

_Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Codes:
    """An integer per row, at least 0 and below ``size``; rows are the same if and only if their codes are."""

    values: _Integers
    size: int

    @classmethod
    def of(cls, column: pa.DictionaryArray) -> Codes:
        size, indices = len(column.dictionary), column.indices
        if indices.null_count:
            indices = pc.fill_null(indices, pa.scalar(size, indices.type))
        return cls(indices.to_numpy().astype(np.int64), size + 1)

    def combine(self, other: Codes) -> Codes:
        """The codes of rows by both columns."""
        left = self if self.size * other.size < _LIMIT else self._compact()
        return Codes(left.values * other.size + other.values, left.size * other.size)

    def _compact(self) -> Codes:
        distinct, values = np.unique(self.values, return_inverse=True)
        return Codes(values.astype(np.int64), len(distinct))


def combine(columns: Sequence[pa.DictionaryArray]) -> Codes:
    """Codes of the rows of all columns together."""
    codes = Codes.of(columns[0])
    for column in columns[1:]:
        codes = codes.combine(Codes.of(column))
    return codes


def repeated_rows(codes: Codes, sets: pa.Int32Array, count: int) -> npt.NDArray[np.bool_] | None:
    """True for a row that is the same as an earlier one of its set; None if no row is.

    ``sets``: which of ``count`` sets each row belongs to.
    """
    if not np.any(_again(np.sort(codes.values))):
        return None
    in_set = codes.combine(Codes(sets.to_numpy().astype(np.int64), count)).values
    order = np.argsort(in_set, kind="stable")
    repeated = np.zeros(len(in_set), np.bool_)
    repeated[order[1:]] = _again(in_set[order])
    return repeated if repeated.any() else None


def _again(values: _Integers) -> npt.NDArray[np.bool_]:
    """For each of the sorted values but the first, whether it equals the one before it."""
    return np.equal(values[1:], values[:-1])
