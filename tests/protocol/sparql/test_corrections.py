from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import UnsupportedFeature
from protocol.sparql.corrections import (
    MAXIMUM_GRAPHS,
    corrected,
    graph_by_graph,
    lower_case_booleans,
    own_variables_in_minus,
    readable,
    simple_group_concat,
)

GRAPHS = ["http://ex/one", "http://ex/two", "http://ex/three"]


def answers(text: str) -> list[str]:
    store = ox.Store()
    for number, graph in enumerate(GRAPHS[:2]):
        for value in range(number + 1):
            store.update(f"INSERT DATA {{ GRAPH <{graph}> {{ <http://ex/s> <http://ex/p> {value} }} }}")
    store.add_graph(ox.NamedNode(GRAPHS[2]))
    found = store.query(corrected(text, lambda: GRAPHS))
    assert isinstance(found, ox.QuerySolutions)
    return sorted(" ".join(str(term) for term in row) for row in found)


def test_booleans_in_any_case_are_booleans_and_strings_and_names_stay() -> None:
    text = "SELECT (TRUE AS ?t) (False AS ?f) ('TRUE' AS ?s) { ?x a <TRUE>, TRUE:x, _:TRUE } # TRUE"
    assert lower_case_booleans(text) == text.replace("(TRUE", "(true").replace("False", "false")


_DOTTED = "PREFIX : <http://ex/> PREFIX c: <http://c/> PREFIX p.q.r: <http://r/> "


@pytest.mark.parametrize(
    "name",
    ["v1.2.3", "a.b.c:d", "a:b.c.d", "a..b.c", "a\\.b.c.d", "a.b%2E.c.d", "a\\,b.c.d", "\u0939\u093f.a.b", "a.b"],
)
def test_names_with_full_stops_are_names_in_queries_and_updates(name: str) -> None:
    store = ox.Store()
    store.update(readable(f"{_DOTTED}INSERT DATA {{ :s :p :{name} . p.q.r:s :p.q.r TRUE, '1.:a.b.c' .}} # :a.b.c"))
    iri = "http://ex/" + name.replace("\\", "")
    assert {str(quad.object) for quad in store if quad.predicate.value == "http://ex/p"} == {f"<{iri}>"}
    assert {quad.object.value for quad in store if quad.subject.value == "http://r/s"} == {"true", "1.:a.b.c"}
    assert answers(f"{_DOTTED}SELECT ?x {{ VALUES ?x {{ :{name} }} }}") == [f"<{iri}>"]


@pytest.mark.parametrize("before", ["?x<", "?x =", "?x=", "!", "(", "1||", "true&&"])
def test_names_with_full_stops_are_found_behind_operators(before: str) -> None:
    text = f"SELECT * {{ ?x ?y ?z FILTER({before}p:a.b.c) }}"
    assert readable(text) == text.replace("a.b.c", "a\\.b\\.c")


def test_iris_with_full_stops_are_passed_over_in_no_time() -> None:
    began = process_time()
    text = "INSERT DATA {" + "<urn:oid:1.2.840.1> <http://a.b.c/d.e.f> 1.5 .\n" * 100_000 + "}"
    assert readable(text) is text
    assert process_time() - began < 1


def test_group_concat_of_tagged_literals_is_a_simple_literal() -> None:
    text = (
        "SELECT (GROUP_CONCAT(?o ; separator=')') AS ?g) { VALUES ?o { 'a'@en 'b'@en } } HAVING(group_concat(?o)!='')"
    )
    assert answers(text) in (['"a)b"'], ['"b)a"'])
    assert simple_group_concat(text).count("STR(") == 2


def test_group_concat_is_of_the_strings_of_terms() -> None:
    values = "VALUES ?o { 1 'a'@en 'a'@fr <http://ex/i> 1 }"
    for argument, parts in (
        ("?o", ["1", "1", "a", "a", "http://ex/i"]),
        ("distinct ?o", ["1", "a", "a", "http://ex/i"]),
        ("DISTINCT STR(?o)", ["1", "a", "http://ex/i"]),
        ("IF(EXISTS { ?s ?p ?q ; ?r ?q }, 'b', ?o)", ["1", "1", "a", "a", "http://ex/i"]),
    ):
        (found,) = answers(f"SELECT (GROUP_CONCAT({argument} # ;\n; separator=';') AS ?g) {{ {values} }}")
        assert sorted(found.strip('"').split(";")) == parts


