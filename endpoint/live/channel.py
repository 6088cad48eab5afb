"""The last events of one query, held for all of its listeners together.

A channel belongs to the event loop: nothing in it is called from another thread.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakSet

from endpoint.backend import Evaluation, Failed, Outcome, Progress
from endpoint.live.turns import Turns, go_on
from protocol.formats import sse
from protocol.time import Instant

_OVERHEAD = 256  # bytes an entry costs beside its data: objects, framing


@dataclass(frozen=True)
class Bounds:
    """What a channel holds at most, in entries and in bytes. The latest evaluation is always held."""

    entries: int = 1024
    bytes: int = 16 * 1024 * 1024

    def within(self, other: Bounds) -> Bounds:
        """What is within both."""
        return Bounds(min(self.entries, other.entries), min(self.bytes, other.bytes))


_UNREAD = Bounds(64, 256 * 1024)
"""Of a channel that nobody reads. Whoever comes back soon finds what is new there, all others in the log."""


class Entry:
    """A notice in a channel, encoded as an event at most once, however many listeners there are."""

    __slots__ = ("_event", "notice", "sequence", "watermark")

    def __init__(self, sequence: int, notice: Outcome | Progress, watermark: Instant) -> None:
        self.sequence = sequence
        self.notice = notice
        self.watermark = watermark
        self._event: bytes | None = None

    @property
    def event(self) -> bytes:
        """The same bytes object for every listener."""
        if self._event is None:
            self._event = encode(self.notice, self.watermark)
        return self._event

    @property
    def size(self) -> int:
        # Twice the data: once in the notice, once in the event.
        return _OVERHEAD + (0 if isinstance(self.notice, Progress) else 2 * self.notice.size)


def encode(notice: Outcome | Progress, watermark: Instant) -> bytes:
    """A notice as an event; ``watermark`` is that of the query's streams when it was given out."""
    match notice:
        case Evaluation():
            token = sse.ResumeToken(notice.instant, notice.incarnation, notice.landmark)
            return sse.evaluation_event(token, notice.data, watermark)
        case Progress():
            return sse.progress_event(notice.time, notice.watermark)
        case Failed():
            problem: dict[str, object] = {"type": "about:blank", "title": "An evaluation failed"}
            problem |= {"status": notice.status, "detail": notice.detail}
            problem["time"] = sse.show_instant(notice.instant)
            return sse.error_event(problem)


