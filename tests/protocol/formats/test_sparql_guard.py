from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.formats.sparql_guard import MAXIMUM_NESTING, Refused, TooComplex, refuse_excess, refuse_fetching

BLOCKED = "http://127.0.0.1:9/"
"""Oxigraph's client refuses this port by itself and says so: a fetch can be seen without one being made."""


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://ex/> {} }",
        "SELECT * { service silent ?x {} }",
        "SELECT * { { SERVICE#c\n<http://ex/> {} } }",
        "PREFIX ex: <http://ex/> SELECT * { SERVICEex:a {} }",
        "PREFIX : <http://ex/> SELECT * { SERVICE:a {} }",
        "SELECT * { ?s ?p 1SERVICE<http://ex/>{} }",
        "SELECT * { ?s ?p trueSERVICE<http://ex/>{} }",
        "ASK { FILTER EXISTS { SERVICE <http://ex/> {} } }",
    ],
)
def test_service_is_refused_wherever_it_stands(text: str) -> None:
    with pytest.raises(Refused, match="SERVICE"):
        refuse_fetching(text, update=False)


@pytest.mark.parametrize(
    "text",
    [
        "LOAD <http://ex/>",
        "load silent <file:///etc/passwd> into graph <http://ex/g>",
        "INSERT DATA {} ; LOAD <http://ex/>",
        "PREFIX ex: <http://ex/> LOADex:a",
        "INSERT {} WHERE { SERVICE <http://ex/> {} }",
    ],
)
def test_load_and_service_are_refused_in_updates(text: str) -> None:
    with pytest.raises(Refused):
        refuse_fetching(text, update=True)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?service <http://ex/service> 'SERVICE <x> {}' }",
        'SELECT * { ?s ?p """a" SERVICE <x> {} """ }',
        "# SERVICE <x> {}\nSELECT * {}",
        "PREFIX service: <http://ex/> SELECT * { ?s service:a service:b }",
        "PREFIX service: <http://ex/> SELECT * FROM service:g { GRAPH service:g {} }",
        "PREFIX ex: <http://ex/> SELECT * { ?s ex:SERVICE ?o . ?o ex:my.service ?x { ?a ?b ?c } }",
        "PREFIX load: <http://ex/> INSERT DATA { load:a load:b load:c }",
        "PREFIX load: <http://ex/> COPY load:a TO load:b ; CLEAR GRAPH load:b",
        "INSERT DATA { <http://ex/load> <http://ex/load> 'LOAD <x>' }",
    ],
)
def test_the_same_letters_elsewhere_are_left_alone(text: str) -> None:
    refuse_fetching(text, update=True)


def test_the_place_of_the_keyword_is_named() -> None:
    with pytest.raises(Refused) as caught:
        refuse_fetching("SELECT *\n{ SERVICE <http://ex/> {} }", update=False)
    assert (caught.value.line, caught.value.column) == (2, 3)


PIECES = st.sampled_from(
    [
        "SERVICE", "service", "Service", "SERVICE ", "\\u0053ERVICE", "<" + BLOCKED + ">",
        "ex:a", ":a", "SERVICE:a", "ex:", "_:b", "?s", "?s ?p ?o", "a", "true", "1", "1.", "e5", "\u00e9", "@en", "[]",
        "{", "}", "{}", "{?s ?p ?o}", "(", ")", ".", ";", ",", "<", ">", " ", "\n", "\r", "#", "# c\n",
        "'", '"', "'''", "'a'", '"""b"""', "\\", "\\'",
        "GRAPH", "GRAPH ex:a", "OPTIONAL", "UNION", "FILTER(1<2)",
    ]
)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(st.lists(PIECES, max_size=12))
@example(["?s ?p ", "1", ".", "SERVICE", "ex:a", "{}"])
@example(["?s ", "ex:", ".", "SERVICE", "<" + BLOCKED + ">", "{?s ?p ?o}"])
@example(["?s ex:a ex:", ".", "SERVICE", ":a", "{?s ?p ?o}"])
def test_nothing_the_engine_would_fetch_gets_past(pieces: list[str]) -> None:
    text = f"PREFIX : <{BLOCKED}> PREFIX ex: <{BLOCKED}> SELECT * {{ {''.join(pieces)} }}"
    try:
        refuse_fetching(text, update=False)
    except Refused:
        return
    store = ox.Store()
    store.add(ox.Quad(*[ox.NamedNode("http://ex/a")] * 3))
    try:
        answer = store.query(text)
        assert isinstance(answer, ox.QuerySolutions)
        list(answer)
    except SyntaxError:
        return
    except OSError as error:
        raise AssertionError(f"fetched: {text!r}") from error


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {" + "{" * 20_000 + "}" * 20_001,
        "SELECT * { FILTER(" + "(" * 20_000 + "1" + ")" * 20_000 + ") }",
        "SELECT * { FILTER(" + "!" * 50_000 + "1) }",
        "SELECT * { FILTER(1" + "+1" * 30_000 + ") }",
    ],
)
def test_what_would_exhaust_the_stack_is_refused(text: str) -> None:
    with pytest.raises(TooComplex):
        refuse_excess(text)


def test_long_data_is_no_excess() -> None:
    refuse_excess("INSERT DATA { " + "<http://ex/a> <http://ex/b> 1 . " * 20_000 + "}")
    refuse_excess("SELECT * { VALUES (?a ?b) { " + "(1 2) " * 20_000 + "} }")
    refuse_excess("SELECT * { VALUES ?a { " + "1 " * 60_000 + "} }")


def test_text_after_long_data_is_counted_again() -> None:
    with pytest.raises(TooComplex):
        refuse_excess("INSERT DATA { <a:a> <a:b> 1 } ; INSERT {} WHERE { FILTER(1" + "+1" * 30_000 + ") }")
    with pytest.raises(TooComplex):
        refuse_excess("SELECT * { VALUES ?a { 1 } " + "{" * (MAXIMUM_NESTING + 1) + " " * 10_000)
