"""How far the queries are: told to their listeners, and to the logs, which keep what is still to be read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from protocol.errors import ProtocolError
from protocol.evaluations import Ended, Notice, Progress
from protocol.time import BEFORE_ALL, Instant, Milliseconds
from protocol.windows.spec import (
    CountWindow,
    FactsWindow,
    LandmarkWindow,
    NowWindow,
    SessionWindow,
    StreamWindow,
    TimeWindow,
)
from protocol.windows.timeline import END
from spark_backend.queries.outputs import Outputs
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.streams.streams import Streams
from spark_backend.streams.timelines import Timelines

log = logging.getLogger(__name__)


class QueryProgress:
    """Looks how far the queries are. ``publish`` is called when one of them has ended. ``clock`` gives seconds."""

    def __init__(
        self,
        running: RunningQueries,
        timelines: Timelines,
        streams: Streams,
        outputs: Outputs,
        publish: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._running = running
        self._timelines = timelines
        self._streams = streams
        self._outputs = outputs
        self._publish = publish
        self._behind: set[str] = set()
        """The registrations whose outputs stay behind, as it was logged, as long as they last."""
        self._untold = False
        """Whether a log could not be told what is still to be read, as it was logged."""

    def say(self) -> None:
        """Tell of each query that has come further."""
        with self._running.telling:
            self._running.tell(self.look())

    def follow(self) -> None:
        """Read for the queries that run now, and keep what they need."""
        self._timelines.follow((), self._running.windows)
        # Said at once: what comes before the next look must not drop what a query has still to read.
        self.keep_needed()

    def retain(self, beginning: Sequence[StreamWindow] = ()) -> None:
        """Tell the logs what the queries have still to read. Those of windows that are ``beginning`` keep all that they
        have until it is told again: where the query of these begins is not known yet.
        """
        needed = self._needed()
        for member in beginning:
            reach, _ = needed.get(member.stream, (0, None))
            needed[member.stream] = reach, BEFORE_ALL
        self._streams.retain(needed)

    def keep_needed(self) -> None:
        """As ``retain``; where that cannot be, it is logged once, and told again with the next look."""
        try:
            self.retain()
            self._untold = False
        except OSError as error:
            if not self._untold:
                self._untold = True
                log.error("a stream's log could not be told what is still to be read: %s", error)

    def behind(self, running: RunningQuery, watermark: Instant | None) -> Milliseconds:
        """How far the watermark is ahead of what is out; where all streams have ended, the last instant of ET."""
        if not running.evaluable or watermark is None or not running.reached:
            return 0
        place = running.position
        if place is None:
            # Nothing is out yet: as far as from the first instant that is due.
            place = self._timelines.next_instant(running.windows, None, watermark)
        if watermark >= END:
            watermark = self._timelines.previous_instant(running.windows, END + 1, place)
        return 0 if place is None or watermark is None else max(watermark - place, 0)

    def look(self) -> list[Notice]:
        """What there is to tell; under ``telling``."""
        notices: list[Notice] = []
        with self._running.lock:
            self._timelines.refresh()
            self._behind &= {running.registered.key for running in self._running}
            for running in self._running:
                watermark = self._timelines.watermark(running.logs)
                if watermark is None or not running.evaluable or watermark == running.progressed:
                    continue
                due = self._timelines.next_instant(running.windows, running.position, watermark)
                if due is not None:
                    _remember(running, self._clock(), watermark, due)
                    continue  # on its way
                running.reached.clear()
                if watermark > BEFORE_ALL:
                    try:
                        self._outputs.reach(running, watermark)
                    except (ProtocolError, OSError) as error:
                        if running.registered.key not in self._behind:
                            self._behind.add(running.registered.key)
                            log.error("the output of the query %s stays behind: %s", running.name, error)
                        continue
                    self._behind.discard(running.registered.key)
                running.progressed = watermark
                if watermark >= END:
                    running.ended = True
                    notices.append(Ended(running.name, "all streams of the query have ended"))
                elif watermark > BEFORE_ALL:
                    notices.append(Progress(running.name, watermark, watermark))
            # What has been found out is told, whatever cannot be written; it is written again later.
            try:
                if any(isinstance(notice, Ended) for notice in notices):
                    self._publish()
            except OSError as error:
                log.error("that queries have ended could not be written down: %s", error)
            self.keep_needed()
        return notices

    def _needed(self) -> dict[str, tuple[Milliseconds, Instant | None]]:
        """Per log, what its queries still read: how far back, and where the one furthest behind is."""
        needed: dict[str, tuple[Milliseconds, Instant | None]] = {}
        for running in self._running:
            if running.failed is not None:
                continue
            for member in running.windows:
                place = self._read_from(running, member)
                reach, behind = needed.get(member.stream, (0, None))
                needed[member.stream] = (
                    max(reach, self._reach(member, place)),
                    place if behind is None else min(behind, place),
                )
        for dormant in self._running.dormant.values():
            needed |= {log: (needed.get(log, (0, None))[0], BEFORE_ALL) for log in dormant.keeps}
        return needed

    def _read_from(self, running: RunningQuery, member: StreamWindow) -> Instant:
        """Everything up to here is out, and the last answer before it is read no more.

        That one is made again after a restart: for who asks for it, and to compare the next one with. It may be a step
        behind the watermark; where others decide when to evaluate it may be far behind, and nothing waits for it.
        """
        place = running.position
        reached = BEFORE_ALL if running.progressed is None else running.progressed
        if place is None:
            return reached
        if running.writer.needs_previous and running.evaluated is not None:
            return self._compared(running, running.evaluated)
        match member.window:
            case TimeWindow(slide=slide, report=report):
                step = max(slide, 0 if report is None or report.period is None else report.period)
                return max(place, reached - step)
            case CountWindow(partition=None) if len(running.windows) == 1:
                return place
            case _:
                return max(place, reached)

    def _compared(self, running: RunningQuery, evaluated: Instant) -> Instant:
        """Where the answer is that the last one was compared with, so that this one can be made again until there is
        another, which is compared with it.
        """
        writer = running.writer
        if writer.previous is not None and writer.previous.instant == evaluated:
            compared = writer.compared
        else:  # since a restart, or where it failed, or had nothing to report, for however long
            compared = self._timelines.previous_instant(running.windows, evaluated, running.registered.start)
        return evaluated if compared is None else compared

    def _reach(self, member: StreamWindow, place: Instant) -> Milliseconds:
        """How far back from ``place`` evaluations after it reach."""
        window = member.window
        match window:
            case TimeWindow():
                return window.width + window.offset
            case FactsWindow():
                # What began, however long ago, holds until it ends.
                return place - BEFORE_ALL
            case LandmarkWindow(landmark=since) if since == BEFORE_ALL:
                # All of the stream that is kept at an instant: of what came since, however far time is by now.
                return self._streams.retention(member.stream)
            case LandmarkWindow():
                return max(place - window.opening, 0)
            case CountWindow() if window.partition:
                # A key that has long been silent still has its last elements.
                return place - BEFORE_ALL
            case SessionWindow(gap=gap):
                # All of a session that is open, or closes there, and so far before it that no other is taken for a part
                # of it.
                first = self._timelines.open_session(member, gap, place)
                return gap if first is None else gap + place - first + 1
            case CountWindow():
                return place - min(self._timelines.bounds(member, place)[0], place)
            case NowWindow():
                return 1


def _remember(running: RunningQuery, now: float, watermark: Instant, due: Instant) -> None:
    """Remember when the watermark came to where it is, as long as what it made due is not out."""
    reached = running.reached
    if not reached or reached[-1][1] < watermark:
        if len(reached) == reached.maxlen:
            del reached[1]  # the first one tells since when
        reached.append((now, watermark))
    while len(reached) > 1 and reached[0][1] < due:
        reached.popleft()
