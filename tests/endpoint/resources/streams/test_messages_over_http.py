"""The interoperability tests of *RDF Messages* (W3C RSP CG) over HTTP: what is posted in one format is read back in
each as the same messages.

The application has the real log behind it. What is tested is restated here in our words, by the draft's numbers.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from endpoint import create_app
from endpoint.settings import Settings
from protocol.formats.media_types import EVENT_STREAM, JELLY, RdfSyntax
from protocol.messages.division import divide
from protocol.messages.jelly_frames import read_frames, write_frames
from tests.endpoint.asgi_client import TestClient
from tests.protocol.formats.independent_readers import canonical_quads, read_dataset
from tests.protocol.formats.rdf_strategies import blank_nodes, iris, named_predicates, terms
from tests.spark_backend.stepped_backend import SteppedBackend

NT, NQ, TTL, TRIG = RdfSyntax.N_TRIPLES, RdfSyntax.N_QUADS, RdfSyntax.TURTLE, RdfSyntax.TRIG
LD_LINES, LINES = "application/x-ld+ndjson", "application/x-ndjson"
ALL, GROUPED, QUADS, BY_LINES = [NT, NQ, TTL, TRIG], [TTL, TRIG], [NQ, TRIG], [LD_LINES, LINES]

A, B = "<http://ex/a> <http://ex/p> <http://ex/o> .", "<http://ex/b> <http://ex/p> <http://ex/o> ."
A_IN_G, B_IN_H = f"{A[:-1]}<http://ex/g> .", f"{B[:-1]}<http://ex/h> ."
BLANK = "_:b0 <http://ex/p> _:b0 ."

JSON_A: dict[str, Any] = {"@id": "http://ex/a", "http://ex/p": {"@id": "http://ex/o"}}
JSON_B: dict[str, Any] = {"@id": "http://ex/b", "http://ex/p": {"@id": "http://ex/o"}}

Message = Sequence[ox.Quad]


@dataclass
class Endpoint:
    """An application in this process."""

    client: TestClient
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def post(self, body: bytes, content_type: str) -> tuple[str, Any]:
        """A new stream, and the response to a request with this body to it."""
        name = f"s{next(self.numbers)}"
        assert self.client.put(f"/streams/{name}", json={}).status_code == 201
        return name, self.client.post(f"/streams/{name}", content=body, headers={"Content-Type": content_type})

    def posted(self, body: bytes, content_type: str) -> str:
        """A new stream with what the body says, which has ended."""
        name, response = self.post(body, content_type)
        assert response.status_code == 200, response.text
        assert self.client.put(f"/streams/{name}/watermark", content="end").json()["ended"]
        return name

    def held(self, name: str, media_type: str) -> bytes:
        """What the stream has."""
        response = self.client.get(f"/streams/{name}?since=beginning", headers={"Accept": media_type})
        assert response.status_code == 200
        assert response.headers["content-type"].partition(";")[0] == media_type
        assert isinstance(response.content, bytes)
        return response.content


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    backend = SteppedBackend(Path(tmp_path_factory.mktemp("data"))).backend
    with TestClient(create_app(Settings(threads=2), backend=backend)) as client:
        yield Endpoint(client)


# What reads the forms in which a stream can be had


def _of_n_quads(document: bytes) -> list[Message]:
    announced = b'VERSION "1.2-messages"\n'
    assert document.startswith(announced)
    divided = divide(document.splitlines(keepends=True), NQ)
    return [list(ox.parse(message.body.removeprefix(announced), ox.RdfFormat.N_QUADS)) for message in divided]


def _of_jelly(document: bytes) -> list[Message]:
    text, counts = read_frames(document)
    quads = iter(list(ox.parse(text, ox.RdfFormat.N_QUADS)))
    return [[next(quads) for _ in range(count)] for count in counts]


def _of_json_lines(document: bytes) -> list[Message]:
    assert not document or document.endswith(b"\n")
    return [read_dataset(line, RdfSyntax.JSON_LD) for line in document.split(b"\n")[:-1]]


def _of_events(document: bytes) -> list[Message]:
    messages: list[Message] = []
    for event in document.decode().split("\n\n"):
        fields = [line.split(": ", 1) for line in event.split("\n") if line]
        names = [name for name, *_ in fields]
        if "id" in names and "event" not in names:
            data = "\n".join(value for name, *(value,) in fields if name == "data")
            messages.append(list(ox.parse(data, ox.RdfFormat.N_QUADS)))
    return messages


FORMS: dict[str, Callable[[bytes], list[Message]]] = {
    NQ: _of_n_quads,
    JELLY: _of_jelly,
    LD_LINES: _of_json_lines,
    LINES: _of_json_lines,
    EVENT_STREAM: _of_events,
}


def same(messages: Iterable[Message]) -> list[ox.Dataset]:
    """The messages, equal if they differ in the labels of blank nodes alone."""
    return [canonical_quads(message) for message in messages]


def check(endpoint: Endpoint, body: str | bytes, content_type: str, *expected: str) -> None:
    """What is posted is read back, in every form, as the messages with these N-Quads."""
    messages = [list(ox.parse(one, ox.RdfFormat.N_QUADS)) for one in expected]
    name = endpoint.posted(body.encode() if isinstance(body, str) else body, content_type)
    for media_type, read in FORMS.items():
        assert same(read(endpoint.held(name, media_type))) == same(messages), media_type


def check_refused(endpoint: Endpoint, body: str | bytes, content_type: str, *, message: int) -> str:
    """The request is refused, nothing of it is stored, and the answer says which message is wrong."""
    name, response = endpoint.post(body.encode() if isinstance(body, str) else body, content_type)
    assert (response.status_code, response.json().get("message")) == (400, message)
    assert endpoint.client.get(f"/streams/{name}").json()["elements"] == 0
    return str(response.json()["detail"])


# In text. A log says what it is itself, or its media type does.

Announced = Callable[..., tuple[str, str]]


@pytest.fixture(params=["text", "media type"])
def log(request: pytest.FixtureRequest) -> Announced:
    def announced(syntax: RdfSyntax, *lines: str) -> tuple[str, str]:
        text = "".join(f"{line}\n" for line in lines)
        if request.param == "text":
            return f'VERSION "1.2-messages"\n{text}', syntax.value
        return text, f"{syntax}; version=1.2-messages"

    return announced


@pytest.mark.parametrize("syntax", ALL)
def test_1_one_statement(endpoint: Endpoint, log: Announced, syntax: RdfSyntax) -> None:
    check(endpoint, *log(syntax, A), A)


@pytest.mark.parametrize("syntax", ALL)
def test_2_message_divides(endpoint: Endpoint, log: Announced, syntax: RdfSyntax) -> None:
    check(endpoint, *log(syntax, A, "MESSAGE", B), A, B)


@pytest.mark.parametrize("syntax", GROUPED)
def test_3_at_message_divides(endpoint: Endpoint, log: Announced, syntax: RdfSyntax) -> None:
    check(endpoint, *log(syntax, A, "@message .", B), A, B)


@pytest.mark.parametrize("syntax", ALL)
def test_4_a_delimiter_at_the_beginning(endpoint: Endpoint, log: Announced, syntax: RdfSyntax) -> None:
    check(endpoint, *log(syntax, "MESSAGE", A), "", A)


@pytest.mark.parametrize("syntax", ALL)
def test_5_two_delimiters_in_a_row(endpoint: Endpoint, log: Announced, syntax: RdfSyntax) -> None:
    check(endpoint, *log(syntax, A, "MESSAGE", "MESSAGE", B), A, "", B)


@pytest.mark.parametrize("syntax", ALL)
def test_6_a_delimiter_at_the_end(endpoint: Endpoint, log: Announced, syntax: RdfSyntax) -> None:
    check(endpoint, *log(syntax, A, "MESSAGE"), A)


@pytest.mark.parametrize(
    ("syntax", "first", "second"),
    [(NQ, A_IN_G, B_IN_H), (TRIG, f"<http://ex/g> {{ {A} }}", f"GRAPH <http://ex/h> {{ {B} }}")],
)
def test_7_names_of_graphs(endpoint: Endpoint, log: Announced, syntax: RdfSyntax, first: str, second: str) -> None:
    check(endpoint, *log(syntax, first, "MESSAGE", second), A_IN_G, B_IN_H)


@pytest.mark.parametrize(("syntax", "graph"), [(NQ, B_IN_H), (TRIG, f"<http://ex/h> {{ {B} }}")])
def test_8_default_and_named_graph(endpoint: Endpoint, log: Announced, syntax: RdfSyntax, graph: str) -> None:
    check(endpoint, *log(syntax, A, graph), f"{A}\n{B_IN_H}")


@pytest.mark.parametrize("syntax", ALL)
def test_9_a_blank_node_in_two_messages(endpoint: Endpoint, log: Announced, syntax: RdfSyntax) -> None:
    body, content_type = log(syntax, BLANK, "MESSAGE", BLANK)
    check(endpoint, body, content_type, BLANK, BLANK)
    assert len(_labels(endpoint, body.encode(), content_type)) == 2


@pytest.mark.parametrize("again", ["PREFIX ex: <http://ex/b/>", "@prefix ex: <http://ex/b/> ."])
@pytest.mark.parametrize("syntax", GROUPED)
def test_10_a_prefix_said_again(endpoint: Endpoint, log: Announced, syntax: RdfSyntax, again: str) -> None:
    statement = "ex:1 <http://ex/p> <http://ex/o> ."
    lines = ["PREFIX ex: <http://ex/a/>", statement, "MESSAGE", again, statement, "MESSAGE", statement]
    first, second = (A.replace("ex/a", f"ex/{name}/1") for name in "ab")
    check(endpoint, *log(syntax, *lines), first, second, second)


@pytest.mark.parametrize("between", ["\n", " ", ""])
def test_11_a_delimiter_behind_a_graph_block(endpoint: Endpoint, log: Announced, between: str) -> None:
    check(endpoint, *log(TRIG, f"<http://ex/g> {{ {A} }}{between}MESSAGE", B), A_IN_G, B)


@pytest.mark.parametrize("again", [one for one in FORMS if one != EVENT_STREAM])
@pytest.mark.parametrize(("syntax", "graph"), [(NQ, B_IN_H), (TRIG, f"<http://ex/h> {{ {B} }}")])
def test_s_written_and_read_again(
    endpoint: Endpoint, log: Announced, syntax: RdfSyntax, graph: str, again: str
) -> None:
    body, content_type = log(syntax, A, "MESSAGE", "MESSAGE", graph)
    written = endpoint.held(endpoint.posted(body.encode(), content_type), again)
    check(endpoint, written, again, A, "", B_IN_H)


@pytest.mark.parametrize("delimiter", ["MESSAGE", "@message ."])
@pytest.mark.parametrize("syntax", ALL)
def test_e1_a_delimiter_without_the_label(endpoint: Endpoint, syntax: RdfSyntax, delimiter: str) -> None:
    assert "version=1.2-messages" in check_refused(endpoint, f"{A}\n{delimiter}\n{B}\n", syntax, message=1)


@pytest.mark.parametrize("syntax", ALL)
def test_e2_at_message_without_its_full_stop(endpoint: Endpoint, log: Announced, syntax: RdfSyntax) -> None:
    assert "@message" in check_refused(endpoint, *log(syntax, A, "@message", B), message=1)


@pytest.mark.parametrize("delimiter", ["MESSAGE", "@message ."])
def test_e3_a_delimiter_inside_a_graph_block(endpoint: Endpoint, log: Announced, delimiter: str) -> None:
    block = f"<http://ex/g> {{ {A} {delimiter} {B} }}"
    assert "graph" in check_refused(endpoint, *log(TRIG, B, "MESSAGE", block), message=2)


# In lines of JSON-LD, where the end of a line is the delimiter


def lines(*documents: Any) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


@pytest.mark.parametrize("media_type", BY_LINES)
class TestLinesOfJson:
    def test_1_one_object(self, endpoint: Endpoint, media_type: str) -> None:
        check(endpoint, lines(JSON_A), media_type, A)

    def test_2_a_line_is_a_message(self, endpoint: Endpoint, media_type: str) -> None:
        check(endpoint, lines(JSON_A, JSON_B), media_type, A, B)

    def test_4_an_empty_object_at_the_beginning(self, endpoint: Endpoint, media_type: str) -> None:
        check(endpoint, lines({}, JSON_A), media_type, "", A)

    def test_5_an_empty_object_in_the_middle(self, endpoint: Endpoint, media_type: str) -> None:
        check(endpoint, lines(JSON_A, {}, JSON_B), media_type, A, "", B)

    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
    def test_6_an_end_of_line_at_the_end_makes_none(self, endpoint: Endpoint, media_type: str, end: bytes) -> None:
        check(endpoint, json.dumps(JSON_A).encode() + end, media_type, A)

    def test_7_names_of_graphs(self, endpoint: Endpoint, media_type: str) -> None:
        graphs = [{"@id": f"http://ex/{name}", "@graph": one} for name, one in (("g", JSON_A), ("h", JSON_B))]
        check(endpoint, lines(*graphs), media_type, A_IN_G, B_IN_H)

    def test_8_default_and_named_graph(self, endpoint: Endpoint, media_type: str) -> None:
        both = {"@graph": [JSON_A, {"@id": "http://ex/h", "@graph": JSON_B}]}
        check(endpoint, lines(both), media_type, f"{A}\n{B_IN_H}")

    def test_9_a_blank_node_in_two_messages(self, endpoint: Endpoint, media_type: str) -> None:
        body = lines(*[{"@id": "_:b0", "http://ex/p": {"@id": "_:b0"}}] * 2)
        check(endpoint, body, media_type, BLANK, BLANK)
        assert len(_labels(endpoint, body, media_type)) == 2

    def test_10_a_context_said_again(self, endpoint: Endpoint, media_type: str) -> None:
        contexts = [{"@context": {"ex": f"http://ex/{name}/", "p": "http://ex/p"}} for name in "ab"]
        one = {"@id": "ex:1", "p": {"@id": "http://ex/o"}}
        first, second = (A.replace("ex/a", f"ex/{name}/1") for name in "ab")
        check(endpoint, lines(contexts[0], one, contexts[1], one, one), media_type, first, second, second)

    @pytest.mark.parametrize("again", [NQ, JELLY, *BY_LINES])
    def test_s_written_and_read_again(self, endpoint: Endpoint, media_type: str, again: str) -> None:
        graph = {"@id": "http://ex/h", "@graph": JSON_B}
        written = endpoint.held(endpoint.posted(lines(JSON_A, {}, graph), media_type), again)
        check(endpoint, written, again, A, "", B_IN_H)

    def test_e1_lines_in_what_is_one_document(self, endpoint: Endpoint, media_type: str) -> None:
        check_refused(endpoint, lines(JSON_A, JSON_B), RdfSyntax.JSON_LD, message=1)

    def test_e3_an_end_of_line_inside_an_object(self, endpoint: Endpoint, media_type: str) -> None:
        body = lines(JSON_A) + json.dumps(JSON_B, indent=1).encode()
        check_refused(endpoint, body, media_type, message=2)


# In Jelly, where a frame is a message


def frames(*messages: str) -> bytes:
    return b"".join(write_frames([list(ox.parse(one, ox.RdfFormat.N_QUADS)) for one in messages]))


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([A], id="1"),
        pytest.param([A, B], id="2"),
        pytest.param(["", A], id="4"),
        pytest.param([A, "", B], id="5"),
        pytest.param([A_IN_G, B_IN_H], id="7"),
        pytest.param([f"{A}\n{B_IN_H}"], id="8"),
        pytest.param([BLANK, BLANK], id="9"),
    ],
)
def test_frames_are_messages(endpoint: Endpoint, messages: list[str]) -> None:
    check(endpoint, frames(*messages), JELLY, *messages)


def test_9_a_blank_node_in_two_frames(endpoint: Endpoint) -> None:
    assert len(_labels(endpoint, frames(BLANK, BLANK), JELLY)) == 2


@pytest.mark.parametrize("again", [NQ, JELLY, *BY_LINES])
def test_s_frames_written_and_read_again(endpoint: Endpoint, again: str) -> None:
    written = endpoint.held(endpoint.posted(frames(A, "", B_IN_H), JELLY), again)
    check(endpoint, written, again, A, "", B_IN_H)


def test_e3_a_frame_that_ends_too_early(endpoint: Endpoint) -> None:
    check_refused(endpoint, frames(A, B)[:-1], JELLY, message=1)


def _labels(endpoint: Endpoint, body: bytes, content_type: str) -> set[str]:
    """The labels of blank nodes in what the stream has, over all of its messages."""
    quads = itertools.chain(*_of_n_quads(endpoint.held(endpoint.posted(body, content_type), NQ)))
    return {term.value for quad in quads for term in (quad.subject, quad.object) if isinstance(term, ox.BlankNode)}


# Logs at random

_QUADS = st.builds(
    ox.Quad, iris | blank_nodes, named_predicates | iris, terms, iris | blank_nodes | st.just(ox.DefaultGraph())
)


@given(st.lists(st.lists(_QUADS, max_size=4), max_size=5))
@example([])
@example([[], []])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_log_is_the_same_in_every_form_and_after_it_was_posted_again(
    endpoint: Endpoint, messages: list[list[ox.Quad]]
) -> None:
    name = endpoint.posted(b"".join(write_frames(messages)), JELLY)
    for media_type, read in FORMS.items():
        document = endpoint.held(name, media_type)
        assert same(read(document)) == same(messages), media_type
        if media_type != EVENT_STREAM:
            again = endpoint.posted(document, media_type)
            assert same(_of_n_quads(endpoint.held(again, NQ))) == same(messages), media_type
