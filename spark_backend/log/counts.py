"""A log at a moment, as its writer tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from protocol.time import Instant
from spark_backend.log.damage import Damage
from spark_backend.log.partitions import PartitionCounts


class LogCounts(NamedTuple):
    """A log at a moment. None where there is no such instant yet; the watermark is END once it ended.

    ``elements``, ``triples``, ``late``, ``first`` and ``last`` count from the log's creation, ``bytes`` what
    it holds now. All elements after ``retained_from`` are held (None: all there ever were), but for the ``damage``
    that was found when the log was opened. ``partitions``: those of an event stream that has some, by name.
    """

    elements: int
    triples: int
    late: int
    bytes: int
    first: Instant | None
    last: Instant | None
    watermark: Instant | None
    ended: bool
    retained_from: Instant | None
    damage: list[Damage]
    partitions: Mapping[str, PartitionCounts]
