"""Delivery of answers: taken from the tasks once each, told, and computed again for who missed them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, takewhile
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from protocol.errors import HeldNoMore, InvalidMessage, ProtocolError, Unavailable
from protocol.evaluations import Ended, Evaluation, Failed, Notice, Outcome
from protocol.formats.sse import show_instant
from protocol.language.model import ContinuousQuery
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.spec import StreamWindow
from spark_backend.answers.answer import Answer
from spark_backend.answers.documents import DocumentWriter, instant_text
from spark_backend.budget import COSTLY_IN_A_ROW, Lane
from spark_backend.compiler.plan import Plan
from spark_backend.queries.outputs import Outputs
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.registry import read_progress, write_progress
from spark_backend.spark.pipeline import Answering
from spark_backend.streams.timelines import Timelines

log = logging.getLogger(__name__)

_REPLAYED_AT_ONCE = 256
_JOB_SECONDS = 1.0
"""A job of a replay is to take no longer: other replays wait for it."""

_STOPPED_IN_A_ROW = 3
"""A query is evaluated no more after so many evaluations in a row that took more than their budget."""


class _Received(NamedTuple):
    """What is to be told of a query's answers, and what it was before them."""

    running: RunningQuery
    before: RunningQuery
    notices: list[Notice]


class Delivery:
    """Receives answers and has them evaluated once more. The attributes below are set before either.

    ``publish`` has the files say, durably, that a query has changed lanes, or is evaluated no more. ``without_start``
    is ``Preparation.without_start``.

    ``progress``: the file that says, for each registration, the latest instant that is out.
    """

    evaluations: Answering
    publish: Callable[[], None]
    without_start: Callable[[str, str], str]

    def __init__(self, running: RunningQueries, timelines: Timelines, outputs: Outputs, progress: Path) -> None:
        self._running = running
        self._timelines = timelines
        self._outputs = outputs
        self._progress = progress
        self._unpublished = False
        """What became of queries could not be published, and no progress beyond it is saved before it is."""

    def writer(self, query: ContinuousQuery, plan: Plan, windows: Sequence[StreamWindow]) -> DocumentWriter:
        """A writer of a query, that has written nothing yet. ``windows``: those of the query, over logs."""
        return DocumentWriter(
            query,
            plan.variables,
            bounds=lambda place, instant: self._timelines.bounds(windows[place], instant),
            new_matches=plan.new_matches,
        )

    def receive(self, answers: list[tuple[str, Answer]], lane: Lane = Lane.COMMON) -> None:
        """Take the answers of a micro-batch, those of a query together: write each once, drop what was out already.

        Answers of a lane that the query has left are dropped; from the first one on that is deferred, it is in its own,
        as it is after some in a row that were costly.
        A new one that has all of its answers is in the common lane then. One whose output cannot be written is in its
        own, and holds up no other.
        Raises what kept it from taking a query's answers, Unavailable for one: then nobody was told of these. And
        OSError if the files could not be written: everybody was told, but of queries that have failed.
        """
        received: list[_Received] = []
        wrong: BaseException | None = None
        with self._running.telling:
            left = self._unpublished
            # What was evaluated was in the logs: the bounds of count windows are to know it.
            self._timelines.refresh()
            with self._running.lock:
                by_key = {running.registered.key: running for running in self._running}
            for key, of_query in groupby(answers, key=lambda one: one[0]):
                running = by_key.get(key)
                if running is None or running.registered.lane is not lane or not running.evaluable:
                    continue
                before = replace(running)
                there, moves = _before_deferred(running, [answer for _, answer in of_query])
                try:
                    taken, elements = self._taken(running, there)
                    if not self._published(running, elements):
                        _take_back(running, before)
                        taken, moves = [], True
                except BaseException as error:  # a panic in Oxigraph is no Exception
                    _take_back(running, before)
                    wrong = wrong or error
                else:
                    received.append(_Received(running, before, taken))
                    moves = moves or (lane is Lane.COMMON and running.costly >= COSTLY_IN_A_ROW)
                    if moves:
                        running.registered, running.pace = running.registered.in_own_lane(), 1
                        running.costly = 0
                        log.info("the query %s has a lane of its own from here on", running.name)
                    elif lane is Lane.NEW:
                        running.registered = running.registered.in_common_lane(running.position)
                    left = left or moves or lane is Lane.NEW or running.failed is not None
            try:
                if left:
                    # Before Spark takes the batch for done: the registry says who sees to what is left of it. And
                    # before the progress is beyond it: what has failed is not to go on from there after a crash.
                    self._publish(received)
                self._save_progress()
            finally:
                # What has been taken is not taken again, whatever could not be written.
                self._running.tell([notice for one in received for notice in one.notices])
        if wrong is not None:
            # The batch is to be evaluated again; what is out of it stays out.
            raise wrong

    def _publish(self, received: list[_Received]) -> None:
        """Have the files say what has changed; what they cannot say of a query that has failed did not happen."""
        self._unpublished = True
        try:
            self.publish()
        except BaseException:
            for one in [one for one in received if one.running.failed is not None]:
                _take_back(one.running, one.before)
                received.remove(one)
            raise
        self._unpublished = False

    def replay(
        self,
        name: str,
        after: Instant | None,
        upto: Instant,
        held_from: Callable[[], Instant | None],
        *,
        before_start: bool = False,
    ) -> Iterator[Outcome]:
        """See ``endpoint.backend.Backend.replay``. ``held_from``: after which instant contents of windows are held now,
        None: all.
        """

        def require_held(instant: Instant) -> None:
            """Raise where retention may have taken what the evaluation read, as it goes on meanwhile."""
            now = held_from()
            if now is not None and instant <= now:
                raise HeldNoMore(f"what {name} was evaluated over at {show_instant(instant)} is held no more")

        with self._running.lock:
            running, held = self._running.named(name), held_from()
            start = running.registered.start
            if before_start or (start is not None and (after is None or after < start)):
                start, before_start = None, True
            if held is not None:
                # What is compared with is an evaluation that could be replayed, too.
                start = held if start is None else max(start, held)
            after = held if after is None else after
            writer = self.writer(running.query, running.plan, running.windows)
            self._timelines.refresh()
            # Beyond the watermark an answer may yet be another one.
            reached = self._timelines.watermark(running.logs)
            upto = BEFORE_ALL if reached is None else min(upto, reached)
            first = self._timelines.instants(running.windows, after, upto, 1)
            # What an evaluation takes is known of those in the common lane alone.
            pace = _REPLAYED_AT_ONCE if running.registered.lane is Lane.COMMON else 1
        if first:
            self._load_previous(running, writer, first[0], start)
            if writer.needs_previous and held_from() != held:
                raise HeldNoMore(f"what {name} was evaluated over before {show_instant(first[0])} may be held no more")
        while first:
            with self._running.lock:
                instants = self._timelines.instants(running.windows, after, upto, pace)
            if after is not None:
                require_held(after + 1)
            if not instants:
                return
            slowest = 0.0
            for answer in self._once_more(running, instants, without_start=before_start):
                slowest = max(slowest, answer.seconds)
                require_held(answer.instant)
                if answer.error is not None:
                    # As when it was live: the query goes on.
                    yield Failed(name, answer.instant, answer.error)
                elif self._reported(running, answer):
                    told, *_ = self._written(running, writer, answer)
                    yield told
            after = instants[-1]
            pace = min(2 * pace, _REPLAYED_AT_ONCE)
            if slowest * pace > _JOB_SECONDS:
                pace = max(1, int(_JOB_SECONDS / slowest))

    def latest(self, name: str, held_from: Callable[[], Instant | None]) -> Evaluation | None:
        """See ``endpoint.backend.Backend.latest``. ``held_from``: as for ``replay``."""
        with self._running.lock:
            running, held = self._running.named(name), held_from()
            writer, evaluated = self.writer(running.query, running.plan, running.windows), running.evaluated
            start = running.registered.start
        if evaluated is None:
            return None
        # Before that there are answers only of what retention has left.
        first = start if held is None or (start is not None and start >= held) else held
        answers = self._answers_before(running, evaluated + 1, first)
        answer = next(answers, None)
        while answer is not None:
            before = writer.previous = next(answers, None) if writer.needs_previous else None
            if writer.needs_previous and before is None and first != start:
                with self._running.lock:
                    compared = self._timelines.previous_instant(running.windows, answer.instant, start)
                if compared is not None:
                    break
            told, *_ = self._written(running, writer, answer)
            if isinstance(told, Evaluation):
                now = held_from()
                if now is not None and (answer if before is None else before).instant <= now:
                    return self.latest(name, held_from)  # the query has gone on, and retention with it
                return told
            answer = before if writer.needs_previous else next(answers, None)
        if first is None or first == start:
            return None
        at = show_instant(min(evaluated, first) if answer is None else answer.instant)
        if answer is None and first < evaluated:
            at += " or before"
        raise HeldNoMore(
            f"the latest answer of {name}, that of {at}, is held no more: retention has taken what it was made of, or "
            "what it was compared with"
        )

    def saved_progress(self) -> dict[str, Instant] | None:
        """By key of registration, the latest instant that was out; None if that is not known."""
        return read_progress(self._progress)

    def _save_progress(self) -> None:
        with self._running.lock:
            positions = [(one.registered.key, one.evaluated) for one in self._running]
            positions += [(one.key, one.evaluated) for one in self._running.dormant.values()]
        write_progress(self._progress, {key: evaluated for key, evaluated in positions if evaluated is not None})

    def _taken(
        self, running: RunningQuery, answers: Sequence[Answer]
    ) -> tuple[list[Notice], dict[Instant, pa.RecordBatch]]:
        """What is to be told of a query's answers, up to the one with which it has failed, and to be in its output."""
        notices: list[Notice] = []
        elements: dict[Instant, pa.RecordBatch] = {}
        for answer in answers:
            running.stopped = running.stopped + 1 if answer.stopped else 0
            running.costly = answer.costly_after(running.costly)
            running.evaluated = answer.instant
            if answer.error is not None:
                notices += _failed(running, answer, answer.error)
                if running.failed is not None:
                    break
            elif self._reported(running, answer):
                self._load_previous(running, running.writer, answer.instant, running.registered.start)
                told, solutions, element = self._written(running, running.writer, answer)
                if isinstance(told, Failed):
                    notices += _failed(running, answer, told.detail)
                    continue
                if element is not None:
                    elements[answer.instant] = element
                running.evaluations += 1
                running.solutions += solutions
                running.measurements = running.measurements.with_answer(answer, solutions)
                notices.append(told)
        return notices, elements

    def _written(
        self, running: RunningQuery, writer: DocumentWriter, answer: Answer
    ) -> tuple[Outcome, int, pa.RecordBatch | None]:
        """The answer as it is told, with the number of its solutions and the element of the query's output; it has
        failed where no stream takes that.
        """
        data, solutions = writer.write(answer)
        evaluation = Evaluation(running.name, answer.instant, data, running.incarnation, running.landmark)
        try:
            return evaluation, solutions, self._outputs.element(running, evaluation)
        except InvalidMessage as error:
            detail = f"the stream {running.output} does not take the answer: {error.detail}"
            return Failed(running.name, answer.instant, detail), 0, None

    def _published(self, running: RunningQuery, elements: Mapping[Instant, pa.RecordBatch]) -> bool:
        """Publish what a query constructed; False if that cannot be now, and is to be tried in a lane of its own.

        Raises ProtocolError if it is there already.
        """
        try:
            self._outputs.publish(running, elements)
        except ProtocolError as error:
            if running.registered.lane is Lane.OWN:
                raise
            log.error("the output of the query %s cannot be written: %s", running.name, error.detail)
            return False
        return True

    def _reported(self, running: RunningQuery, answer: Answer) -> bool:
        """Whether its instant is one of ET."""
        return not answer.quiet or self._timelines.reported_by_time(running.windows, answer.instant)

    def _load_previous(
        self, running: RunningQuery, writer: DocumentWriter, instant: Instant, start: Instant | None
    ) -> None:
        """Let the writer know the answer in (start, instant), the last one, which ISTREAM and DSTREAM compare with.

        Like a writer that went on from evaluation to evaluation, it passes over those that failed.
        """
        if writer.needs_previous and writer.previous is None:
            writer.previous = next(self._answers_before(running, instant, start), None)

    def _answers_before(self, running: RunningQuery, instant: Instant, start: Instant | None) -> Iterator[Answer]:
        """The query's answers in (start, instant), the last one first; none that failed."""
        before: Instant | None = instant
        most = 1
        while True:
            instants: list[Instant] = []
            with self._running.lock:
                while len(instants) < most and before is not None:
                    before = self._timelines.previous_instant(running.windows, before, start)
                    if before is not None:
                        instants.insert(0, before)
            if not instants:
                return
            for answer in reversed(list(self._once_more(running, instants))):
                if answer.error is None and self._reported(running, answer):
                    yield answer
            most = _REPLAYED_AT_ONCE

    def _once_more(
        self, running: RunningQuery, instants: list[Instant], *, without_start: bool = False
    ) -> Iterator[Answer]:
        registered = running.registered
        prepared = registered.prepared
        if without_start and running.plan.new_matches:
            # Of these the statement itself tells what is new, so it is to know that there was something before.
            try:
                prepared = self.without_start(registered.key, prepared)
            except FileNotFoundError as error:
                raise Unavailable("the query has ended meanwhile") from error
        return self.evaluations.answers(registered.key, prepared, instants, running.budget)


