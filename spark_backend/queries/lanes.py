"""Lanes of their own for queries whose evaluations hold up others: in turn, a few at once (docs/architecture.md).

What a query is due for follows from its position, so nothing is kept of a lane but who is in it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial

from protocol.errors import StorageFull, Unavailable
from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.budget import COMMON_SECONDS, OWN_AT_ONCE, Budget, Lane
from spark_backend.queries.delivery import Delivery
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.queries.trials import Trials
from spark_backend.registry import RegisteredQuery
from spark_backend.streams.timelines import Timelines

log = logging.getLogger(__name__)

_TURN_SECONDS = 1.0
"""A turn is to be about as many instants as take so long; one at first."""
_MOST_INSTANTS = 64
_CHEAP_BEFORE_RETURN = 8
"""After so many cheap evaluations a query is back in the common lane; after more, each time it has left it again."""
_LONGEST_STAY = 1024
_PAUSE, _LONG_PAUSE = 0.05, 1.0


class OwnLanes:
    """Evaluates the queries that are in lanes of their own, each from where it is, and the ``trials`` of new ones.

    ``publish`` has the files say, durably, that a query has changed lanes.
    """

    def __init__(
        self,
        running: RunningQueries,
        timelines: Timelines,
        delivery: Delivery,
        publish: Callable[[], None],
        trials: Trials,
    ) -> None:
        self._running = running
        self._timelines = timelines
        self._delivery = delivery
        self._publish = publish
        self._trials = trials
        self._busy: set[str] = set()
        self._turn = 0
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self.apart: Callable[[Callable[[], None]], None] = _in_a_thread
        """Has the evaluations made of a query that asks services, which may keep it waiting, and no other query."""

    def start(self) -> None:
        turns = {f"lane-{n}": self.turn for n in range(OWN_AT_ONCE)} | {"trials": self._trials.turn}
        self._threads = [
            threading.Thread(target=self._run, args=(turn,), name=name, daemon=True) for name, turn in turns.items()
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Begin no further turn; those that have begun end with the pipeline."""
        self._stopping.set()

    def turn(self) -> bool:
        """Evaluate what is due of the query that has waited for longest; False if none is due.

        Raises Unavailable while nothing is evaluated, or StorageFull where an output cannot be written.
        """
        with self._running.lock:
            found = self._next()
            if found is None:
                return False
            running, instants = found
            registered, budget = running.registered, running.budget
            self._turn += 1
            running.turn = self._turn
            self._busy.add(registered.key)
        if running.plan.services:
            try:
                self.apart(partial(self._evaluate_apart, running, registered, instants, budget))
            except BaseException:  # there may be no thread for it
                self._leave(registered)
                raise
            return True
        try:
            self._evaluate(running, registered, instants, budget)
        finally:
            self._leave(registered)
        return True

    def _evaluate_apart(
        self, running: RunningQuery, registered: RegisteredQuery, instants: Sequence[Instant], budget: Budget
    ) -> None:
        """Evaluate where nobody waits for it; what cannot be evaluated now is left alone for a while."""

        def evaluated() -> bool:
            self._evaluate(running, registered, instants, budget)
            return True

        try:
            self._stopping.wait(self._pause_after(evaluated))
        finally:
            self._leave(registered)

    def _evaluate(
        self, running: RunningQuery, registered: RegisteredQuery, instants: Sequence[Instant], budget: Budget
    ) -> None:
        try:
            evaluations = self._delivery.evaluations
            answers = list(evaluations.answers(registered.key, registered.prepared, instants, budget))
            self._delivery.receive([(registered.key, answer) for answer in answers], Lane.OWN)
            self._learn(running, answers)
        except (Unavailable, StorageFull):
            with self._running.lock:
                removed = self._running.get(running.name) is not running
            if not removed:
                raise

    def _leave(self, registered: RegisteredQuery) -> None:
        with self._running.lock:
            self._busy.discard(registered.key)

    def _next(self) -> tuple[RunningQuery, list[Instant]] | None:
        waiting = [
            running
            for running in self._running
            if running.registered.lane is Lane.OWN and running.evaluable and running.registered.key not in self._busy
        ]
        if not waiting:
            return None
        self._timelines.refresh()
        for running in sorted(waiting, key=lambda one: one.turn):
            upto = self._timelines.watermark(running.logs)
            if upto is not None:
                instants = self._timelines.instants(running.windows, running.position, upto, running.pace)
                if instants:
                    return running, instants
        return None

    def _learn(self, running: RunningQuery, answers: Sequence[Answer]) -> None:
        with self._running.telling, self._running.lock:
            running.pace = _next_pace(running, answers)
            for answer in answers:
                cheap = (
                    answer.error is None
                    and max(answer.seconds, answer.processor) < COMMON_SECONDS / 2
                    and not answer.for_spark_sql
                )
                running.cheap = running.cheap + 1 if cheap else 0
            stay = min(_CHEAP_BEFORE_RETURN << running.registered.moves, _LONGEST_STAY)
            stays = bool(running.plan.services)  # another endpoint may keep it waiting at any time
            if running.cheap >= stay and not stays and running.registered.lane is Lane.OWN and running.evaluable:
                running.cheap = 0
                running.registered = running.registered.in_common_lane(running.position)
                self._publish()
                log.info("the query %s is back in the common lane", running.name)

    def _run(self, turn: Callable[[], bool]) -> None:
        while not self._stopping.is_set():
            try:
                pause = self._pause_after(turn)
            except BaseException:  # a panic in Oxigraph, which reads what is published, is no Exception
                log.exception("a turn in a lane of its own was not ended")
                pause = _LONG_PAUSE
            if pause:
                self._stopping.wait(pause)

    def _pause_after(self, turn: Callable[[], bool]) -> float:
        """Take a turn; for how many seconds there is nothing to do then."""
        try:
            return 0.0 if turn() else _PAUSE
        except (Unavailable, StorageFull):
            return _LONG_PAUSE
        except Exception:
            log.exception("a turn in a lane of its own failed")
            return _LONG_PAUSE


def _in_a_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="services", daemon=True).start()


def _next_pace(running: RunningQuery, answers: Sequence[Answer]) -> int:
    """How many instants are to be evaluated in the next turn, by what the last one took."""
    taken = sum(answer.seconds for answer in answers)
    if taken > _TURN_SECONDS or any(answer.error is not None for answer in answers):
        return max(1, running.pace // 2)
    return min(2 * running.pace, _MOST_INSTANTS)
