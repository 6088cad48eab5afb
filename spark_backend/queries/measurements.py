"""What a query's evaluations took: the last of them, and the usual."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.site import Site

_RECENT = 100


@dataclass(frozen=True)
class Measurement:
    """One evaluation. ``read``: triples in the windows' contents; ``solutions`` before R2S, ``told`` after it."""

    instant: Instant
    site: Site
    read: int
    solutions: int
    told: int
    seconds: float
    error: str | None


@dataclass(frozen=True)
class Measurements:
    """Of one query since the server was started: ``last``, and the seconds of the latest that did not fail."""

    last: Measurement | None = None
    count: int = 0
    failed: int = 0
    seconds: tuple[float, ...] = ()

    def with_answer(self, answer: Answer, told: int) -> Measurements:
        """These and one more, of which ``told`` solutions were written."""
        last = Measurement(answer.instant, answer.site, answer.read, answer.count, told, answer.seconds, answer.error)
        if answer.error is not None:
            return Measurements(last, self.count + 1, self.failed + 1, self.seconds)
        return Measurements(last, self.count + 1, self.failed, (*self.seconds, answer.seconds)[-_RECENT:])

    @property
    def median(self) -> float | None:
        """Of the latest that did not fail, in seconds."""
        return median(self.seconds) if self.seconds else None

    @property
    def mean(self) -> float | None:
        """Of the same, in seconds."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else None
