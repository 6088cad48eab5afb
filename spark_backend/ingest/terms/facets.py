"""The facets of terms (``protocol.terms.facets``), a column at a time.

Lexical forms of the usual shape are converted by Arrow, all others one by one by the scalar function,
which is the definition: both give the same, always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import INTEGER_DATATYPES, XSD, TermKind, facets, literal_facets
from spark_backend.ingest.terms.texts import Positions, characters_of, slices

_SMALL = 48
"""Below so many terms, one by one is faster than by columns."""

_LESS, _QUOTE = b'<"'
_ZERO = pa.scalar(0.0, pa.float64())
_THOUSAND = pa.scalar(1000.0, pa.float64())
_NO_NUMBER = pa.scalar(None, pa.float64())

Columns = tuple[pa.UInt8Array, pa.DoubleArray]


def facet_columns(terms: pa.StringArray) -> Columns:
    """The columns ``k`` (uint8) and ``n`` (float64, nullable) of canonical terms without nulls."""
    if len(terms) < _SMALL:
        return _columns(facets(term) for term in terms.to_pylist())
    return vectorised_facets(terms)


def vectorised_facets(terms: pa.StringArray) -> Columns:
    """As ``facet_columns``, whatever the length."""
    bounds, characters = characters_of(terms)
    begins, ends = bounds[:-1].astype(np.int64), bounds[1:].astype(np.int64)
    initials = characters[begins]
    facets = _Facets.of_kinds(np.where(initials == _LESS, TermKind.IRI, TermKind.BLANK_NODE))
    triples = np.flatnonzero(initials == _LESS)
    facets.k[triples[characters[begins[triples] + 1] == _LESS]] = TermKind.TRIPLE
    literals = np.flatnonzero(initials == _QUOTE)
    if len(literals):
        begins, ends = begins[literals], ends[literals]
        quotes = np.flatnonzero(characters == _QUOTE)
        closing = quotes[np.searchsorted(quotes, ends) - 1]
        lexical, suffixes = slices(characters, (begins + 1, closing), (closing + 1, ends))
        facets.set_literals(literals, lexical, suffixes.dictionary_encode())
    return facets.columns


@dataclass(frozen=True)
class _Facets:
    """Facets of terms. ``n`` is one only where ``has_n`` is true."""

    k: npt.NDArray[np.uint8]
    n: npt.NDArray[np.float64]
    has_n: npt.NDArray[np.bool_]

    @classmethod
    def of_kinds(cls, k: npt.NDArray[np.integer[Any]]) -> _Facets:
        return cls(k.astype(np.uint8), np.zeros(len(k)), np.zeros(len(k), np.bool_))

    @property
    def columns(self) -> Columns:
        return pa.array(self.k), pa.array(self.n, mask=~self.has_n)

    def set(self, rows: Positions, k: TermKind | pa.UInt8Array, n: pa.DoubleArray) -> None:
        """The facets of these terms."""
        self.k[rows] = k
        self.n[rows] = pc.fill_null(n, _ZERO)
        self.has_n[rows] = n.is_valid().to_numpy(zero_copy_only=False)

    def set_literals(self, rows: Positions, lexical: pa.StringArray, suffixes: pa.DictionaryArray) -> None:
        """Those of literals, given their lexical forms and what follows these."""
        codes = suffixes.indices.to_numpy()
        written = suffixes.dictionary.to_pylist()
        # No value space holds the empty lexical form but that of strings.
        self.k[rows] = np.array([literal_facets("", suffix)[0] for suffix in written], np.uint8)[codes]
        for code, suffix in enumerate(written):
            if suffix.startswith("^^") and suffix[3:-1] in _CONVERSIONS:
                of_type = np.flatnonzero(codes == code)
                self._set_values(rows[of_type], lexical.take(pa.array(of_type)), suffix)

    def _set_values(self, rows: Positions, lexical: pa.StringArray, suffix: str) -> None:
        """Those of literals that all have the datatype of the suffix."""
        for conversion in _CONVERSIONS[suffix[3:-1]]:
            if not len(rows):
                return
            usual = pc.match_substring_regex(lexical, conversion.usual)
            try:
                values = conversion.convert(lexical.filter(usual))
            except pa.ArrowInvalid:
                continue  # something has the shape of a value and is none, such as 30 February: left to the scalar
            chosen = usual.to_numpy(zero_copy_only=False)
            self.set(rows[chosen], conversion.kind, values)
            rows, lexical = rows[~chosen], lexical.filter(pc.invert(usual))
        if len(rows):
            self.set(rows, *_columns(literal_facets(form, suffix) for form in lexical.to_pylist()))


def _columns(values: Iterable[tuple[int, float | None]]) -> Columns:
    pairs = list(values)
    return pa.array([k for k, _ in pairs], pa.uint8()), pa.array([n for _, n in pairs], pa.float64())


@dataclass(frozen=True)
class _Conversion:
    """Lexical forms matching ``usual`` (RE2) are of ``kind`` and convert at once."""

    kind: TermKind
    usual: str
    convert: Callable[[pa.StringArray], pa.DoubleArray]


def _from_integer(lexical: pa.StringArray) -> pa.DoubleArray:
    return lexical.cast(pa.int64()).cast(pa.float64())


def _from_decimal(lexical: pa.StringArray) -> pa.DoubleArray:
    return pc.add(lexical.cast(pa.float64()), _ZERO)  # -0.0 is 0


def _from_double(lexical: pa.StringArray) -> pa.DoubleArray:
    return lexical.cast(pa.float64())


def _from_float(lexical: pa.StringArray) -> pa.DoubleArray:
    values = lexical.cast(pa.float64())
    exact = pc.equal(values.cast(pa.float32(), safe=False).cast(pa.float64()), values)
    return pc.if_else(exact, values, _NO_NUMBER)


def _from_zoned(lexical: pa.StringArray) -> pa.DoubleArray:
    return _milliseconds(lexical.cast(pa.timestamp("us", "UTC")))


def _from_local(lexical: pa.StringArray) -> pa.DoubleArray:
    return _milliseconds(lexical.cast(pa.timestamp("us")))


def _milliseconds(times: pa.TimestampArray) -> pa.DoubleArray:
    return pc.divide(times.cast(pa.int64()).cast(pa.float64()), _THOUSAND)


# At most 15 digits in all.
_SHORT_DECIMAL = r"^-?([0-9]{1,10}(\.[0-9]{1,5})?|[0-9]{1,5}\.[0-9]{1,10})$"
_NUMERAL = r"^-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?$"
# Years in which microseconds since the epoch are below 2**53, so that dividing them by 1000 rounds once.
_LOCAL = r"^(1[7-9]|2[01])[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONE = r"(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])$"
_ZONED = _Conversion(TermKind.DATE_TIME_ZONED, _LOCAL + _ZONE, _from_zoned)

_CONVERSIONS: dict[str, tuple[_Conversion, ...]] = {
    **dict.fromkeys(INTEGER_DATATYPES, (_Conversion(TermKind.INTEGER, r"^-?[0-9]{1,15}$", _from_integer),)),
    XSD + "decimal": (_Conversion(TermKind.DECIMAL, _SHORT_DECIMAL, _from_decimal),),
    XSD + "float": (_Conversion(TermKind.FLOAT, _NUMERAL, _from_float),),
    XSD + "double": (_Conversion(TermKind.DOUBLE, _NUMERAL, _from_double),),
    XSD + "boolean": (),
    XSD + "dateTime": (_ZONED, _Conversion(TermKind.DATE_TIME_LOCAL, _LOCAL + "$", _from_local)),
    XSD + "dateTimeStamp": (_ZONED,),
}
