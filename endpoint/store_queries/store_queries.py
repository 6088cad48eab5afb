"""All live queries of an endpoint, and the rounds in which they are evaluated."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.to_thread

from endpoint.backend import Evaluation, Outcome, QueryDescription
from endpoint.readers.errors import QueryTimeout
from endpoint.readers.exchange import LinesQuestion
from endpoint.readers.limits import LONG_SECONDS, QueryLimits
from endpoint.store_queries.kept import KeptAnswer, KeptQueries, KeptQuery
from endpoint.store_queries.question import question
from endpoint.store_queries.store_query import Change, StoreQuery, Weight
from protocol.errors import NotFound, ProtocolError, Unavailable
from protocol.evaluation_limits import EvaluationLimits
from protocol.language.model import ContinuousQuery
from protocol.time import Instant

logger = logging.getLogger(__name__)

GATHER_SECONDS = 0.05
"""What changes within so long is answered together."""

INTERVAL_SECONDS = 0.1
"""From the beginning of one evaluation of a query to that of the next, at least."""

_EARLY = 0.01
"""Seconds by which a timer may be early."""

_RETRY_SECONDS = 1.0
_FORGET_SECONDS = 120.0
"""After a start, those who listened before have so long to come back: after that their answers are forgotten."""

_THREADS = 2


class UnforeseenFailure(ProtocolError):
    """An evaluation failed in a way that nobody foresaw; the server's log has more."""

    status = 500
    title = "An evaluation failed"


class ChangingStore(Protocol):
    """What is known here of the store."""

    @property
    def version(self) -> Instant:
        """The instant of its last change."""

    def listen(self, listener: Callable[[], None]) -> None:
        """Have this called after each change."""


Ask = Callable[[Callable[[Instant], LinesQuestion], QueryLimits, Instant], Awaitable[tuple[Instant, bytes]]]
"""Answers a question over a state of the store that is not before this one: which one it was, and the lines.

What the question is follows from the state, which is known only then.
"""

Tell = Callable[[str, Sequence[Outcome]], None]
"""Tells those who listen to the query of this name what is new, or (nothing) to look by themselves."""


