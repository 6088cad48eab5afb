"""Where everything lies below the data directory."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The data directory of one endpoint; processes other than the server get its path and no more."""

    root: Path

    @property
    def streams(self) -> Path:
        """One directory a stream log."""
        return self.root / "streams"

    @property
    def queries(self) -> Path:
        """The query registry and the prepared queries."""
        return self.root / "queries"

    @property
    def statics(self) -> Path:
        """Static patterns' triples as Arrow files, one a pattern and version."""
        return self.root / "statics"

    @property
    def services(self) -> Path:
        """What services gave to continuous queries: a directory for each registration that asks any."""
        return self.root / "services"

    @property
    def checkpoint(self) -> Path:
        """Structured Streaming's checkpoint."""
        return self.root / "checkpoint"

    @property
    def spark(self) -> Path:
        """Spark's scratch space."""
        return self.root / "spark"

    def spill(self, process: str) -> Path:
        """What does not fit into the memory of evaluations: a directory for each process that makes them."""
        return self.spark / f"spill.{process}"

    @property
    def kafka(self) -> Path:
        """What was read of Kafka's topics and is not stored yet: a directory for each source, until Spark stops."""
        return self.spark / "spark" / "kafka"

    @property
    def cores(self) -> Path:
        """How many evaluations can run at once: the cores that Spark has, now."""
        return self.spark / "cores.json"

    @property
    def source_turns(self) -> Path:
        """Whether the source of instants is in the middle of an answer."""
        return self.spark / "source.turns"

    @property
    def catalogue(self) -> Path:
        """The streams and standing queries that outlive a restart."""
        return self.root / "catalogue.json"

    @property
    def progress(self) -> Path:
        """Per query, the latest instant whose answer is out."""
        return self.root / "progress.json"

    def remove_checkpoint(self) -> None:
        """Let Spark begin without one."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        self.checkpoint.mkdir(exist_ok=True)

    def make(self) -> None:
        below = (self.streams, self.queries, self.statics, self.services, self.checkpoint, self.spark)
        for directory in (self.root, *below):
            directory.mkdir(parents=True, exist_ok=True)
