"""Committed changes on the disk, and a note of how much of the database's files is there.

Oxigraph leaves it to the operating system when its log is written out, and RocksDB takes a log or a manifest that was
cut off at the end of a record, or is missing, for one that never had more. So a change is synced before anybody is told
that it is done, and a note says how long the files were then: ``committed``, in the store's directory. It also has the
version of the store, which is known to hold as long as nothing was written behind what is noted.

A log may be the file of a former one, written over from its beginning. What is left of that one follows the last
record, until it is cut off, and RocksDB says the same of it as of a record that is damaged. So a log is noted to be as
long as the records that have its number, and there is a checksum of these.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

NOTE = "committed"

_KINDS = ("*.log", "MANIFEST-*")
"""Files that grow until one with a larger number takes their place."""

_LOG = re.compile(r"[0-9]+\.log")
_BLOCK = 32_768
_PIECE = 1 << 20


class _Kind(NamedTuple):
    """Of records: how long their headers are, their types, and which of these a change ends with."""

    header: int
    types: range
    last: tuple[int, int]


_PLAIN = _Kind(7, range(1, 5), (1, 4))
_RECYCLABLE = _Kind(11, range(5, 9), (5, 8))
"""As in all logs of a store that Oxigraph has set up: these have the number of their log."""


class _Records(NamedTuple):
    """What a log has of its own: the first so many bytes, with this checksum."""

    end: int = 0
    checksum: int = 0


@dataclass(frozen=True)
class _Note:
    """How long the files were when the store came to this version, and the checksums of its logs.

    One that was made before there were checksums has none, and of logs how long the files were, whatever is in them.
    """

    sizes: Mapping[str, int]
    version: int
    checksums: Mapping[str, int] | None

    def records(self, name: str) -> _Records:
        return _Records(self.sizes.get(name, 0), (self.checksums or {}).get(name, 0))


class CommittedFiles:
    """Keeps the note of a store that this process has open, for one thread at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sizes: dict[str, int] = {}
        self._records: dict[str, _Records] = {}

    def sync(self, version: int) -> None:
        """Have everything that was committed on the disk, and note it. OSError where it cannot be brought there."""
        sizes = _sizes(self._directory)
        records: dict[str, _Records] = {}
        for name, size in sizes.items():
            # One that was removed meanwhile: all it had is in a table by now.
            with suppress(FileNotFoundError), _opened(self._directory / name) as file:
                grown = size > self._sizes.get(name, 0)
                if _LOG.fullmatch(name):
                    former = self._records.get(name, _Records())
                    records[name] = _walked(file, name, former)
                    # What is written over a former log does not make the file longer.
                    grown = grown or records[name] != former
                if grown:
                    os.fsync(file)
        if not sizes.keys() <= self._sizes.keys():
            with _opened(self._directory) as directory:
                os.fsync(directory)
        self._sizes, self._records = sizes, records
        # An older note stays true of the files: so it need not be synced, and where there is no room, not be written.
        with suppress(OSError):
            note = os.open(self._directory / NOTE, os.O_WRONLY | os.O_CREAT, 0o666)
            try:
                ends = {name: of_log.end for name, of_log in records.items()}
                checksums = {name: of_log.checksum for name, of_log in records.items()}
                os.pwrite(note, _line(_Note({**sizes, **ends}, version, checksums)), 0)
            finally:
                os.close(note)


def lost(directory: Path) -> dict[str, str]:
    """Files of a store that nobody has open which are shorter than they were, missing, or altered: what there is to
    say of each.

    Without a whole note, nothing is known.
    """
    noted = _noted(directory)
    if noted is None:
        return {}
    return {**dict(_changed(directory, noted)), **dict(_shortened(noted.sizes, _sizes(directory)))}


def unnoted(directory: Path) -> set[str] | None:
    """The logs of a store that nobody has open with whole changes behind what is noted; None where that is not known.

    Nobody was told that these are done, unless the note could not be written then.
    """
    noted = _noted(directory)
    if noted is None or noted.checksums is None:
        return None
    return {name for name, end in _ends(directory, noted).items() if end > noted.sizes.get(name, 0)}


