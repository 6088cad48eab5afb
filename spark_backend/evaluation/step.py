"""Steps: evaluations that one statement makes, and what becomes of them when one of them is at fault."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.budget import COSTLY_IN_A_ROW, Lane

Due = tuple[str, str, Sequence[Instant]]
"""A query's due evaluations: its key, the file of its prepared form, ascending instants."""

_PATIENCE = 6
"""So many steps of a batch are stopped and divided in the common lane; what is stopped then is left as a whole."""
_PATIENCE_WITH_ONE = 2
"""The same of one query's own steps: others wait while each further evaluation is tried of one that has too many."""


class EvaluationError(Exception):
    """An evaluation that has no answer; the text says why."""


class Stopped(EvaluationError):
    """It would have taken more than its budget. The text says what of."""


class OutOfMemory(Stopped):
    """It would have taken more memory than its budget, together with what was kept of other evaluations."""


@dataclass(frozen=True)
class Step:
    """Queries of one shape over the same windows, (key, file of the prepared form), at the instants they share."""

    members: tuple[tuple[str, str], ...]
    instants: tuple[Instant, ...]

    @property
    def size(self) -> int:
        """How many evaluations it is."""
        return len(self.members) * len(self.instants)

    def halves(self) -> tuple[Step, Step] | None:
        """The same evaluations in two steps; None where there is but one."""
        if len(self.members) > 1:
            half = len(self.members) // 2
            return Step(self.members[:half], self.instants), Step(self.members[half:], self.instants)
        if len(self.instants) > 1:
            half = len(self.instants) // 2
            return Step(self.members, self.instants[:half]), Step(self.members, self.instants[half:])
        return None

    def suspects(self) -> list[Step]:
        """The same evaluations in steps that tell soon whose fault it is: each query's, or the first of one's."""
        if len(self.members) > 1:
            return [Step((member,), self.instants) for member in self.members]
        return [Step(self.members, some) for some in (self.instants[:1], self.instants[1:])]


@dataclass(frozen=True)
class Planned:
    """What is due as steps, and the answers that need none: errors, and what is for Spark SQL."""

    steps: list[Step]
    answers: list[tuple[str, Answer]]


@dataclass(frozen=True)
class MeasuredStatement:
    """How an evaluation was made: in how many seconds what it reads was made ready, and DuckDB's JSON of the operators
    that its statement then was.
    """

    instant: Instant
    tables_seconds: float
    operators: str


class StepEvaluator(Protocol):
    """What makes evaluations: ``Evaluator``, or one in a process of its own."""

    at_once: float
    """So many evaluations are one step at the most: as many as were made within the budget of late."""

    def refresh(self) -> None:
        """See what has been appended to the logs since."""

    def plan(self, due: Sequence[Due]) -> Planned:
        """Raises EvaluationError only if nothing of it can be had."""

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        """The answers (key, answer) of a step, all or none. Raises EvaluationError."""


def evaluate(evaluator: StepEvaluator, due: Iterable[Due], lane: Lane) -> Iterator[tuple[str, Answer]]:
    """The answers that are due, (key, answer). What goes wrong in one evaluation is an Answer with an error.

    In the common lane, what is stopped is deferred instead, with all that follows of that query: it is for its own. So
    is what follows where evaluations were costly in a row.
    """
    due = list(due)
    try:
        planned = evaluator.plan(due)
    except EvaluationError as error:
        for key, prepared, instants in due:
            yield from _given_up(Step(((key, prepared),), tuple(instants)), error, lane)
        return
    yield from planned.answers
    left = {key for key, answer in planned.answers if answer.deferred} if lane is Lane.COMMON else set()
    waiting, stopped, most = planned.steps[::-1], 0, 0
    stopped_alone: Counter[str] = Counter()
    costly_in_a_row: Counter[str] = Counter()
    while waiting:
        step = waiting.pop()
        if any(key in left for key, _ in step.members):
            gone = tuple(member for member in step.members if member[0] in left)
            yield from _given_up(replace(step, members=gone), None, lane)
            step = replace(step, members=tuple(member for member in step.members if member[0] not in left))
            if not step.members:
                continue
        halves = step.halves()
        if halves is not None and step.size > evaluator.at_once:
            waiting += reversed(halves)
            continue
        began = time.monotonic()
        try:
            answers = evaluator.run(step)
        except EvaluationError as error:
            stopped += isinstance(error, Stopped)
            costly = lane is Lane.COMMON and isinstance(error, Stopped)
            times = 0
            if costly and len(step.members) == 1:
                ((key, _),) = step.members
                stopped_alone[key] += 1
                times = stopped_alone[key]
            if halves is not None and (lane is Lane.OWN or (stopped <= _PATIENCE and times <= _PATIENCE_WITH_ONE)):
                # Where it is not its first one, it may be how many they are.
                waiting += reversed(step.suspects() if costly and times < _PATIENCE_WITH_ONE else halves)
                continue
            if costly:
                left |= {key for key, _ in step.members}
            yield from _given_up(step, error, lane, (time.monotonic() - began) / step.size)
        else:
            most = max(most, step.size)
            if lane is Lane.COMMON:
                for key, answer in answers:
                    costly_in_a_row[key] = answer.costly_after(costly_in_a_row[key])
                    if costly_in_a_row[key] >= COSTLY_IN_A_ROW:
                        left.add(key)
            yield from answers
    if stopped and not left:
        evaluator.at_once = max(most, 1)  # none was at fault: they were too many together
    elif not stopped:
        evaluator.at_once *= 2


def _given_up(
    step: Step, error: EvaluationError | None, lane: Lane, seconds: float = 0.0
) -> Iterator[tuple[str, Answer]]:
    """An answer for each evaluation of a step that has none: it is deferred, or the error, after so many seconds."""
    deferred = lane is Lane.COMMON and (error is None or isinstance(error, Stopped))
    for key, prepared in step.members:
        for instant in step.instants:
            if deferred:
                yield key, Answer(instant, deferred=prepared)
            else:
                yield key, Answer(instant, error=str(error), seconds=seconds, stopped=isinstance(error, Stopped))
