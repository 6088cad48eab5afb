"""An endpoint follows a stream of another: each of its elements once."""

from __future__ import annotations

from endpoint.sources.sse.connection import SseConnection
from protocol.sources import SourceSettings, SourceType
from protocol.streams import StreamElement, StreamSettings
from tests.endpoint.running_server import running_server
from tests.endpoint.sources.live_feeds import Log, eventually, running

NQUADS = "application/n-quads"


def test_the_elements_of_another_endpoint_come_once_each() -> None:
    log = Log()
    with running_server() as server:
        server.backend.create_stream("s", StreamSettings("http://ex/s"))
        lines = [f"<http://ex/{number}> <http://ex/p> <http://ex/o> .\n".encode() for number in range(6)]
        url = f"{server.url}/streams/s"
        settings = SourceSettings(SourceType.SSE, f"{url}?since=beginning")
        for count in (2, 4, 6):
            with running(SseConnection, settings, log, url):
                held = server.backend.followed
                held[:] = [StreamElement(number, number, lines[number]) for number in range(count)]
                eventually(lambda count=count: len(log.bodies) >= count)  # type: ignore[misc]
    assert log.bodies == [line.rstrip(b"\n") for line in lines]
    assert log.content_types == {NQUADS}
