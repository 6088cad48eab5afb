from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib.query import Result

from endpoint.graphs.dataset import EndpointDataset, dataset_over, one_shot
from endpoint.graphs.store import GraphStore
from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError
from protocol.formats.allow_list import AllowList
from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from protocol.sparql.guard import FetchRefused

G1, G2, G3 = ("http://ex/g1", "http://ex/g2", "http://ex/g3")


@pytest.fixture(scope="module")
def store() -> GraphStore:
    store = GraphStore()
    store.update(
        "PREFIX : <http://ex/> INSERT DATA { :s :p 'default' GRAPH :g1 { :s :p 'g1', 'both' }"
        " GRAPH :g2 { :s :p 'g2', 'both' } GRAPH :g3 { :s :p 'g3' } }"
    )
    return store


BOTH_KINDS = "{ { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"


def objects(store: GraphStore, text: str, **dataset: Any) -> list[str]:
    with_graphs = store.query(text, **dataset)
    bindings = json.loads(with_graphs.write(SolutionsFormat.JSON))["results"]["bindings"]
    return sorted(row["o"]["value"] + ("@" + row["g"]["value"][-2:] if "g" in row else "") for row in bindings)


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", ["both@g1", "both@g2", "default", "g1@g1", "g2@g2", "g3@g3"]),
        ("FROM <http://ex/g1>", ["both", "g1"]),
        ("FROM <http://ex/g1> FROM <http://ex/g2>", ["both", "g1", "g2"]),
        ("FROM <http://ex/g1> FROM <http://ex/g1>", ["both", "g1"]),
        ("FROM <http://ex/g1> FROM <http://ex/g3>", ["both", "g1", "g3"]),
        ("FROM NAMED <http://ex/g1>", ["both@g1", "g1@g1"]),
        ("FROM NAMED <http://ex/g3> FROM NAMED <http://ex/g3>", ["g3@g3"]),
        ("FROM <http://ex/g3> FROM NAMED <http://ex/g1>", ["both@g1", "g1@g1", "g3"]),
        ("FROM <http://ex/g1> FROM <http://ex/g2> FROM NAMED <http://ex/g3>", ["both", "g1", "g2", "g3@g3"]),
        ("FROM <http://ex/unknown>", []),
        ("FROM <http://127.0.0.1:9/> FROM <file:///etc/passwd>", []),
    ],
)
def test_from_is_the_whole_dataset_and_a_merge_has_each_triple_once(
    store: GraphStore, clauses: str, expected: list[str]
) -> None:
    assert objects(store, f"SELECT ?o ?g {clauses} {BOTH_KINDS}") == expected


def test_prefixed_and_relative_graph_names_are_resolved_as_in_the_query(store: GraphStore) -> None:
    text = "PREFIX : <http://ex/> BASE <http://ex/x/> SELECT ?o FROM :g1 FROM <../g2> { ?s ?p ?o }"
    assert objects(store, text) == ["both", "g1", "g2"]
    assert objects(store, "SELECT ?o FROM <g1> FROM <g2> { ?s ?p ?o }", base="http://ex/") == ["both", "g1", "g2"]


@pytest.mark.parametrize(
    ("default", "named", "expected"),
    [
        ([G2], [], ["both", "g2"]),
        ([G1, G2], [], ["both", "g1", "g2"]),
        ([], [G3], ["g3@g3"]),
        ([G3], [G1], ["both@g1", "g1@g1", "g3"]),
        ([G1, G2], [G2], ["both", "both@g2", "g1", "g2", "g2@g2"]),
        (["http://ex/unknown"], [], []),
    ],
)
def test_graphs_of_the_request_take_the_place_of_from(
    store: GraphStore, default: list[str], named: list[str], expected: list[str]
) -> None:
    for clauses in ("", "FROM <http://ex/g1>", "FROM NAMED <http://ex/g1> FROM <http://ex/g3>"):
        text = f"SELECT ?o ?g {clauses} {BOTH_KINDS}"
        assert objects(store, text, default_graphs=default, named_graphs=named) == expected


