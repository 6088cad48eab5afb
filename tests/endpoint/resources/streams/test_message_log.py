"""What a stream holds as a document of messages (docs/http.md, "Reading a stream")."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from starlette.types import Message

from endpoint import create_app
from endpoint.live.hub import Hub
from endpoint.resources.long_response import LongResponse
from endpoint.resources.requests.parameters import RequestedElements
from endpoint.resources.streams.message_log import _written
from endpoint.settings import Settings
from protocol.formats.media_types import RdfSyntax
from protocol.messages.division import divide
from protocol.messages.jelly_frames import read_frames
from protocol.messages.json_lines import read_lines
from protocol.streams import StreamElement, StreamGap, StreamSettings, TimeKind
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import run
from tests.endpoint.store_queries.store_side import no_store_queries

LINES = [
    b'<http://e/a> <http://e/p> "b\\nMESSAGE" .\n_:b <http://e/p> _:b <http://e/g> .\n',
    b"",
    b'<http://e/a> <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n',
]
N_QUADS, JELLY, LD_LINES = "application/n-quads", "application/x-jelly-rdf", "application/x-ld+ndjson"


@pytest.fixture
def backend() -> FakeBackend:
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings("http://e/s", TimeKind.EVENT))
    for number in range(len(LINES)):
        backend.append("s", b"", "text/turtle", number)
    backend.followed += [StreamElement(number, 1000 * number, data) for number, data in enumerate(LINES)]
    return backend


@pytest.fixture
def client(backend: FakeBackend) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(threads=2), backend=backend)) as client:
        yield client


def lines_of(document: bytes, media_type: str) -> list[list[str]]:
    """The statements of each message, sorted, with the label of the only blank node taken away."""
    if media_type == JELLY:
        text, counts = read_frames(document)
        quads = iter(list(ox.parse(text, ox.RdfFormat.N_QUADS)))
        messages = [[next(quads) for _ in range(count)] for count in counts]
    elif media_type == N_QUADS:
        divided = divide(document.splitlines(keepends=True), RdfSyntax.N_QUADS)
        bodies = [message.body.removeprefix(b'VERSION "1.2-messages"\n') for message in divided]
        messages = [list(ox.parse(body, ox.RdfFormat.N_QUADS)) for body in bodies]
    else:
        messages = [list(ox.parse(line.document, ox.RdfFormat.JSON_LD)) for line in read_lines(document.splitlines())]
    return [sorted("_" if isinstance(term, ox.BlankNode) else str(term) for q in one for term in q) for one in messages]


EXPECTED = lines_of(b'VERSION "1.2-messages"\n' + b"".join(line + b"MESSAGE\n" for line in LINES), N_QUADS)


@pytest.mark.parametrize("media_type", [N_QUADS, JELLY, LD_LINES, "application/x-ndjson"])
def test_what_is_held_comes_as_messages(client: TestClient, media_type: str) -> None:
    response = client.get("/streams/s", headers={"Accept": f"{media_type}; version=1.2-messages"})
    assert response.status_code == 200
    assert response.headers["content-type"].partition(";")[0] == media_type
    assert ("version=1.2-messages" in response.headers["content-type"]) is (media_type == N_QUADS)
    assert lines_of(response.content, media_type) == EXPECTED


def test_since_leaves_out_what_is_older(client: TestClient) -> None:
    response = client.get("/streams/s?since=1970-01-01T00:00:01Z", headers={"Accept": N_QUADS})
    assert lines_of(response.content, N_QUADS) == EXPECTED[2:]


def test_until_leaves_out_what_is_later(client: TestClient) -> None:
    response = client.get("/streams/s?until=1970-01-01T00:00:01Z", headers={"Accept": N_QUADS})
    assert lines_of(response.content, N_QUADS) == EXPECTED[:2]


def test_what_came_before_an_element_is_left_out_unless_it_was_of_a_stream_that_is_gone(
    client: TestClient, backend: FakeBackend
) -> None:
    backend.incarnation = 3
    number = "0" * 15
    for last, wanted in ((number + "13", EXPECTED[2:]), (number + "1", EXPECTED), (number + "12", EXPECTED)):
        response = client.get(f"/streams/s?lastEventId={last}", headers={"Accept": N_QUADS})
        assert lines_of(response.content, N_QUADS) == wanted


def test_what_comes_after_the_request_is_not_in_it(client: TestClient, backend: FakeBackend) -> None:
    backend.followed.append(StreamElement(len(LINES), 9_000, LINES[0]))
    assert lines_of(client.get("/streams/s", headers={"Accept": JELLY}).content, JELLY) == EXPECTED


def test_what_retention_has_taken_is_not_held(client: TestClient, backend: FakeBackend) -> None:
    backend.followed[:1] = [StreamGap(500)]
    assert lines_of(client.get("/streams/s", headers={"Accept": N_QUADS}).content, N_QUADS) == EXPECTED[1:]


def test_an_empty_stream_is_a_log_of_nothing(client: TestClient, backend: FakeBackend) -> None:
    backend.create_stream("t", StreamSettings("http://e/t", TimeKind.EVENT))
    backend.followed.clear()
    assert client.get("/streams/t", headers={"Accept": N_QUADS}).content == b'VERSION "1.2-messages"\n'
    assert client.get("/streams/t", headers={"Accept": LD_LINES}).content == b""


def test_a_stream_is_described_unless_its_messages_are_asked_for(client: TestClient) -> None:
    for accept in ("*/*", "application/json", "text/html;q=0.9, */*;q=0.8"):
        assert client.get("/streams/s", headers={"Accept": accept}).headers["content-type"] == "application/json"
    assert client.get("/streams/s", headers={"Accept": "text/turtle"}).status_code == 406


def test_what_a_form_has_no_way_to_write_is_had_in_the_next_that_is_accepted(
    client: TestClient, backend: FakeBackend
) -> None:
    line = b"<http://e/a> <http://e/p> <<( <http://e/a> <http://e/p> <http://e/b> )>> .\n"
    backend.followed[:] = [StreamElement(0, 0, line)]
    for accept in (f"{JELLY}, {N_QUADS};q=0.5", f"{JELLY}, {LD_LINES};q=0.9, {N_QUADS};q=0.5"):
        response = client.get("/streams/s", headers={"Accept": accept})
        assert response.headers["content-type"].startswith(N_QUADS)
        assert b"<<(" in response.content
    refused = client.get("/streams/s", headers={"Accept": f"{JELLY}, {LD_LINES};q=0.9, application/json;q=0.1"})
    assert refused.status_code == 406
    assert "Jelly" in refused.json()["detail"]


def test_where_the_server_stops_the_document_is_left_unfinished(backend: FakeBackend) -> None:
    hub, follower = Hub(backend, no_store_queries()), backend.follow("s", -1)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if message.get("body") == b"begin":
            hub.stopping.set()

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def answer() -> None:
        hub.bind()
        written = _written(hub, follower, RequestedElements(-1), len(LINES) - 1, b"begin", b"".join)
        await LongResponse(written)({"type": "http", "asgi": {"spec_version": "2.3"}}, never, send)

    run(answer())
    assert [message.get("more_body") for message in sent] == [None, True]
    assert follower.closed
