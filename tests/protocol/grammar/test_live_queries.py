"""Queries of the store that are asked as a stream: what of their text the store is asked."""

from __future__ import annotations

import pytest

from protocol.grammar.parser import parse, parse_live
from protocol.language.model import R2S, ContinuousQuery, Form, OneShotQuery

BASE = "http://e/sparql"


@pytest.mark.parametrize(
    ("text", "asked", "operator"),
    [
        ("SELECT * { ?s ?p ?o }", "SELECT * { ?s ?p ?o }", R2S.RSTREAM),
        ("SELECT ISTREAM * { ?s ?p ?o }", "SELECT         * { ?s ?p ?o }", R2S.ISTREAM),
        ("CONSTRUCT dstream { ?s ?p 1 } { ?s ?p 'ISTREAM' }", "CONSTRUCT         { ?s ?p 1 } { ?s ?p 'ISTREAM' }",
         R2S.DSTREAM),
        ("REGISTER QUERY my-q AS ASK {}", " " * 22 + " ASK {}", R2S.RSTREAM),
        ("PREFIX : <#> REGISTER ISTREAM AS AS PREFIX a: <> SELECT :s { }",
         "PREFIX : <#> " + " " * 22 + " PREFIX a: <> SELECT :s { }", R2S.ISTREAM),
    ],
)  # fmt: skip
def test_the_store_is_asked_without_the_words_of_streams(text: str, asked: str, operator: R2S) -> None:
    if ":s {" in text:
        text, asked = text.replace(":s {", "(:s AS ?s) {"), asked.replace(":s {", "(:s AS ?s) {")
    query = parse_live(text, base=BASE)
    assert query.one_shot == OneShotQuery(asked, BASE)
    assert (query.operator, query.windows, query.text) == (operator, (), text)


def test_a_query_over_streams_is_none_of_the_store() -> None:
    query = parse_live("SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o }")
    assert query.one_shot is None
    assert query == parse("SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o }")
    current = parse_live("SELECT * { CURRENT { ?s ?p ?o } }")
    assert current.one_shot is None


def test_what_is_asked_once_stays_a_one_shot_query_and_what_has_an_operator_does_not() -> None:
    assert isinstance(parse("SELECT * { ?s ?p ?o }"), OneShotQuery)
    query = parse("SELECT ISTREAM ?s FROM <u:g> FROM NAMED <u:h> { ?s ?p ?o }")
    assert isinstance(query, ContinuousQuery)
    assert (query.form, query.from_graphs, query.from_named) == (Form.SELECT, ("u:g",), ("u:h",))


@pytest.mark.parametrize("before", ["SELECT", "SELECT ISTREAM", "REGISTER QUERY q AS SELECT"])
def test_having_sees_of_a_query_of_the_store_what_the_store_sees(before: str) -> None:
    text = f"{before} ?s (COUNT(*) AS ?n) {{ ?s ?p ?o }} GROUP BY ?s HAVING (?n > 3)"
    (warning,) = parse_live(text, base=BASE).warnings
    assert warning.startswith("?n is never bound here, so that this condition never holds (line 1")
    over_stream = text.replace("AS ?n)", "AS ?n) FROM STREAM <u:s> [RANGE 1s]")
    assert parse_live(over_stream, base=BASE).warnings == ()
