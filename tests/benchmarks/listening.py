"""Result streams read in a thread of their own: each evaluation with the moment it arrived.

Written on plain asyncio streams, so that listening to hundreds of queries costs the machine next to nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from protocol.time import Instant, parse_instant
from tests.benchmarks.server import Client

_TIME = re.compile(rb'"evaluation":\{"time":"([^"]+)"')


class FailedEvaluation(RuntimeError):
    """A query has an error instead of an answer."""


@dataclass(frozen=True)
class Arrival:
    """An evaluation as it arrived at the client; ``at`` is in seconds of ``time.perf_counter``."""

    query: str
    at: float
    document: bytes

    @property
    def instant(self) -> Instant:
        found = _TIME.search(self.document)
        assert found is not None, self.document
        return parse_instant(found[1].decode())


class Listening:
    """Arrivals of some queries, in order of arrival."""

    def __init__(self, client: Client, queries: Sequence[str], since: str | None) -> None:
        self._client = client
        self._queries = queries
        self._since = since
        self._changed = threading.Condition()
        self._connected = 0
        self._failure: BaseException | None = None
        self.arrivals: list[Arrival] = []

    def wait_for(self, reached: Callable[[list[Arrival]], bool], seconds: float) -> bool:
        """Until ``reached``, which is asked when more has arrived; False when ``seconds`` have passed."""
        with self._changed:
            done = self._changed.wait_for(lambda: self._failure is not None or reached(self.arrivals), seconds)
        if isinstance(self._failure, FailedEvaluation):
            raise self._failure
        if self._failure is not None:
            raise RuntimeError(f"a result stream broke: {self._failure}") from self._failure
        return done

    async def read(self) -> None:
        await asyncio.gather(*map(self._follow, self._queries))

    def wait_connected(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._failure is not None or self._connected == len(self._queries), 60)

    def failed(self, error: BaseException) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    async def _follow(self, query: str) -> None:
        reader, writer = await asyncio.open_connection(self._client.host, self._client.port, limit=1 << 24)
        try:
            since = "" if self._since is None else f"?since={self._since}"
            writer.write(
                f"GET /queries/{query}/results{since} HTTP/1.1\r\nHost: {self._client.host}\r\n"
                "Accept: text/event-stream\r\n\r\n".encode()
            )
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in head.split(b"\r\n", 1)[0]:
                raise RuntimeError(f"{query}: {head.decode(errors='replace')}")
            with self._changed:
                self._connected += 1
                self._changed.notify_all()
            pending = b""
            # Transfer-Encoding: chunked (RFC 9112 section 7.1)
            while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
                pending += (await reader.readexactly(size + 2))[:size].replace(b"\r\n", b"\n")
                *events, pending = pending.split(b"\n\n")
                self._take(query, events)
        finally:
            writer.close()

    def _take(self, query: str, events: Sequence[bytes]) -> None:
        at = time.perf_counter()
        arrived = []
        for event in events:
            if event.startswith(b"event: error"):
                raise FailedEvaluation(f"{query}: {event.decode(errors='replace')}")
            if event.startswith(b"id: ") and b"\ndata: " in event:  # not a heartbeat or progress
                arrived.append(Arrival(query, at, event.partition(b"\ndata: ")[2]))
        if arrived:
            with self._changed:
                self.arrivals += arrived
                self._changed.notify_all()


@contextlib.contextmanager
def listening(client: Client, queries: Sequence[str], *, since: str | None = None) -> Iterator[Listening]:
    """Listen to these queries' result streams, from when all connections stand, until the end of the block."""
    listener = Listening(client, queries, since)
    loop = asyncio.new_event_loop()
    task = loop.create_task(listener.read())

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass  # the block ended
        except Exception as error:
            listener.failed(error)
        finally:
            if left := asyncio.all_tasks(loop):
                loop.run_until_complete(asyncio.wait(left))
            loop.close()

    thread = threading.Thread(target=run, name="listening", daemon=True)
    thread.start()
    try:
        listener.wait_connected()
        yield listener
    finally:
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(task.cancel)
        thread.join(10)


def answers_to(
    post: Callable[[], None], client: Client, queries: Sequence[str], wanted: int, patience: float
) -> tuple[float, list[Arrival]]:
    """Seconds from the beginning of ``post`` to the last of so many answers to these queries, and the answers.

    Raises RuntimeError if they do not come within ``patience`` seconds.
    """
    with listening(client, queries) as results:
        began = time.perf_counter()
        post()
        if not results.wait_for(lambda all_: len(all_) >= wanted, patience):
            raise RuntimeError(f"{len(results.arrivals)} of {wanted} answers came within {patience:.0f} s")
        return results.arrivals[-1].at - began, list(results.arrivals)
