"""A query read by way of one that differs in constants is the query that is read by itself."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.language import algebra as a
from protocol.language.model import Form
from spark_backend.compiler.reading import parsed_once
from spark_backend.compiler.reading.parsed_once import translated
from spark_backend.compiler.reading.translate import translate

TEXTS = (
    "SELECT * { ?s <http://ex/p/7> 7 . <http://ex/p/7> ?p 07 , 7 }",
    "PREFIX ex: <http://ex/> BASE <http://base/> SELECT * { ?s ex:p/3 <http://ex/a#b> }",
    "PREFIX ex: <http://ex/> SELECT * { ?s ex:p7 ex:7 } ORDER BY ?s LIMIT 7 OFFSET 1",
    "SELECT ?s (AVG(?v) AS ?average) { ?s <http://ex/v> ?v FILTER(?v >= 12) } GROUP BY ?s HAVING(COUNT(*) > 2)",
    "SELECT * { ?s ?p ?v FILTER(?v -3 > +4 && ?v > -5 || ?v+6=7) }",
    "SELECT * { ?s ?p 1.0, 1e0, 1, -1, +1 }",
    "SELECT * { ?s ?p '1'^^<http://www.w3.org/2001/XMLSchema#integer>, '''7''', \"<http://ex/7>\"@en }",
    "SELECT * { ?s ?p ?v FILTER(<http://www.w3.org/2001/XMLSchema#integer>(?v) IN (1, 2, <http://ex/3>)) }",
    "SELECT * { GRAPH <http://ex/g> { ?s ?p 1 } VALUES (?s ?v) { (<http://ex/s> 1) (UNDEF 2) } }",
    "CONSTRUCT { ?s <http://ex/q> 5 . [] <http://ex/r> <http://ex/s> } WHERE { ?s ?p 5 BIND(5 AS ?five) }",
    "ASK { <http://ex/../x> <http://ex/a//b> <relative> , <urn:a> , <http://ex> }",
    "SELECT ?v (GROUP_CONCAT(?s; separator='7') AS ?l) { ?s ?p ?v FILTER(?v<7&&?v>1) } GROUP BY ?v",
    "SELECT * { ?s ?p ?v FILTER(1) FILTER(0) FILTER(IF(?v = 3, 4, 5) > 2) OPTIONAL { ?v ?q 9 FILTER(?v = 9) } }",
    "SELECT * { ?s ?p 1000000000000000 , <urn:sparql-streams:constant:0> , 2 }",
)


def form(text: str) -> Form:
    return Form(re.findall(r"SELECT|ASK|CONSTRUCT", text)[0])


def plain(query: a.Query) -> str:
    """The query with its blank nodes, which have another name at every parse, numbered."""
    names: dict[str, str] = {}
    return re.sub(r"_:[^']*", lambda found: names.setdefault(found[0], f"_:{len(names)}"), repr(query))


def outcome(read: Callable[[str, Form, str | None], a.Query], text: str, base: str | None = None) -> str:
    """The query, or what is said of its text."""
    try:
        return plain(read(text, form(text), base))
    except ProtocolError as error:
        return f"{type(error).__name__}: {error.detail}"


@pytest.mark.parametrize("base", [None, "http://base/sparql"])
@pytest.mark.parametrize("text", TEXTS)
def test_it_is_the_query_read_by_itself(text: str, base: str | None) -> None:
    for _ in range(2):
        assert outcome(translated, text, base) == outcome(translate, text, base)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 99), min_size=1, max_size=12))
def test_it_is_so_whatever_the_constants_are(text: str, numbers: list[int]) -> None:
    fresh = iter(numbers * 20)
    other = re.sub(r"(?<![\w#:/.'])7", lambda _: str(next(fresh)), text)
    other = re.sub(r"(?<=http://ex/)[a-z]\b", lambda _: f"x{next(fresh)}", other)
    assert outcome(translated, other) == outcome(translate, other)


def test_the_parser_is_asked_once_for_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counting(text: str, form: Form, base: str | None = None) -> a.Query:
        asked.append(text)
        return translate(text, form, base)

    monkeypatch.setattr(parsed_once, "translate", counting)
    for number in range(5):
        translated(f"SELECT * {{ ?s <http://once/p> {number} FILTER(?s != <http://once/s{number}>) }}", Form.SELECT)
    assert len(asked) == 1
