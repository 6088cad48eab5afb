"""Messages of a source that were read elsewhere, in a file: one process writes it, the server reads it once."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from protocol.messages.rejected import Rejected
from protocol.sources import SourceMessage


class Parsed(NamedTuple):
    """The elements of all messages that are right (columns of REQUEST), and those that are not."""

    batch: pa.RecordBatch
    rejected: list[Rejected]


@dataclass(frozen=True)
class ParsedFile:
    """So many messages, of so many bytes together, parsed: ``protocol.sources.ParsedMessages`` of this backend's."""

    count: int
    size: int
    path: Path

    def read(self) -> Parsed:
        """Raises FileNotFoundError once it was removed."""
        with self.path.open("rb") as file:
            batch, rejected = pickle.load(file)
        return Parsed(batch, rejected)

    def remove(self) -> None:
        """It is not needed any more."""
        self.path.unlink(missing_ok=True)


def read_unparsed(path: Path) -> list[SourceMessage]:
    """The messages of a file of ``write_unparsed``."""
    messages: list[SourceMessage] = pickle.loads(path.read_bytes())
    return messages


def write_unparsed(path: Path, messages: Sequence[SourceMessage]) -> None:
    """Write messages as they are, whole or not at all."""
    _write(path, list(messages))


def write_parsed(path: Path, batch: pa.RecordBatch, rejected: Sequence[Rejected]) -> None:
    """Write such a file, whole or not at all."""
    _write(path, (batch, list(rejected)))


def _write(path: Path, content: object) -> None:
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        pickle.dump(content, file, pickle.HIGHEST_PROTOCOL)
    unfinished.replace(path)