def test_results_are_rdflib_results_as_well(store: GraphStore) -> None:
    rows = store.query("SELECT ?o ?none { ?s ?p ?o }")
    assert [(str(row.o), row.none) for row in rows] == [("default", None)]  # type: ignore[union-attr]
    assert bool(store.query("ASK { ?s ?p 'default' }").askAnswer)
    graph = store.query("CONSTRUCT WHERE { ?s ?p ?o }").graph
    assert graph is not None
    assert [str(term) for term in graph.objects()] == ["default"]


@pytest.mark.parametrize("syntax", list(SolutionsFormat))
def test_solutions_are_written_in_every_format(store: GraphStore, syntax: SolutionsFormat) -> None:
    written = store.query("SELECT ?o { ?s ?p ?o }").write(syntax)
    read = Result.parse(BytesIO(written), format=syntax.name.lower())
    assert [list(map(str, row.values())) for row in read.bindings] == [["default"]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib's own parsers
@pytest.mark.parametrize("syntax", list(RdfSyntax))
def test_graphs_are_written_in_every_syntax(store: GraphStore, syntax: RdfSyntax) -> None:
    written = store.query("CONSTRUCT WHERE { ?s ?p ?o }").write(syntax)
    read = EndpointDataset()
    read.parse(data=written, format=syntax.value)
    assert [str(quad[2]) for quad in read.quads()] == ["default"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELEC * {}", 1, 1),
        ("SELECT *\n{ ?s ?p ?o .\n\t; }", 3, 2),
        ("SELECT * { ?s ?p ?o", 1, 20),
        ("SELECT *\n{ FILTER(?a<?b&&?c>?d) }", 2, 12),
        ("", 1, 1),
        (" \n", 2, 1),
    ],
)
def test_a_syntax_error_names_its_place(store: GraphStore, text: str, line: int, column: int) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        store.query(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_place_is_that_in_the_text_as_it_was_sent(store: GraphStore) -> None:
    """Not in the text that Oxigraph is asked, in which addresses are absolute and constructs are written otherwise."""
    text = "SELECT (GROUP_CONCAT(?o) AS ?x) { SERVICE <s> { ?s ?p ?o } GRAPH ?g { ?s ?p ?o MINUS {} } ] }"
    with pytest.raises(QuerySyntaxError) as caught:
        one_shot(store.dataset, text, base="http://localhost:1/", allow_fetch=AllowList.of(["*"]))
    assert caught.value.column == text.index("]") + 1


def test_an_undeclared_prefix_is_named_even_where_rdflib_would_know_it(store: GraphStore) -> None:
    with pytest.raises(QuerySyntaxError, match="prefix rdf: is not declared") as caught:
        store.query("PREFIX ex: <http://ex/> SELECT * { ?s a rdf:Property }")
    assert caught.value.column == 41


def test_what_cannot_be_evaluated_is_the_clients_error(store: GraphStore) -> None:
    with pytest.raises(QuerySemanticError, match="nofunction"):
        store.query("SELECT * { FILTER(<http://ex/nofunction>(1)) }").write(SolutionsFormat.JSON)


def test_services_are_refused_before_anything_is_evaluated(store: GraphStore) -> None:
    with pytest.raises(FetchRefused):
        store.query("SELECT * { SERVICE SILENT <http://127.0.0.1:9/> {} }")
    with pytest.raises(FetchRefused):
        store.update("LOAD SILENT <http://127.0.0.1:9/>")


def test_an_update_that_fails_anywhere_changes_nothing(store: GraphStore) -> None:
    before = set(store.oxigraph)
    for text in (
        "INSERT DATA { <http://ex/a> <http://ex/b> 1 } ; DROP GRAPH <http://ex/none>",
        "INSERT DATA { <http://ex/a> }",
    ):
        with pytest.raises(ProtocolError):
            store.update(text)
    assert set(store.oxigraph) == before


@pytest.mark.parametrize("clauses", ["", "FROM <http://ex/g1>", "FROM <http://ex/g1> FROM <http://ex/g2>"])
def test_functions_of_the_table_are_there_whatever_the_dataset(store: GraphStore, clauses: str) -> None:
    text = f"SELECT ?o {clauses} {{ BIND(<http://www.w3.org/2005/xpath-functions/math#sqrt>(16) AS ?o) }}"
    assert objects(store, text) == ["4"]


def test_functions_of_the_table_are_there_in_updates() -> None:
    store = GraphStore()
    root = "<http://www.w3.org/2005/xpath-functions/math#sqrt>(9)"
    store.update(f"INSERT {{ <http://ex/s> <http://ex/p> ?o }} WHERE {{ BIND({root} AS ?o) }}")
    assert objects(store, "SELECT ?o { ?s ?p ?o }") == ["3"]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", ["both", "both@g1", "both@g2", "default", "g1", "g1@g1", "g2", "g2@g2", "g3", "g3@g3"]),
        ("FROM <http://ex/g1>", ["both", "g1"]),
        ("FROM NAMED <http://ex/g1>", ["both@g1", "g1@g1"]),
    ],
)
def test_the_default_graph_may_be_the_union_of_all(store: GraphStore, clauses: str, expected: list[str]) -> None:
    result = one_shot(store.dataset, f"SELECT ?o ?g {clauses} WHERE {BOTH_KINDS}", union=True)
    bindings = json.loads(result.write(SolutionsFormat.JSON))["results"]["bindings"]
    found = [row["o"]["value"] + ("@" + row["g"]["value"][-2:] if "g" in row else "") for row in bindings]
    assert sorted(found) == expected


