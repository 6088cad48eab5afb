"""A stream of several partitions, each with a watermark, read off docs/model.md, "Watermarks", word for word."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.rsp.oracle import OracleStream, Triple


class PartitionedStream(OracleStream):
    """Without a partition, what comes or is said is of all of them."""

    def __init__(self, lateness: int, partitions: int) -> None:
        super().__init__(lateness)
        self._own: list[int | None] = [None] * partitions

    @property
    def watermark(self) -> int | None:
        return self.said

    def append(self, time: int, triples: Iterable[Triple], partition: int | None = None) -> None:
        super().append(time, triples)
        self.advance(time - self.lateness - 1, partition)

    def advance(self, watermark: int, partition: int | None = None) -> None:
        for number, own in enumerate(self._own):
            if partition in (None, number):
                self._own[number] = watermark if own is None else max(own, watermark)
        if None not in self._own:
            super().advance(min(own for own in self._own if own is not None))
