"""``idleTimeout``: the watermark of an event stream that pauses goes on by the server's clock
(docs/http.md, "Stream settings").
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.time import Instant, Milliseconds

_LONGEST_STEP: Milliseconds = 1000
_SHORTEST_STEP: Milliseconds = 100


@dataclass
class IdleClock:
    """When the watermark of one stream is to be moved, and where to.

    The stream is idle from ``timeout`` ms after the last activity on: an append or a watermark that was said, or
    that the server opened the log. If the server's clock showed a at that activity, and the watermark was W after it,
    then an idle stream's watermark at the server's time c is W + (c − a): time goes on in the stream as it does
    for the server, from where the stream stopped. A stream that has no watermark yet has no time to go on from. What is
    late then, is late. A server's clock that steps back begins the timeout again.

    A move is written to the log like a watermark that a client says, so that it is the same in every replay; therefore
    it is made once a second (more often if the timeout is shorter, up to ten times), and not at every tick.
    """

    timeout: Milliseconds
    _state: tuple[int, Instant] | None = None
    _base: Instant = 0
    _since: Instant = 0
    _looked: Instant = 0

    def due(self, elements: int, watermark: Instant | None, now: Instant) -> Instant | None:
        """The watermark to move to; None where there is nothing to do.

        ``elements`` (how many the stream has had) and ``watermark`` are the stream's, ``now`` is the server's time.
        """
        if watermark is None:
            self._state = None
            return None
        if self._state != (elements, watermark) or now < self._looked:
            self._state, self._base, self._since = (elements, watermark), watermark, now
        self._looked = now
        if now - self._since < self.timeout:
            return None
        reached = self._base + now - self._since
        step = max(min(self.timeout, _LONGEST_STEP), _SHORTEST_STEP)
        first = watermark == self._base
        return reached if first or reached - watermark >= step else None

    def moved(self, elements: int, watermark: Instant) -> None:
        """Its own move is no activity."""
        self._state = (elements, watermark)
