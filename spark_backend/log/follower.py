"""A stream as it comes: the elements of a log in its order, from some element on (docs/http.md, "Reading a stream")."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from protocol.streams import StreamDamage, StreamElement, StreamGap, StreamItem, StreamReach
from protocol.time import Instant
from spark_backend.log.damage import Damage, lost_files
from spark_backend.log.format.segment import opening_totals, segment_numbers, segment_path
from spark_backend.log.reader import LogReader, Position

_BYTES_AT_ONCE = 256 * 1024


class LogFollower:
    """Takes what has been appended since it last did. Not for several threads at once.

    Begins behind the element with the number ``after``; None: with what comes next. One that is ``foreign``, or that
    the log has not reached, is of another log, which had the stream's name or was lost: then it begins with all there
    is. ``incarnation``: see ``endpoint.backend.StreamFollower``.
    """

    def __init__(self, directory: Path, after: int | None, incarnation: int = 0, *, foreign: bool = False) -> None:
        self.incarnation = incarnation
        self.log = directory.name
        self._directory = directory
        self._reader = LogReader(directory)
        self._foreign = after is not None and (foreign or after >= self._reader.elements)
        self._next = self._reader.elements if after is None else 0 if self._foreign else after + 1
        self._place = self._reader.end if after is None else _before(directory, self._next, self._reader.begin)
        self._exact = after is None or after >= 0
        self._lost = [] if after is None else lost_files(directory, self._reader.begin.segment)
        self.watermark = self._reader.watermark
        self.ended = self._reader.ended

    def take(self) -> list[StreamItem]:
        """The next elements, some at once; none if there are none yet. A gap stands for those that are held no more,
        damage for those that cannot be read.

        Once there are none and ``ended``, there will be none. Raises NotFound when the stream is deleted.
        """
        self._reader.refresh()
        # Also to those who go on behind an element: its number may be one of a log that was lost.
        found: list[StreamItem] = [damage.described(self._directory.name) for damage in self._lost]
        self._lost = []
        while not found:
            rows, self._place = self._reader.read_after(self._place, _BYTES_AT_ONCE)
            if not rows:
                break
            for batch in rows:
                if isinstance(batch, Damage):
                    found += self._damaged(batch)
                else:
                    found += self._elements(batch)
        self.watermark, self.ended = (
            self._reader.watermark,
            self._reader.ended and self._place[:2] >= self._reader.end[:2],
        )
        return found

    @property
    def taken(self) -> StreamReach:
        """How far the stream was at the last ``take``; before the first, when it was opened."""
        return self._reader.reach

    def reach(self) -> StreamReach:
        """How far the stream is by now, for any thread. Raises as ``take`` does."""
        return self._reader.reach_now()

    @property
    def retained_from(self) -> Instant | None:
        """All elements after this are held, as of the last ``take``; None: all there ever were."""
        return self._reader.retained_from

    def close(self) -> None:
        self._reader.close()

    def _damaged(self, damage: Damage) -> list[StreamDamage]:
        """What is lost, unless it was taken before, as far as that is known."""
        if damage.elements == 0 or damage.before + (damage.elements or 1) <= self._next:
            return []
        self._next, self._exact = max(self._next, damage.before + (damage.elements or 0)), False
        return [damage.described(self._directory.name)]

    def _elements(self, rows: pa.RecordBatch) -> list[StreamItem]:
        """The elements of consecutive rows that have not been taken yet."""
        if rows["element"][-1].as_py() < self._next:
            return []
        found: list[StreamItem] = []
        lines: dict[int, list[str]] = {}
        times: dict[int, int] = {}
        columns = (rows[name].to_pylist() for name in ("element", "time", "s", "p", "o", "g"))
        for number, time, s, p, o, g in zip(*columns, strict=True):
            if number >= self._next:
                times[number] = time
                of_element = lines.setdefault(number, [])
                if s is not None:
                    of_element.append(f"{s} {p} {o} .\n" if g is None else f"{s} {p} {o} {g} .\n")
        for number, of_element in lines.items():
            retained_from = self._reader.retained_from
            if self._foreign:
                found.append(StreamGap(times[number] - 1))
            elif number > self._next and self._exact and retained_from is not None:
                found.append(StreamGap(retained_from))
            self._exact, self._foreign = True, False
            found.append(StreamElement(number, times[number], "".join(of_element).encode()))
            self._next = number + 1
        return found


def _before(directory: Path, number: int, begin: Position) -> Position:
    """The place where the last segment begins that begins at or before an element; ``begin`` if there is none."""
    for segment in reversed(segment_numbers(directory)):
        try:
            totals = opening_totals(segment_path(directory, segment))
        except FileNotFoundError:  # retention has taken it, and all before it
            break
        except OSError:  # whoever reads it says that it cannot be read
            continue
        if totals is not None and totals.elements <= number and segment > begin.segment:
            return Position(segment, 0, totals)
    return begin
