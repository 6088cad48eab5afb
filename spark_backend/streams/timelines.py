"""Timelines of logs, kept up with what is appended: where evaluation instants are computed from."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from protocol.errors import NotFound, ProtocolError
from protocol.time import BEFORE_ALL, LAST_INSTANT, Instant, Milliseconds
from protocol.windows import instants as et
from protocol.windows.instances import content_bounds
from protocol.windows.spec import CountWindow, SessionWindow, StreamWindow, TimeWindow, Unit, WindowSpec
from protocol.windows.timeline import END, Timeline
from spark_backend.evaluation.contents.rows import rows_about
from spark_backend.log.damage import Damage
from spark_backend.log.format.frame import Gap, walk
from spark_backend.log.format.segment import mapped, segment_numbers, segment_path
from spark_backend.log.reader import LogReader

_ALL = 2**62
"""More than any stream has."""

_LOGGER = logging.getLogger(__name__)


class Timelines:
    """The timelines of some logs, by the names of their directories. Thread-safe.

    A log that cannot be read makes its own queries wait, until it can be.
    """

    def __init__(self, streams: Path) -> None:
        self._streams = streams
        self._asking: dict[str, list[WindowSpec]] = {}
        """The windows over each log."""
        self._unread: set[str] = set()
        """Logs that could not be read when they were last tried."""
        self._readers: dict[str, LogReader] = {}
        self._timelines: dict[str, Timeline] = {}
        self._lock = threading.RLock()

    def follow(self, logs: Iterable[str], windows: Iterable[StreamWindow] = ()) -> None:
        """Keep just these logs and those of the windows, and of each what its windows ask for."""
        asking: dict[str, list[WindowSpec]] = {log: [] for log in logs}
        for member in windows:
            asking.setdefault(member.stream, []).append(member.window)
        with self._lock:
            self._asking = asking
            for log, timeline in list(self._timelines.items()):
                # What is asked for first now is made from the first element held on.
                if log not in asking or not timeline.serves(asking[log]):
                    del self._readers[log], self._timelines[log]
            self._unread = set(asking) - set(self._readers)
            self._open_unread()

    def refresh(self) -> bool:
        """Read what is new. True if any log changed."""
        with self._lock:
            changed = self._open_unread() if self._unread else False
            for log in list(self._readers):
                try:
                    changed = self._catch_up(log) or changed
                except (ProtocolError, OSError) as error:
                    del self._readers[log], self._timelines[log]
                    self._cannot_read(log, error)
                    changed = True
                except BaseException:
                    # The reader may be further than the timeline, which would lack the elements in between for ever.
                    del self._readers[log], self._timelines[log]
                    self._unread.add(log)
                    raise
            return changed

    def damage(self, log: str) -> list[Damage]:
        """What reading a log has shown to be damaged. Waits for nobody who reads."""
        reader = self._readers.get(log)
        return [] if reader is None else reader.damage

    def watermark(self, logs: Iterable[str]) -> Instant | None:
        """The least watermark of these logs; None while one of them has none (or is gone)."""
        with self._lock:
            least = min(
                (self._readers[log].watermark if log in self._readers else BEFORE_ALL for log in logs),
                default=BEFORE_ALL,
            )
            return None if least == BEFORE_ALL else least

    def instants(
        self, windows: Sequence[StreamWindow], after: Instant | None, upto: Instant, limit: int | None
    ) -> list[Instant]:
        """ET of these windows in (after, upto]. It ends with the year 9999: no answer could say a later time."""
        with self._lock:
            if not self._known(windows):
                return []
            found = et.evaluation_instants(windows, self._timelines, after, upto, limit=limit)
        return [instant for instant in found if instant <= LAST_INSTANT]

    def next_instant(self, windows: Sequence[StreamWindow], after: Instant | None, upto: Instant) -> Instant | None:
        """The first instant of ET in (after, upto]."""
        with self._lock:
            if not self._known(windows):
                return None
            found = et.next_instant(windows, self._timelines, after, upto)
        return None if found is None or found > LAST_INSTANT else found

    def previous_instant(
        self, windows: Sequence[StreamWindow], before: Instant, start: Instant | None
    ) -> Instant | None:
        """The last instant of ET before an instant, after ``start``."""
        with self._lock:
            if not self._known(windows):
                return None
            found = et.previous_instant(windows, self._timelines, before, start)
            if found is None or found <= LAST_INSTANT:
                return found
            return et.previous_instant(windows, self._timelines, LAST_INSTANT + 1, start)

    def reported_by_time(self, windows: Sequence[StreamWindow], instant: Instant) -> bool:
        """Whether an instant of ET is one, whatever is decided by content."""
        with self._lock:
            return self._known(windows) and et.reported_by_time(windows, self._timelines, instant)

    def held(self, windows: Sequence[StreamWindow]) -> tuple[Instant | None, list[int] | None]:
        """The last instant of ET that the watermarks have reached, and about how many triples each window holds there.

        (None, None) where there is none yet.
        """
        with self._lock:
            reached = self.watermark({member.stream for member in windows})
            if reached is None or not self._known(windows):
                return None, None
            instant = et.previous_instant(windows, self._timelines, min(reached, END - 1) + 1, None)
            if instant is None:
                return None, None
            return instant, [rows_about(self._readers[m.stream], m.window, (instant,)) for m in windows]

    def bounds(self, member: StreamWindow, t: Instant) -> tuple[Instant, Instant]:
        """(after, upto] of a window's content at t: of a count window or session from just before the oldest in it.

        Of a partitioned count from just before the oldest that takes part: that may be the last of its key. Partitioned
        sessions that close at t are in the one of all keys, which is held as long as they are.
        """
        window = member.window
        match window:
            case SessionWindow(gap=gap, partition=partition):
                with self._lock:
                    timeline = self._timelines.get(member.stream)
                    newest = None if timeline is None else timeline.latest(t)
                    if timeline is None or newest is None or newest < t - gap or (newest > t - gap and not partition):
                        return t, t
                    first = timeline.counts.first_of_session(gap, t)
                return (t if first is None else first - 1), t
            case CountWindow(size=size, unit=unit) if not window.partition:
                return self._from_oldest(member, size, unit, t), t
            case CountWindow():
                return self._from_oldest(member, _ALL, Unit.ELEMENTS, t), t
            case _:
                return content_bounds(window, t)

    def _from_oldest(self, member: StreamWindow, size: int, unit: Unit, t: Instant) -> Instant:
        """Just before the oldest of the last that take part at t; t if there are none."""
        with self._lock:
            timeline = self._timelines.get(member.stream)
            oldest = None if timeline is None else timeline.counts.oldest(unit, size, t)
        return t if oldest is None else oldest - 1

    def open_session(self, member: StreamWindow, gap: Milliseconds, t: Instant) -> Instant | None:
        """The first timestamp of the session that is open or closes at t, by the elements that take part there; None
        without.

        Of elements of all keys: the sessions of partitions lie in it.
        """
        with self._lock:
            timeline = self._timelines.get(member.stream)
            newest = None if timeline is None else timeline.latest(t)
            if timeline is None or newest is None or newest + gap < t:
                return None
            return timeline.counts.first_of_session(gap, t)

    def complete_from(self, member: StreamWindow, held: Instant) -> Instant:
        """After this instant the window's content is all held, where the log holds what is after ``held``.

        A LANDMARK and a partitioned window keep their stream from being taken; what was gone before they were
        registered is in no content.
        """
        window = member.window
        match window:
            case TimeWindow():
                return held + window.width + window.offset - 1
            case SessionWindow():
                # What goes on from before closes with its last element; what begins after a gap is whole.
                with self._lock:
                    timeline = self._timelines.get(member.stream)
                    last = held if timeline is None else timeline.counts.end_of_session(window.gap, held)
                return last + window.gap
            case CountWindow() if not window.partition:
                with self._lock:
                    timeline = self._timelines.get(member.stream)
                    if timeline is None or timeline.last is None:
                        return held
                    filled = timeline.counts.filled(window.unit, window.size, held)
                    return max(held, timeline.last if filled is None else filled - 1)
            case _:
                return held

    def _known(self, windows: Sequence[StreamWindow]) -> bool:
        return all(member.stream in self._timelines for member in windows)

    def _open_unread(self) -> bool:
        """Try the logs that could not be read so far. True if there are timelines more."""
        tried, self._unread = self._unread, set()
        for log in tried:
            try:
                self._readers[log] = LogReader(self._streams / log)
                self._timelines[log] = Timeline.of(self._asking[log])
                self._take(log)
            except (ProtocolError, OSError) as error:
                self._readers.pop(log, None)
                self._timelines.pop(log, None)
                self._cannot_read(log, error)
            except BaseException:
                self._readers.pop(log, None)
                self._timelines.pop(log, None)
                self._unread = tried
                raise
        return len(self._unread) < len(tried)

    def _cannot_read(self, log: str, error: ProtocolError | OSError) -> None:
        if not isinstance(error, NotFound):  # deleted since: its queries have nothing to wait for
            _LOGGER.debug("the stream log %s cannot be read now: %s", log, error)
            self._unread.add(log)

    def _catch_up(self, log: str) -> bool:
        if not self._readers[log].refresh():
            return False
        self._take(log)
        return True

    def _take(self, log: str) -> None:
        reader, timeline = self._readers[log], self._timelines[log]
        if timeline.first is None and reader.first is not None:
            # What retention has taken from the log took part once: the evaluations since then stay.
            timeline.extend([reader.first], [reader.first - 1], [0])
        elements = reader.new_elements()
        if elements is not None:
            timeline.extend(elements.time.to_numpy(), elements.seen.to_numpy(), elements.triples.to_numpy())
        if reader.retained_from is not None:
            # What is no longer in the log is in no content: a stream without end has a timeline that has one.
            timeline.forget(reader.retained_from + 1)
        if timeline.counting:
            counts = timeline.counts
            for unit, number in zip((Unit.ELEMENTS, Unit.TRIPLES), reader.contents, strict=True):
                counts.before[unit] = number - counts.total(unit)
        if reader.watermark == END and not timeline.ended:
            # Who looked in time has seen it; ET is the same for those who come later.
            before = _watermark_before_end(self._streams / log)
            if before is not None:
                timeline.advance(before)
        if reader.watermark != BEFORE_ALL:
            timeline.advance(reader.watermark)


def _watermark_before_end(directory: Path) -> Instant | None:
    """The watermark of an ended log just before its end, from its frames; None if there was none."""
    for number in reversed(segment_numbers(directory)):
        before = None
        with mapped(segment_path(directory, number)) as data:
            for found in walk(data, 0, len(data)):
                if isinstance(found, Gap):
                    continue
                if found[1].after.watermark == END:
                    break
                before = found[1].after.watermark
        if before is not None:
            return None if before == BEFORE_ALL else before
    return None
