"""What is said of continuous queries: their answers, how far they are, how they are
(docs/http.md, "Standing queries" and "Result streams").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.language.model import ContinuousQuery
from protocol.time import Instant, Milliseconds


@dataclass(frozen=True)
class Evaluation:
    """The answer of one query at one instant, serialised once.

    ``data`` is a complete SPARQL 1.1 Query Results JSON document with the member ``evaluation``
    (SELECT, ASK), on one line, or N-Triples, one line a triple (CONSTRUCT, DESCRIBE). UTF-8.
    ``incarnation``, ``landmark``: see QueryDescription.
    """

    query: str
    instant: Instant
    data: bytes
    incarnation: int = 0
    landmark: Instant | None = None

    @property
    def size(self) -> int:
        """About so many bytes."""
        return len(self.data)


@dataclass(frozen=True)
class Progress:
    """All evaluations of the query up to ``time`` are out; ``watermark`` is that of its streams."""

    query: str
    time: Instant
    watermark: Instant


@dataclass(frozen=True)
class Ended:
    """All streams of the query have ended and every evaluation is out, or it is evaluated no more."""

    query: str
    reason: str


@dataclass(frozen=True)
class Gone:
    """The query was removed; or another has its name (``replaced``), of which is all that is told after this."""

    query: str
    reason: str
    replaced: bool = False


@dataclass(frozen=True)
class Failed:
    """An evaluation failed; the query goes on if it can. ``status``: the HTTP status that such a failure has."""

    query: str
    instant: Instant
    detail: str
    status: int = 500

    @property
    def size(self) -> int:
        """About so many bytes."""
        return len(self.detail)


Outcome = Evaluation | Failed
"""What came of a query at an instant."""

Notice = Outcome | Progress | Ended | Gone
Listener = Callable[[Sequence[Notice]], None]
"""Receives the notices of a micro-batch, in order per query. Must not block."""


@dataclass(frozen=True)
class QueryDescription:
    """A registered query at a moment.

    ``start``: evaluations are those of ET after it (None: from the first element).
    ``evaluated``: the latest instant whose answer is out; ``progressed``: the latest up to which all are, as was told.
    ``watermark``: the least of its streams'.
    ``lane``: "common", "own" for one whose evaluations would hold up others, or "new" until that is known.
    ``behind``: how far the watermark is ahead of what is out, where an evaluation is due; ``overdue``: for how many
    seconds the oldest one has been.
    ``last_seconds``: what the last evaluation took. ``limits``: what was asked for one when it was registered;
    ``lowered``: those of them that are less than the settings allow.
    ``incarnation`` tells its streams from those that were there before under the same names: 0 until one is deleted.
    ``landmark``: where those of its windows begin that begin with the query, of one that is not ``standing`` (one that
    is has the same start for ever); None where there are none.
    """

    name: str
    query: ContinuousQuery
    standing: bool
    state: str  # "waiting" (Spark is starting), "running", "ended", "failed" (evaluations took too much)
    start: Instant | None
    evaluated: Instant | None
    watermark: Instant | None
    evaluations: int
    solutions: int
    last_error: str | None
    lane: str = "common"
    behind: Milliseconds = 0
    overdue: float = 0.0
    last_seconds: float | None = None
    limits: EvaluationLimits = NO_LIMITS
    lowered: EvaluationLimits = NO_LIMITS
    incarnation: int = 0
    landmark: Instant | None = None
    progressed: Instant | None = None


@dataclass(frozen=True)
class Health:
    """Liveness of the backend: ``state`` is "starting", "running", "stalled" or "failed"; ``detail`` says why.

    ``warnings``: what is not as it should be and keeps nothing else from being served, a sentence each.
    """

    state: str
    detail: str
    warnings: tuple[str, ...] = ()
