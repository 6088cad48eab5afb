"""Documents that are read as wholes say the same wherever they come from."""

from __future__ import annotations

import codecs

import pytest

from protocol.formats.media_types import RdfSyntax
from protocol.formats.rdf_documents import read_graph, read_quads

TRIPLE = "<http://ex/s> <http://ex/p> <http://ex/o> ."
DOCUMENTS = {
    RdfSyntax.TURTLE: TRIPLE,
    RdfSyntax.TRIG: TRIPLE,
    RdfSyntax.N_TRIPLES: TRIPLE,
    RdfSyntax.N_QUADS: TRIPLE,
    RdfSyntax.JSON_LD: '{"@id": "http://ex/s", "http://ex/p": {"@id": "http://ex/o"}}',
    RdfSyntax.RDF_XML: '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">'
    '<r:Description r:about="http://ex/s"><e:p r:resource="http://ex/o"/></r:Description></r:RDF>',
}


def _triples(document: bytes, syntax: RdfSyntax) -> list[str]:
    return [f"{triple} ." for triple in read_graph(document, syntax, "http://ex/")]


@pytest.mark.parametrize("syntax", list(RdfSyntax))
def test_a_byte_order_mark_is_none_of_the_text(syntax: RdfSyntax) -> None:
    assert _triples(codecs.BOM_UTF8 + DOCUMENTS[syntax].encode(), syntax) == [TRIPLE]


@pytest.mark.parametrize("syntax", [one for one in RdfSyntax if one.has_comments])
def test_a_version_is_read_in_all_that_have_it(syntax: RdfSyntax) -> None:
    assert _triples(f'# RDF\nVERSION "1.2" # of 2026\n{TRIPLE}'.encode(), syntax) == [TRIPLE]


@pytest.mark.parametrize("syntax", [one for one in RdfSyntax if one.has_comments])
def test_places_are_those_of_the_document(syntax: RdfSyntax) -> None:
    with pytest.raises(SyntaxError) as raised:
        _triples(f'VERSION "1.2"\n{TRIPLE} # é\n<http://ex/é> nonsense .'.encode(), syntax)
    assert (raised.value.lineno, raised.value.offset) == (3, 15)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_columns_in_json_count_characters(end: str) -> None:
    with pytest.raises(SyntaxError) as raised:
        _triples(f'{{{end}"@id": "http://ex/é" nonsense}}'.encode(), RdfSyntax.JSON_LD)
    assert (raised.value.lineno, raised.value.offset) == (2, 22)


@pytest.mark.parametrize("value", ["5", '"http://ex/s"', "null", "true"])
def test_a_bare_value_is_no_json_ld(value: str) -> None:
    with pytest.raises(SyntaxError, match="an object or an array") as raised:
        _triples(f" \n {value}".encode(), RdfSyntax.JSON_LD)
    assert (raised.value.lineno, raised.value.offset) == (2, 2)
    assert _triples(b" \n[]", RdfSyntax.JSON_LD) == []


def test_named_graphs_are_for_who_asks_for_them() -> None:
    document = f"<http://ex/g> {{ {TRIPLE} }}".encode()
    assert [str(quad.graph_name) for quad in read_quads(document, RdfSyntax.TRIG, None)] == ["<http://ex/g>"]
    with pytest.raises(SyntaxError):
        _triples(document, RdfSyntax.TRIG)