@pytest.mark.parametrize("shared", [False, True])
def test_the_union_of_all_has_the_graphs_that_are_named_by_blank_nodes(shared: bool) -> None:
    store = ox.Store()
    graphs: list[ox.NamedNode | ox.BlankNode] = [ox.BlankNode(), ox.BlankNode(), ox.NamedNode("http://ex/g")]
    for number, graph in enumerate(graphs):
        value = ox.Literal("both" if shared else f"{number}")
        store.add(ox.Quad(ox.NamedNode("http://ex/s"), ox.NamedNode("http://ex/p"), value, graph))
    result = one_shot(dataset_over(lambda: store), "SELECT ?o { ?s ?p ?o }", union=True)
    assert sorted(str(row.o) for row in result) == (["both"] if shared else ["0", "1", "2"])  # type: ignore[union-attr]


AGG = "PREFIX agg: <urn:x-sparql-streams:aggregate:> PREFIX jena: <http://jena.apache.org/ARQ/function/aggregate#> "


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("agg:last(?v, STRLEN(?v))", "both"),
        ("agg:first(?v, ?s)", "both"),
        ("jena:mode(DISTINCT ?v)", "both"),
        ("jena:mode(?v)", "both"),
        ("STR(agg:median(STRLEN(?v)))", "3"),
    ],
)
def test_aggregates_with_iris_are_answered(store: GraphStore, call: str, result: str) -> None:
    assert objects(store, f"{AGG} SELECT ({call} AS ?o) {{ GRAPH <{G1}> {{ ?s ?p ?v }} }}") == [result]


def test_an_aggregate_of_two_arguments_of_nothing_is_one_solution(store: GraphStore) -> None:
    answer = store.query(f"{AGG} SELECT (agg:first(?v, ?v) AS ?o) {{ FILTER(false) }}")
    assert json.loads(answer.write(SolutionsFormat.JSON))["results"]["bindings"] == [{}]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("SELECT (agg:first(?v) AS ?o) { ?s ?p ?v }", "the aggregate agg:first takes two arguments, not 1"),
        ("SELECT (agg:median(?v, 1) AS ?o) { ?s ?p ?v }", "the aggregate agg:median takes an argument, not 2"),
        ("SELECT ?o { ?s ?p ?o FILTER(agg:median(?o) > 1) }", "agg:median is an aggregate: it goes in SELECT"),
        ("SELECT (agg:median(MAX(?v)) AS ?o) { ?s ?p ?v }", "MAX stands inside of another aggregate"),
    ],
)
def test_an_aggregate_where_none_goes_is_refused_with_its_place(store: GraphStore, text: str, detail: str) -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        store.query(AGG + text)
    assert detail in raised.value.detail
    assert raised.value.column


def test_an_update_has_aggregates_of_one_argument() -> None:
    store = GraphStore()
    store.update("INSERT DATA { <urn:s> <urn:p> 1, 2, 9 }")
    store.update(f"{AGG} INSERT {{ <urn:s> <urn:m> ?m }} WHERE {{ SELECT (agg:median(?v) AS ?m) {{ ?s <urn:p> ?v }} }}")
    assert objects(store, "SELECT ?o { ?s <urn:m> ?o }") == ["2"]
