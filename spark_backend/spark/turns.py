"""Whether a process is in the middle of an answer, and for how long it has been in the same: told through a file.

Who does not come back from a call (a lock that nobody gives back, a file system that does not answer, a loop without
end) cannot say so; that its call has begun, it has said before.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TURN = struct.Struct("<qq")


class Turns:
    """The turns of this process: a number in a file, odd from the beginning of an answer to its end."""

    def __init__(self, path: Path) -> None:
        with path.open("w+b") as file:
            file.write(_TURN.pack(os.getpid(), 0))
            file.flush()
            self._map = mmap.mmap(file.fileno(), _TURN.size)
        self._number = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """What is done in the ``with`` statement is one answer."""
        self._next()
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        self._number += 1
        _TURN.pack_into(self._map, 0, os.getpid(), self._number)


def answering(path: Path, process: int) -> int | None:
    """The number of the answer that this process is making; None if it is making none, or has never made one."""
    try:
        owner, number = _TURN.unpack(path.read_bytes())
    except (FileNotFoundError, struct.error):
        return None
    return number if owner == process and number % 2 else None
