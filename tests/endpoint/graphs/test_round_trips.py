"""Terms through the whole endpoint: written to the store over HTTP, asked for, and read by other parsers."""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from endpoint import create_app
from endpoint.settings import Settings
from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.protocol.formats.independent_readers import (
    READERS,
    canonical,
    csv_values,
    read_csv,
    read_graph,
    relabelled,
)
from tests.protocol.formats.rdf_strategies import (
    RDF,
    XSD,
    Row,
    Solutions,
    Term,
    graphs,
    iris,
    named_predicates,
    solutions,
    terms,
    xml_terms,
)

thorough = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
VALUE_SPACES = frozenset(
    XSD + name
    for name in (
        "integer", "decimal", "double", "float", "boolean", "byte", "date", "dateTime", "gYear", "duration",
    )
)  # fmt: skip
"""Datatypes whose literals Oxigraph keeps as values: "01"^^xsd:integer is 1 once it is stored."""


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(Settings(threads=2, readers=2), backend=FakeBackend())) as client:
        yield client


def as_stored(term: Term | ox.Triple) -> Term:
    """The term as Oxigraph gives it back, where it keeps the value and not the text."""
    assert not isinstance(term, ox.Triple)
    if not isinstance(term, ox.Literal) or term.datatype.value not in VALUE_SPACES:
        return term
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), term))
    (quad,) = store
    assert isinstance(quad.object, ox.Literal)
    return quad.object


def stored(client: TestClient, triples: list[ox.Triple]) -> None:
    """Replace the default graph."""
    body = "".join(f"{triple} .\n" for triple in triples)
    answer = client.put("/graphs?default", content=body.encode(), headers={"Content-Type": "application/n-triples"})
    assert answer.status_code == 204, answer.text


def stored_solutions(client: TestClient, variables: tuple[str, ...], rows: list[Row]) -> str:
    """A query whose solutions are these, from a graph with a resource for each."""
    triples = []
    for place, row in enumerate(rows):
        subject = ox.NamedNode(f"urn:row:{place}")
        triples.append(ox.Triple(subject, ox.NamedNode("urn:place"), ox.Literal(place)))
        for column, term in enumerate(row):
            if term is not None:
                triples.append(ox.Triple(subject, ox.NamedNode(f"urn:column:{column}"), term))
    stored(client, triples)
    optional = " ".join(f"OPTIONAL {{ ?row <urn:column:{n}> ?{name} }}" for n, name in enumerate(variables))
    if not variables:  # a SELECT clause cannot be empty
        return f"SELECT * {{ VALUES () {{ {'() ' * len(rows)} }} }}"
    names = " ".join(f"?{name}" for name in variables)
    return f"SELECT {names} {{ ?row <urn:place> ?place {optional} }} ORDER BY ?place"


def answered(client: TestClient, query: str, media_type: str) -> bytes:
    answer = client.post(
        "/sparql", content=query.encode(), headers={"Content-Type": "application/sparql-query", "Accept": media_type}
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].partition(";")[0] == media_type
    body: bytes = answer.content
    return body


@pytest.mark.parametrize("syntax", [SolutionsFormat.JSON, SolutionsFormat.TSV, SolutionsFormat.XML])
def test_solutions_survive(client: TestClient, syntax: SolutionsFormat) -> None:
    @given(solutions(xml_terms if syntax is SolutionsFormat.XML else terms))
    @example((("x",), [(ox.Literal("a\r\nb\r"),)]))
    @thorough
    def survive(given_solutions: Solutions) -> None:
        variables, rows = given_solutions
        body = answered(client, stored_solutions(client, variables, rows), syntax.value)
        names, read = READERS[syntax](body)
        assert names == variables
        expected: list[Row] = [tuple(None if term is None else as_stored(term) for term in row) for row in rows]
        assert relabelled(read) == relabelled(expected)

    survive()


def test_values_survive_csv(client: TestClient) -> None:
    @given(solutions(terms))
    @example((("x", "y1"), [(ox.NamedNode("http://e/a,b"), ox.Literal('"', language="en"))]))
    @thorough
    def survive(given_solutions: Solutions) -> None:
        variables, rows = given_solutions
        names, read = read_csv(answered(client, stored_solutions(client, variables, rows), "text/csv"))
        assert names == variables
        expected: list[Row] = [tuple(None if term is None else as_stored(term) for term in row) for row in rows]
        # What is no blank node is compared as it is, even if it looks like one.
        as_terms: list[Row] = [
            tuple(
                ox.BlankNode(value.removeprefix("_:")) if isinstance(term, ox.BlankNode) else ox.Literal(value)
                for value, term in zip(values, row, strict=True)
            )
            for values, row in zip(read, expected, strict=True)
        ]
        assert csv_values(relabelled(as_terms)) == csv_values(relabelled(expected))

    survive()


