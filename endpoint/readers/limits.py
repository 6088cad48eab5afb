"""How far a one-shot query may go."""

from __future__ import annotations

from dataclasses import dataclass

STALLED_SECONDS = 30.0
"""A client that takes nothing of its answer for so long is given up."""

STALLED_BEFORE_OTHERS_SECONDS = 1.0
"""So it is after so long where it keeps a reader that another query waits for."""

LEAST_PACE = 64 * 1024
"""Bytes a second that a client has to take, on average, after ``STALLED_SECONDS``: it keeps a reader busy."""

WAITING_SECONDS = 30.0
"""A query that waits so long for its turn is turned away."""

MOST_WAITING = 256
"""As many queries may wait for their turn."""

LONG_SECONDS = 1.0
"""A query that has run for so long gives up its place among the short ones, and goes on."""

SETTLED_SECONDS = 1.0
"""A store is copied into memory when nothing has changed it for so long."""

REST = 5
"""A store is not copied before it has been unchanged for so many times as long as the last copy took."""


@dataclass(frozen=True)
class QueryLimits:
    """The limits of one endpoint: ``seconds`` of evaluation, ``most_bytes`` of an answer."""

    seconds: float = 60.0
    most_bytes: int = 2**30

    def asked(self, timeout: float | None) -> QueryLimits:
        """These limits with the time a client asks for, which can only be less."""
        return self if timeout is None else QueryLimits(min(self.seconds, timeout), self.most_bytes)