class StoreQueries:
    """A query is evaluated while somebody listens to it: when it was never before, and when the store has changed.

    Changes are answered in rounds, a tenth of a second apart at least, all queries of a round over the same state. One
    that is still being evaluated is left out, and evaluated again, for the newest state, when that is over.

    ``register``, ``remove`` and descriptions are for any thread, all else for the event loop that calls ``start``.
    ``clock`` gives seconds that never step back, ``sleep`` waits for so many.
    """

    def __init__(
        self,
        store: ChangingStore,
        ask: Ask,
        kept: KeptQueries,
        limits: QueryLimits,
        *,
        at_once: int = 1,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Read what is kept. ``limits`` are those of one evaluation. ValueError names a file that is no query's."""
        self.tell: Tell = lambda name, notices: None
        self._store = store
        self._ask = ask
        self._kept = kept
        self._limits = limits
        self._at_once = at_once
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        # Held by whoever writes what is kept: one at a time, and an answer only of the query that has the name.
        self._keeping = threading.Lock()
        self._queries = {
            one.name: StoreQuery(
                one.name, one.query, standing=True, limits=one.limits, start=one.start, kept=_own_answer(kept, one)
            )
            for one in kept.queries()
        }
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads: anyio.CapacityLimiter | None = None
        self._first_turns, self._heavy_turns = asyncio.Semaphore(at_once), asyncio.Semaphore(at_once)
        store.listen(self._store_changed)

    # Life

    async def start(self) -> None:
        """Evaluate in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._first_turns, self._heavy_turns = asyncio.Semaphore(self._at_once), asyncio.Semaphore(self._at_once)
        self._run(self._rounds())
        self._run(self._forget_answers())

    async def stop(self) -> None:
        """End what is being evaluated."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._loop = None

    def _store_changed(self) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._changed.set)
            except RuntimeError:
                if not loop.is_closed():
                    raise

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Which there are

    def register(self, name: str, query: ContinuousQuery, *, standing: bool, limits: EvaluationLimits) -> None:
        """Keep a query, in place of the one of this name. Raises StorageFull."""
        start: Instant | None = None
        with self._keeping:
            if standing:
                # Later than all that a query of this name has given out: whoever had that has nothing of this one.
                start = max(int(time.time() * 1000), self._store.version + 1)
                self._kept.write(KeptQuery(name, query, limits, start))
            kept = None if standing else self._kept.answer(name)
            with self._lock:
                self._queries[name] = StoreQuery(name, query, standing=standing, limits=limits, start=start, kept=kept)

    def remove(self, name: str) -> bool:
        """Forget a query; whether there was one. Raises OSError, and then it is there as before."""
        with self._keeping:
            there = self.find(name) is not None
            if there:
                # While it is on the disk, it is there: the next start would find it.
                self._kept.remove(name)
                with self._lock:
                    del self._queries[name]
        return there

    def find(self, name: str) -> StoreQuery | None:
        """The query of this name, if there is one."""
        with self._lock:
            return self._queries.get(name)

    def queries(self) -> list[QueryDescription]:
        """All of them, as they are now."""
        with self._lock:
            there = list(self._queries.values())
        return [self.describe(one) for one in there]

    def query(self, name: str) -> QueryDescription | None:
        """The one of this name, if there is one."""
        found = self.find(name)
        return None if found is None else self.describe(found)

    def describe(self, query: StoreQuery) -> QueryDescription:
        """It as it is now."""
        seconds = query.limits.seconds
        return query.description(seconds if seconds is not None and seconds < self._limits.seconds else None)

    def plan(self, name: str, *, measured: bool = False) -> str:
        """As ``Backend.plan``. Raises NotFound."""
        query = self.find(name)
        if query is None:
            raise NotFound(f"there is no query {name!r}")
        asked = question(query.query, self._store.version)
        seconds = self._limits.asked(query.limits.seconds).seconds
        graphs = ", ".join(f"<{iri}>" for iri in (*asked.default_graphs, *asked.named_graphs)) or "all of the store"
        operators = "\nnot measured: Oxigraph tells nothing of its operators\n" * measured
        order = "as the query orders them" if asked.ordered else "whatever their order"
        return (
            f"{name}: a live query of the store, {query.query.form} {query.query.operator}\n\n"
            "evaluated by Oxigraph in a process for queries, over a snapshot of the store: when somebody begins to "
            f"listen, and {GATHER_SECONDS:g} s after a change while somebody does, {INTERVAL_SECONDS:g} s apart at "
            f"least, within {seconds:g} s\n"
            f"graphs: {graphs}\n"
            f"answers are compared {order}\n"
            f"last evaluation: {_took(self.describe(query).last_seconds)}\n\n"
            f"asked:\n{asked.text.strip()}\n{operators}"
        )

    def backup(self, directory: Path) -> None:
        """Copy those that are registered into another data directory. Raises OSError."""
        self._kept.backup(directory)

    # Evaluations

    @property
    def state(self) -> Instant:
        """The state of the store that an answer has to be of, to be that of now."""
        return self._store.version

    @contextmanager
    def listening(self, query: StoreQuery) -> Iterator[None]:
        """Somebody listens: the query is evaluated. When nobody does any more, what is under way ends."""
        query.listeners += 1
        try:
            yield
        finally:
            query.listeners -= 1
            if not query.listeners and query.asking is not None:
                query.asking.cancel()

    def look(self, query: StoreQuery) -> None:
        """Somebody has begun to listen: evaluate the query, if what is known of it is not of the store as it is now."""
        self._begin(query, self._store.version)

    async def latest(self, query: StoreQuery) -> Evaluation | None:
        """The answer now, as one who has had nothing is given it; None: nothing. Raises ProtocolError."""
        state = self._store.version
        with self.listening(query):
            while query.tried is None or query.tried < state:
                self._begin(query, state)
                await self._sleep(GATHER_SECONDS)
        if query.failure is not None:
            raise query.failure
        return query.since(None)

    async def _rounds(self) -> None:
        while True:
            await self._changed.wait()
            await self._sleep(GATHER_SECONDS)
            self._changed.clear()
            state = self._store.version
            with self._lock:
                queries = list(self._queries.values())
            for query in queries:
                self._begin(query, state)
            await self._sleep(INTERVAL_SECONDS - GATHER_SECONDS)

    def _begin(self, query: StoreQuery, state: Instant) -> None:
        """Evaluate it over this state of the store, unless that was done, nobody listens, or it is not its time."""
        if query.evaluating or not query.listeners or (query.tried is not None and query.tried >= state):
            return
        if query.began is not None and self._clock() - query.began < INTERVAL_SECONDS - _EARLY:
            self._changed.set()
            return
        query.evaluating = True
        self._run(self._evaluate(query, state))

    async def _evaluate(self, query: StoreQuery, state: Instant) -> None:
        query.began = self._clock()
        notices: list[Outcome] = []
        answer: tuple[Instant, bytes, float] | None = None
        try:
            with anyio.CancelScope() as query.asking:
                answer = await self._answer(query, state)
            if answer is not None:
                state, lines, seconds = answer
                change = await anyio.to_thread.run_sync(self._compared, query, state, lines, limiter=self._threads)
                given = query.take(state, change, seconds)
                notices += [] if given is None else [given]
        except Unavailable as error:
            # It is not the query's fault, and over soon.
            logger.info("the live query %s is evaluated a little later: %s", query.name, error)
            await self._sleep(_RETRY_SECONDS)
        except ProtocolError as error:
            notices.append(query.fail(state, error))
        except Exception as error:
            logger.exception("the evaluation of the live query %s failed", query.name)
            notices.append(query.fail(state, UnforeseenFailure(f"{type(error).__name__}; the server's log has more")))
        finally:
            query.evaluating, query.asking = False, None
        if self.find(query.name) is query:
            self.tell(query.name, notices)
        # What has come meanwhile is answered at once where it may be, else in the next round.
        self._begin(query, self._store.version)

    async def _answer(self, query: StoreQuery, state: Instant) -> tuple[Instant, bytes, float]:
        """Which state of the store was read, not before this one, the lines, and the seconds that took when it was its
        turn. Raises ProtocolError.
        """
        limits = self._limits.asked(query.limits.seconds)
        short = limits.asked(LONG_SECONDS)
        ask = partial(self._ask, partial(question, query.query))
        if query.weight is not Weight.HEAVY:
            try:
                async with self._first_turns if query.weight is Weight.UNKNOWN else nullcontext():
                    began = self._clock()
                    state, lines = await ask(short, state)
                    query.weight = Weight.LIGHT
                    return state, lines, self._clock() - began
            except QueryTimeout:
                if short == limits:
                    raise
                query.weight = Weight.HEAVY
        async with self._heavy_turns:
            began = self._clock()
            state, lines = await ask(limits, self._store.version)
            seconds = self._clock() - began
            query.weight = Weight.HEAVY if seconds > LONG_SECONDS else Weight.LIGHT
            return state, lines, seconds

    def _compared(self, query: StoreQuery, state: Instant, lines: bytes) -> Change | None:
        change = query.compared(state, lines)
        if change is not None:
            newest = change.answers[-1]
            noted = query.kept_lines(newest)
            with self._keeping:
                if self.find(query.name) is not query:
                    return change  # removed or replaced meanwhile: nobody goes on from this answer
                try:
                    self._kept.note_answer(query.name, newest.instant, newest.digest, noted)
                except OSError as error:
                    logger.warning("the answer of %s could not be noted, and may come again: %s", query.name, error)
        return change

    async def _forget_answers(self) -> None:
        await self._sleep(_FORGET_SECONDS)
        with self._lock:
            names = set(self._queries)
        try:
            await anyio.to_thread.run_sync(self._kept.forget_answers_but, names, limiter=self._threads)
        except OSError as error:
            logger.warning("answers of queries that nobody listens to any more are left: %s", error)


def _own_answer(kept: KeptQueries, query: KeptQuery) -> KeptAnswer | None:
    """The last answer of this query, and not of the one that had its name before."""
    answer = kept.answer(query.name)
    return None if answer is None or answer.instant < query.start else answer


def _took(seconds: float | None) -> str:
    return "none yet" if seconds is None else f"{seconds * 1000:.0f} ms"
