"""How many equal messages a log's files have at an instant: for what its writer no longer has in memory.

Blocks of frames with the bounds of their times, laid out once, as frames come; what was counted in a block is kept for
a while, as who sends old messages sends many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from protocol.time import Instant
from spark_backend.log.appending.equal_messages import count_messages
from spark_backend.log.format.memory_map import MappedSegment

_BLOCK_BYTES = 256 * 1024
_COUNTED_BLOCKS = 64


@dataclass(eq=False)
class _Block:
    """Frames of elements that follow each other in a segment, [start, end), and the bounds of their times.

    ``counts``: of the messages with blank nodes in it, by digest; None if they are not known. ``digests``: these, 8
    bytes of each in order, where they were counted before: late messages make times of a block that all others are in.
    """

    segment: int
    start: int
    end: int
    earliest: Instant
    latest: Instant
    counts: dict[str, int] | None = None
    digests: npt.NDArray[np.uint64] | None = None

    def may_have(self, digest: str) -> bool:
        """Whether it is to be counted to know how many messages of this digest it has."""
        if self.counts is not None or self.digests is None:
            return True
        place = int(np.searchsorted(self.digests, wanted := _short(digest)))
        return place < len(self.digests) and bool(self.digests[place] == wanted)

    def forget_counts(self) -> None:
        """Know no more than whose they are."""
        if self.counts is not None:
            self.digests = np.sort(np.fromiter(map(_short, self.counts), np.uint64, len(self.counts)))
            self.counts = None


class WrittenMessages:
    """The counts of one log, which grows. Not synchronised."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._blocks: list[_Block] = []
        self._counted: dict[_Block, None] = {}
        self._reached = (0, 0)

    def count(self, digest: str, instant: Instant, first: int, end: tuple[int, int]) -> int:
        """How many messages of this digest have blank nodes at the instant.

        The log's files are the segments from ``first`` to the place ``end`` (segment, offset).
        """
        self._reach(first, end)
        covering = (block for block in self._blocks if block.earliest <= instant <= block.latest)
        return max((self._counts(block).get(digest, 0) for block in covering if block.may_have(digest)), default=0)

    def _counts(self, block: _Block) -> dict[str, int]:
        self._counted.pop(block, None)
        self._counted[block] = None
        if block.counts is None:
            block.counts = {}
            segment = self._segment(block.segment)
            if segment is not None:
                _count(segment, block.start, block.end, block.counts)
            if len(self._counted) > _COUNTED_BLOCKS:
                oldest = next(iter(self._counted))
                del self._counted[oldest]
                oldest.forget_counts()
        return block.counts

    def _reach(self, first: int, end: tuple[int, int]) -> None:
        """Lay out the frames up to the place ``end``; forget the segments before ``first``."""
        if self._blocks and self._blocks[0].segment < first:
            self._blocks = [block for block in self._blocks if block.segment >= first]
            self._counted = {block: None for block in self._counted if block.segment >= first}
        if end == self._reached:
            return
        number, start = max(self._reached, (first, 0))
        while number <= end[0]:
            segment = self._segment(number)
            if segment is not None:
                for block, offset in self._laid_out(segment, start, end[1] if number == end[0] else segment.size):
                    if block.counts is not None:
                        _count(segment, offset, block.end, block.counts)
            number, start = number + 1, 0
        self._reached = end

    def _segment(self, number: int) -> MappedSegment | None:
        """A segment; None if retention has taken it meanwhile, or it cannot be read."""
        try:
            return MappedSegment(self._directory, number)
        except OSError:
            return None

    def _laid_out(self, segment: MappedSegment, start: int, end: int) -> Iterator[tuple[_Block, int]]:
        """Put the segment's frames in [start, end) into blocks; gives each one's block, and where it begins."""
        for offset, header in segment.frames(start, end):
            block = self._blocks[-1] if self._blocks else None
            frame_end = offset + header.size
            if block is None or block.segment != segment.number or frame_end - block.start > _BLOCK_BYTES:
                block = _Block(segment.number, offset, frame_end, header.earliest, header.latest)
                self._blocks.append(block)
            else:
                block.end, block.digests = frame_end, None
                block.earliest = min(block.earliest, header.earliest)
                block.latest = max(block.latest, header.latest)
            yield block, offset


def _count(segment: MappedSegment, start: int, end: int, counts: dict[str, int]) -> None:
    """Note the messages of the frames in [start, end). Those that are damaged cannot be evaluated either."""
    for _, _, rows in segment.read(start, end):
        if rows is not None:
            count_messages(rows["s"].dictionary, counts)


def _short(digest: str) -> np.uint64:
    return np.uint64(int(digest[:16], 16))
