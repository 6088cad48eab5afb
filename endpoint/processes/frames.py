"""What the server and its child processes say to each other: frames over a stream socket.

A frame is a kind (one byte), the length of its content (four bytes, big-endian), and the content.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

_HEAD = struct.Struct("!BI")
_RECEIVED_BYTES = 256 * 1024


class Kind(IntEnum):
    """The kinds of frames. What they carry is said where they are exchanged."""

    READY = 1
    QUESTION = 2
    HEADER = 3
    DATA = 4
    LAST = 5
    PROBLEM = 6
    FAILED = 7
    EVALUATED = 8
    COMMIT = 9
    CLOSE = 10
    NAMES = 11


@dataclass(frozen=True)
class Frame:
    """One message, whole."""

    kind: Kind
    content: bytes

    def json(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.content)
        return document


def frame(kind: Kind, content: bytes | bytearray | memoryview = b"") -> bytes:
    """The bytes of one frame."""
    return b"".join((_HEAD.pack(kind, len(content)), content))


def json_frame(kind: Kind, document: Any) -> bytes:
    """The bytes of a frame whose content is JSON."""
    return frame(kind, json.dumps(document).encode("ascii"))


class FrameDecoder:
    """Makes frames of the bytes that arrive, however they are cut."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, received: bytes) -> None:
        self._bytes += received

    def next(self) -> Frame | None:
        """The next whole frame, or None until more has arrived."""
        if len(self._bytes) < _HEAD.size:
            return None
        kind, length = _HEAD.unpack_from(self._bytes)
        end = _HEAD.size + length
        if len(self._bytes) < end:
            return None
        with memoryview(self._bytes) as view:
            content = bytes(view[_HEAD.size : end])
        del self._bytes[:end]
        return Frame(Kind(kind), content)


class Connection:
    """The end of a socket in a thread that waits for what comes."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._decoder = FrameDecoder()

    def send(self, data: bytes, seconds: float | None = None) -> None:
        """Send whole frames; waits until the socket has room for them. Raises ConnectionError when the other end is
        gone, TimeoutError where not all of them are taken within so many seconds.
        """
        self._socket.settimeout(seconds)
        self._socket.sendall(data)

    def receive(self, seconds: float | None = None) -> Frame:
        """The next frame, within so many seconds. Raises TimeoutError; EOFError when the other end is gone."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while (received := self._decoder.next()) is None:
            # 0 would mean not to wait at all, which is another error.
            self._socket.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))
            try:
                data = self._socket.recv(_RECEIVED_BYTES)
            except ConnectionError:
                data = b""
            if not data:
                raise EOFError("the other end of the connection is gone")
            self._decoder.feed(data)
        return received

    def close(self) -> None:
        self._socket.close()
