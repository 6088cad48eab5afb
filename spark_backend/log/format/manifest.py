"""The manifest: what of a log is committed, in one small block that readers poll.

The writer publishes it with one write after the data is durable; it is not itself made durable, as
the segments can tell everything in it (but the clock's watermark of an arrival stream between frames).
"""

from __future__ import annotations

import os
import struct
import time
import weakref
import zlib
from pathlib import Path
from typing import NamedTuple

from protocol.errors import NotFound, Unavailable
from protocol.time import Instant
from protocol.windows.timeline import END
from spark_backend.log.format.stamp import Totals

MANIFEST = "manifest"
_MAGIC = b"SLM1"
# magic, crc | dropped, generation, changes, first and last segment, committed, bytes, retained_from | Totals
_BLOCK = struct.Struct("<4sI QQQQQQQq QQQQqqqQ")
_CHECKED_FROM = 8
BLOCK_BYTES = _BLOCK.size
_ATTEMPTS, _ATTEMPTS_UNCHANGED = 200, 20
_PAUSE = 0.0005


class Manifest(NamedTuple):
    """A state of the log.

    ``generation`` counts the times that committed elements were lost (files damaged, the log deleted):
    what was read in another one is void. ``changes`` counts the states published since the log was opened.
    ``committed`` is the length of the last segment, ``bytes`` that of all segments held. Elements at
    or before ``retained_from`` may have been deleted (BEFORE_ALL: none was). ``totals.watermark`` may be
    ahead of the last frame's in an arrival stream.
    """

    dropped: int
    generation: int
    changes: int
    first_segment: int
    last_segment: int
    committed: int
    bytes: int
    retained_from: Instant
    totals: Totals

    @property
    def ended(self) -> bool:
        """Whether nothing more can come."""
        return self.totals.watermark == END


class ManifestWriter:
    """Publishes states of a log. Holds the lock that keeps a second writer out."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / MANIFEST, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    @property
    def descriptor(self) -> int:
        """The open file, for locking."""
        return self._descriptor

    def publish(self, manifest: Manifest) -> None:
        """Show this state to readers."""
        if os.pwrite(self._descriptor, encode_manifest(manifest), 0) != BLOCK_BYTES:
            raise OSError("the manifest was written in part")

    def last_published(self) -> Manifest | None:
        """The state of the last writer; None if there was none, or the machine crashed before it was stored."""
        return decode_manifest(os.pread(self._descriptor, BLOCK_BYTES, 0))

    def close(self, *, durable: bool = True) -> None:
        """Store the last state and close."""
        try:
            if durable:
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)


def encode_manifest(manifest: Manifest) -> bytes:
    """The block of a state."""
    packed = bytearray(_BLOCK.pack(_MAGIC, 0, *manifest[:-1], *manifest.totals))
    struct.pack_into("<I", packed, 4, zlib.crc32(memoryview(packed)[_CHECKED_FROM:]))
    return bytes(packed)


def decode_manifest(block: bytes) -> Manifest | None:
    """The state in a block; None if it is not whole."""
    if len(block) != BLOCK_BYTES or block[:4] != _MAGIC:
        return None
    _, crc, *values = _BLOCK.unpack(block)
    if zlib.crc32(memoryview(block)[_CHECKED_FROM:]) != crc:
        return None
    return Manifest._make([*values[:8], Totals._make(values[8:])])


class ManifestReader:
    """Polls the manifest of a log that another process writes."""

    def __init__(self, directory: Path) -> None:
        try:
            descriptor = os.open(directory / MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise NotFound(f"there is no stream log in {directory.name}") from None
        except OSError as error:
            raise Unavailable(f"the stream log in {directory} cannot be read: {error.strerror or error}") from None
        self._descriptor = descriptor
        self._block = b""
        self._finalize = weakref.finalize(self, os.close, descriptor)

    def close(self) -> None:
        """Close the file; done at the latest when the reader is gone. Whoever reads then gets an OSError."""
        self._descriptor = -1  # the number is another file's from now on
        self._finalize()

    def first_segment(self) -> int:
        """The number of the oldest segment held, as it is said now; 0 while the manifest cannot be read."""
        manifest = decode_manifest(os.pread(self._descriptor, BLOCK_BYTES, 0))
        return 0 if manifest is None else manifest.first_segment

    def poll(self) -> Manifest | None:
        """The state published, None if it is the one returned last.

        Raises Unavailable if there is no whole one: the writer has not opened the log since a crash.
        """
        block = os.pread(self._descriptor, BLOCK_BYTES, 0)
        if block == self._block:
            return None
        self._block, manifest = self._whole(block)
        return manifest

    def now(self) -> Manifest:
        """The state published, whatever was returned before. Raises as ``poll`` does."""
        return self._whole(os.pread(self._descriptor, BLOCK_BYTES, 0))[1]

    def _whole(self, block: bytes) -> tuple[bytes, Manifest]:
        """The state in a block, or in the one that is there a little later if that is not whole."""
        same = 0
        for _ in range(_ATTEMPTS):
            manifest = decode_manifest(block)
            if manifest is not None:
                return block, manifest
            # Read in the middle of a write; that is over in microseconds, unless there is none.
            if same == _ATTEMPTS_UNCHANGED:
                break
            time.sleep(_PAUSE)
            before, block = block, os.pread(self._descriptor, BLOCK_BYTES, 0)
            same = same + 1 if block == before else 0
        raise Unavailable("the stream log has no readable manifest: it has not been opened for writing since a crash")
