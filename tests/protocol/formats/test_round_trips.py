"""Answers of continuous queries: terms, written as SPARQL JSON or N-Triples, converted, and read by other parsers."""

from __future__ import annotations

import json

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from protocol.formats.answers import graph_as, solutions_as
from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from protocol.formats.xml.text import NotExpressible
from spark_backend.answers.solutions import bindings
from tests.protocol.formats.independent_readers import (
    READERS,
    canonical,
    csv_values,
    read_csv,
    read_graph,
    read_json,
    read_xml,
    relabelled,
)
from tests.protocol.formats.rdf_strategies import (
    RDF,
    Row,
    Solutions,
    graphs,
    iris,
    named_predicates,
    solutions,
    terms,
    xml_terms,
)

pytestmark = pytest.mark.filterwarnings("error")
thorough = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def document(variables: tuple[str, ...], rows: list[Row]) -> bytes:
    """An answer as an evaluation writes it, from canonical terms by column."""
    columns = [
        pa.chunked_array([[None if row[place] is None else str(row[place]) for row in rows]], pa.string())
        for place in range(len(variables))
    ]
    keys = [json.dumps(name, ensure_ascii=False) for name in variables]
    objects = ",".join(bindings(keys, columns, len(rows)).to_pylist())
    head = json.dumps(variables, ensure_ascii=False)
    return f'{{"head":{{"vars":{head}}},"results":{{"bindings":[{objects}]}},"evaluation":{{"time":"x"}}}}'.encode()


def n_triples(triples: list[ox.Triple]) -> bytes:
    return "".join(f"{triple} .\n" for triple in triples).encode()


@given(solutions(terms))
@thorough
def test_solutions_survive_json(given_solutions: Solutions) -> None:
    variables, rows = given_solutions
    read = read_json(solutions_as(document(variables, rows), SolutionsFormat.JSON))
    assert read == (variables, exactly(rows))


@given(solutions(terms))
@thorough
def test_solutions_survive_tsv(given_solutions: Solutions) -> None:
    variables, rows = given_solutions
    read = READERS[SolutionsFormat.TSV](solutions_as(document(variables, rows), SolutionsFormat.TSV))
    assert read == (variables, exactly(rows))


@given(solutions(xml_terms))
@example((("x",), [(ox.Literal("a\r\nb\r"),)]))
@thorough
def test_solutions_of_xml_characters_survive_xml(given_solutions: Solutions) -> None:
    variables, rows = given_solutions
    assert read_xml(solutions_as(document(variables, rows), SolutionsFormat.XML)) == (variables, exactly(rows))


@given(solutions(terms))
@example((("x", "y1"), [(ox.NamedNode("http://e/a,b"), ox.Literal('"', language="en"))]))
@thorough
def test_values_survive_csv(given_solutions: Solutions) -> None:
    variables, rows = given_solutions
    assert read_csv(solutions_as(document(variables, rows), SolutionsFormat.CSV)) == (variables, csv_values(rows))


NOT_XML = st.sampled_from("\x00\x01\x08\x0b\x0c\x0e\x1f\ufffe\uffff")


@given(st.text("é日\uffee ab", max_size=20), NOT_XML)
@thorough
def test_a_character_that_xml_does_not_have_is_told_and_not_written(text: str, character: str) -> None:
    literal = ox.Literal(text + character)
    with pytest.raises(NotExpressible, match=f"U\\+{ord(character):04X}"):
        solutions_as(document(("x",), [(literal,)]), SolutionsFormat.XML)
    with pytest.raises(NotExpressible, match=f"U\\+{ord(character):04X}"):
        graph_as(n_triples([ox.Triple(ox.BlankNode("b"), ox.NamedNode("http://e/p"), literal)]), RdfSyntax.RDF_XML)


def test_a_character_that_xml_does_not_have_is_found_wherever_the_serializer_cuts_the_document() -> None:
    for length in range(8180, 8200):
        with pytest.raises(NotExpressible):
            solutions_as(document(("x",), [(ox.Literal("x" * length + "\uffff"),)]), SolutionsFormat.XML)


@pytest.mark.parametrize("syntax", [one for one in RdfSyntax if one is not RdfSyntax.RDF_XML])
@given(graph=graphs(terms, st.one_of(named_predicates, iris)))
@thorough
def test_a_graph_survives(syntax: RdfSyntax, graph: list[ox.Triple]) -> None:
    assert canonical(read_graph(graph_as(n_triples(graph), syntax), syntax)) == canonical(graph)


@given(graphs(xml_terms, named_predicates))
@example([ox.Triple(ox.NamedNode("http://e/s"), ox.NamedNode(f"{RDF}type"), ox.NamedNode("http://e/1"))])
@example([ox.Triple(ox.BlankNode("1"), ox.NamedNode("http://e/p"), ox.BlankNode("_1"))])
@thorough
def test_a_graph_that_xml_has_names_for_survives_rdf_xml(graph: list[ox.Triple]) -> None:
    read = read_graph(graph_as(n_triples(graph), RdfSyntax.RDF_XML), RdfSyntax.RDF_XML)
    assert canonical(read) == canonical(graph)


@pytest.mark.parametrize(
    "predicate",
    ["http://e/1", "http://e/", "http://e/a(b)", "urn:", f"{RDF}", f"{RDF}li", f"{RDF}Description", f"{RDF}about",
     f"{RDF}bagID", "http://www.w3.org/2000/xmlns/x", "http://e/-", "http://e/a#", f"http://e/{'a' * 100_000}!"],
)  # fmt: skip
def test_a_predicate_that_rdf_xml_cannot_name_is_told_and_other_formats_have_it(predicate: str) -> None:
    graph = [ox.Triple(ox.NamedNode("http://e/s"), ox.NamedNode(predicate), ox.NamedNode("http://e/o"))]
    with pytest.raises(NotExpressible, match="cannot name the predicate"):
        graph_as(n_triples(graph), RdfSyntax.RDF_XML)
    for syntax in RdfSyntax:
        if syntax is not RdfSyntax.RDF_XML:
            assert read_graph(graph_as(n_triples(graph), syntax), syntax) == graph


def test_what_rdf_xml_says_of_rdf_1_2_is_read_again() -> None:
    directed = ox.Literal("x", language="en", direction=ox.BaseDirection.RTL)
    inner = ox.Triple(ox.BlankNode("1"), ox.NamedNode("http://e/p"), directed)
    graph = [ox.Triple(ox.NamedNode("http://e/s"), ox.NamedNode("http://e/p"), inner)]
    written = graph_as(n_triples(graph), RdfSyntax.RDF_XML)
    # No other parser here knows it.
    assert canonical(quad.triple for quad in ox.parse(written, ox.RdfFormat.RDF_XML)) == canonical(graph)


def exactly(rows: list[Row]) -> list[Row]:
    """The rows with their own blank nodes, language tags in lower case."""
    same = relabelled([*rows])
    return [
        tuple(kept if isinstance(kept, ox.BlankNode) else other for kept, other in zip(row, changed, strict=True))
        for row, changed in zip(rows, same, strict=True)
    ]
