"""Which segments of a log may go: whole ones, oldest first, when everything in them is out of reach."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from protocol.streams import StreamSettings
from protocol.time import Instant, Milliseconds
from protocol.windows.timeline import END
from spark_backend.log.format.stamp import Totals


class SealedSegment(NamedTuple):
    """A segment that is no longer written. ``latest``: the greatest time in it or in any before it."""

    number: int
    bytes: int
    latest: Instant


class Retention:
    """The sealed segments of a log, and the rule by which they go.

    A segment goes when its latest time lies before watermark - max(retention, needed), and no
    evaluation after ``evaluated`` reaches it. As segments go from the oldest on, what is left begins
    at one instant.
    """

    def __init__(self, settings: StreamSettings) -> None:
        self._retention = settings.retention
        self._sealed: deque[SealedSegment] = deque()
        self.bytes = 0
        """Bytes in the sealed segments."""
        self.needed: Milliseconds = 0
        """How far back the windows of the queries that read the stream reach (ms)."""
        self.evaluated: Instant | None = None
        """The latest instant that all queries have evaluated; None if retention need not wait for them.

        A replay moves time faster than queries follow: without this, what they are about to read would go.
        """

    @property
    def first(self) -> int | None:
        """Number of the oldest sealed segment."""
        return self._sealed[0].number if self._sealed else None

    def seal(self, segment: SealedSegment) -> None:
        """Add a segment, the youngest yet."""
        self._sealed.append(segment)
        self.bytes += segment.bytes

    def take_expired(self, totals: Totals) -> list[SealedSegment]:
        """Take out the segments that may go, oldest first."""
        # An ended stream's watermark is no time; what it would keep now, it keeps.
        now = totals.last if totals.watermark == END else totals.watermark
        horizon = now - max(self._retention, self.needed)
        if self.evaluated is not None:
            horizon = min(horizon, self.evaluated - self.needed + 1)
        gone = []
        while self._sealed and self._sealed[0].latest < horizon:
            gone.append(self._sealed.popleft())
            self.bytes -= gone[-1].bytes
        return gone
