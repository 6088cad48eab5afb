"""The facets of terms (``protocol.terms.facets``), a column at a time.

Lexical forms of the usual shape are converted by Arrow, all others one by one by the scalar function,
which is the definition: both give the same, always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import INTEGER_DATATYPES, XSD, TermKind, facets, literal_facets
from spark_backend.ingest.quads import without_start

_SMALL = 48
"""Below so many terms, one by one is faster than by columns."""

_IRI = pa.scalar(TermKind.IRI, pa.uint8())
_BLANK_NODE = pa.scalar(TermKind.BLANK_NODE, pa.uint8())
_FIRST, _SECOND = (pa.scalar(index, pa.int32()) for index in range(2))
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
    literal = pc.starts_with(terms, '"')
    k = pc.if_else(pc.starts_with(terms, "<"), _IRI, _BLANK_NODE)
    n = pa.nulls(len(terms), pa.float64())
    if pc.any(literal).as_py():
        literal_k, literal_n = _literals(terms.filter(literal))
        k = pc.replace_with_mask(k, literal, literal_k)
        n = pc.replace_with_mask(n, literal, literal_n)
    return k, n


def _literals(terms: pa.StringArray) -> Columns:
    parts = pc.split_pattern(terms, '"', max_splits=1, reverse=True)
    suffixes = pc.list_element(parts, _SECOND).dictionary_encode()
    kinds: list[int] = []
    valued: list[tuple[int, str]] = []
    for code, suffix in enumerate(suffixes.dictionary.to_pylist()):
        # No value space holds the empty lexical form but that of strings.
        kinds.append(literal_facets("", suffix)[0])
        if suffix.startswith("^^") and suffix[3:-1] in _CONVERSIONS:
            valued.append((code, suffix))
    k = pa.array(kinds, pa.uint8()).take(suffixes.indices)
    n = pa.nulls(len(terms), pa.float64())
    for code, suffix in valued:
        of_type = pc.equal(suffixes.indices, pa.scalar(code, pa.int32()))
        lexical = without_start(pc.list_element(parts, _FIRST).filter(of_type), 1)
        type_k, type_n = _values(lexical, suffix)
        k = pc.replace_with_mask(k, of_type, type_k)
        n = pc.replace_with_mask(n, of_type, type_n)
    return k, n


def _values(lexical: pa.StringArray, suffix: str) -> Columns:
    """The facets of lexical forms that all have the datatype of the suffix."""
    k = pa.nulls(len(lexical), pa.uint8())
    n = pa.nulls(len(lexical), pa.float64())
    for conversion in _CONVERSIONS[suffix[3:-1]]:
        if k.null_count == 0:
            break
        usual = pc.match_substring_regex(lexical, conversion.usual)
        if not pc.any(usual).as_py():
            continue
        try:
            values = conversion.convert(lexical.filter(usual))
        except pa.ArrowInvalid:
            continue  # something has the shape of a value and is none, such as 30 February: left to the scalar
        k = pc.replace_with_mask(k, usual, pa.scalar(conversion.kind, pa.uint8()))
        n = pc.replace_with_mask(n, usual, values)
    if k.null_count:
        unusual = pc.is_null(k)
        other_k, other_n = _columns(literal_facets(form, suffix) for form in lexical.filter(unusual).to_pylist())
        k = pc.replace_with_mask(k, unusual, other_k)
        n = pc.replace_with_mask(n, unusual, other_n)
    return k, n


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
