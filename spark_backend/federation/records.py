"""The records of what services gave: a file for each registration, instant and service of the query.

A service may give something else a moment later. So what it gave, or that it failed, is durable before an answer is
made of it, and whoever needs the answer again reads the record: an answer stays a function of what is in the data
directory. The server writes them, evaluators read them.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from protocol.errors import Unavailable
from protocol.processes.durable_files import write_atomically
from protocol.time import Instant
from spark_backend.files import document, link_or_copy, read_document

Row = tuple[str | None, ...]
"""A solution: canonical terms, by the places of its service's variables."""


@dataclass(frozen=True)
class ServiceRecord:
    """What a service gave at an instant; ``failed`` says why it gave nothing, where that is not SILENT."""

    rows: Sequence[Row] = ()
    failed: str | None = None


class ServiceRecords:
    """The records below a directory. One process writes; thread-safe."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._writing = threading.Lock()

    def begin(self, key: str) -> None:
        """Let there be records of a registration."""
        (self._directory / key).mkdir(exist_ok=True)

    def has(self, key: str, instant: Instant, number: int) -> bool:
        return self._path(key, instant, number).exists()

    def read(self, key: str, instant: Instant, number: int) -> ServiceRecord:
        """Raises FileNotFoundError, and DamagedDocument for what is not as it was written."""
        content = read_document(self._path(key, instant, number))
        return ServiceRecord([tuple(row) for row in content["rows"]], content["failed"])

    def write(self, key: str, instant: Instant, number: int, record: ServiceRecord) -> None:
        """Write a record, durably; the first one stays. Raises OSError, and Unavailable if the registration ended."""
        path = self._path(key, instant, number)
        with self._writing:
            if path.exists():
                return
            text = json.dumps({"rows": record.rows, "failed": record.failed}, ensure_ascii=False)
            try:
                write_atomically(document(path, text, durable=True))
            except FileNotFoundError as error:
                raise Unavailable("the query has ended meanwhile") from error

    def forget(self, key: str) -> None:
        """Delete the records of a registration."""
        shutil.rmtree(self._directory / key, ignore_errors=True)

    def forget_before(self, key: str, instant: Instant) -> None:
        """Delete the records of a registration that are of earlier instants."""
        for path, of in self._of(key):
            if of < instant:
                path.unlink(missing_ok=True)

    def keep(self, keys: Collection[str], *, others: bool = False) -> None:
        """Let there be records of these registrations, and delete those of all ``others`` but where these stay."""
        for path in () if others else self._directory.iterdir():
            if path.name not in keys:
                shutil.rmtree(path, ignore_errors=True)
        for key in keys:
            self.begin(key)

    def copy(self, target: Path) -> None:
        """Make all records appear in another directory, too: none of them ever changes. Those that are there already
        are left as they are.
        """
        for source in self._directory.iterdir():
            copied = target / source.name
            copied.mkdir(exist_ok=True)
            there = set(os.listdir(copied))
            for path, _ in self._of(source.name):
                if path.name not in there:
                    with suppress(FileNotFoundError):  # nobody needs it any more
                        link_or_copy(path, copied / path.name)

    def _of(self, key: str) -> Iterator[tuple[Path, Instant]]:
        for path in (self._directory / key).glob("*.json"):
            if not path.name.startswith("."):
                yield path, int(path.name.partition(".")[0])

    def _path(self, key: str, instant: Instant, number: int) -> Path:
        return self._directory / key / f"{instant}.{number}.json"
