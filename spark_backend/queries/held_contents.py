"""From when on streams hold what queries read: where one can begin, and which of its answers can be made again."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.time import Instant
from protocol.windows.spec import StreamWindow
from protocol.windows.timeline import END
from spark_backend.queries.running_queries import RunningQuery
from spark_backend.streams.streams import Streams
from spark_backend.streams.timelines import Timelines


class HeldContents:
    """What retention has left of windows' contents."""

    def __init__(self, streams: Streams, timelines: Timelines) -> None:
        self._streams = streams
        self._timelines = timelines

    def after(self, windows: Sequence[StreamWindow]) -> Instant | None:
        """After this instant the contents of the windows are held; None: all there ever were."""
        held = [(member, self._streams.retained_from(member.stream)) for member in windows]
        return max(
            (self._timelines.complete_from(member, after) for member, after in held if after is not None), default=None
        )

    def as_far_as(self, windows: Sequence[StreamWindow], since: Instant) -> Instant:
        """The instant, or a later one up to which retention reaches: before that there would be answers over a part of
        what there was.
        """
        held = self.after(windows)
        return since if held is None else max(since, held)

    def start(self, windows: Sequence[StreamWindow], since: Instant | None) -> Instant | None:
        """After which instant a query begins that is registered now; None: it has all that comes."""
        if since is not None:
            return self.as_far_as(windows, since)
        start = self._timelines.watermark({member.stream for member in windows})
        if start is not None and start >= END:
            # All streams have ended, and with them ET: the query starts after the last of it.
            return self._timelines.previous_instant(windows, END + 1, None)
        return start

    def answers_after(self, running: RunningQuery, after: Instant | None) -> Instant | None:
        """After this instant a query's answers can be made again; None: all of them.

        ``after``: where who asks goes on from. An answer that is compared with the one before needs that, too.
        """
        held, start = self.after(running.windows), running.registered.start
        if after is None or held is None or after <= held or not running.writer.needs_previous:
            return held
        if start is not None and held <= start <= after:
            return held  # the first answer after the start is compared with none
        self._timelines.refresh()
        before = self._timelines.previous_instant(running.windows, after + 1, held)
        return after if before is None else held