def test_an_aggregate_in_graph_is_one_for_each_graph() -> None:
    text = "SELECT ?g ?n { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }"
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    expected = [(GRAPHS[0], 1), (GRAPHS[1], 2), (GRAPHS[2], 0)]
    assert answers(text) == sorted(f'<{graph}> "{number}"{integer}' for graph, number in expected)


def test_the_graphs_variable_is_unbound_in_the_group_and_joined_with_it() -> None:
    assert answers("SELECT ?g { GRAPH ?g { FILTER(BOUND(?g)) } }") == []
    assert answers("SELECT ?g { GRAPH ?g { VALUES ?g { UNDEF <http://ex/two> } } }") == sorted(
        f"<{graph}>" for graph in [*GRAPHS, "http://ex/two"]
    )
    assert answers("SELECT ?s { GRAPH ?g { ?s <http://ex/p> 1 MINUS { ?b <http://ex/p> 1 } } }") == ["<http://ex/s>"]


def test_blank_nodes_keep_apart_and_no_graph_gives_nothing() -> None:
    text = "SELECT ?g { GRAPH ?g { _:s <http://ex/p> ?o . _:s ?p ?o FILTER(!BOUND(?g)) } }"
    assert answers(text) == sorted([f"<{GRAPHS[0]}>", f"<{GRAPHS[1]}>", f"<{GRAPHS[1]}>"])
    empty = ox.Store().query(graph_by_graph(text, list))
    assert isinstance(empty, ox.QuerySolutions)
    assert list(empty) == []


_OUTSIDE = "?a <p> ?b OPTIONAL { ?c <q> ?b MINUS { ?d <r> ?a } }"


@pytest.mark.parametrize(
    ("group", "solutions"),
    [
        (f"{_OUTSIDE} VALUES ?b {{ <b> }}", 1),
        ("?a <p> ?b OPTIONAL { ?c <q> ?b MINUS { SELECT ?d { ?d <r> ?a } } } VALUES ?b { <b> }", 1),
        (f"VALUES ?b {{ <b> }} {{ {_OUTSIDE} }} ?c <q> ?b", 1),
        ("?a <p> ?b { ?c <q> ?b MINUS { ?d <r> ?a } } VALUES ?b { <b> }", 1),
        ("?a <p> ?b { ?c <q> ?b MINUS { ?d <r> $a . ?c <q> ?x MINUS { ?a <p> ?c } } } VALUES ?b { <b> }", 0),
        ("?a <p> ?b { ?c <q> ?b MINUS { ?d <r> ?a . ?x <p> ?b } } VALUES ?b { <b> }", 0),
    ],
)
def test_what_is_bound_outside_of_both_sides_is_not_shared_in_minus(group: str, solutions: int) -> None:
    store = ox.Store()
    store.update("BASE <http://ex/> INSERT DATA { <a> <p> <b> . <c> <q> <b> . <d> <r> <a> }")
    found = store.query(corrected(f"BASE <http://ex/> SELECT * {{ {group} }}", list))
    assert isinstance(found, ox.QuerySolutions)
    assert [solution["c"] for solution in found] == [ox.NamedNode("http://ex/c")] * solutions


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o MINUS { ?s ?p ?x } }",
        "SELECT * { ?s ?p ?o FILTER EXISTS { ?s ?q ?x MINUS { ?x ?r ?o } } }",
        "SELECT * { ?s ?p ?o } # MINUS { ?o }",
        "SELECT * { ?o ?s MINUS ?o { ?s } MINUS { ?p",
    ],
)
def test_a_minus_whose_variables_are_nowhere_else_or_stand_for_terms_is_left(text: str) -> None:
    assert own_variables_in_minus(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { GRAPH ?g { ?s ?p ?o } }",
        "SELECT * { GRAPH ?g { ?g ?p ?o ; <q> [ <r> ?x ] } }",
        "SELECT * { GRAPH ?g { ?s ?p ?o FILTER(?o > 1) } FILTER(?g != <x>) }",
        "SELECT * { GRAPH <g> { ?s ?p ?o MINUS { ?s ?p 1 } } }",
        "ASK { ?s ?p 'GRAPH ?g { MINUS }' } # GRAPH ?g { MINUS {} }",
    ],
)
def test_what_oxigraph_reads_rightly_is_left_to_the_letter(text: str) -> None:
    assert graph_by_graph(text, lambda: GRAPHS) == text


