from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree

import pyoxigraph
import pytest

from protocol.formats.answers import graph_as, solutions_as
from protocol.formats.media_types import RdfSyntax, SolutionsFormat

XSD = "http://www.w3.org/2001/XMLSchema#"
DOCUMENT = {
    "head": {"vars": ["room", "n", "unbound"]},
    "results": {
        "bindings": [
            {
                "room": {"type": "uri", "value": "http://ex/é"},
                "n": {"type": "literal", "value": "007", "datatype": XSD + "integer"},
            },
            {
                "room": {"type": "bnode", "value": "b0"},
                "n": {"type": "literal", "value": 'a,"b"\n\tc', "xml:lang": "en-GB"},
            },
            {
                "room": {"type": "bnode", "value": "b0"},
                "n": {"type": "literal", "value": 'a,"b"\n\tc', "xml:lang": "en-GB"},
            },
            {},
        ]
    },
    "evaluation": {"time": "1970-01-01T00:00:08Z", "windows": {"http://ex/w": ["a", "b"]}},
}
ANSWER = json.dumps(DOCUMENT, ensure_ascii=False).encode()
_SRX = "{http://www.w3.org/2005/sparql-results#}"


def test_json_is_passed_on_with_the_evaluation_in_it() -> None:
    assert solutions_as(ANSWER, SolutionsFormat.JSON) is ANSWER


def test_csv_keeps_columns_order_and_multiplicity() -> None:
    rows = list(csv.reader(io.StringIO(solutions_as(ANSWER, SolutionsFormat.CSV).decode(), newline="")))
    assert rows[0] == ["room", "n", "unbound"]
    assert rows[1] == ["http://ex/é", "007", ""]
    assert rows[2] == rows[3]
    assert rows[2][1] == 'a,"b"\n\tc'
    assert rows[4] == ["", "", ""]
    assert len(rows) == 5


def test_tsv_writes_terms() -> None:
    lines = solutions_as(ANSWER, SolutionsFormat.TSV).decode().split("\n")
    assert lines[0] == "?room\t?n\t?unbound"
    assert lines[1].startswith("<http://ex/é>\t")
    assert "\\t" in lines[2]
    assert "@en-gb" in lines[2].lower()  # case carries no meaning: RDF 1.1 Concepts, section 3.3


def test_xml_has_every_solution_and_is_well_formed() -> None:
    root = ElementTree.fromstring(solutions_as(ANSWER, SolutionsFormat.XML))
    assert [one.get("name") for one in root.iter(_SRX + "variable")] == ["room", "n", "unbound"]
    results = list(root.iter(_SRX + "result"))
    assert [len(result) for result in results] == [2, 2, 2, 0]
    assert results[0][1][0].get("datatype") == XSD + "integer"


@pytest.mark.parametrize("boolean", [True, False])
@pytest.mark.parametrize("target", [SolutionsFormat.XML, SolutionsFormat.CSV, SolutionsFormat.TSV])
def test_a_boolean_answer_has_all_formats(boolean: bool, target: SolutionsFormat) -> None:
    document = json.dumps({"head": {}, "boolean": boolean, "evaluation": {"time": "x"}}).encode()
    assert str(boolean).lower() in solutions_as(document, target).decode()


@pytest.mark.parametrize("target", list(SolutionsFormat))
def test_an_answer_without_solutions_keeps_its_variables(target: SolutionsFormat) -> None:
    document = b'{"head":{"vars":["a"]},"results":{"bindings":[]},"evaluation":{}}'
    assert "a" in solutions_as(document, target).decode()


TRIPLES = '<http://e/a> <http://e/p> "é\\n"@en .\n_:b <http://e/p> <http://e/a> .\n'.encode()


@pytest.mark.parametrize("target", list(RdfSyntax))
def test_a_graph_is_the_same_graph_in_every_syntax(target: RdfSyntax) -> None:
    written = graph_as(TRIPLES, target)
    syntax = pyoxigraph.RdfFormat.from_media_type(target.value)
    assert syntax is not None
    read = {quad.triple for quad in pyoxigraph.parse(written, syntax)}
    asked = {quad.triple for quad in pyoxigraph.parse(TRIPLES, pyoxigraph.RdfFormat.N_TRIPLES)}
    canonical = [pyoxigraph.Dataset(pyoxigraph.Quad(*triple) for triple in graph) for graph in (read, asked)]
    for dataset in canonical:
        dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    assert canonical[0] == canonical[1]


@pytest.mark.parametrize("target", list(RdfSyntax))
def test_an_empty_graph_is_a_valid_document(target: RdfSyntax) -> None:
    syntax = pyoxigraph.RdfFormat.from_media_type(target.value)
    assert syntax is not None
    assert list(pyoxigraph.parse(graph_as(b"", target), syntax)) == []


@pytest.mark.parametrize("target", list(RdfSyntax))
def test_the_same_answer_is_the_same_bytes(target: RdfSyntax) -> None:
    assert graph_as(TRIPLES, target) == graph_as(TRIPLES, target)
