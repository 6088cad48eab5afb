"""Continuous queries that nobody registered: they run while someone listens, shared by text, and a while longer."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

from endpoint.backend import QueryDescription
from endpoint.live.hub import AnySubscription, Hub
from endpoint.live.registration import query_identity
from endpoint.live.subscription import BEGINNING, NOW, RequestedSpan, StartingPoint
from protocol.errors import Conflict, NotFound, Unavailable
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.language.model import ContinuousQuery
from protocol.time import FIRST_INSTANT, Instant
from protocol.windows.spec import begins_with_query

logger = logging.getLogger(__name__)

RESUME_WINDOW = 60.0
"""Seconds a query goes on running after its last listener has left."""


class TooManyUnregistered(Unavailable):
    """As many continuous queries run for their listeners alone as the endpoint takes."""

    title = "Too many continuous queries"
    refusal = "live_queries"
    retry_after = 10


@dataclass
class _Held:
    """A query registered here: how many use it, when the last one left (None while somebody does).

    ``since`` is the start asked for; the backend may give a later one, where retention reaches no further back.
    """

    users: int = 0
    idle_since: float | None = None
    since: Instant | None = None


def _call_later(seconds: float, callback: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(seconds, callback)


class UnregisteredQueries:
    """The same query asked by many is registered once in the backend, under a name that its text determines.

    At most ``maximum`` of them run; where there are so many, one that nobody listens to any more makes room for
    a new one. ``clock`` gives seconds that never step back; ``call_later`` calls in so many of them.
    """

    def __init__(
        self,
        hub: Hub,
        *,
        maximum: int = 100,
        clock: Callable[[], float] = time.monotonic,
        resume_window: float = RESUME_WINDOW,
        call_later: Callable[[float, Callable[[], None]], object] = _call_later,
    ) -> None:
        self._hub = hub
        self._maximum = maximum
        self._clock = clock
        self._window = resume_window
        self._call_later = call_later
        self._held: dict[str, _Held] = {}
        self._sweeps: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(
        self, query: ContinuousQuery, asked: RequestedSpan, limits: EvaluationLimits = NO_LIMITS
    ) -> AsyncGenerator[AnySubscription, None]:
        """A subscription to the query, which runs at least as long; one evaluation may take what the ``limits`` say.

        Raises TooManyUnregistered, what registering it raises, and Conflict where what it reads is deleted meanwhile.
        """
        landmark = _known_landmark(query, asked)
        began = _landmark(query, asked, landmark)
        name = await self._name(query, asked, landmark, began, limits)
        while name not in self._held and len(self._held) >= self._maximum:
            await self._make_room()
        # Counted first: whatever happens from here on, the query is removed some time after it.
        held = self._held.setdefault(name, _Held())
        held.users += 1
        held.idle_since = None
        try:
            with _begun():
                async with self._hub.lock(name):
                    wanted = _wanted_start(query, asked)
                    started = await self._ensure_running(name, query, wanted, limits, held, began)
                    running = await self._described(name, query)
                    if running is not None and asked.is_of_others(running):
                        await self._ensure_running(name, query, FIRST_INSTANT, limits, held)
                # The first answer of a query may be out before its first listener is there.
                start = started if started is not None and asked.point == NOW else asked.point
                if asked.token is not None:
                    start = replace(start, landmark=landmark)
                subscription = await self._hub.subscribe(name, start)
            subscription.until = asked.until
            yield subscription
        finally:
            self._release(held)

    async def _name(
        self,
        query: ContinuousQuery,
        asked: RequestedSpan,
        landmark: Instant | None,
        began: Instant | None,
        limits: EvaluationLimits,
    ) -> str:
        """Under which name the query runs for a listener: see ``_known_landmark`` and ``_landmark``.

        Where windows begin with the query, one that began elsewhere is another: who goes on after an event goes on
        with the query that gave it, where that still runs, and else with one of its own that begins where that did.
        """
        name = unregistered_name(query, asked.since, limits)
        if asked.token is None or began is None:
            return name
        running = await self._described(name, query)
        if running is not None and running.landmark == landmark and not asked.is_of_others(running):
            return name
        return unregistered_name(query, (began, asked.token.incarnation), limits)

    async def sweep(self) -> None:
        """Remove the queries that nobody has listened to for the resume window."""
        for name in [name for name, held in self._held.items() if self._expired(held)]:
            await self._remove(name, self._expired)

    async def _make_room(self) -> None:
        """Remove the query that nobody has listened to for longest. Raises TooManyUnregistered if all are in use."""
        idle = {name: held.idle_since for name, held in self._held.items() if held.idle_since is not None}
        if not idle:
            raise TooManyUnregistered(
                f"{self._maximum} continuous queries that nobody registered are running, which is as many as this "
                "endpoint takes (max_live_queries): try again later, or listen to a registered query"
            )
        await self._remove(min(idle, key=lambda name: idle[name]), lambda held: held.idle_since is not None)

    async def _remove(self, name: str, removable: Callable[[_Held], bool]) -> None:
        """Remove a query, unless it is not removable any more once its turn has come."""
        async with self._hub.lock(name):
            held = self._held.get(name)
            if held is None or not removable(held):
                return
            del self._held[name]
            try:
                await self._hub.threads.run(self._hub.queries.remove, name)
            except NotFound:
                logger.debug("%s was gone already", name)
            except BaseException:  # who asked for it may be cancelled before it is done
                # It runs, and is to be removed later; unless somebody has come for it meanwhile.
                self._held.setdefault(name, held)
                self._sweep_later()
                raise
            self._hub.end(name, "nobody listened any more")

    def _expired(self, held: _Held) -> bool:
        return held.idle_since is not None and self._clock() - held.idle_since >= self._window

    async def _ensure_running(
        self,
        name: str,
        query: ContinuousQuery,
        since: Instant | None,
        limits: EvaluationLimits,
        held: _Held,
        landmark: Instant | None = None,
    ) -> StartingPoint | None:
        """Register the query where it does not run, or not from ``since`` on; its start if it did not run.

        ``landmark``: as in ``Backend.register``; of one that runs it is the same.

        The lock of the name is held.
        """
        running = await self._described(name, query)
        if running is not None and running.state not in ("ended", "failed"):
            if since is not None and running.start is not None and since < _asked_start(held, running.start):
                await self._hub.register(
                    name, query, standing=False, since=since, previous=running, same=True, landmark=landmark,
                    limits=limits,
                )  # fmt: skip
                held.since = since
            return None
        await self._hub.register(
            name, query, standing=False, since=since, previous=running, landmark=landmark, limits=limits
        )
        held.since = since
        now = await self._described(name, query)
        return BEGINNING if now is None or now.start is None else StartingPoint(now.start)

    async def _described(self, name: str, query: ContinuousQuery) -> QueryDescription | None:
        if query.one_shot is not None:
            # The backend, for which one would wait while it is starting, knows nothing of it.
            return self._hub.queries.of_store.query(name)
        try:
            return await self._hub.threads.run(self._hub.queries.query, name)
        except NotFound:
            return None

    def _release(self, held: _Held) -> None:
        held.users -= 1
        if held.users == 0:
            held.idle_since = self._clock()
            self._sweep_later()

    def _sweep_later(self) -> None:
        # A little later than the window: timers may fire a moment early.
        self._call_later(self._window + 0.1, self._sweep_soon)

    def _sweep_soon(self) -> None:
        task = asyncio.get_running_loop().create_task(self.sweep())
        self._sweeps.add(task)
        task.add_done_callback(self._swept)

    def _swept(self, task: asyncio.Task[None]) -> None:
        self._sweeps.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Unavailable):
            # The server stops, and the queries with it.
            logger.debug("queries nobody listens to are left: %s", error)
        elif error is not None:
            logger.error("queries nobody listens to could not be removed", exc_info=error)


def unregistered_name(
    query: ContinuousQuery, since: Instant | tuple[Instant, int] | None, limits: EvaluationLimits = NO_LIMITS
) -> str:
    """The name of a query that nobody named: the same for the same text, read against the same base IRI.

    Who asks for the past gets a query of its own, so that nobody waits while it catches up; among those who ask for
    the same past, and the same limits, it is shared as well. ``since`` may be where windows began that had begun with
    the query before it was registered anew, and the incarnation of its streams.
    """
    identity = (*query_identity(query), since, limits)
    return "live-" + hashlib.sha256(repr(identity).encode()).hexdigest()[:32]


@contextmanager
def _begun() -> Iterator[None]:
    """A query is registered and joined within: of its name, which it was given here, nobody outside knows."""
    try:
        yield
    except NotFound:
        raise Conflict("what the query reads was deleted while it was begun: ask again") from None


def _asked_start(held: _Held, start: Instant) -> Instant:
    return start if held.since is None else min(held.since, start)


def _known_landmark(query: ContinuousQuery, asked: RequestedSpan) -> Instant | None:
    """Where the windows began that begin with the query, for the answer that the client had last; None: unknown, or
    there are none. Ids that an earlier version gave do not say it, but the URL may.
    """
    if asked.token is None or not _has_landmark(query):
        return None
    if asked.token.landmark is not None:
        return asked.token.landmark
    return None if asked.since is None else max(asked.since, FIRST_INSTANT)


def _landmark(query: ContinuousQuery, asked: RequestedSpan, known: Instant | None) -> Instant | None:
    """Where these windows are to begin: where they began, or after the last event; None: with the query's start."""
    if asked.token is None or not _has_landmark(query):
        return None
    return asked.token.instant if known is None else known


def _has_landmark(query: ContinuousQuery) -> bool:
    return any(begins_with_query(member.window) for member in query.windows)


def _wanted_start(query: ContinuousQuery, asked: RequestedSpan) -> Instant | None:
    """Where the query must start at the latest to give what is asked for; a live query has no past.

    Before the event the client had last, not after it: ISTREAM and DSTREAM compare the next answer with that one.
    """
    if asked.token is not None:
        return asked.token.instant - 1 if query.one_shot is None else None
    return None if asked.since is None else max(asked.since, FIRST_INSTANT)
