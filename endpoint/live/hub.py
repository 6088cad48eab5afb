"""The hub: from the backend's notices to whoever listens, by query (docs/http.md, "Result streams")."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from weakref import WeakValueDictionary

import anyio

from endpoint.backend import Backend, Ended, Evaluation, Gone, Notice, Outcome, Progress, QueryDescription
from endpoint.live.all_queries import AllQueries
from endpoint.live.arrivals import Arrivals
from endpoint.live.backend_threads import BackendThreads
from endpoint.live.channel import Bounds, Channel
from endpoint.live.replay import History
from endpoint.live.server_stop import forget_former_server, server_stops
from endpoint.live.store_subscription import StoreSubscription
from endpoint.live.subscription import StartingPoint, Subscription
from endpoint.live.turns import Turns
from endpoint.store_queries.store_queries import StoreQueries
from protocol.errors import NotFound, Unavailable
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.language.model import ContinuousQuery
from protocol.time import BEFORE_ALL, Instant

logger = logging.getLogger(__name__)

AnySubscription = Subscription | StoreSubscription
"""A listener's way through the answers of a query of either kind."""

_NEWEST = Bounds(entries=2)
_RETRY_SECONDS = 2.0


class Hub:
    """One an application: gives each evaluation, encoded once, to all listeners of its query.

    The backend's threads hand notices over in ``receive``; all else happens in one event loop. It expects that
    notices of a query come in order, and that those of one that was removed or replaced are handed over before
    ``remove`` or ``register`` returns.

    ``threads`` are for whoever calls the ``backend``, or ``queries``, from the event loop. ``arrivals`` has those wait
    who listen to streams. ``stopping`` is set when the server is told to stop: it waits for its responses, and calls
    ``stop`` only after that.
    """

    def __init__(
        self,
        backend: Backend,
        of_store: StoreQueries,
        *,
        bounds: Bounds | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        server_stops: Callable[[], Awaitable[None]] = server_stops,
    ) -> None:
        self.backend = backend
        self.queries = AllQueries(backend, of_store, self._tell_replaced)
        of_store.tell = self.tell
        self.threads = BackendThreads()
        self.sleep = sleep
        self.stopping = asyncio.Event()
        self._turns = Turns()
        self.arrivals = Arrivals(self.threads, self.stopping, self._turns)
        self._server_stops = server_stops
        self._watch: asyncio.Task[None] | None = None
        self._sorting: asyncio.Task[None] | None = None
        self._bounds = bounds if bounds is not None else Bounds()
        self._channels: dict[str, Channel] = {}
        self._continued: set[str] = set()
        """The queries that are registered anew as what they are: their listeners go on."""
        self._doubled: set[str] = set()
        """The names of which one of two queries is removed, which is not the one that has listeners."""
        self._handover = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # From the backend's threads

    def receive(self, notices: Sequence[Notice]) -> None:
        """Take a micro-batch's notices, in order per query, from any thread. Never waits for a listener."""
        with self._handover:
            loop = self._loop
            if loop is None or loop.is_closed():
                return  # Nobody has asked for anything yet, or any more.
            try:
                loop.call_soon_threadsafe(self._deliver, tuple(notices))
            except RuntimeError:
                if not loop.is_closed():
                    raise

    def _tell_replaced(self, name: str) -> None:
        self.receive([Gone(name, "the query was replaced", replaced=True)])

    async def start(self) -> None:
        """Deliver in the running event loop."""
        self.bind()

    def keep_one_of_each(self) -> None:
        """Have one query of each name, where a crash has left both kinds, as soon as the backend is there.

        For the start, before anything is asked. Until that is done, nobody registers or removes those that may be two.
        """
        if names := [one.name for one in self.queries.of_store.queries()]:
            self._sorting = asyncio.get_running_loop().create_task(self._keep_one_of_each(names))

    async def _keep_one_of_each(self, names: Sequence[str]) -> None:
        while not await self._has_kept_one_of_each(names):
            await self.sleep(_RETRY_SECONDS)

    async def _has_kept_one_of_each(self, names: Sequence[str]) -> bool:
        """False: the backend is not there yet."""
        async with AsyncExitStack() as stack:
            for name in names:
                await stack.enter_async_context(self.lock(name))
            # What is over streams alone by now stays.
            left = [name for name in names if self.queries.of_store.find(name) is not None]
            self._doubled.update(left)
            try:
                for name in await self.threads.run(self.queries.keep_one_of_each, left):
                    self.end(name, "the query was removed")
            except Unavailable:
                return False
            except Exception:
                logger.exception("of some names there may be two queries, until the next start")
            finally:
                self._doubled.difference_update(left)
        return True

    async def stop(self) -> None:
        """Close all listeners' streams, without an ``end``: after a restart they resume."""
        if self._sorting is not None:
            # What the backend is doing for it is waited for all the same.
            self._sorting.cancel()
            await asyncio.wait([self._sorting])
        if self._watch is not None:
            self._watch.cancel()
        self._let_go()
        self._channels.clear()

    def bind(self) -> None:
        """Make the running event loop the one that delivers. Called for every request; costs nothing the second time.

        A mounted application is never told of its start, so the first request must do.
        """
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        with self._handover:
            if self._loop is not None and not self._loop.is_closed():
                raise RuntimeError("the hub serves one event loop at a time")
            # Locks and wake-up events of a loop that is gone cannot be waited for in this one.
            self._channels.clear()
            self._locks = WeakValueDictionary()
            self._loop = loop
        self.stopping = asyncio.Event()
        self._turns = Turns()
        self.arrivals = Arrivals(self.threads, self.stopping, self._turns)
        forget_former_server()
        self._watch = loop.create_task(self._stop_with_the_server())

    async def _stop_with_the_server(self) -> None:
        await self._server_stops()
        self._let_go()

    def _let_go(self) -> None:
        self.stopping.set()
        for channel in self._channels.values():
            channel.close()

    def _deliver(self, notices: Sequence[Notice]) -> None:
        watermarks: dict[str, Instant] = {}
        for notice in notices:
            if isinstance(notice, Progress):
                watermarks[notice.query] = max(notice.watermark, watermarks.get(notice.query, notice.watermark))
        touched: set[Channel] = set()
        for notice in notices:
            if isinstance(notice, Gone):
                if not self._goes_on(notice):
                    self.end(notice.query, notice.reason)
                continue
            # Without a channel nobody has asked for the query: what is missed here can be replayed.
            channel = self._channels.get(notice.query)
            if channel is None or channel.ended is not None:
                continue
            if isinstance(notice, Ended):
                channel.ended = notice.reason
            else:
                channel.take(notice, watermarks.get(notice.query, BEFORE_ALL))
            touched.add(channel)
        for channel in touched:
            channel.wake()

    def _goes_on(self, notice: Gone) -> bool:
        """Whether there is something for the listeners all the same."""
        return notice.query in (self._continued if notice.replaced else self._doubled)

    def tell(self, name: str, notices: Sequence[Outcome]) -> None:
        """Take what is new of a live query, in the event loop; without any, its listeners look by themselves."""
        channel = self._channels.get(name)
        if channel is not None and channel.ended is None:
            for notice in notices:
                channel.take(notice, BEFORE_ALL)
            channel.wake()

    # Queries

    async def register(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        since: Instant | None,
        previous: QueryDescription | None,
        same: bool = False,
        landmark: Instant | None = None,
        limits: EvaluationLimits = NO_LIMITS,
    ) -> QueryDescription:
        """Register the query in place of ``previous``, and describe it. Raises what ``AllQueries.register`` raises.

        Listeners of the previous one are told that it has ended, unless it is the ``same`` query, whose start is
        moved back: what comes again is then dropped. ``landmark`` is as in ``Backend.register``.
        """
        if previous is None:
            self.end(name, "the query was removed")
            # Opened before the query runs: it holds everything from the very first evaluation on.
            self._open(name, query, floor=BEFORE_ALL)
        former = self._channels.get(name)
        if same:
            self._continued.add(name)
        if query.one_shot is not None:
            self._doubled.add(name)
        try:
            # What reads no stream is not compiled, nor waits for a backend that is starting.
            run = self.threads.run_registration if query.one_shot is None else self.threads.run
            await run(
                lambda: self.queries.register(
                    name, query, standing=standing, since=since, landmark=landmark, limits=limits
                )
            )
            description = await self.threads.run(self.queries.query, name)
        except BaseException:
            if previous is None:
                self.end(name, "the query could not be registered")
            raise
        finally:
            self._continued.discard(name)
            self._doubled.discard(name)
        if previous is not None and not same:
            if former is not None:
                former.successor = description.start
            if self._channels.get(name) is former:
                # Who has come since listens to the new one.
                self.end(name, "the query was replaced")
        channel, start = self._channels.get(name), description.start
        if previous is None and channel is not None and channel.floor is not None and start is not None:
            # What is before the start can be asked for all the same: it is in the log.
            channel.floor = max(channel.floor, start)
            channel.start = start
        return description

    # Channels

    def _open(self, name: str, query: ContinuousQuery, *, floor: Instant | None = None) -> Channel:
        # Of a live query nobody is given what is past.
        bounds = self._bounds if query.one_shot is None else _NEWEST
        channel = self._channels[name] = Channel(name, bounds, floor=floor, turns=self._turns)
        if self.stopping.is_set():
            channel.close()
        return channel

    def end(self, name: str, reason: str) -> None:
        """Tell the query's listeners that nothing follows, and forget it."""
        channel = self._channels.pop(name, None)
        if channel is not None:
            channel.end(reason)

    def listeners(self) -> dict[str, int]:
        """How many listen to each query, where anybody does."""
        return {name: channel.listeners for name, channel in self._channels.items() if channel.listeners}

    def lock(self, name: str) -> asyncio.Lock:
        """Held by whoever makes, replaces or removes the query or the stream of this name."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    # Listening

    async def subscribe(self, name: str, start: StartingPoint) -> AnySubscription:
        """Join a query's result stream; what is given out from now on is not missed. Raises NotFound."""
        channel, description = await self._joined(name)
        if description.query.one_shot is not None:
            of_store = self.queries.of_store
            query = of_store.find(name)
            if query is None:
                return await self.subscribe(name, start)  # Since then it was removed, or replaced by one over streams.
            return StoreSubscription(channel, of_store, query, start)
        history = History(self.backend, self.threads, name, sleep=self.sleep, stopping=self.stopping)
        return Subscription(channel, history, description, start)

    async def latest(self, name: str) -> tuple[QueryDescription, Evaluation | None]:
        """The query, and its latest answer: the one held, or the one of the last instant, computed again. Raises
        NotFound.

        Of a live query it is the answer now. Raises what its evaluation raises.
        """
        of_store = self.queries.of_store
        if (query := of_store.find(name)) is not None:
            return of_store.describe(query), await of_store.latest(query)
        channel, description = await self._joined(name)
        if channel.latest is None and description.evaluated is not None:
            latest = await self.threads.run_replay(lambda: self.backend.latest(name))
            if channel.gone:
                return await self.latest(name)  # It may be that of another query.
            channel.remember([] if latest is None else [latest])
        return description, channel.latest

    async def _joined(self, name: str) -> tuple[Channel, QueryDescription]:
        there = self._channels.get(name)
        description = await self.threads.run(self.queries.query, name)
        channel = self._channels.get(name)
        opened = channel is None
        if channel is None:
            channel = self._open(name, description.query)
        if channel is not there:
            try:
                # Asked once more, now that it is there: between the description and its first notice is no gap.
                description = await self.threads.run(self.queries.query, name)
            except NotFound:
                if opened and self._channels.get(name) is channel:
                    del self._channels[name]
                raise
        if channel.start is None:
            channel.start = description.start
        return channel, description
