"""Canonical terms, their facets and their JSON, against pyoxigraph and against values computed exactly."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.terms import (
    INTEGER_DATATYPES,
    XSD,
    TermKind,
    comparable_facets,
    escape,
    facets,
    parse_term,
    term_to_json,
    unescape,
)


def typed(lexical: str, name: str) -> str:
    return str(ox.Literal(lexical, datatype=ox.NamedNode(XSD + name)))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
literals = st.one_of(
    texts.map(ox.Literal),
    st.builds(lambda text, tag: ox.Literal(text, language=tag), texts, st.sampled_from(["en", "de-AT", "zh-Hans-CN"])),
    st.builds(
        lambda text, name: ox.Literal(text, datatype=ox.NamedNode(name)),
        texts,
        st.sampled_from([XSD + "integer", XSD + "date", "http://ex/d#é"]),
    ),
)
terms = st.one_of(
    literals,
    st.sampled_from(["http://ex/a", "http://ex/é?q=%20#x", "urn:x:y", "mailto:a@b"]).map(ox.NamedNode),
    st.sampled_from(["b", "b0", "a.b-c", "é"]).map(ox.BlankNode),
)


@given(terms)
def test_a_canonical_string_parses_back_to_its_term(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> None:
    assert parse_term(str(term)) == term


@given(texts)
def test_escaping_is_what_pyoxigraph_writes(text: str) -> None:
    assert f'"{escape(text)}"' == str(ox.Literal(text))
    assert unescape(escape(text)) == text


def test_all_escapes_of_n_triples_are_read() -> None:
    assert unescape(r"\t\b\n\r\f\"\'\\ \u00e9 \U0001F600") == "\t\b\n\r\f\"'\\ é 😀"
    with pytest.raises(ValueError, match="not an escape sequence"):
        unescape(r"\x41")


@given(terms)
def test_json_is_that_of_sparql_results(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> None:
    binding = term_to_json(str(term))
    assert binding["value"] == term.value
    if isinstance(term, ox.Literal):
        assert binding["type"] == "literal"
        assert binding.get("xml:lang") == term.language
        simple = term.language is not None or term.datatype.value == XSD + "string"
        assert binding.get("datatype") == (None if simple else term.datatype.value)
    else:
        assert binding["type"] == ("uri" if isinstance(term, ox.NamedNode) else "bnode")


@pytest.mark.parametrize(
    "text",
    ["", "a", '"', '"a', 'a"', '"a"x', '"a"^^http://ex/d', "<a", "<<( <a:b> <a:c> )>>", '<<( "d" <a:b> <a:c> )>>'],
)
def test_what_is_no_term_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"RDF term|IRI|scheme"):
        parse_term(text)
    with pytest.raises(ValueError, match="not an RDF term"):
        term_to_json(text)


@pytest.mark.parametrize(
    ("term", "kind"),
    [
        ("<http://ex/a>", TermKind.IRI),
        ("_:b", TermKind.BLANK_NODE),
        ('""', TermKind.STRING),
        (r'"5\""', TermKind.STRING),
        ('"5"@en', TermKind.LANGUAGE_STRING),
        ('"@en"', TermKind.STRING),
        (typed("2020-01-01", "date"), TermKind.OTHER_LITERAL),
        ('"5"^^<http://ex/d>', TermKind.OTHER_LITERAL),
    ],
)
def test_kinds_without_a_number(term: str, kind: TermKind) -> None:
    assert facets(term) == (kind, None)


@given(st.integers(), st.sampled_from(sorted(INTEGER_DATATYPES)), st.sampled_from(["", "0", "000"]))
def test_integers_count_by_value_where_a_float_holds_them(value: int, datatype: str, zeros: str) -> None:
    lexical = f"{'-' if value < 0 else ''}{zeros}{abs(value)}"
    number = float(value) if abs(value) <= 2**53 else None
    assert facets(f'"{lexical}"^^<{datatype}>') == (TermKind.INTEGER, number)


def test_integers_end_at_two_to_the_53() -> None:
    assert facets(typed(str(2**53), "long"))[1] == 2.0**53
    assert facets(typed(str(2**53 + 1), "long"))[1] is None
    assert facets(typed("9" * 10000, "integer")) == (TermKind.INTEGER, None)
    assert facets(typed("0" * 10000, "integer")) == (TermKind.INTEGER, 0.0)
    assert math.copysign(1, facets(typed("-0", "integer"))[1] or 0.0) == 1


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**11), max_value=10**11))
def test_decimals_with_few_digits_compare_exactly(value: Decimal) -> None:
    kind, number = facets(typed(f"{value:f}", "decimal"))
    digits = len(str(abs(value.scaleb(6).to_integral_value())).strip("0"))
    assert kind == TermKind.DECIMAL
    assert number == (float(value) if digits <= 15 else None)


def test_decimals_that_no_float_tells_apart_have_no_number() -> None:
    assert facets(typed("1234567890.12345", "decimal"))[1] == 1234567890.12345
    assert facets(typed("1234567890.123456", "decimal"))[1] is None
    assert facets(typed("1" + "0" * 400, "decimal")) == (TermKind.DECIMAL, None)
    assert facets(typed("0." + "0" * 400 + "1", "decimal")) == (TermKind.DECIMAL, None)
    assert facets(typed("-0.0", "decimal")) == (TermKind.DECIMAL, 0.0)


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("lexical", "number"),
    [
        ("170000000000000000000", 1.7e20),
        ("170000000000000000001", None),
        ("180000000000000000000", None),
        ("1" + "0" * 30, None),
        ("0." + "0" * 17 + "1", 1e-18),
        ("0." + "0" * 18 + "1", None),
        ("1." + "0" * 30, 1.0),
        ("0" * 30 + "1.5", 1.5),
    ],
)
def test_decimals_beyond_those_of_the_one_shot_engine_have_no_number(
    lexical: str, number: float | None, sign: str
) -> None:
    term = typed(sign + lexical, "decimal")
    assert facets(term) == (TermKind.DECIMAL, None if number is None else float(f"{sign}{number!r}"))
    if number is not None:
        assert ox.Store().query(f"ASK {{ FILTER(isNumeric({term})) }}")


@given(st.floats(allow_nan=False))
def test_doubles_have_their_value(value: float) -> None:
    lexical = repr(value).replace("inf", "INF")
    assert facets(typed(lexical, "double")) == (TermKind.DOUBLE, value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_that_float32_holds_has_its_value(value: float) -> None:
    assert facets(typed(repr(value), "float")) == (TermKind.FLOAT, value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_that_float32_rounds_has_none(value: float) -> None:
    try:
        held = struct.unpack("f", struct.pack("f", value))[0] == value
    except OverflowError:
        held = False
    assert facets(typed(repr(value), "float")) == (TermKind.FLOAT, value if held else None)


def test_special_floating_point_values() -> None:
    for name, kind in (("float", TermKind.FLOAT), ("double", TermKind.DOUBLE)):
        assert facets(typed("INF", name)) == (kind, math.inf)
        assert facets(typed("-INF", name)) == (kind, -math.inf)
        found, number = facets(typed("NaN", name))
        assert found == kind
        assert number is not None
        assert math.isnan(number)
        assert comparable_facets(typed("NaN", name)) == (kind, None)
        assert comparable_facets(typed("INF", name)) == (kind, math.inf)


def test_booleans_are_zero_or_one() -> None:
    assert [facets(typed(form, "boolean"))[1] for form in ("true", "1", "false", "0")] == [1.0, 1.0, 0.0, 0.0]


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# Hypothesis takes bounds without a zone and adds one.
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones)  # noqa: DTZ001


@given(moments)
def test_times_are_milliseconds_since_the_epoch(moment: datetime) -> None:
    kind, number = facets(typed(moment.isoformat(), "dateTime"))
    exact = Fraction((moment - EPOCH) // timedelta(microseconds=1), 1000)
    assert kind == TermKind.DATE_TIME_ZONED
    if exact.denominator == 1 or abs(exact) < 2**43:
        assert number == float(exact)
        assert abs(Fraction(number) - exact) < Fraction(1, 2000)  # so microseconds stay apart
    else:
        assert number is None


@given(moments)
def test_a_time_without_zone_has_the_number_it_would_have_in_utc(moment: datetime) -> None:
    local = moment.replace(tzinfo=None).isoformat()
    kind, number = facets(typed(local, "dateTime"))
    assert kind == TermKind.DATE_TIME_LOCAL
    assert number == facets(typed(local + "Z", "dateTime"))[1]


def test_times_beyond_the_calendar_of_python() -> None:
    assert facets(typed("1970-01-01T24:00:00Z", "dateTime")) == (TermKind.DATE_TIME_ZONED, 86400000.0)
    assert facets(typed("10000-01-01T00:00:00Z", "dateTime")) == (TermKind.DATE_TIME_ZONED, 253402300800000.0)
    assert facets(typed("0000-12-31T24:00:00Z", "dateTime")) == facets(typed("0001-01-01T00:00:00Z", "dateTime"))
    assert facets(typed("-0001-12-31T24:00:00Z", "dateTime")) == facets(typed("0000-01-01T00:00:00Z", "dateTime"))
    assert facets(typed("9" * 5000 + "-01-01T00:00:00Z", "dateTime")) == (TermKind.DATE_TIME_ZONED, None)
    assert facets(typed("1970-01-01T00:00:00.1234567Z", "dateTime")) == (TermKind.DATE_TIME_ZONED, None)
    assert facets(typed("1970-01-01T00:00:00.12300000000Z", "dateTime")) == (TermKind.DATE_TIME_ZONED, 123.0)
    assert facets(typed("1970-01-01T00:00:00Z", "dateTimeStamp")) == (TermKind.DATE_TIME_ZONED, 0.0)


ILL_TYPED = [
    ("integer", ["", "abc", "1.0", "1e0", " 5", "5 ", "5\n", "--5", "+", "٣", "1_0", "0x1"]),
    ("byte", ["", "x"]),
    ("decimal", ["", ".", "+.", "1e0", "INF", " 0.5", "1,5"]),
    ("double", ["", "e5", "1e", "1e5.0", " 1e0", "1e0 ", "0x1p3", "in", "1_0e0"]),
    ("float", ["", "abc", "1f"]),
    ("boolean", ["", "TRUE", " true", "yes", "2", "01"]),
    (
        "dateTime",
        [
            "", "2014-01-01", "2014-02-30T00:00:00Z", "1900-02-29T00:00:00Z", "2014-13-01T00:00:00Z",
            "2014-00-01T00:00:00Z", "2014-01-01T25:00:00Z", "2014-01-01T24:00:01Z", "2014-01-01T00:60:00Z",
            "2014-01-01T00:00:60Z", "14-01-01T00:00:00Z",
            "2014-01-01T00:00:00.Z", "2014-01-01T00:00:00+15:00", "2014-01-01T00:00:00+14:01", "2014-01-01 00:00:00Z",
            " 2014-01-01T00:00:00Z", "02014-01-01T00:00:00Z", "+2014-01-01T00:00:00Z", "2014-01-01T00:00Z",
        ],
    ),
    ("dateTimeStamp", ["2014-01-01T00:00:00", "x"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "lexical"), [(name, form) for name, forms in ILL_TYPED for form in forms])
def test_an_ill_typed_literal_is_another_literal(name: str, lexical: str) -> None:
    assert facets(typed(lexical, name)) == (TermKind.OTHER_LITERAL, None)


VARIANTS = [
    ("integer", "5", ["05", "+5", " 5", "5 ", "5.0", "٣", ""]),
    ("byte", "300", ["0300", "+300"]),
    ("nonNegativeInteger", "-3", ["-03"]),
    ("decimal", "0.5", [".5", "+.5", "0.50", "00.5", " 0.5", "5e-1"]),
    ("decimal", "5", ["5.", "5.0", "."]),
    ("double", "5", ["5.", "5e0", "5E+0", "50e-1", ".5e1", "+5", " 5", "5 ", "e5"]),
    ("double", "INF", ["+INF", "inf", "Infinity", "1e999", "-INF"]),
    ("boolean", "true", ["1", "TRUE", " true", "0"]),
    ("dateTime", "2014-01-02T00:00:00Z", ["2014-01-01T24:00:00Z", "2014-01-02T00:00:00+00:00"]),
    ("dateTime", "2014-01-02T00:00:00Z", ["2014-01-02T00:00:00.000-00:00", "2014-01-02T00:00:00.001Z"]),
    ("dateTime", "2014-01-02T00:00:00Z", ["2014-01-02T01:30:00+01:30", " 2014-01-02T00:00:00Z", "2014-01-02T00:00:00"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "lexical"), [(name, value, form) for name, value, forms in VARIANTS for form in forms]
)
def test_lexical_variants_are_equal_where_oxigraph_says_so(name: str, value: str, lexical: str) -> None:
    left, right = typed(lexical, name), typed(value, name)
    solutions = ox.Store().query(f"SELECT ({left} = {right} AS ?equal) {{}}")
    assert isinstance(solutions, ox.QuerySolutions)
    answer = next(solutions)["equal"]
    assert (facets(left) == facets(right)) == (answer is not None and answer.value == "true")