def test_what_is_in_service_is_of_the_services_graphs() -> None:
    service = "SERVICE SILENT <s> { GRAPH ?g { ?s ?p ?o MINUS { ?s ?p 1 } } }"
    assert graph_by_graph(f"SELECT * {{ {service} }}", lambda: GRAPHS) == f"SELECT * {{ {service} }}"
    several = graph_by_graph(f"SELECT * {{ GRAPH ?h {{ {service} MINUS {{ ?s ?p ?o }} }} }}", lambda: GRAPHS)
    assert several.count(service) == len(GRAPHS)


def test_too_many_graphs_are_an_error_with_its_place() -> None:
    names = [f"http://ex/{number}" for number in range(MAXIMUM_GRAPHS + 1)]
    with pytest.raises(UnsupportedFeature) as caught:
        graph_by_graph("SELECT *\n { GRAPH ?g { ?s ?p ?o MINUS {} } }", lambda: names)
    assert (caught.value.line, caught.value.column) == (2, 4)


def nested(depth: int) -> str:
    opened = "".join(f"\nGRAPH ?g{number} {{ MINUS {{ ?x ?y {number} }} " for number in range(depth))
    return f"SELECT * {{ {opened} ?s ?p ?o {'}' * depth} }}"


def test_graphs_within_each_other_are_written_out_so_far_and_no_further() -> None:
    names = [f"http://ex/{number}" for number in range(20)]
    assert graph_by_graph(nested(3), lambda: names).count("GRAPH") == 20 + 20**2 + 20**3
    with pytest.raises(UnsupportedFeature, match="at most 10000 groups") as caught:
        graph_by_graph(nested(5), lambda: names)
    assert (caught.value.line, caught.value.column) == (3, 1)
    aside = f"SELECT * {{ {'GRAPH ?g { MINUS { ?s ?p 1 } } ' * 501} }}"
    with pytest.raises(UnsupportedFeature, match="at most 10000 groups"):
        graph_by_graph(aside, lambda: names)


def test_what_another_graph_has_in_it_is_not_the_outer_ones_to_write_out() -> None:
    text = "SELECT * { GRAPH ?g { ?s ?p ?o GRAPH <h> { ?s ?p ?o MINUS { ?s ?p 1 } } } }"
    assert graph_by_graph(text, lambda: GRAPHS) == text
    several = graph_by_graph(text.replace("<h>", "?h"), lambda: GRAPHS)
    assert several.startswith("SELECT * { GRAPH ?g { ?s ?p ?o { { GRAPH <http://ex/one> {")


@pytest.mark.parametrize(
    ("correct", "part"),
    [
        (own_variables_in_minus, "MINUS { ?s ?p ?x } "),
        (lambda text: graph_by_graph(text, lambda: GRAPHS), "GRAPH ?g { ?s ?p ?x } "),
        (simple_group_concat, "FILTER(GROUP_CONCAT(?x) != '') "),
    ],
)
def test_a_long_query_takes_time_in_proportion_to_its_length(correct: Callable[[str], str], part: str) -> None:
    def seconds(parts: int) -> float:
        begun = process_time()
        correct(f"SELECT * {{ ?s ?p ?o {part * parts} }}")
        return process_time() - begun

    assert min(seconds(4_000) for _ in range(3)) < 16 * min(seconds(500) for _ in range(3))


@given(st.text())
def test_corrections_never_fail_on_any_text(text: str) -> None:
    corrected(text, lambda: GRAPHS)
