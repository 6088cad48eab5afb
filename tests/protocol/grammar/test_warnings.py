"""Queries that can be known to answer nothing (docs/language.md, "Warnings")."""

from __future__ import annotations

import pytest

from conformance.rsp.case import Refusal, case_of, select_cases
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery

PREFIX = "PREFIX : <http://ex/> "
READ = "FROM NAMED WINDOW :w ON :s [NOW]"


def warned(text: str) -> tuple[str, ...]:
    query = parse(PREFIX + text)
    assert isinstance(query, ContinuousQuery)
    return query.warnings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM :g FROM STREAM :s [NOW] { ¦GRAPH :h { ?a ?b ?c } }", "GRAPH <http://ex/h> never matches"),
        ("SELECT * FROM :g FROM STREAM :s [NOW] { ¦GRAPH :g { ?a ?b ?c } }", "write FROM NAMED <http://ex/g>"),
        (
            f"SELECT * FROM :g {READ} {{ WINDOW :w {{}} OPTIONAL {{ ¦GRAPH :s {{ ?a ?b ?c }} }} }}",
            "GRAPH <http://ex/s>",
        ),
        ("SELECT * FROM :g { STREAM :s [NOW] {} ¦GRAPH ?g { ?a ?b ?c } }", "GRAPH ?g never matches"),
        (
            f"SELECT * {READ} {{ WINDOW :w {{}} ¦GRAPH :s {{ ?a ?b ?c }} }}",
            "the stream's window is the graph <http://ex/w>",
        ),
        ("SELECT * FROM NAMED WINDOW :w ON ¦:s [NOW] { ?a ?b ?c }", "no pattern reads the window <http://ex/w>"),
        ("SELECT * FROM NAMED STREAM ¦:s [NOW] { ?a ?b ?c }", "or FROM STREAM <http://ex/s> for the default graph"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(¦?d > 3) }", "?d is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c { FILTER(¦?c > 3) } }", "?c is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c OPTIONAL { ?c ?e ?f FILTER(BOUND(¦?d)) } }", "?d is never bound"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(!(¦?d = 3) && ?c > 1) }", "?d is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(¦?d = 3 || ?d = 4) }", "?d is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?a HAVING (¦?c > 3)", "?c is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?a HAVING (SUM(?c) > ¦?d)", "?d is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c } AGGREGATE { (?n, COUNT, ?a) FILTER(?n > ¦?m) }", "?m is never"),
    ],
)
def test_what_never_answers_is_said_at_its_place(text: str, said: str) -> None:
    (warning,) = warned(text.replace("¦", ""))
    assert said in warning
    assert warning.endswith(f" (line 1, column {len(PREFIX) + text.index('¦') + 1})")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM STREAM :s [NOW] { GRAPH :g { ?a ?b ?c } }",  # the store may get one
        "SELECT * FROM STREAM :s [NOW] { GRAPH :s { ?a ?b ?c } GRAPH ?g { ?a ?b ?c } }",
        "SELECT * FROM :g FROM STREAM :s [NOW] { GRAPH ?g { ?a ?b ?c } }",
        "SELECT * FROM NAMED :g FROM STREAM :s [NOW] { GRAPH ?g { ?a ?b ?c } }",
        f"SELECT * FROM NAMED :g {READ} {{ WINDOW ?w {{ ?a ?b ?c }} GRAPH :g {{ ?a ?b ?c }} }}",
        f"SELECT * {READ} {{ ?a ?b ?c FILTER NOT EXISTS {{ GRAPH :w {{ ?a ?b ?c FILTER(?d > ?c) }} }} }}",
        "SELECT * FROM NAMED STREAM :s [1m SLIDE 1m] { ?a ?b ?c }",
        "SELECT * FROM :g { STREAM :s [NOW] { ?a ?b ?c } }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(!BOUND(?d) || ?d > 3) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(IF(BOUND(?d), ?d, ?c) IN (1, COALESCE(?d, 3))) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c OPTIONAL { ?c ?e ?f FILTER(?a = ?e) } FILTER(?f > 3) }",
        "SELECT ?a (COUNT(?c) AS ?n) FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?a HAVING (?n > 3 && SUM(?c) > 2)",
        "SELECT ?a FROM STREAM :s [NOW] { ?a (:p|!:q)/:r* ?c FILTER(?c > 3) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(timestamp(?a ?b ?c) < NOW()) }",
    ],
)
def test_nothing_is_said_of_what_may_answer(text: str) -> None:
    assert warned(text) == ()


def test_several_are_told_in_the_order_of_the_text() -> None:
    told = warned("SELECT *\nFROM NAMED STREAM :s [NOW]\nFROM NAMED STREAM :t [NOW]\n{ ?a ?b ?c FILTER(?e > ?d) }")
    assert [warning.rpartition("(")[2] for warning in told] == [
        "line 2, column 19)",
        "line 3, column 19)",
        "line 4, column 19)",
        "line 4, column 24)",
    ]


def test_of_the_cases_that_answer_one_is_warned_of() -> None:
    """Which is about just that: a named window is no part of the default graph."""
    cases = [case for case in map(case_of, select_cases()) if not isinstance(case.expected, Refusal)]
    queries = [(case, parse(case.query, base="http://ex/sparql")) for case in cases]
    warned_of = [query.text for _, query in queries if isinstance(query, ContinuousQuery) and query.warnings]
    assert len(queries) > 300
    assert len(warned_of) == 1
    assert [case.query_file for case, query in queries if query.text == warned_of[0]] == ["not-in-the-default-graph.rq"]
