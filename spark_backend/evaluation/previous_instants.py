"""The instants before those that are due, found where these are evaluated: ET is a function of windows and the log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from protocol.errors import ProtocolError
from protocol.time import Instant
from protocol.windows.instants import previous_instant
from protocol.windows.spec import StreamWindow
from protocol.windows.timeline import Timeline
from spark_backend.log.reader import LogReader


class PreviousInstants:
    """ET of queries over one log each, by the name of its directory. As new as the last ``refresh``."""

    def __init__(self, streams: Path) -> None:
        self._streams = streams
        self._known: dict[str, tuple[LogReader, Timeline]] = {}

    def refresh(self) -> None:
        """See what has been appended since; a log that cannot be read is read anew when it is asked for."""
        for log, (reader, timeline) in list(self._known.items()):
            try:
                reader.refresh()
                _extend(timeline, reader)
            except (ProtocolError, OSError):
                del self._known[log]

    def before(self, member: StreamWindow, start: Instant | None, instants: Sequence[Instant]) -> list[Instant | None]:
        """For each instant the one before it in ET of a query of this window, None where none is after ``start``."""
        if member.stream not in self._known:
            reader, timeline = LogReader(self._streams / member.stream), Timeline()
            _extend(timeline, reader)
            self._known[member.stream] = reader, timeline
        _, timeline = self._known[member.stream]
        return [previous_instant([member], {member.stream: timeline}, instant, start) for instant in instants]


def _extend(timeline: Timeline, reader: LogReader) -> None:
    elements = reader.new_elements()
    if elements is not None:
        timeline.extend(elements.time.to_numpy(), elements.seen.to_numpy(), elements.triples.to_numpy())
    if reader.retained_from is not None:
        timeline.forget(reader.retained_from + 1)
