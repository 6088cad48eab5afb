"""An endpoint's sinks, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from endpoint.live.channel import Bounds
from endpoint.live.hub import Hub
from endpoint.sinks.sinks import Sinks
from endpoint.sinks.target import Target
from protocol.formats.allow_list import AllowList
from protocol.sinks.settings import SinkSettings, SinkType
from protocol.streams import StreamSettings
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, answer, continuous, until
from tests.endpoint.sinks.receivers import FakeTarget
from tests.endpoint.store_queries.store_side import no_store_queries

WEBHOOK = SinkSettings(SinkType.WEBHOOK, "http://receiver.example/in", "json")
OTHER = SinkSettings(SinkType.WEBHOOK, "http://receiver.example/other", "json")
ALLOWED = AllowList.of(["http://receiver.example/"])


class World:
    """One endpoint's sinks over a fake backend with the query ``q``; each address has a target of its own."""

    def __init__(self, data: Path, bounds: Bounds | None = None) -> None:
        self.backend = FakeBackend()
        self.backend.create_stream("s", StreamSettings(STREAM))
        self.backend.register("q", continuous(), standing=True)
        self.data = data
        self.bounds = bounds
        self.targets: dict[str, FakeTarget] = {}
        self.waits: list[float] = []
        self.come_back = asyncio.Event()
        """Until then, who waits for more than five minutes waits."""
        self.come_back.set()

    def target(self, settings: SinkSettings) -> FakeTarget:
        return self.targets.setdefault(settings.url, FakeTarget())

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0.001)
        if seconds > 300:
            await self.come_back.wait()

    @asynccontextmanager
    async def at_work(
        self, allowed: AllowList = ALLOWED, connect: Callable[[SinkSettings], Target] | None = None
    ) -> AsyncIterator[Sinks]:
        """``connect``: what makes targets, in place of ``target``."""

        async def never() -> None:
            await asyncio.Event().wait()

        self.hub = Hub(self.backend, no_store_queries(), bounds=self.bounds, server_stops=never)
        self.hub.bind()
        self.backend.listen(self.hub.receive)
        sinks = Sinks(self.hub, self.data, allowed, connect=connect or self.target, sleep=self.sleep)
        sinks.bind()
        try:
            yield sinks
        finally:
            await sinks.stop()
            await self.hub.stop()

    def evaluate(self, *instants: int) -> None:
        for instant in instants:
            self.backend.evaluate("q", instant, answer(instant))

    async def begun(self, sinks: Sinks) -> FakeTarget:
        """The target of a new sink ``a`` of ``q``, which has had the answer of 1000."""
        await sinks.put("q", "a", WEBHOOK, None)
        self.evaluate(1000)
        target = self.targets[WEBHOOK.url]
        await until(lambda: target.instants == [1000])
        return target
