"""One live query: the answers that are held of it, and what is told of them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

import anyio

from endpoint.backend import Evaluation, Failed, QueryDescription
from endpoint.store_queries.answers import StoreAnswer, difference, document
from endpoint.store_queries.kept import KeptAnswer
from protocol.errors import ProtocolError
from protocol.evaluation_limits import EvaluationLimits
from protocol.language.model import R2S, ContinuousQuery
from protocol.time import Instant

HELD_ANSWERS = 256
HELD_BYTES = 16 * 1024 * 1024
"""Of one query, of which a listener may have missed what came after. The newest is always held."""


@dataclass(frozen=True)
class Change:
    """Answers that are new, the newest at the end; what that gives to those who had the one before, and of how many
    solutions or triples.
    """

    answers: tuple[StoreAnswer, ...]
    given: Evaluation | None
    solutions: int


class Weight(Enum):
    """How long a query's evaluations take, which decides for whom it waits."""

    UNKNOWN = auto()
    LIGHT = auto()
    HEAVY = auto()


class StoreQuery:
    """A live query. Belongs to the event loop, but for ``description``.

    An answer is named by the instant of the first state of the store that had it; ``start``, where there is one, is the
    least that any has. ``tried`` is the latest state for which it was evaluated, ``failure`` what came of that where it
    is no answer. ``listeners`` counts those for whom it is evaluated; ``asking`` is what of an evaluation may be
    cancelled, while it is under way.
    """

    def __init__(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        limits: EvaluationLimits,
        start: Instant | None = None,
        kept: KeptAnswer | None = None,
    ) -> None:
        self.name = name
        self.query = query
        self.standing = standing
        self.limits = limits
        self.start = start
        self.listeners = 0
        self.evaluating = False
        self.asking: anyio.CancelScope | None = None
        self.weight = Weight.UNKNOWN
        self.began: float | None = None
        self.tried: Instant | None = None
        self.failure: ProtocolError | None = None
        self._kept = kept
        self._held: deque[StoreAnswer] = deque()
        self._bytes = 0
        self._evaluations = self._solutions = 0
        self._seconds: float | None = None
        self._last_error: str | None = None

    # Evaluations

    def compared(self, state: Instant, lines: bytes) -> Change | None:
        """What an answer at a state of the store changes; None: nothing, for it is what it was.

        Where lines are many this takes a while: it may be called in a thread, while no other is compared.
        """
        newest = self.newest
        if newest is not None and newest.lines == lines:
            return None
        instant = state if self.start is None else max(state, self.start)
        held: list[StoreAnswer] = []
        if newest is not None:
            instant = max(instant, newest.instant + 1)
        elif self._kept is not None:
            kept = self._kept
            if StoreAnswer(kept.instant, lines).digest == kept.digest:
                # As it was before the server was started again.
                instant = kept.instant
            else:
                instant = max(instant, kept.instant + 1)
                if kept.lines is not None:
                    newest = StoreAnswer(kept.instant, kept.lines)
                    held.append(newest)
        answer = StoreAnswer(instant, lines)
        given, count = self._difference(answer, newest)
        return Change((*held, answer), given, count)

    def take(self, state: Instant, change: Change | None, seconds: float) -> Evaluation | None:
        """An answer at a state of the store, which took so many ``seconds``: what it gives to those who had the one
        before. None: nothing.
        """
        self._evaluations += 1
        self._seconds = seconds
        self.failure = None
        self.tried = state
        if change is None:
            return None
        self._kept = None
        self._solutions += change.solutions
        for answer in change.answers:
            self._hold(answer)
        return change.given

    def fail(self, state: Instant, error: ProtocolError) -> Failed:
        """There is no answer at a state of the store."""
        self.tried = state
        self.failure = error
        self._last_error = error.detail
        return Failed(self.name, state, error.detail, error.status)

    def _hold(self, answer: StoreAnswer) -> None:
        if self.query.operator is R2S.RSTREAM:
            self._held.clear()
            self._bytes = 0
        self._held.append(answer)
        self._bytes += len(answer.lines)
        while len(self._held) > 1 and (len(self._held) > HELD_ANSWERS or self._bytes > HELD_BYTES):
            self._bytes -= len(self._held.popleft().lines)

    # What is given out

    @property
    def newest(self) -> StoreAnswer | None:
        """The answer of the latest state for which there is one."""
        return self._held[-1] if self._held else None

    @property
    def former(self) -> StoreAnswer | None:
        """The answer before the newest, where it is held."""
        return self._held[-2] if len(self._held) > 1 else None

    def kept_lines(self, answer: StoreAnswer) -> bytes | None:
        """What of an answer is needed to say later what has changed since; None: nothing."""
        return None if self.query.operator is R2S.RSTREAM else answer.lines

    def holds(self, instant: Instant) -> bool:
        """Whether the answer of this name is held, so that it can be said what has changed since."""
        return any(answer.instant == instant for answer in self._held)

    def since(self, instant: Instant | None) -> Evaluation | None:
        """What the newest answer gives to those who had the one of this name, which is held; None: had nothing.

        None: it gives them nothing.
        """
        newest = self.newest
        assert newest is not None, "there is an answer before anybody is told of it"
        had = None if instant is None else next(answer for answer in self._held if answer.instant == instant)
        return self._difference(newest, had)[0]

    def nothing(self) -> Evaluation:
        """The document of an answer that is empty, for whoever waits for one and is given nothing by the newest."""
        newest = self.newest
        assert newest is not None, "there is an answer before anybody is told of it"
        head, _ = difference(R2S.ISTREAM, newest.lines, newest.lines)
        return Evaluation(self.name, newest.instant, document(self.query, newest.instant, head, ()))

    def _difference(self, answer: StoreAnswer, former: StoreAnswer | None) -> tuple[Evaluation | None, int]:
        operator = self.query.operator
        head, lines = difference(operator, answer.lines, None if former is None else former.lines)
        if not lines and operator is not R2S.RSTREAM:
            return None, 0
        written = document(self.query, answer.instant, head, lines)
        return Evaluation(self.name, answer.instant, written), len(lines)

    # For a person

    def description(self, seconds: float | None) -> QueryDescription:
        """How it is now; ``seconds``: those that an evaluation has where less than the settings allow was asked for."""
        newest = self.newest
        return QueryDescription(
            self.name,
            self.query,
            self.standing,
            "running",
            self.start,
            None if newest is None else newest.instant,
            self.tried,
            self._evaluations,
            self._solutions,
            self._last_error,
            lane="store",
            last_seconds=self._seconds,
            limits=self.limits,
            lowered=EvaluationLimits(seconds),
        )
