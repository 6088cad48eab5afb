"""A stream's log that could not be opened: until it is, it says why to whoever asks, and everything else goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pyarrow as pa

from protocol.errors import Unavailable
from protocol.processes.durable_files import sync_directory
from protocol.time import BEFORE_ALL, Instant, Milliseconds
from spark_backend.files import link_or_copy
from spark_backend.log.appending.request_keys import RequestKey
from spark_backend.log.counts import LogCounts
from spark_backend.log.damage import Damage
from spark_backend.log.format.manifest import MANIFEST
from spark_backend.log.format.positions import Positions
from spark_backend.log.partitions import PartitionWatermarks


class UnreadableLog:
    """In the place of a ``StreamLog``, with its methods."""

    def __init__(self, directory: Path, reason: str) -> None:
        self._directory = directory
        self.reason = reason

    def answer(self, key: RequestKey) -> NoReturn:
        self._refuse()

    @property
    def positions(self) -> NoReturn:
        """What it had is not known."""
        self._refuse()

    def request(self, key: RequestKey) -> NoReturn:
        self._refuse()

    def append(
        self,
        batch: pa.RecordBatch,
        key: RequestKey | None = None,
        positions: Positions | None = None,
        at: Instant | None = None,
        partition: str | None = None,
    ) -> NoReturn:
        self._refuse()

    def append_all(
        self, requests: Sequence[tuple[pa.RecordBatch, RequestKey | None]], at: Instant | None = None
    ) -> NoReturn:
        self._refuse()

    def advance(self, watermark: Instant | PartitionWatermarks) -> NoReturn:
        self._refuse()

    def know_partitions(self, names: Iterable[str]) -> NoReturn:
        self._refuse()

    def end(self) -> NoReturn:
        self._refuse()

    def tick(self) -> None:
        """There is no watermark to be moved."""

    def retain(self, needed: Milliseconds, evaluated: Instant | None = None) -> None:
        """Nothing goes."""

    def describe(self) -> LogCounts:
        """Nothing is known of it but that it is damaged."""
        damage = Damage(1, 0, self.reason, 0, None, 0, 0, *3 * [BEFORE_ALL])
        return LogCounts(0, 0, 0, 0, None, None, None, False, None, [damage], {})

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Nothing is ever appended."""
        yield

    def copy_to(self, directory: Path) -> None:
        """Make a copy of the files as they are. Raises Unavailable if one of them cannot be copied."""
        try:
            shutil.copytree(self._directory, directory, copy_function=_copy)
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unavailable(
                f"the stream's log in streams/{self._directory.name} cannot be copied: {reason}"
            ) from error

    def close(self) -> None:
        """Nothing is open."""

    def drop(self) -> None:
        """Nothing is open."""

    def delete(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self._directory, ignore_errors=True)
        sync_directory(self._directory.parent)

    def _refuse(self) -> NoReturn:
        raise Unavailable(f"the stream's log in streams/{self._directory.name} cannot be opened: {self.reason}")


def _copy(source: str, target: str) -> None:
    # Segments are never changed where they are committed.
    copied = shutil.copyfile if os.path.basename(source) == MANIFEST else link_or_copy
    copied(Path(source), Path(target))
