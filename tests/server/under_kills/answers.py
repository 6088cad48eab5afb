"""A query with an answer a second, fed meanwhile, and what a sink has brought of its answers in the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from protocol.formats.sse import resume_token
from tests.server.server_process import ServerProcess
from tests.server.under_kills.messages import MESSAGES, RESULT_TIME

ANSWERS = MESSAGES
LAST = resume_token(ANSWERS * 1000)
_STREAM = "http://example.org/readings"
_QUERY = f"SELECT ?value FROM STREAM <{_STREAM}> [RANGE 1s] WHERE {{ ?reading <http://example.org/value> ?value }}"
_AT_ONCE = 5_000


def stand(server: ServerProcess, sinks: dict[str, dict[str, Any]]) -> None:
    """Make the stream, the query and its sinks."""
    server.event_stream("s", _STREAM, timestampPath=[RESULT_TIME])  # type: ignore[arg-type]  # JSON has lists, too
    server.register("q", _QUERY)
    for name, settings in sinks.items():
        made = server.client.put(f"/queries/q/sinks/{name}", json=settings)
        assert made.status_code == 201, made.text


@contextmanager
def fed(server: ServerProcess) -> Iterator[None]:
    """Post everything, each request until it is answered: the server may be killed in the middle of one."""
    stopped = threading.Event()

    def feed() -> None:
        with httpx.Client(base_url=server.url, timeout=120) as client:
            for first in range(1, ANSWERS + 1, _AT_ONCE):
                body = messages(first, min(first + _AT_ONCE - 1, ANSWERS))
                headers = {"Content-Type": "application/n-triples; messages=rdfm", "Idempotency-Key": f"from-{first}"}
                while not stopped.wait(0) and not _taken(client, "POST", "/streams/s", body, headers):
                    stopped.wait(0.5)
            while not stopped.wait(0) and not _taken(client, "PUT", "/streams/s/watermark", str(ANSWERS * 1000), {}):
                stopped.wait(0.5)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _taken(client: httpx.Client, method: str, path: str, body: str, headers: dict[str, str]) -> bool:
    try:
        return client.request(method, path, content=body, headers=headers).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False  # it is killed, and will be there again


def messages(first: int, last: int) -> str:
    """Messages of these seconds, each with its time."""
    typed = "^^<http://www.w3.org/2001/XMLSchema#dateTime>"
    return "# @message\n".join(
        f'_:r <{RESULT_TIME}> "{time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))}"{typed} .\n'
        f'_:r <http://example.org/value> "{second}" .\n'
        for second in range(first, last + 1)
    )


def check_each_in_order(taken: Sequence[tuple[str, str]], most_again: int) -> None:
    """All answers are there, by id and digest, in their order; at most so many of them again."""
    firsts = list(dict.fromkeys(identifier for identifier, _ in taken))
    print(f"{len(taken)} deliveries of {len(firsts)} answers", flush=True)
    assert firsts == [resume_token(second * 1000) for second in range(1, ANSWERS + 1)]
    assert len(set(taken)) == len(firsts), "the same bytes each time"
    assert len(taken) - len(firsts) <= most_again, "only what was being sent in a crash comes again"
