"""Sinks on the disk: of each a document with its settings, and a file with the instant that it delivered last.

``sinks/QUERY/SINK.json`` is written rarely and durably. ``sinks/QUERY/SINK.position`` is written with every delivery
and synced now and then: what a crash of the machine takes from it is delivered again.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from protocol.errors import StorageFull
from protocol.processes.durable_files import synced
from protocol.sinks.settings import SinkSettings, settings_document, settings_of
from protocol.time import Instant

_SLOT = 32


class Position:
    """The instant up to which everything is delivered, in two slots that are written in turn: one is always whole."""

    def __init__(self, file: Path) -> None:
        """Open the file, or make it. Raises OSError."""
        self._descriptor: int | None = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.pread(self._descriptor, 2 * _SLOT, 0)
        slots = [_read(found[at : at + _SLOT]) for at in (0, _SLOT)]
        known = [instant for instant in slots if instant is not None]
        self.instant: Instant | None = max(known, default=None)
        self.delivered = len(set(slots)) > 1
        """Whether an answer of that instant was, or it only began there: then both slots are the same."""
        self._next = 0 if not known else 1 - slots.index(self.instant)
        self.unsynced = False

    def move(self, instant: Instant) -> None:
        """Everything up to this instant is delivered. Not synced. Raises OSError."""
        assert self._descriptor is not None, "a sink that was closed delivers nothing"
        os.pwrite(self._descriptor, _written(instant), self._next * _SLOT)
        self._next = 1 - self._next
        self.instant = instant
        self.delivered = True
        self.unsynced = True

    def begin(self, instant: Instant) -> None:
        """Go on after this instant, which may be before the one there is. Synced. Raises OSError."""
        self.move(instant)
        self.move(instant)
        self.delivered = False
        self.sync()

    def sync(self) -> None:
        """Bring it to the disk. Raises OSError."""
        descriptor = self._descriptor  # its sink may end meanwhile
        if descriptor is not None:
            # Before, for what is written meanwhile is not synced.
            self.unsynced = False
            try:
                os.fsync(descriptor)
            except OSError:
                self.unsynced = True
                raise

    def close(self) -> None:
        """Let go of the file, which stays."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _written(instant: Instant) -> bytes:
    digits = f"{instant:+020d}".encode()
    return b"%b %08x\n\n\n" % (digits, zlib.crc32(digits))


def _read(slot: bytes) -> Instant | None:
    digits, _, rest = slot.partition(b" ")
    return int(digits) if len(slot) == _SLOT and rest.strip() == b"%08x" % zlib.crc32(digits) else None


@dataclass(frozen=True)
class KeptSink:
    """A sink as it is kept: of which query (a digest of its text tells whether that is another now), and where to."""

    query: str
    name: str
    settings: SinkSettings
    digest: str


class SinkFiles:
    """The directory of all sinks of an endpoint."""

    def __init__(self, data: Path) -> None:
        self.directory = data / "sinks"

    def kept(self) -> list[KeptSink]:
        """All sinks. ValueError names a file that is no sink's."""
        found: list[KeptSink] = []
        for file in sorted(self.directory.glob("*/*.json")):
            try:
                document = json.loads(file.read_bytes())
                settings = settings_of(document["settings"])
                found.append(KeptSink(file.parent.name, file.name.removesuffix(".json"), settings, document["query"]))
            except Exception as error:
                raise ValueError(f"the sink in {file} cannot be read, restore or remove it: {error}") from error
        return found

    def position(self, query: str, name: str) -> Position:
        """How far a sink is. Raises OSError."""
        return Position(self.directory / query / f"{name}.position")

    def write(self, sink: KeptSink, begin: Instant | None) -> None:
        """Keep a sink, durably, in place of the one of its name; ``begin``: where to go on from, None: where that was.

        Raises StorageFull and OSError, with nothing changed.
        """
        try:
            self._write(sink, begin)
        except OSError as error:
            raise StorageFull.of(error, "the sink") or error from error

    def _write(self, sink: KeptSink, begin: Instant | None) -> None:
        directory = self.directory / sink.query
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"{sink.name}.json"
        temporary = directory / f".{sink.name}.new"
        text = json.dumps({"settings": settings_document(sink.settings), "query": sink.digest}, ensure_ascii=False)
        try:
            # Others may not read it: it may have secrets.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as written:
                written.write(text)
                written.flush()
                os.fsync(written.fileno())
            # Before the document: a sink without a position would not know where to begin.
            begun = nullcontext() if begin is None else self._begun(sink, begin)
            with begun, synced(directory, self.directory, self.directory.parent):
                os.replace(temporary, file)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    @contextmanager
    def _begun(self, sink: KeptSink, begin: Instant) -> Iterator[None]:
        """The sink's position is ``begin``, and what it was before if that, or what is done meanwhile, fails (OSError).

        One that was damaged, or not there, stays at ``begin``.
        """
        position = self.position(sink.query, sink.name)
        former = position.instant
        try:
            position.begin(begin)
            yield
        except OSError:
            if former is not None:
                position.begin(former)
            raise
        finally:
            position.close()

    def remove(self, query: str, name: str) -> None:
        """Forget a sink, durably. Raises OSError."""
        directory = self.directory / query
        if directory.exists():
            with synced(directory):
                (directory / f"{name}.json").unlink(missing_ok=True)
                (directory / f"{name}.position").unlink(missing_ok=True)

    def remove_all(self, query: str) -> None:
        """Forget all sinks of a query, durably. Raises OSError."""
        directory = self.directory / query
        if directory.exists():
            with synced(self.directory):
                shutil.rmtree(directory)

    def set_aside(self, query: str) -> Path | None:
        """Move what is there of a query that is not known where nobody reads it; None: there is nothing.

        Raises OSError.
        """
        directory, number = self.directory / query, 1
        if not directory.exists():
            return None
        while (aside := self.directory.with_name(f"{self.directory.name}.unknown-{number}") / query).exists():
            number += 1
        aside.parent.mkdir(exist_ok=True)
        directory.rename(aside)
        return aside

    def backup(self, data: Path) -> None:
        """Copy all of it into another data directory, while sinks may come and go. Raises OSError."""
        # Of each the position before the document: what was removed in between then has no document, and is no sink.
        for position in self.directory.glob("*/*.position"):
            copy = SinkFiles(data).directory / position.relative_to(self.directory)
            copy.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                shutil.copy2(position, copy)
                shutil.copy2(position.with_suffix(".json"), copy.with_suffix(".json"))
