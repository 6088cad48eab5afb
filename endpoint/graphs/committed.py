"""Committed changes on the disk, and a note of how much of the database's files is there.

Oxigraph leaves it to the operating system when its log is written out, and RocksDB takes a log or a manifest that was
cut off at the end of a record, or is missing, for one that never had more. So a change is synced before anybody is told
that it is done, and a note says how long the files were then: ``committed``, in the store's directory. It also has the
version of the store, which is known to hold as long as nothing was written behind what is noted.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NOTE = "committed"

_KINDS = ("*.log", "MANIFEST-*")
"""Files that grow until one with a larger number takes their place."""


@dataclass(frozen=True)
class _Note:
    """How long the files were when the store came to this version."""

    sizes: Mapping[str, int]
    version: int


class CommittedFiles:
    """Keeps the note of a store that this process has open, for one thread at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sizes: dict[str, int] = {}

    def sync(self, version: int) -> None:
        """Have everything that was committed on the disk, and note it. OSError where it cannot be brought there."""
        sizes = _sizes(self._directory)
        for name, size in sizes.items():
            if size > self._sizes.get(name, 0):
                # One that was removed meanwhile: all it had is in a table by now.
                with suppress(FileNotFoundError):
                    _sync(self._directory / name)
        if not sizes.keys() <= self._sizes.keys():
            _sync(self._directory)
        self._sizes = sizes
        # An older note stays true of the files: so it need not be synced, and where there is no room, not be written.
        with suppress(OSError):
            note = os.open(self._directory / NOTE, os.O_WRONLY | os.O_CREAT, 0o666)
            try:
                os.pwrite(note, _line(_Note(sizes, version)), 0)
            finally:
                os.close(note)


def lost(directory: Path) -> dict[str, str]:
    """Files of a store that nobody has open which are shorter than they were, or missing: what there is to say of each.

    Without a whole note, nothing is known.
    """
    noted = _noted(directory)
    return {} if noted is None else dict(_shortened(noted.sizes, _sizes(directory)))


def noted_version(directory: Path) -> int | None:
    """The version of a store that nobody has open; None where it is not known, or something was written since."""
    noted, sizes = _noted(directory), _sizes(directory)
    if noted is None or _logs(noted.sizes) != _logs(sizes):
        return None
    return noted.version


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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _line(note: _Note) -> bytes:
    text = json.dumps({"files": dict(note.sizes), "version": note.version}).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _noted(directory: Path) -> _Note | None:
    with suppress(FileNotFoundError):
        # What is behind the first line is left of a longer one.
        line = (directory / NOTE).read_bytes().partition(b"\n")[0]
        with suppress(ValueError, TypeError, KeyError):
            document = json.loads(line[9:])
            note = _Note(document["files"], document["version"])
            if _line(note) == line + b"\n":
                return note
    return None