class Channel:
    """Entries in order, what came of every instant after ``floor`` and up to ``last`` among them.

    ``floor`` is None while it is unknown where the channel's evaluations begin: it was opened on a query that
    was running already, and nothing has come yet. ``origin`` is the first floor there was: those who were there before
    it have everything up to it. ``last`` is the latest instant of which anything came.
    ``start``: the first evaluation after it was compared with none, for there the query started; None: it has no start.
    ``ended`` says why nothing follows, once that is so; ``gone`` that the query is no longer there to be replayed;
    ``closed`` that the server stops, and what follows is for later. ``successor``: the start of the query that was put
    in its place, None where there is none, or it has no start.
    ``readers`` are those who read it, or may read on; without any it holds little. ``turns`` are those of all who wait
    in the event loop.
    """

    def __init__(self, name: str, bounds: Bounds, *, floor: Instant | None = None, turns: Turns | None = None) -> None:
        self.name = name
        self.floor = floor
        self.origin = floor
        self.start: Instant | None = None
        self.last: Instant | None = None
        self.latest: Evaluation | None = None
        self.ended: str | None = None
        self.gone = False
        self.successor: Instant | None = None
        self.closed = False
        self.listeners = 0
        self.readers: WeakSet[object] = WeakSet()
        self.replaying = asyncio.Lock()
        self.sequence = 0
        self.bounds = bounds
        self._entries: list[Entry] = []
        self._bytes = 0
        self._progress: tuple[Instant, Instant] | None = None
        self._turns = Turns() if turns is None else turns
        self._waiting: dict[asyncio.Future[None], None] = {}
        self._waiting_first: dict[asyncio.Future[None], None] = {}

    # What comes in

    def take(self, notice: Outcome | Progress, watermark: Instant) -> None:
        """Add a notice, unless it was given out before: instants only ever grow."""
        if not isinstance(notice, Progress) and self.last is not None and notice.instant <= self.last:
            return
        match notice:
            case Evaluation():
                self._reach(notice.instant)
                self.latest = notice
                if sse.is_graph(notice.data):
                    self._progress = (notice.instant, max(notice.instant, watermark))
            case Progress():
                progress = (notice.time, notice.watermark)
                if self._progress is not None and progress <= self._progress:
                    return
                if self.last is not None and notice.time < self.last:
                    return
                self._progress = progress
                if self.floor is None:
                    self.floor = self.origin = notice.time
                if self._entries and isinstance(self._entries[-1].notice, Progress):
                    self._bytes -= self._entries.pop().size
            case Failed():
                self._reach(notice.instant)
        self.sequence += 1
        entry = Entry(self.sequence, notice, watermark)
        self._entries.append(entry)
        self._bytes += entry.size
        self._evict()

    def fill(self, outcomes: Sequence[Outcome], *, after: Instant, upto: Instant, watermark: Instant) -> None:
        """Put back all that came of instants in (after, upto], where ``upto`` is the floor or nothing has come yet.

        What does not fit is left out: the floor then stays where those held begin.
        """
        if self.floor is None:
            self.last = self.origin = upto
        elif self.floor != upto:
            return
        self.remember([one for one in outcomes if isinstance(one, Evaluation)])
        self.floor = after
        sequence = self._entries[0].sequence if self._entries else self.sequence + 1
        filled: list[Entry] = []
        for outcome in reversed(outcomes):
            sequence -= 1
            entry = Entry(sequence, outcome, max(watermark, outcome.instant))
            held = len(self._entries) + len(filled)
            if held >= self.bounds.entries or self._bytes + entry.size > self.bounds.bytes:
                self.floor = outcome.instant
                break
            filled.append(entry)
            self._bytes += entry.size
        self._entries[:0] = reversed(filled)

    def remember(self, past: Sequence[Evaluation]) -> None:
        """The last of these is the latest answer, unless one has come."""
        if self.latest is None and past:
            self.latest = past[-1]

    def close(self) -> None:
        """The server stops: listeners are let go, and told nothing."""
        if not self.closed:
            self.closed = True
            self.wake()

    def end(self, reason: str) -> None:
        """The query was removed or replaced; listeners read what is held, and are told."""
        if self.ended is None:
            self.ended = reason
        self.gone = True
        self.wake()

    def wake(self) -> None:
        """Tell all who wait in ``changed``: those who come first at once, the others in turn."""
        waiting_first, self._waiting_first = self._waiting_first, {}
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting_first:
            go_on(waiter)
        self._turns.take(waiting)

    def _reach(self, instant: Instant) -> None:
        """Something came of an instant."""
        if self.floor is None:
            self.floor = self.origin = instant - 1
        self.last = instant

    def _evict(self) -> None:
        bounds = self.bounds if self.readers else self.bounds.within(_UNREAD)
        while len(self._entries) > bounds.entries or self._bytes > bounds.bytes:
            # The latest answer stays, and so does what came last: failures behind that answer may be many.
            oldest = 1 if self._entries[0].notice is self.latest else 0
            if oldest >= len(self._entries) - 1:
                break
            entry = self._entries.pop(oldest)
            self._bytes -= entry.size
            if isinstance(entry.notice, Progress):
                continue
            # What was the latest answer goes after what came behind it.
            if self.floor is None or self.floor < entry.notice.instant:
                self.floor = entry.notice.instant

    # What goes out

    @property
    def live(self) -> Instant | None:
        """The position of one who joins now: all evaluations up to it are past. None: unknown."""
        return self.last if self.last is not None else self.floor

    def is_after_start(self, instant: Instant) -> bool:
        """Whether an evaluation at this instant is of the query as it started, and not only of its past."""
        return self.start is not None and instant > self.start

    def next(self, cursor: int) -> Entry | None:
        """The first entry held after the one with sequence number ``cursor``."""
        index = bisect_right(self._entries, cursor, key=lambda entry: entry.sequence)
        return self._entries[index] if index < len(self._entries) else None

    def after(self, instant: Instant) -> list[Evaluation]:
        """The evaluations held that are later than an instant, oldest first."""
        notices = (entry.notice for entry in self._entries)
        return [one for one in notices if isinstance(one, Evaluation) and one.instant > instant]

    def held(self, instant: Instant) -> Entry | None:
        """The evaluation of an instant, if it is held."""
        found = (one for one in self._entries if isinstance(one.notice, Evaluation) and one.notice.instant == instant)
        return next(found, None)

    async def changed(self, *, first: bool = False) -> None:
        """Wait for entries, or the end, that were not there at the call; ``first``: and for no listener's turn."""
        waiting = self._waiting_first if first else self._waiting
        waiter = asyncio.get_running_loop().create_future()
        waiting[waiter] = None
        try:
            await waiter
        finally:
            waiting.pop(waiter, None)
