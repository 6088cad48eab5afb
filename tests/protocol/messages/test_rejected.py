from __future__ import annotations

import base64

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, BNode, Graph, Literal, Namespace, URIRef
from rdflib.namespace import DCTERMS, PROV, RDFS, XSD

from protocol.errors import InvalidMessage
from protocol.formats.long_tokens import LONGEST_TOKEN
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


@pytest.mark.parametrize(
    "body",
    [
        b"<a> <b> \n" * (2 * 2**20),
        b'"' * (9 * 2**20),
        b"\x01" * (3 * 2**20),
        "\U0001f600\u00e9".encode() * (3 * 2**20),
        b"\xff" * (13 * 2**20),
        b"x" * LONGEST_TOKEN,
    ],
    ids=["lines", "quotation marks", "escapes", "long characters", "no text", "one line"],
)
def test_of_a_message_that_is_too_long_for_a_term_the_beginning_is_kept(body: bytes) -> None:
    document = rejected_document(Rejected(body, "text/turtle", "it is no Turtle"), 1_000)
    told = {quad.predicate.value: quad.object for quad in ox.parse(document, format=ox.RdfFormat.N_TRIPLES)}
    assert all(isinstance(value, ox.Literal) for value in told.values())
    if (chars := told.get(str(CNT.chars))) is not None:
        kept = chars.value.encode()
    else:
        kept = base64.b64decode(told[str(CNT["bytes"])].value)
    assert body.startswith(kept)
    assert len(kept) > 2 * 2**20
    assert told[str(RDFS.comment)] == ox.Literal(
        f"it is no Turtle (of the {len(body)} bytes of the message, the first {len(kept)} are kept)"
    )


def test_a_message_that_just_fits_is_kept_whole() -> None:
    body = b'"' * (7 * 2**20)
    document = rejected_document(Rejected(body, "", "no"), 1_000)
    told = {quad.predicate.value: quad.object for quad in ox.parse(document, format=ox.RdfFormat.N_TRIPLES)}
    assert told[str(CNT.chars)] == ox.Literal(body.decode())
    assert told[str(RDFS.comment)] == ox.Literal("no")


def test_the_beginning_and_the_end_are_told_of_a_long_reason_and_a_long_media_type() -> None:
    long = "x" * LONGEST_TOKEN
    told = _told(Rejected.by(InvalidMessage(f"first {long} last"), b"", f"text/{long}"))
    assert str(told[RDFS.comment]).startswith("first x")
    assert str(told[RDFS.comment]).endswith("x last")
    assert len(str(told[DCTERMS.format])) < 10_000