def _before_deferred(running: RunningQuery, answers: list[Answer]) -> tuple[list[Answer], bool]:
    """The answers that are new, up to the first one that was deferred, and whether there is such a one."""
    new = [one for one in answers if running.evaluated is None or one.instant > running.evaluated]
    there = list(takewhile(lambda one: one.deferred is None, new))
    return there, len(there) < len(new)


def _failed(running: RunningQuery, answer: Answer, error: str) -> list[Notice]:
    """What is told of an evaluation that has failed, and the query with it if it was stopped too often."""
    if error != running.last_error:  # of a query that fails at each instant, the log is told once
        log.warning("query %s at %s: %s", running.name, instant_text(answer.instant), error)
    running.last_error = error
    running.measurements = running.measurements.with_answer(replace(answer, error=error), 0)
    failure = Failed(running.name, answer.instant, error)
    if running.stopped < _STOPPED_IN_A_ROW:
        return [failure]
    running.failed = (
        f"the query has failed: {_STOPPED_IN_A_ROW} evaluations in a row took more than their budget, the last "
        f"one at {show_instant(answer.instant)}: {error}. Put it again to start it again"
    )
    return [failure, Ended(running.name, running.failed)]


def _take_back(running: RunningQuery, before: RunningQuery) -> None:
    """As if the answers since had not come; what ISTREAM compares with is found again when it is needed."""
    running.evaluated, running.last_error = before.evaluated, before.last_error
    running.evaluations, running.solutions = before.evaluations, before.solutions
    running.measurements = before.measurements
    running.failed, running.stopped, running.costly = before.failed, before.stopped, before.costly
    running.writer.previous = None
