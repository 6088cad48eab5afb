"""The late elements of a stream, in the stream of late ones beside it.

What was late is known from the stream's own log alone: each element has its time and the watermark that it met, each
frame how many late ones there were up to its end. How many of these the log of late elements has is its position,
which is stored with them: so each is there once, wherever a crash has cut it short.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.log.format.columns import REQUEST, TERMS
from spark_backend.log.reader import LogReader
from spark_backend.log.unreadable import UnreadableLog
from spark_backend.log.writer import StreamLog

_POSITION = "late"
_BYTES_AT_ONCE = 8 * 1024 * 1024


class LateElements:
    """Copies late elements from a log, in its order. Thread-safe."""

    def __init__(self, directory: Path) -> None:
        self._lock = threading.Lock()
        self._reader = LogReader(directory)
        self._place = self._reader.begin
        self.copied = 0
        """How many late elements of the log are known to be copied, or to be lost."""

    def copy(self, late: StreamLog | UnreadableLog) -> None:
        """Append those that are missing to the log of late elements; durable on return.

        Raises StorageFull or Unavailable where that cannot be: what was appended before stays, and is not again.
        """
        with self._lock:
            self._reader.refresh()
            copied = int(late.positions.get(_POSITION, b"0"))
            if copied > self._reader.late:
                copied = 0  # of a log that was lost: this one has begun anew
            more = True
            while more:
                frames, place = self._reader.late_after(self._place, _BYTES_AT_ONCE)
                for before, upto, rows in frames:
                    if upto > copied:
                        late.append(_request(rows, copied - before), positions={_POSITION: str(upto).encode()})
                        copied = upto
                more, self._place = place != self._place, place
            self.copied = self._reader.late

    def close(self) -> None:
        """Close the files."""
        self._reader.close()


def _request(rows: pa.RecordBatch, known: int) -> pa.RecordBatch:
    """The late elements among the rows (columns of STORED), less the first ``known`` of them, as a request."""
    rows = rows.filter(pc.less_equal(rows["time"], rows["seen"]))
    # Elements are numbered in the log's order, and their rows are neighbours.
    ordinals = pc.rank(rows["element"], tiebreaker="dense")
    element = pc.subtract(ordinals.cast(pa.int32()), pa.scalar(1 + max(known, 0), pa.int32()))
    request = pa.RecordBatch.from_arrays(
        [element, pa.nulls(len(rows), pa.int64()), *(rows[name] for name in TERMS)], schema=REQUEST
    ).filter(pc.greater_equal(element, 0))
    return pa.RecordBatch.from_arrays([_of_its_own(column) for column in request.columns], schema=REQUEST)


def _of_its_own(column: pa.Array) -> pa.Array:
    """The column without the terms that only other rows of its frame have."""
    if not pa.types.is_dictionary(column.type):
        return column
    return pc.dictionary_encode(pc.dictionary_decode(column))
