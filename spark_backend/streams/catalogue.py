"""The catalogue: streams and standing queries, as they outlive a restart. One JSON file, replaced whole."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from protocol.streams import StreamSettings, TimeKind
from protocol.time import Instant
from spark_backend.files import write_atomically


@dataclass(frozen=True)
class StreamEntry:
    """``log``: the directory of its log; a stream made anew under an old name has another.

    ``query``: the name of the standing query whose output it is.
    """

    name: str
    log: str
    settings: StreamSettings
    query: str | None = None


@dataclass(frozen=True)
class QueryEntry:
    """A standing query: its text as registered, where its evaluations start, the stream of each window."""

    name: str
    key: str
    text: str
    start: Instant | None
    streams: list[str]


@dataclass
class Catalogue:
    """What is in the file. ``serial`` numbers logs and registrations; a number is never used again."""

    path: Path
    streams: dict[str, StreamEntry] = field(default_factory=dict)
    queries: dict[str, QueryEntry] = field(default_factory=dict)
    serial: int = 0

    @classmethod
    def open(cls, path: Path) -> Catalogue:
        """Read the file, or start empty. ValueError for a file that is none of ours."""
        if not path.exists():
            return cls(path)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            streams = {entry["name"]: _stream(entry) for entry in document["streams"]}
            queries = {entry["name"]: QueryEntry(**entry) for entry in document["queries"]}
            return cls(path, streams, queries, document["serial"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not a catalogue of streams and queries: {error}") from error

    def next_serial(self) -> int:
        """A number that was never given before (once the catalogue is saved)."""
        self.serial += 1
        return self.serial

    def save(self) -> None:
        """Write the file, durably."""
        document = {
            "serial": self.serial,
            "streams": [asdict(entry) for entry in self.streams.values()],
            "queries": [asdict(entry) for entry in self.queries.values()],
        }
        write_atomically(self.path, json.dumps(document, ensure_ascii=False, indent=1), durable=True)


def _stream(document: dict[str, Any]) -> StreamEntry:
    settings = document["settings"]
    return StreamEntry(
        document["name"],
        document["log"],
        StreamSettings(
            **{
                **settings,
                "time": TimeKind(settings["time"]),
                "timestamp_path": tuple(settings["timestamp_path"]),
            }
        ),
        document.get("query"),
    )
