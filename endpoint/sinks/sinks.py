"""All sinks of an application: made, replaced and removed by requests, at work from its start to its stop."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio

from endpoint.backend import QueryDescription
from endpoint.live.hub import AnySubscription, Hub
from endpoint.live.registration import standing_query
from endpoint.live.subscription import NOW
from endpoint.sinks.delivery import Delivery, digest_of
from endpoint.sinks.sink_files import KeptSink, SinkFiles
from endpoint.sinks.target import Target
from endpoint.sinks.targets import require_permitted, target_of
from endpoint.store_queries.question import refuse_past
from endpoint.uninterrupted import uninterrupted
from protocol.errors import NotFound, ProtocolError, Unavailable
from protocol.formats.allow_list import AllowList
from protocol.preconditions import Precondition
from protocol.sinks.settings import SinkSettings
from protocol.time import BEFORE_ALL, FIRST_INSTANT, Instant

logger = logging.getLogger(__name__)

MOST_SINKS = 200
"""Of one endpoint: each has a connection or a file of its own."""

_SYNC_SECONDS = 1.0
_RETRY_SECONDS = 2.0
_GRACE_SECONDS = 2.0
"""For what is being sent when the server stops."""

_ANY = Precondition()


class TooManySinks(Unavailable):
    """There are as many sinks as the endpoint takes."""

    title = "Too many sinks"
    refusal = "sinks"
    retry_after = 60


class MadeSink(NamedTuple):
    """A sink as it was made, or found there, with its query as it was then; whether it is ``new``."""

    delivery: Delivery
    query: QueryDescription
    new: bool


class Sinks:
    """Belongs to the event loop, but for ``backup``.

    ``connect`` makes the target of a sink's settings; ``sleep`` waits for so many seconds.
    """

    def __init__(
        self,
        hub: Hub,
        data: Path,
        allowed: AllowList,
        *,
        connect: Callable[[SinkSettings], Target] | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Read what is kept in the data directory. Raises ValueError for a file that is no sink's."""
        self._hub = hub
        self._files = SinkFiles(data)
        self._allowed = allowed
        self._connect = connect or partial(target_of, write_kafka=hub.backend.write_kafka, allowed=allowed)
        self._sleep = sleep
        self._deliveries = {(sink.query, sink.name): self._delivery(sink) for sink in self._files.kept()}
        self._coming: set[tuple[str, str]] = set()
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._upkeep: asyncio.Task[None] | None = None

    # Life

    def bind(self) -> None:
        """Work in the running event loop; does nothing the second time there."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        # What worked in a loop that is gone goes on in this one, where it was.
        self._loop = loop
        for one in self._deliveries.values():
            one.abandon()
        self._deliveries = {key: self._delivery(one.sink) for key, one in self._deliveries.items()}
        self._tasks = {}
        self._upkeep = loop.create_task(self._keep_up())

    async def stop(self) -> None:
        """End all deliveries; what is being sent has a moment to come to its end."""
        if self._upkeep is not None:
            self._upkeep.cancel()
        for key, task in self._tasks.items():
            delivery = self._deliveries.get(key)
            if delivery is None or not delivery.sending:
                task.cancel()
        if self._tasks:
            _, left = await asyncio.wait(self._tasks.values(), timeout=_GRACE_SECONDS)
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)
        self._tasks.clear()

    async def _keep_up(self) -> None:
        """Begin when the backend is there; then bring positions to the disk, now and then."""
        begun, synced = await self._begun(), True
        while True:
            await self._sleep(_SYNC_SECONDS if begun else _RETRY_SECONDS)
            try:
                await self._hub.threads.run(self._sync, list(self._deliveries.values()))
                synced = True
            except Exception as error:  # also where no thread can be started
                if synced:
                    logger.warning("positions of sinks are not on the disk yet: %s", error)
                synced = False
            begun = begun or await self._begun()

    async def _begun(self) -> bool:
        """Start every sink whose query is there, and set aside what is of no query that is known; whether all is."""
        if not self._deliveries:
            return True
        try:
            absent = {query for query, _ in self._deliveries} - await self._standing()
            # Their queries come back with what they need, and the sinks go on where they were then.
            dormant = absent & await self._hub.threads.run(self._hub.backend.dormant)
            left = dormant | {query for query in absent - dormant if not await self._is_put_away(query)}
        except ProtocolError as error:
            logger.info("sinks wait for the queries: %s", error)
            return False
        except Exception:
            # Whoever asks again may be answered; without that, no sink would ever be at work.
            logger.exception("sinks wait for the queries")
            return False
        for query, name in self._deliveries.keys() - self._coming:  # those that are being made are started then
            if query not in left:
                self._start((query, name))
        return not left

    async def _standing(self) -> set[str]:
        return {one.name for one in await self._hub.threads.run(self._hub.queries.queries) if one.standing}

    async def _is_put_away(self, query: str) -> bool:
        """Set aside the sinks of a query, unless it has been made meanwhile; False: they could not be."""
        async with self._hub.lock(query):
            if query in await self._standing():
                return True
            try:
                await self.set_aside(query)
            except OSError as error:
                logger.warning("there is no query %s, and its sinks cannot be set aside: %s", query, error)
                return False
            return True

    async def set_aside(self, query: str) -> None:
        """Set aside what is kept of the sinks of a query that is not there: whoever takes its name is not to have them.

        Called by whoever has the query's lock. Raises OSError.
        """
        keys = [key for key in self._deliveries if key[0] == query]
        for key in keys:
            await self._end(key)
        aside = await self._hub.threads.run(self._files.set_aside, query)
        if aside is not None:
            logger.warning("there is no query %s: its sinks are set aside in %s", query, aside)
        for key in keys:
            del self._deliveries[key]

    @staticmethod
    def _sync(deliveries: list[Delivery]) -> None:
        failed: OSError | None = None
        for delivery in deliveries:
            try:
                delivery.sync()
            except OSError as error:
                failed = error
        if failed is not None:
            raise failed

    def _delivery(self, sink: KeptSink, former: AnySubscription | None = None) -> Delivery:
        target = self._connect(sink.settings)
        return Delivery(self._hub, self._files, sink, target, former=former, sleep=self._sleep)

    def _start(self, key: tuple[str, str]) -> None:
        if key not in self._tasks:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._deliveries[key].run())

    async def _end(self, key: tuple[str, str]) -> None:
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    # What requests do

    def of(self, query: str) -> list[Delivery]:
        """The sinks of a query, by name."""
        return [one for (of, _), one in sorted(self._deliveries.items()) if of == query]

    def all(self) -> list[Delivery]:
        """Every sink there is."""
        return [one for _, one in sorted(self._deliveries.items())]

    def sink(self, query: str, name: str) -> Delivery:
        """Raises NotFound."""
        delivery = self._deliveries.get((query, name))
        if delivery is None:
            raise NotFound(f"the query {query!r} has no sink {name!r}")
        return delivery

    async def put(
        self, query: str, name: str, settings: SinkSettings, since: Instant | None, condition: Precondition = _ANY
    ) -> MadeSink:
        """Make the sink, or replace the one of this name, which goes on where that was.

        It begins with the first evaluation from now on, or after ``since``. The very settings that are there change
        nothing without that. Raises NotFound for a query that does not stand, SinkRefused, NotSendable,
        InvalidSinkSettings, TooManySinks, PreconditionFailed and StorageFull, with nothing changed.
        """
        require_permitted(settings, self._allowed)
        key = (query, name)
        async with self._hub.lock(query):
            description = await standing_query(self._hub, query)
            there = self._deliveries.get(key)
            condition.require(there is not None, f"the sink {name} of {query}")
            settings.require_answers_of(description.query)
            refuse_past(description.query, since)
            if there is not None and there.sink.settings == settings and since is None:
                return MadeSink(there, description, new=False)
            with self._place(key):
                begin = await self._beginning(description, since) if there is None or since is not None else None
                # It is not to be half replaced when the client leaves.
                await uninterrupted(self._make(key, settings, digest_of(description), begin))
            return MadeSink(self._deliveries[key], description, new=there is None)

    async def _make(self, key: tuple[str, str], settings: SinkSettings, digest: str, begin: Instant | None) -> None:
        """Make a sink that begins after ``begin``, or (None) where the one that it replaces was, in its ``_place``."""
        # Its own, before its position is written by another.
        await self._end(key)
        there, former = self._deliveries.get(key), None
        if there is not None and begin is None:
            # If the query was replaced, and that one has not changed over yet, this one does.
            digest, former = there.sink.digest, there.subscription
        sink = KeptSink(*key, settings, digest)
        await self._hub.threads.run(self._files.write, sink, begin)
        new = self._delivery(sink, former)
        # Whoever made the sink may look before it is at work.
        new.state.position = there.state.position if there is not None and begin is None else begin
        self._deliveries[key] = new

    @contextmanager
    def _place(self, key: tuple[str, str]) -> Iterator[None]:
        """The place of a sink, also of one that is being made; it is at work afterwards, also where that failed and one
        was there before. Raises TooManySinks if there is none left.
        """
        if key not in self._deliveries and len(self._deliveries.keys() | self._coming) >= MOST_SINKS:
            raise TooManySinks(f"there are {MOST_SINKS} sinks, which is as many as an endpoint takes: delete some")
        self._coming.add(key)
        try:
            yield
        finally:
            self._coming.remove(key)
            if key in self._deliveries:
                self._start(key)

    async def _beginning(self, description: QueryDescription, since: Instant | None) -> Instant:
        """After which instant the sink begins: ``since``, or where the next evaluation comes; of a live query with the
        answer now.
        """
        if description.query.one_shot is not None:
            return BEFORE_ALL
        begin = since
        if begin is None:
            begin = (await self._hub.subscribe(description.name, NOW)).position
        if begin is None:
            begin = description.start
        if begin not in (None, BEFORE_ALL):
            return begin
        retained = await self._hub.threads.run(self._hub.backend.retained_from, description.name)
        # As long as all is held, a time says more than the beginning, which is whatever is held when it is asked for:
        # what retention takes before the first delivery is told.
        return FIRST_INSTANT if retained is None else BEFORE_ALL

    async def remove(self, query: str, name: str, condition: Precondition = _ANY) -> None:
        """Raises NotFound, PreconditionFailed."""
        key = (query, name)
        async with self._hub.lock(query):
            condition.require(key in self._deliveries, f"the sink {name} of {query}")
            self.sink(query, name)
            with self._place(key):
                await uninterrupted(self._remove(key))

    async def _remove(self, key: tuple[str, str]) -> None:
        await self._end(key)
        # While it is on the disk, it is there: the next start would find it.
        await self._hub.threads.run(self._files.remove, *key)
        del self._deliveries[key]

    async def forget(self, query: str) -> None:
        """The query is removed, and its sinks with it. Called by whoever has the query's lock."""
        for key in [key for key in self._deliveries if key[0] == query]:
            del self._deliveries[key]
            await self._end(key)
        try:
            await self._hub.threads.run(self._files.remove_all, query)
        except OSError as error:
            logger.warning("the sinks of the query %s, which is removed, cannot be: %s", query, error)
            await self._leave_aside(query)

    async def _leave_aside(self, query: str) -> None:
        """Have the next start find nothing of a query that is removed: its name may be another's by then."""
        try:
            await self.set_aside(query)
        except OSError as error:
            logger.error("nor can they be set aside: %s", error)

    def counts(self) -> Counter[str]:
        """How many sinks each query has."""
        return Counter(query for query, _ in self._deliveries)

    def backup(self, directory: Path) -> None:
        """Copy settings and positions into another data directory, from any thread. Raises OSError."""
        self._files.backup(directory)
