"""One file that grows, read from a position on."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from endpoint.sources.files.framing import Ends, Framed, Framing
from protocol.errors import size_text
from protocol.sources import SourceFailed, SourceMessage

_CHUNK = 256 * 1024
_SAMPLE = 256
"""A file is known again by so many bytes at its beginning, and as many before the position: its number is used again,
and a beginning may be that of others, too."""


@dataclass(frozen=True)
class FilePosition:
    """How far a file is read: ``offset`` bytes, which end with a message.

    ``sample``: a digest of its beginning and of what is before the offset. ``over``: it was rotated and read to its
    end, and this is when it was last changed then (ns since the epoch); 0: it is not.
    """

    offset: int
    sample: str
    framing: Framing
    over: int = 0

    def encode(self) -> bytes:
        """The position as bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, position: bytes) -> FilePosition:
        """The position that was encoded so."""
        document = json.loads(position)
        framing = document.pop("framing")
        return cls(framing=Framing(**{**framing, "ends": Ends(framing["ends"])}), **document)


class GrowingFile:
    """An open file. ``number`` is its inode; ``path`` where it was found, which may change while it is open."""

    def __init__(self, path: Path, framing: Framing, largest: int) -> None:
        """Open it at its beginning. Raises OSError, SourceFailed for what is no regular file."""
        self.path = path
        self.largest = largest
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._descriptor)
            raise SourceFailed(f"{path} is not a regular file")
        self.number = status.st_ino
        self._begin = framing
        self._framing = framing
        self._offset = 0
        self._pending = b""
        self._exhausted: tuple[int, int] | None = None
        self._read = self._sample(0)
        """The sample before the offset as it was read."""

    def go_on(self, position: FilePosition) -> bool:
        """Go on at a position; False (and at the beginning) if this is another file than the one it is of."""
        if os.fstat(self._descriptor).st_size < position.offset or self._sample(position.offset) != position.sample:
            return False
        self._offset, self._framing, self._read = position.offset, position.framing, position.sample
        return True

    def is_beginning_of(self, other: GrowingFile) -> bool:
        """Whether all that it has is what the other one begins with, as far as samples tell."""
        size = os.fstat(self._descriptor).st_size
        return size <= os.fstat(other._descriptor).st_size and self._sample(size) == other._sample(size)

    @property
    def exhausted(self) -> tuple[int, int] | None:
        """Its size and when it was changed last, when all of it was read; None: there may be more."""
        return self._exhausted

    @property
    def position(self) -> FilePosition:
        """Behind the last message that was read."""
        return FilePosition(self._offset, self._read, self._framing)

    @property
    def at_end(self) -> FilePosition:
        """Behind all that it has, where none of that is to be read (any more)."""
        status = os.fstat(self._descriptor)
        size, changed = self._exhausted or (status.st_size, status.st_mtime_ns)
        return FilePosition(size, self._sample(size), self._framing, changed)

    @property
    def was_cut(self) -> bool:
        """Whether it is shorter than what was read of it, or has something else there: it was written anew."""
        status = os.fstat(self._descriptor)
        if (status.st_size, status.st_mtime_ns) == self._exhausted:
            return False
        return status.st_size < self._offset or self._sample(self._offset) != self._read

    def begin_again(self) -> None:
        """Read it from its beginning."""
        self._offset, self._exhausted, self._framing, self._read = 0, None, self._begin, self._sample(0)

    def take(self, messages: int, size: int, *, whole: bool = False) -> list[SourceMessage]:
        """What has ended since, in its order: at most so many messages, and none after so many bytes.

        ``whole``: nothing more comes, and the last message ends with the file. Raises SourceFailed for one that is
        longer than ``largest``, once nothing is before it.
        """
        taken: list[SourceMessage] = []
        status = os.fstat(self._descriptor)
        found = status.st_size, status.st_mtime_ns
        if found == self._exhausted and not whole:
            return taken
        # What had come of the next message is read again: who was killed while writing it may have cut it off.
        self._exhausted, self._pending = None, b""
        while len(taken) < messages and size > 0:
            # As much again as is there: all of it is divided again, for a long message not as often as it has chunks.
            more = min(len(self._pending), self.largest - len(self._pending))
            chunk = os.pread(self._descriptor, max(_CHUNK, more), self._offset + len(self._pending))
            self._pending += chunk
            last = whole and not chunk
            if b"\n" in chunk or (last and self._pending):
                divided = self._divided(messages - len(taken), size, whole=last)
                taken += divided
                size -= sum(len(message.body) for message in divided)
            if not chunk:
                self._exhausted = found
                break
            if taken and len(self._pending) > self.largest:
                break
            if len(self._pending) > self.largest:
                raise SourceFailed(
                    f"a message of {self.path} at byte {self._offset} is longer than {size_text(self.largest)}: "
                    "nothing behind it is read"
                )
        return taken

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)

    def _divided(self, messages: int, size: int, *, whole: bool) -> list[SourceMessage]:
        taken: list[SourceMessage] = []
        base, done = self._offset, 0
        for framed, end, framing in self._framing.divide(self._pending, whole=whole):
            done, self._framing = end, framing
            if framed is not None:
                taken.append(self._message(base + framed.start, framed))
                size -= len(framed.body)
                if len(taken) >= messages or size <= 0:
                    break
        # What was not taken is read again.
        self._offset, self._pending = base + done, self._pending[done:]
        self._read = self._sample(self._offset)
        return taken

    def _message(self, start: int, framed: Framed) -> SourceMessage:
        digest = hashlib.blake2b(framed.body, digest_size=8).hexdigest()
        key = f"{self.number} {start} {digest}".encode()
        return SourceMessage(framed.body, framed.content_type, self.path.as_uri(), key)

    def _sample(self, offset: int) -> str:
        size = min(offset, _SAMPLE)
        sample = hashlib.blake2b(os.pread(self._descriptor, size, 0), digest_size=8)
        sample.update(os.pread(self._descriptor, size, offset - size))
        return sample.hexdigest()
