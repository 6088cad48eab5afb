"""A backend for an endpoint whose graphs alone are of interest: it has no streams, and says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from endpoint.backend import StreamFollower
from protocol.errors import NotFound, Unavailable
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.evaluations import Evaluation, Health, Listener, QueryDescription
from protocol.kafka import KafkaCluster, KafkaFeed, KafkaReading, KafkaWriter
from protocol.language.model import ContinuousQuery
from protocol.sources import SourceBatch, SourceReceipt
from protocol.streams import AppendReceipt, StreamDescription, StreamSettings
from protocol.time import Instant


def _refuse() -> NoReturn:
    raise Unavailable("this endpoint was started without streams, to run conformance tests on its graphs")


class NoStreams:
    """``endpoint.backend.Backend`` without streams and without continuous queries."""

    def create_stream(self, name: str, settings: StreamSettings) -> bool:
        _refuse()

    def delete_stream(self, name: str) -> None:
        raise NotFound(f"there is no stream {name}")

    def streams(self) -> list[StreamDescription]:
        return []

    def stream(self, name: str) -> StreamDescription:
        raise NotFound(f"there is no stream {name}")

    def follow(self, name: str, after: int | None, *, incarnation: int | None = None) -> StreamFollower:
        raise NotFound(f"there is no stream {name}")

    def append(
        self,
        name: str,
        body: bytes,
        content_type: str,
        at: Instant | None,
        key: str | None = None,
        partition: int | None = None,
    ) -> AppendReceipt:
        raise NotFound(f"there is no stream {name}")

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        raise NotFound(f"there is no stream {name}")

    def positions(self, name: str) -> dict[str, bytes]:
        raise NotFound(f"there is no stream {name}")

    def read_kafka(self, reading: KafkaReading) -> KafkaFeed:
        raise NotFound(f"there is no stream {reading.stream}")

    def write_kafka(self, cluster: KafkaCluster, topic: str) -> KafkaWriter:
        _refuse()

    def advance(self, name: str, watermark: Instant, partition: int | None = None) -> StreamDescription:
        raise NotFound(f"there is no stream {name}")

    def end_stream(self, name: str) -> StreamDescription:
        raise NotFound(f"there is no stream {name}")

    def register(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        since: Instant | None = None,
        landmark: Instant | None = None,
        limits: EvaluationLimits = NO_LIMITS,
    ) -> bool:
        _refuse()

    def remove(self, name: str) -> None:
        raise NotFound(f"there is no query {name}")

    def queries(self) -> list[QueryDescription]:
        return []

    def dormant(self) -> frozenset[str]:
        return frozenset()

    def overdue(self) -> Mapping[str, Sequence[float]]:
        return {"common": [], "own": []}

    def query(self, name: str) -> QueryDescription:
        raise NotFound(f"there is no query {name}")

    def plan(self, name: str, *, measured: bool = False) -> str:
        raise NotFound(f"there is no query {name}")

    def replay(
        self, name: str, after: Instant | None, upto: Instant, *, before_start: bool = False
    ) -> Iterator[Evaluation]:
        raise NotFound(f"there is no query {name}")

    def latest(self, name: str) -> Evaluation | None:
        raise NotFound(f"there is no query {name}")

    def retained_from(self, name: str, after: Instant | None = None) -> Instant | None:
        return None

    def listen(self, listener: Listener) -> None:
        """Nothing is ever told."""

    def store_changed(self) -> None:
        """No evaluation depends on it."""

    def backup(self, directory: Path) -> None:
        (directory / "streams").mkdir()

    def health(self) -> Health:
        return Health("running", "without streams")

    def start(self) -> None:
        """There is nothing to start."""

    def stop(self) -> None:
        """There is nothing to stop."""
