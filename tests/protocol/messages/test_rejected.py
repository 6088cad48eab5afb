from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, BNode, Graph, Literal, Namespace, URIRef
from rdflib.namespace import DCTERMS, PROV, RDFS, XSD

from protocol.messages.rejected import Rejected, rejected_document

CNT = Namespace("http://www.w3.org/2011/content#")


def _told(rejected: Rejected) -> dict[URIRef, Literal | URIRef]:
    graph = Graph().parse(data=rejected_document(rejected, 1_000), format="nt")
    (message,) = set(graph.subjects())
    assert isinstance(message, BNode)
    assert not list(graph[message : RDF.type])
    told = dict(graph[message])
    assert len(told) == len(graph)
    return told


def test_all_that_is_known_of_a_message_is_told() -> None:
    told = _told(Rejected(b"{", "application/json", "not JSON", "mqtt://broker/a/b"))
    assert told == {
        CNT.chars: Literal("{"),
        DCTERMS.format: Literal("application/json"),
        RDFS.comment: Literal("not JSON"),
        PROV.generatedAtTime: Literal("1970-01-01T00:00:01Z", datatype=XSD.dateTime),
        PROV.hadPrimarySource: URIRef("mqtt://broker/a/b"),
    }


def test_what_is_not_known_is_left_out_and_a_source_that_is_no_iri_is_a_text() -> None:
    assert set(_told(Rejected(b"", "", ""))) == {CNT.chars, RDFS.comment, PROV.generatedAtTime}
    assert _told(Rejected(b"", "", "", "line 3 of a file"))[PROV.hadPrimarySource] == Literal("line 3 of a file")


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_every_body_comes_back_as_it_was(body: bytes) -> None:
    told = _told(Rejected(body, "text/turtle", "no"))
    if CNT.chars in told:
        assert str(told[CNT.chars]).encode() == body
    else:
        assert told[CNT["bytes"]].datatype == XSD.base64Binary  # type: ignore[union-attr]
        assert base64.b64decode(str(told[CNT["bytes"]])) == body
