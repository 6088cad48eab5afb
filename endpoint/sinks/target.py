"""Where a sink sends answers, whatever that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from protocol.errors import ProtocolError
from protocol.sinks.body import Body
from protocol.time import Instant


@dataclass(frozen=True)
class Answer:
    """One evaluation as it is sent; ``identifier`` is its resume token: the same each time, growing with it."""

    query: str
    instant: Instant
    identifier: str
    body: Body


class DeliveryFailed(ProtocolError):
    """What was sent was not taken, as far as is known: it is sent again.

    ``retry_after`` is for how many seconds the receiver asks not to be asked again, where it does. ``retry_in``: it is
    sent again after just so many, since it is the server itself that is not ready yet.
    """

    status = 502
    title = "The answer could not be delivered"

    def __init__(self, detail: str, *, retry_after: float = 0, retry_in: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after
        self.retry_in = retry_in


class Target(Protocol):
    """A receiver of answers. Belongs to the event loop."""

    at_once: int
    """So many answers are sent together at most."""

    async def deliver(self, answers: Sequence[Answer]) -> None:
        """Send these, in order; returns once the receiver has all of them for good. Raises DeliveryFailed."""

    async def close(self) -> None:
        """Let go of connections and files."""