def noted_version(directory: Path) -> int | None:
    """The version of a store that nobody has open; None where it is not known, or something was written since."""
    noted = _noted(directory)
    if noted is None:
        return None
    sizes = _sizes(directory) if noted.checksums is None else _ends(directory, noted)
    return noted.version if _logs(noted.sizes) == _logs(sizes) else None


def _logs(sizes: Mapping[str, int]) -> dict[str, int]:
    """Those with changes: a manifest also grows when tables are merged. One that is empty is as good as none."""
    return {name: size for name, size in sizes.items() if name.endswith(".log") and size}


def _shortened(noted: Mapping[str, int], sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for name, size in noted.items():
        if name in sizes:
            if sizes[name] < size:
                yield name, f"{name} has {sizes[name]} bytes and had {size}"
        elif not any(Path(name).suffix == Path(other).suffix and _order(other) > _order(name) for other in sizes):
            yield name, f"{name} is missing"


def _changed(directory: Path, noted: _Note) -> Iterator[tuple[str, str]]:
    for name in noted.checksums or ():
        with suppress(FileNotFoundError), _opened(directory / name) as file:
            end, checksum = noted.records(name)
            if _checksum(file, end) != checksum:
                yield name, f"{name} is not what it was"


def _ends(directory: Path, noted: _Note) -> dict[str, int]:
    """How long the logs are, as they would be noted."""
    ends = {}
    for name in filter(_LOG.fullmatch, _sizes(directory)):
        with _opened(directory / name) as file:
            ends[name] = _walked(file, name, noted.records(name)).end
    return ends


def _walked(file: int, name: str, known: _Records) -> _Records:
    """The records of a log, of which those up to here are known: only what follows them is read."""
    number = (int(Path(name).stem) & 0xFFFFFFFF).to_bytes(4, "little")
    kind = _RECYCLABLE if _type(os.pread(file, 7, 0)) in _RECYCLABLE.types else _PLAIN
    found = known
    end, checksum = known
    while True:
        # Where a block has no room for a header, its rest is filled up.
        left = -end % _BLOCK
        filler = left if left < kind.header else 0
        block = memoryview(os.pread(file, filler + (left - filler or _BLOCK), end))
        at = filler
        while record := _record(block[at:], kind, number):
            checksum = zlib.crc32(record, zlib.crc32(block[:filler] if at == filler else b"", checksum))
            at += len(record)
            # Of one that is in several pieces, the last has to be there.
            if _type(record) in kind.last:
                found = _Records(end + at, checksum)
        if at == filler:
            return found
        end += at


def _record(content: memoryview, kind: _Kind, number: bytes) -> memoryview:
    """The record of this log that there is at the beginning: its checksum, length, type, the number of the log."""
    if _type(content) not in kind.types or (kind is _RECYCLABLE and content[7:11] != number):
        return content[:0]
    length = kind.header + int.from_bytes(content[4:6], "little")
    return content[: length if length <= len(content) else 0]


def _type(header: bytes | memoryview) -> int:
    return header[6] if len(header) > 6 else 0


def _checksum(file: int, end: int) -> int:
    checksum = 0
    for start in range(0, end, _PIECE):
        checksum = zlib.crc32(os.pread(file, min(_PIECE, end - start), start), checksum)
    return checksum


def _order(name: str) -> tuple[int, str]:
    """By the number in the name, which has six digits or more."""
    return len(name), name


def _sizes(directory: Path) -> dict[str, int]:
    sizes = {}
    for kind in _KINDS:
        for file in directory.glob(kind):
            with suppress(FileNotFoundError):
                sizes[file.name] = file.stat().st_size
    return sizes


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _line(note: _Note) -> bytes:
    document: dict[str, object] = {"files": dict(note.sizes), "version": note.version}
    if note.checksums is not None:
        document["checksums"] = dict(note.checksums)
    text = json.dumps(document).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _noted(directory: Path) -> _Note | None:
    with suppress(FileNotFoundError):
        # What is behind the first line is left of a longer one.
        line = (directory / NOTE).read_bytes().partition(b"\n")[0]
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            document = json.loads(line[9:])
            note = _Note(document["files"], document["version"], document.get("checksums"))
            if _line(note) == line + b"\n":
                return note
    return None
