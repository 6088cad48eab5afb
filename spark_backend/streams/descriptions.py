"""A stream as it is told, put together of the logs that it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from protocol.streams import REJECTED, StreamDescription, side_stream
from spark_backend.log.counts import LogCounts
from spark_backend.log.partitions import waiting_for
from spark_backend.streams.catalogue import StreamEntry


def description(logs: Sequence[tuple[StreamEntry, LogCounts]], rejected_by: Mapping[str, int]) -> StreamDescription:
    """The first of these streams, the others being those beside it that there are."""
    entry, counts = logs[0]
    ended = counts.ended
    return StreamDescription(
        name=entry.name,
        settings=entry.settings,
        watermark=None if ended else counts.watermark,
        first=counts.first,
        last=counts.last,
        elements=counts.elements,
        triples=counts.triples,
        late=counts.late,
        bytes=counts.bytes,
        ended=ended,
        query=entry.query,
        damage=tuple(damage.described(one.log) for one, log in logs for damage in log.damage),
        rejected_by=dict(rejected_by),
        partitions={name: None if ended else one.watermark for name, one in counts.partitions.items()},
        waiting_for=() if ended else waiting_for(counts.partitions),
        rejected=sum(log.elements for one, log in logs if one.name == side_stream(entry.name, REJECTED)),
    )
