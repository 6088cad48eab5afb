"""The reader's output: bytes of an answer, cut into frames, within its limit."""

from __future__ import annotations

import time
from collections.abc import Callable

from endpoint.processes.frames import Kind, frame
from endpoint.readers.errors import ResultTooLarge
from protocol.errors import size_text

FIRST_BYTES = 64 * 1024
FIRST_SECONDS = 0.1
"""So much, or what there is after so long, is kept back before an answer begins: most errors come before that."""

CHUNK_BYTES = 128 * 1024


class AnswerWriter:
    """A binary file to which serializers write; what they wrote goes out as ``DATA`` frames.

    ``send`` takes whole frames and waits until the socket has room for them. ``clock`` is in seconds.
    """

    def __init__(
        self, send: Callable[[bytes], None], most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:  # fmt: skip
        self._send = send
        self._most = most
        self._clock = clock
        self._kept = bytearray()
        self._written = 0
        self._begun = False
        self._first_at: float | None = None

    def write(self, data: bytes) -> int:
        """Raises ResultTooLarge at the limit; nothing of what is beyond it is sent."""
        self._written += len(data)
        if self._written > self._most:
            raise ResultTooLarge(
                f"the result is larger than {size_text(self._most)}, the limit of this endpoint: "
                "ask for less of it at a time (LIMIT and OFFSET, fewer variables)",
                extra={"limit": self._most},
            )
        self._kept += data
        if self._begun:
            due = len(self._kept) >= CHUNK_BYTES
        else:
            if self._first_at is None:
                self._first_at = self._clock()
            due = len(self._kept) >= FIRST_BYTES or self._clock() - self._first_at >= FIRST_SECONDS
        if due:
            self._send(frame(Kind.DATA, self._kept))
            self._kept.clear()
            self._begun = True
        return len(data)

    def flush(self) -> None:
        """Nothing: a serializer flushes at its end, where ``finish`` is called anyway."""

    def finish(self) -> None:
        """The answer is complete."""
        self._send(frame(Kind.LAST, self._kept))
