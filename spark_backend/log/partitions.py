"""The partitions by which a stream's watermark is told apart (docs/model.md, "Watermarks").

A partition has a watermark of its own, which its elements move. The stream's is the least of these and never steps
back, so none of them is below it. Only what a partition has reached by itself is kept for each: as a position under a
reserved name, in the frame of what moved it. What is said of the stream as a whole moves the stream's watermark, which
every frame has anyway.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from protocol.streams import InvalidPartition, StreamSettings, TimeKind
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.timeline import END
from spark_backend.log.format.positions import Positions

PartitionWatermarks = Mapping[str, Instant]
"""What each partition has reached by itself; BEFORE_ALL where it has had nothing. None for a stream without."""

_PREFIX = "\0watermark "
_WATERMARK = struct.Struct("<q")


class PartitionCounts(NamedTuple):
    """A partition at a moment. ``watermark``: None before there is one. ``waits``: it has had nothing of its own yet.

    ``heard``: how many elements the stream had had after the last one of the partition since the log was opened,
    0 without one; what comes for no partition is of all of them.
    """

    watermark: Instant | None
    waits: bool
    heard: int


def partition_names(settings: StreamSettings) -> list[str]:
    """The partitions that a stream has by its settings: none of it is told apart if there is only one."""
    return [str(number) for number in range(settings.partitions)] if settings.partitions > 1 else []


def partition_name(settings: StreamSettings, number: int | None) -> str | None:
    """The partition with a number; None for all of them, and where the watermark is not told apart by partition.

    Raises InvalidPartition.
    """
    if number is not None and not 0 <= number < settings.partitions:
        raise InvalidPartition(
            f"the stream has no partition {number}: its partitions are 0 to {settings.partitions - 1}"
            if settings.partitions > 1
            else f"the stream has no partition {number}: it is not divided, so leave the partition out"
        )
    if number is None or settings.partitions == 1 or settings.time is TimeKind.ARRIVAL:
        return None
    return str(number)


def partition_watermarks(settings: StreamSettings, positions: Positions) -> dict[str, Instant]:
    """What the partitions of a log have reached by its positions. An arrival stream's watermark is the clock's."""
    if settings.time is TimeKind.ARRIVAL:
        return {}
    reached = {
        name.removeprefix(_PREFIX): _WATERMARK.unpack(position)[0]
        for name, position in positions.items()
        if name.startswith(_PREFIX)
    }
    return dict.fromkeys(partition_names(settings), BEFORE_ALL) | reached


def as_positions(reached: PartitionWatermarks) -> dict[str, bytes]:
    """As they are kept in the log."""
    return {_PREFIX + name: _WATERMARK.pack(watermark) for name, watermark in reached.items()}


def without_watermarks(positions: Positions) -> dict[str, bytes]:
    """The positions of what fills the stream."""
    return {name: position for name, position in positions.items() if not name.startswith(_PREFIX)}


def raised(reached: PartitionWatermarks, wanted: PartitionWatermarks) -> dict[str, Instant]:
    """Those of the watermarks wanted that change something: partitions that are new, or further than they were."""
    return {name: to for name, to in wanted.items() if name not in reached or to > reached[name]}


def least(reached: PartitionWatermarks, *, but: str | None = None) -> Instant:
    """The least that a partition has reached, without one of them; END if there are no others."""
    return min((watermark for name, watermark in reached.items() if name != but), default=END)


def partition_counts(
    reached: PartitionWatermarks, watermark: Instant, heard: Mapping[str | None, int]
) -> dict[str, PartitionCounts]:
    """The partitions of a stream with this watermark. ``heard``: see PartitionCounts; by name, None for all of them."""
    counts = {}
    for name, own in reached.items():
        held = max(own, watermark)
        last = max(heard.get(name, 0), heard.get(None, 0))
        counts[name] = PartitionCounts(None if held == BEFORE_ALL else held, own == BEFORE_ALL, last)
    return counts


def waiting_for(counts: Mapping[str, PartitionCounts]) -> tuple[str, ...]:
    """The partitions that have had nothing, where others are further than they are: these hold the watermark back."""
    furthest = max((one.watermark for one in counts.values() if one.watermark is not None), default=None)
    return tuple(name for name, one in counts.items() if one.waits and one.watermark != furthest)
