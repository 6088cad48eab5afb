"""Jelly, read and written; streams of triples and graphs are of pyjelly's own writer."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyjelly import jelly
from pyjelly.integrations.generic.generic_sink import IRI, DefaultGraph, Literal
from pyjelly.integrations.generic.serialize import GenericSinkTermEncoder
from pyjelly.serialize.flows import ManualFrameFlow
from pyjelly.serialize.ioutils import write_delimited, write_single
from pyjelly.serialize.streams import GraphStream, QuadStream, SerializerOptions, TripleStream

from protocol.messages import jelly_frames
from protocol.messages.jelly_frames import WrongFrame, read_frames, write_frames

S, P, V, G = (ox.NamedNode(f"http://ex/{name}") for name in "spvg")
s, p, v, g = (IRI(f"http://ex/{name}") for name in "spvg")

TRIPLE = jelly.RdfTriple(s_bnode="a", p_bnode="a", o_bnode="a")


def written(messages: Sequence[Sequence[ox.Quad]]) -> bytes:
    return b"".join(write_frames(messages))


def read(document: bytes) -> list[list[ox.Quad]]:
    text, counts = read_frames(document)
    quads = iter(list(ox.parse(text, ox.RdfFormat.N_QUADS)))
    return [[next(quads) for _ in range(count)] for count in counts]


def refused(document: bytes) -> WrongFrame:
    with pytest.raises(WrongFrame) as raised:
        read_frames(document)
    return raised.value


def frame(flow: ManualFrameFlow) -> jelly.RdfStreamFrame:
    made = flow.to_stream_frame()
    assert made is not None
    return made


def delimited(*frames: jelly.RdfStreamFrame) -> bytes:
    out = io.BytesIO()
    for one in frames:
        write_delimited(one, out)
    return out.getvalue()


def options(**changed: Any) -> jelly.RdfStreamRow:
    known: dict[str, Any] = {
        "physical_type": jelly.PHYSICAL_STREAM_TYPE_QUADS, "logical_type": jelly.LOGICAL_STREAM_TYPE_DATASETS,
        "max_name_table_size": 8, "max_prefix_table_size": 8, "max_datatype_table_size": 8, "version": 1,
    }  # fmt: skip
    return jelly.RdfStreamRow(options=jelly.RdfStreamOptions(**{**known, **changed}))


def test_a_frame_is_a_message_also_an_empty_one() -> None:
    messages = [[], [ox.Quad(S, P, V), ox.Quad(S, P, V, G)], [], [ox.Quad(S, P, V)], []]
    assert read(written(messages)) == messages


def test_frames_are_written_as_they_come() -> None:
    first, second = write_frames([[ox.Quad(S, P, V)], [ox.Quad(S, P, V)]])
    assert len(second) < len(first)
    assert read(first + second) == [[ox.Quad(S, P, V)]] * 2


def test_a_stream_of_triples_and_one_frame_without_its_size() -> None:
    flow = ManualFrameFlow(logical_type=jelly.LOGICAL_STREAM_TYPE_GRAPHS)
    stream = TripleStream(encoder=GenericSinkTermEncoder(), options=SerializerOptions(flow=flow))
    stream.enroll()
    stream.triple((s, p, v))
    one = frame(flow)
    out = io.BytesIO()
    write_single(one, out)
    assert read(out.getvalue()) == read(delimited(one)) == [[ox.Quad(S, P, V)]]


def test_a_stream_of_graphs() -> None:
    flow = ManualFrameFlow(logical_type=jelly.LOGICAL_STREAM_TYPE_DATASETS)
    stream = GraphStream(encoder=GenericSinkTermEncoder(), options=SerializerOptions(flow=flow))
    stream.enroll()
    for graph in (DefaultGraph, g):
        assert list(stream.graph(graph, [(s, p, v)])) == []
    assert read(delimited(frame(flow))) == [[ox.Quad(S, P, V), ox.Quad(S, P, V, G)]]


_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
_IRIS = st.sampled_from(["http://ex/a", "http://ex#b", "urn:é", "http://ex/\U0001f600?q"]).map(ox.NamedNode)
_BLANKS = st.sampled_from(["b", "b1", "x.y", "é", "h62"]).map(ox.BlankNode)
_LITERALS = (
    _TEXTS.map(ox.Literal)
    | st.builds(lambda text: ox.Literal(text, language="en-gb"), _TEXTS)
    | st.builds(lambda text, iri: ox.Literal(text, datatype=iri), _TEXTS, _IRIS)
)
_QUADS = st.builds(
    ox.Quad, _IRIS | _BLANKS, _IRIS, _IRIS | _BLANKS | _LITERALS, _IRIS | _BLANKS | st.just(ox.DefaultGraph())
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(_QUADS, max_size=4), max_size=6))
def test_any_messages_are_the_same_after_they_were_written_and_read(messages: list[list[ox.Quad]]) -> None:
    def labels(message: list[ox.Quad]) -> list[str]:
        # Labels may be others, but which nodes are the same may not.
        names: dict[str, int] = {}
        terms = [term for quad in message for term in (quad.subject, quad.predicate, quad.object, quad.graph_name)]
        return [
            f"_:{names.setdefault(term.value, len(names))}" if isinstance(term, ox.BlankNode) else str(term)
            for term in terms
        ]

    assert [labels(message) for message in read(written(messages))] == [labels(message) for message in messages]


# What is wrong


@pytest.mark.parametrize("document", [b"\x00", b"abc", b"<a:s> <a:p> <a:o> .\n", b"\x1f\x8b\x08\x00\x00", b"\xff" * 12])
def test_what_is_no_jelly_is_refused_with_a_reason(document: bytes) -> None:
    raised = refused(document)
    assert raised.number == 0
    assert raised.problem.startswith("the body is not Jelly that is read here: ")
    assert len(raised.problem) > 45


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_is_changed_is_read_or_refused(data: st.DataObject) -> None:
    document = bytearray(written([[ox.Quad(S, P, ox.Literal("x", language="en"), G)], [ox.Quad(S, P, V)]]))
    for _ in range(data.draw(st.integers(1, 3))):
        document[data.draw(st.integers(0, len(document) - 1))] = data.draw(st.integers(0, 255))
    try:
        text, counts = read_frames(bytes(document[: data.draw(st.integers(0, len(document)))]))
    except WrongFrame:
        return
    assert text.count(b"\n") == sum(counts)


def test_what_ends_within_a_frame_is_refused() -> None:
    document = written([[ox.Quad(S, P, V)], [ox.Quad(S, P, ox.Literal("é"))]])
    assert "ends within" in refused(document[:-1]).problem


@pytest.mark.parametrize(
    ("iri", "label"), [("http://ex/> <a:p> <a:o> .\n<a:s", "b"), ("http://ex/a b", "b"), ("http://ex/", "b .\n<a:s>")]
)
def test_no_term_leaves_its_line(iri: str, label: str) -> None:
    flow = ManualFrameFlow(logical_type=jelly.LOGICAL_STREAM_TYPE_DATASETS)
    stream = QuadStream(encoder=GenericSinkTermEncoder(), options=SerializerOptions(flow=flow))
    stream.enroll()
    stream.quad((s, p, Literal('"\n.'), DefaultGraph))
    first = frame(flow)
    stream.quad((IRI(iri), p, v, DefaultGraph))
    second = frame(flow)
    if label == "b":
        raised = refused(delimited(first, second))
        assert raised.number == 1
        assert "not an IRI" in raised.problem
    else:
        row = jelly.RdfStreamRow(quad=jelly.RdfQuad(s_bnode=label))
        text, counts = read_frames(delimited(first, second, jelly.RdfStreamFrame(rows=[row])))
        assert counts == [1, 1, 1]
        assert text.count(b"\n") == 3


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([jelly.RdfStreamRow(quad=jelly.RdfQuad())], "name lookup size"),
        ([options(max_name_table_size=2**31)], "lookup size cannot be larger"),
        ([options(max_prefix_table_size=5000)], "lookup size cannot be larger"),
        ([options(version=9)], "do not agree with its options"),
        ([options(physical_type=0, logical_type=0)], "triples, quads or graphs"),
        ([options(), jelly.RdfStreamRow(quad=jelly.RdfQuad())], "repeats a term"),
        ([options(), jelly.RdfStreamRow(name=jelly.RdfNameEntry(id=9, value="a"))], "index out of range"),
        ([options(), jelly.RdfStreamRow(quad=jelly.RdfQuad(s_iri=jelly.RdfIri(name_id=3)))], "index"),
        ([options(), jelly.RdfStreamRow(triple=TRIPLE)], "a triple where"),
        ([options(), jelly.RdfStreamRow(graph_start=jelly.RdfGraphStart(g_bnode="a"))], "a graph in a stream"),
        ([options(), jelly.RdfStreamRow()], "None"),
        (
            [options(), jelly.RdfStreamRow(quad=jelly.RdfQuad(s_triple_term=TRIPLE))],
            "no triple terms",
        ),
    ],
)  # fmt: skip
def test_rows_that_are_wrong_are_refused_with_a_reason(rows: list[jelly.RdfStreamRow], told: str) -> None:
    assert told in refused(delimited(jelly.RdfStreamFrame(rows=rows))).problem


def test_what_a_few_bytes_may_become_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jelly_frames, "LONGEST_TEXT", 2**20)
    quad = jelly.RdfQuad(
        s_bnode="s", p_iri=jelly.RdfIri(prefix_id=1, name_id=1), o_bnode="o", g_default_graph=jelly.RdfDefaultGraph()
    )
    named = [
        options(), jelly.RdfStreamRow(prefix=jelly.RdfPrefixEntry(id=1, value="http://ex/" + "x" * 2**16)),
        jelly.RdfStreamRow(name=jelly.RdfNameEntry(id=1, value="a")), jelly.RdfStreamRow(quad=quad),
    ]  # fmt: skip
    again = [jelly.RdfStreamRow(quad=jelly.RdfQuad())] * 16
    assert "several requests" in refused(delimited(jelly.RdfStreamFrame(rows=[*named, *again]))).problem
    nothing = delimited(jelly.RdfStreamFrame(rows=[options()])) + b"\x00" * 2**15
    assert "several requests" in refused(nothing).problem


def test_a_frame_that_is_too_long_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jelly_frames, "LONGEST_FRAME", 100)
    document = written([[ox.Quad(S, P, V)], [ox.Quad(S, P, ox.Literal("x" * 100))]])
    assert "the most that a message may have" in refused(document).problem


def test_a_document_has_so_many_frames_at_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jelly_frames, "MOST_MESSAGES", 20)
    assert len(read(written([[ox.Quad(S, P, V)]] * 20))) == 20
    assert "more than 20 frames" in refused(written([[ox.Quad(S, P, V)]]) + bytes(20)).problem
