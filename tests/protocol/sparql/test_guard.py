from __future__ import annotations

import re

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.formats.allow_list import AllowList
from protocol.sparql.guard import (
    MAXIMUM_NESTING,
    FetchRefused,
    TooComplex,
    permitted_query,
    refuse_excess,
    refuse_services,
)
from protocol.sparql.load import loads

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
    with pytest.raises(FetchRefused, match="SERVICE"):
        permitted_query(text)
    with pytest.raises(FetchRefused, match="SERVICE"):
        refuse_services(text)


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
    def check() -> None:
        if not loads(text):
            refuse_services(text)

    with pytest.raises(FetchRefused):
        check()


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
    assert permitted_query(text) == text
    refuse_services(text)
    assert loads(text) == []


def test_the_place_of_the_keyword_is_named() -> None:
    with pytest.raises(FetchRefused) as caught:
        permitted_query("SELECT *\n{ SERVICE <http://ex/> {} }")
    assert (caught.value.line, caught.value.column) == (2, 3)


ALLOWED = AllowList.of(["http://ex/sparql"])


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("SELECT * { SERVICE <http://ex/sparql> {} }", "SERVICE <http://ex/sparql> {}"),
        ("PREFIX ex: <http://ex/> SELECT * { service silent ex:sparql {} }", "service silent <http://ex/sparql> {}"),
        ("BASE <http://ex/> SELECT * { SERVICE <sparql> {} }", "SERVICE <http://ex/sparql> {}"),
        ("SELECT * { SERVICE#c\n<http://ex/sparql?x> {} }", "SERVICE#c\n<http://ex/sparql?x> {}"),
        ("SELECT * { SERVICE <http://ex/sp\\u0061rql> {} }", "SERVICE <http://ex/sparql> {}"),
    ],
)
def test_a_service_on_the_list_is_written_with_its_absolute_address(text: str, called: str) -> None:
    assert called in permitted_query(text, ALLOWED)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://ex/other> {} }",
        "SELECT * { SERVICE <http://ex.evil/sparql> {} }",
        "SELECT * { SERVICE <http://ex/sparql> {} SERVICE SILENT <http://ex/other> {} }",
        "SELECT * { SERVICE <http://ex/sparql> { SERVICE <http://ex/other> {} } }",
        "PREFIX ex: <http://ex.evil/> SELECT * { SERVICE ex:sparql {} }",
        "PREFIX ex: <http://ex/> SELECT * { SERVICEex:sparql {} }",
        "SELECT * { SERVICESILENT<http://ex/sparql> {} }",
        "SELECT * { SERVICE <sparql> {} }",
        "SELECT * { SERVICE none:a {} }",
        "SELECT * { SERVICE ?x {} }",
        "SELECT * { SERVICE 'x' {} }",
        "SELECT * { SERVICE",
    ],
)
def test_any_other_service_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(FetchRefused, match="SERVICE") as caught:
        permitted_query(text, ALLOWED, base="http://base/")
    assert caught.value.line == 1


def test_a_keyword_hidden_in_a_prefix_cannot_lead_elsewhere() -> None:
    # Oxigraph reads SILENTex:sparql as SILENT ex:sparql.
    prefixes = f"PREFIX SILENTex: <http://ex/> PREFIX ex: <{BLOCKED}>"
    text = permitted_query(f"{prefixes} SELECT * {{ SERVICE SILENTex:sparql {{}} }}", ALLOWED)
    assert "SERVICE <http://ex/sparql>" in text


def test_a_variable_is_permitted_only_where_everything_is() -> None:
    text = "SELECT * { VALUES ?x { <http://ex/sparql> } SERVICE ?x {} }"
    assert permitted_query(text, AllowList.of(["*"])) == text
    with pytest.raises(FetchRefused, match="variable"):
        permitted_query(text, ALLOWED)


def test_updates_call_no_service_whatever_is_allowed() -> None:
    with pytest.raises(FetchRefused, match="updates"):
        refuse_services("INSERT { ?s ?p ?o } WHERE { SERVICE <http://ex/sparql> { ?s ?p ?o } }")


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
        assert permitted_query(text) == text
    except FetchRefused:
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


ALSO_BLOCKED = "http://127.0.0.1:7/"
"""As BLOCKED, and what is refused says which of the two it was."""


@settings(max_examples=1500, deadline=None)
@given(
    st.lists(
        PIECES | st.sampled_from(["SILENT", "SILENTex:a", "silent:a", "ok:a", "<" + ALSO_BLOCKED + ">"]), max_size=12
    )
)
@example(["SERVICE ", "SILENTex:a", "{}"])
@example(["SERVICE ", "SILENT", " ok:a", "{}"])
@example(["SERVICE ", "silent:a", "{}"])
def test_of_what_the_engine_would_fetch_only_what_is_on_the_list_gets_past(pieces: list[str]) -> None:
    allowed = AllowList.of([ALSO_BLOCKED])
    prologue = (
        f"PREFIX : <{BLOCKED}> PREFIX ex: <{BLOCKED}> PREFIX ok: <{ALSO_BLOCKED}> "
        f"PREFIX silent: <{ALSO_BLOCKED}> PREFIX SILENTex: <{ALSO_BLOCKED}> "
    )
    try:
        permitted = permitted_query(f"{prologue}SELECT * {{ {''.join(pieces)} }}", allowed)
    except FetchRefused:
        return
    assert permitted.startswith(prologue)
    # A silent failure could not be seen.
    text = prologue + re.sub("silent(?!:)", " ", permitted.removeprefix(prologue), flags=re.IGNORECASE)
    store = ox.Store()
    store.add(ox.Quad(*[ox.NamedNode("http://ex/a")] * 3))
    try:
        answer = store.query(text)
        assert isinstance(answer, ox.QuerySolutions)
        list(answer)
    except SyntaxError:
        return
    except OSError as error:
        if "port 7 " not in str(error):
            raise AssertionError(f"fetched: {permitted!r}") from error


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
