"""A store in memory, time that passes when the test says so, and listeners whose events are looked at."""

from __future__ import annotations

import asyncio
import heapq
import io
import itertools
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from endpoint.graphs.dataset import dataset_over
from endpoint.live.channel import Entry
from endpoint.live.hub import Hub
from endpoint.live.subscription import RequestedSpan, ResumePoint, SubscriptionItem
from endpoint.live.unregistered_queries import UnregisteredQueries
from endpoint.readers.errors import QueryTimeout
from endpoint.readers.exchange import LinesQuestion
from endpoint.readers.limits import LONG_SECONDS, QueryLimits
from endpoint.readers.lines import write_lines
from endpoint.store_queries.kept import KeptQueries
from endpoint.store_queries.store_queries import StoreQueries
from endpoint.store_queries.store_query import Weight
from protocol.errors import ProtocolError
from protocol.formats import sse
from protocol.grammar.parser import parse_live
from protocol.language.model import ContinuousQuery
from protocol.time import Instant
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import settle, until

BASE = "http://127.0.0.1:8000/sparql"


def live(text: str) -> ContinuousQuery:
    """The query, as the endpoint reads it."""
    return parse_live(text, base=BASE)


class MemoryStore:
    """Changes, and answers as a reader does, at once; ``asked`` has the text of each question.

    ``failure`` is raised instead of an answer. An evaluation that begins while there is a ``held_back`` ends when that
    is set; ``holding`` is how many wait for it. With ``heavy`` these are only the questions that have this text, and
    they end in no short time.
    """

    def __init__(self) -> None:
        self.oxigraph = ox.Store()
        self.version: Instant = 1_000
        self.asked: list[str] = []
        self.failure: ProtocolError | None = None
        self.held_back: asyncio.Event | None = None
        self.holding = 0
        self.heavy = ""
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def update(self, text: str) -> None:
        self.oxigraph.update(text)
        self.version += 10
        for listener in self._listeners:
            listener()

    async def ask(
        self, question: Callable[[Instant], LinesQuestion], limits: QueryLimits, least: Instant
    ) -> tuple[Instant, bytes]:
        version, asked = self.version, question(self.version)
        self.asked.append(asked.text)
        lines = self.lines(asked)
        if self.heavy and self.heavy in asked.text and limits.seconds <= LONG_SECONDS:
            raise QueryTimeout(f"the query was stopped after {limits.seconds:g} s")
        if self.held_back is not None and self.heavy in asked.text:
            self.holding += 1
            try:
                await self.held_back.wait()
            finally:
                self.holding -= 1
        if self.failure is not None:
            raise self.failure
        assert version >= least
        return version, lines

    def lines(self, question: LinesQuestion) -> bytes:
        written = io.BytesIO()
        write_lines(dataset_over(lambda: self.oxigraph), question, written)
        return written.getvalue()


class VirtualTime:
    """Seconds that pass when the test says so, for all who sleep in them."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleeping, (self.now + seconds, next(self._numbers), woken))
        await woken

    async def pass_by(self, seconds: float) -> None:
        """Wake everybody whose time has come, one moment after the other."""
        end = self.now + seconds
        await settle(10)
        while self._sleeping and self._sleeping[0][0] <= end:
            self.now, _, woken = heapq.heappop(self._sleeping)
            if not woken.done():
                woken.set_result(None)
            await settle(10)
        self.now = end


def no_store_queries() -> StoreQueries:
    """For a hub of queries over streams."""
    store = MemoryStore()
    return StoreQueries(store, store.ask, KeptQueries(Path("/nowhere")), QueryLimits())


class Listener:
    """Somebody who listens until ``leave``: what came, in order."""

    def __init__(self, side: LiveSide, query: ContinuousQuery | str, token: Instant | None = None) -> None:
        self.items: list[SubscriptionItem] = []
        self.token = token
        self.there = False
        self._task = asyncio.ensure_future(
            self._listen(side, query, RequestedSpan(None if token is None else sse.ResumeToken(token)))
        )

    async def _listen(self, side: LiveSide, query: ContinuousQuery | str, asked: RequestedSpan) -> None:
        async with AsyncExitStack() as stack:
            if isinstance(query, str):
                subscription = await side.hub.subscribe(query, asked.point)
            else:
                subscription = await stack.enter_async_context(side.unregistered.listening(query, asked))
            self.there = True
            async for item in subscription.items():
                self.items.append(item)

    @property
    def ended(self) -> bool:
        return self._task.done()

    def taken(self) -> list[tuple[str, Any]]:
        """Name and data of the events since it was asked last; ``token`` is then the last id that came."""
        items, self.items = self.items, []
        found: list[tuple[str, Any]] = []
        for item in items:
            if isinstance(item, ResumePoint):
                self.token = item.instant
                continue
            if not isinstance(item, Entry):
                found.append((type(item).__name__, item))
                continue
            for event in item.event.decode().split("\n\n"):
                lines = [line.partition(": ")[::2] for line in event.splitlines()]
                data = "\n".join(value for name, value in lines if name == "data")
                fields = dict(lines)
                if "id" in fields:
                    self.token = sse.parse_resume_token(fields["id"]).instant
                if fields:
                    found.append((fields.get("event", "message"), json.loads(data) if data[:1] == "{" else data))
        return found

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class LiveSide:
    """The live side of an application over a store in memory, with a directory that outlives it."""

    def __init__(self, store: MemoryStore, data: Path, backend: FakeBackend | None = None) -> None:
        self.store = store
        self.time = VirtualTime()
        self.backend = FakeBackend() if backend is None else backend
        self.queries = StoreQueries(
            store, store.ask, KeptQueries(data), QueryLimits(), clock=self.time, sleep=self.time.sleep
        )
        self.hub = Hub(self.backend, self.queries, server_stops=asyncio.Event().wait)  # type: ignore[arg-type]
        self.unregistered = UnregisteredQueries(self.hub)
        self._listeners: list[Listener] = []

    async def start(self) -> LiveSide:
        await self.hub.start()
        await self.queries.start()
        return self

    async def stop(self) -> None:
        await self.hub.stop()
        await self.queries.stop()

    def listen(self, query: ContinuousQuery | str, token: Instant | None = None) -> Listener:
        listener = Listener(self, query, token)
        self._listeners.append(listener)
        return listener

    async def quiet(self, seconds: float = 0.3) -> None:
        """Let so many seconds pass, and whatever is evaluated come to its end."""
        await until(lambda: all(one.there or one.ended for one in self._listeners))
        await settle()
        for _ in range(3):
            await self.time.pass_by(seconds / 3)
            await until(self._is_quiet)
            await settle()

    def _is_quiet(self) -> bool:
        there = [found for one in self.queries.queries() if (found := self.queries.find(one.name)) is not None]
        heavy = [one.weight is Weight.HEAVY for one in there if one.evaluating]
        # Of those that take long all but one wait for their turn.
        return heavy.count(False) + any(heavy) == self.store.holding
