"""Files of JSON lines: a line an answer, on the disk when it is delivered."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio.to_thread

from endpoint.live.backend_threads import to_end
from endpoint.sinks.target import Answer, DeliveryFailed
from endpoint.uninterrupted import uninterrupted
from protocol.formats.allow_list import FILE, AllowList
from protocol.formats.sse import show_instant
from protocol.processes.durable_files import sync_directory
from protocol.sinks.body import JSON, ROWS
from protocol.sinks.file_settings import Rotation

_TAIL_BYTES = 64 * 1024
_BEGIN = b'{"id":"'
"""How every line of ours begins; what does not begin so at the end of a file is somebody else's."""


def path_of(url: str) -> Path:
    """The file that a sink's url names."""
    return Path(unquote(urlsplit(url).path))


class JsonLinesFile:
    """Appends to one file, which nobody else appends to; what of a batch one file takes is one write and one sync.

    What a crash has left of a line at the end is cut off: that answer is written again. Nothing is written where links
    of folders lead out of what is ``allowed``.
    """

    at_once = 256

    def __init__(self, url: str, format_name: str, rotation: Rotation, allowed: AllowList) -> None:
        self.path = path_of(url)
        self._allowed = allowed
        self._format = format_name
        self._rotation = rotation
        self._descriptor: int | None = None

    async def deliver(self, answers: Sequence[Answer]) -> None:
        """Write their lines. Raises DeliveryFailed, with none of them in the file; those of them that had filled one
        before are written again.
        """
        lines = [line_of(answer, self._format) for answer in answers]
        try:
            # What is being written is written before the file is closed: its descriptor is another's afterwards.
            await to_end(partial(self._append, lines), None)
        except OSError as error:
            await self.close()
            raise DeliveryFailed(f"{self.path} cannot be written: {error.strerror or error}") from error

    async def close(self) -> None:
        """Let go of the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            await uninterrupted(anyio.to_thread.run_sync(os.close, descriptor))

    def _append(self, lines: Sequence[bytes]) -> None:
        size = os.fstat(self._opened()).st_size
        fitting: list[bytes] = []
        for line in lines:
            if size and size + len(line) > self._rotation.max_bytes:
                self._write(fitting)
                self._rotate()
                fitting, size = [], 0
            fitting.append(line)
            size += len(line)
        self._write(fitting)

    def _write(self, lines: Sequence[bytes]) -> None:
        """All of these at the end of the file, or (OSError) none."""
        if not lines:
            return
        descriptor = self._opened()
        size = os.fstat(descriptor).st_size
        try:
            rest = memoryview(b"".join(lines))
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except OSError:
            # A full disk may have taken a part.
            os.ftruncate(descriptor, size)
            raise

    def _opened(self) -> int:
        """The file, opened anew where another is in its place."""
        if self._descriptor is not None:
            if _same(self._descriptor, self.path):
                return self._descriptor
            self._let_go()
        real = Path(os.path.realpath(self.path.parent), self.path.name)
        if not self._allowed.permits(real.as_uri(), {FILE}):
            raise OSError(errno.EACCES, f"it is {real}, where this server may not write: see --allow-fetch")
        new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        self._descriptor = os.open(real, flags, 0o640)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file")
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(errno.EWOULDBLOCK, "another sink, or another program, writes to it") from None
        _cut_torn_line(self._descriptor)
        if new:
            sync_directory(self.path.parent)
        return self._descriptor

    def _rotate(self) -> None:
        """Move the file to the first of those kept, these on by one, and the last of them away."""
        kept = [self.path, *(self.path.with_name(f"{self.path.name}.{n}") for n in range(1, self._rotation.keep + 1))]
        for older, newer in zip(reversed(kept), reversed(kept[:-1]), strict=False):
            if newer.exists():
                os.replace(newer, older)
        sync_directory(self.path.parent)
        self._let_go()

    def _let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def line_of(answer: Answer, format_name: str) -> bytes:
    """An answer as a JSON object on a line.

    ``id`` and the members of the document in the format json; otherwise ``id``, ``time``, and ``rows`` or ``body``, a
    text.
    """
    begin = _BEGIN + answer.identifier.encode() + b'",'
    content = answer.body.content
    if format_name == JSON:
        return begin + content[1:] + b"\n"
    begin += b'"time":"' + show_instant(answer.instant).encode() + b'",'
    if format_name == ROWS:
        return begin + b'"rows":' + content + b"}\n"
    return begin + b'"body":' + json.dumps(content.decode(), ensure_ascii=False).encode() + b"}\n"


def _same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _cut_torn_line(descriptor: int) -> None:
    """Cut off what has no end of line, if it is a line of ours. Raises OSError for somebody else's."""
    size = end = os.fstat(descriptor).st_size
    tail = b""
    while end > 0 and b"\n" not in tail:
        start = max(0, end - _TAIL_BYTES)
        tail = os.pread(descriptor, end - start, start) + tail
        end = start
    torn = tail.rpartition(b"\n")[2]
    if not torn:
        return
    if not torn.startswith(_BEGIN[: len(torn)]):
        raise OSError(errno.EINVAL, "its last line has no end, and is none of a sink's: name another file")
    os.ftruncate(descriptor, size - len(torn))
    os.fsync(descriptor)