@pytest.mark.parametrize("truth", [True, False])
def test_a_boolean_survives(client: TestClient, truth: bool) -> None:
    query = "ASK {}" if truth else "ASK { FILTER(false) }"
    said = {syntax: answered(client, query, syntax.value).decode() for syntax in SolutionsFormat}
    assert said[SolutionsFormat.JSON].replace(" ", "").endswith(f'"boolean":{str(truth).lower()}}}')
    assert f"<boolean>{str(truth).lower()}</boolean>" in said[SolutionsFormat.XML]
    assert said[SolutionsFormat.CSV].strip() == said[SolutionsFormat.TSV].strip() == str(truth).lower()


@pytest.mark.parametrize("syntax", list(RdfSyntax))
def test_a_graph_survives_construct_and_the_graph_store(client: TestClient, syntax: RdfSyntax) -> None:
    rdf_xml = syntax is RdfSyntax.RDF_XML

    @given(graphs(xml_terms if rdf_xml else terms, named_predicates if rdf_xml else st.one_of(named_predicates, iris)))
    @example([ox.Triple(ox.NamedNode("http://e/s"), ox.NamedNode(f"{RDF}type"), ox.NamedNode("http://e/1"))])
    @thorough
    def survive(graph: list[ox.Triple]) -> None:
        stored(client, graph)
        expected = canonical(ox.Triple(one.subject, one.predicate, as_stored(one.object)) for one in graph)
        constructed = answered(client, "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", syntax.value)
        assert canonical(read_graph(constructed, syntax)) == expected
        if syntax in (RdfSyntax.TRIG, RdfSyntax.N_QUADS):
            return  # no formats of a single graph
        kept = client.get("/graphs?default", headers={"Accept": syntax.value})
        assert kept.status_code == 200
        assert canonical(read_graph(kept.content, syntax)) == expected
        # What was given out can be sent back.
        again = client.put("/graphs?graph=urn:copy", content=kept.content, headers={"Content-Type": syntax.value})
        assert again.status_code in (201, 204), again.text
        copy = answered(client, "CONSTRUCT { ?s ?p ?o } { GRAPH <urn:copy> { ?s ?p ?o } }", "application/n-triples")
        assert canonical(read_graph(copy, RdfSyntax.N_TRIPLES)) == expected

    survive()


@pytest.mark.parametrize(
    ("query", "media_type", "named"),
    [
        ('SELECT ("\\u0001" AS ?x) {}', "application/sparql-results+xml", "U+0001"),
        ("CONSTRUCT { <urn:s> <http://e/1> 1 } {}", "application/rdf+xml", "<http://e/1>"),
        (f"CONSTRUCT {{ <urn:s> <{RDF}li> 1 }} {{}}", "application/rdf+xml", "#li>"),
        ('CONSTRUCT { <urn:s> <urn:p> "\\uFFFF" } {}', "application/rdf+xml", "U+FFFF"),
    ],
)
def test_what_a_format_cannot_say_is_not_acceptable(
    client: TestClient, query: str, media_type: str, named: str
) -> None:
    answer = client.get("/sparql", params={"query": query}, headers={"Accept": media_type})
    assert (answer.status_code, answer.headers["content-type"]) == (406, "application/problem+json")
    assert named in answer.json()["detail"]
    assert client.get("/sparql", params={"query": query}).status_code == 200


def test_a_graph_of_the_store_that_rdf_xml_cannot_write_is_not_acceptable(client: TestClient) -> None:
    stored(client, [ox.Triple(ox.NamedNode("urn:s"), ox.NamedNode("http://e/1"), ox.NamedNode("urn:o"))])
    answer = client.get("/graphs?default", headers={"Accept": "application/rdf+xml"})
    assert (answer.status_code, answer.headers["content-type"]) == (406, "application/problem+json")
    assert "<http://e/1>" in answer.json()["detail"]
