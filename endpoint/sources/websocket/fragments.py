"""Long frames of a WebSocket as several short ones, so that no frame has to be in memory as a whole."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection

FRAGMENT_BYTES = 64 * 1024
"""The longest frame that is left."""

_DATA = frozenset({Opcode.CONT, Opcode.TEXT, Opcode.BINARY})
_FINAL = 0x80
_SILENT_PONG = Frame(Opcode.PONG, b"").serialize(mask=False)


class Fragments:
    """The bytes that a server sends, in which long frames are fragmented anew, as whoever stands between may do: its
    messages stay the same (RFC 6455 section 5.4).
    """

    def __init__(self) -> None:
        self._held = b""
        """What has come of the answer's head, or of a frame's."""
        self._is_open = False
        self._left = 0
        """Bytes of the frame at hand that are still to come."""
        self._divides = False
        self._opcode = Opcode.CONT
        """Of the next fragment of a frame that is divided; its last one is final if the frame is."""
        self._is_final = False

    def of(self, received: bytes) -> bytes:
        """What becomes of more bytes. All of a frame goes on at once, but for the first few, which tell its length."""
        if not self._is_open:
            return self._head(received)
        data = memoryview(self._held + received)
        self._held = b""
        given = bytearray()
        while data:
            if not self._left:
                used = self._begin(data, given)
                if not used:
                    self._held = bytes(data)
                    break
                data = data[used:]
            taken = data[: min(self._left, FRAGMENT_BYTES)]
            data = data[len(taken) :]
            self._left -= len(taken)
            if self._divides and taken:
                fragment = Frame(self._opcode, bytes(taken), self._is_final and not self._left)
                given += fragment.serialize(mask=False)
                self._opcode = Opcode.CONT
            else:
                given += taken
        return bytes(given)

    def _head(self, received: bytes) -> bytes:
        """Of the answer that opens the WebSocket, which ends with an empty line."""
        self._held = self._held[-3:]
        before, end, _ = (self._held + received).partition(b"\r\n\r\n")
        if not end:
            self._held = (self._held + received)[-3:]
            return received
        head = len(before) + len(end) - len(self._held)
        self._held, self._is_open = b"", True
        return received[:head] + self.of(received[head:])

    def _begin(self, data: memoryview, given: bytearray) -> int:
        """The head of the next frame, which stays as it is if short or wrong; its bytes, 0 if some are missing."""
        if len(data) < 2:
            return 0
        width = {126: 2, 127: 8}.get(data[1], 0)
        if len(data) < 2 + width:
            return 0
        length = int.from_bytes(data[2 : 2 + width]) if width else data[1] & 0x7F
        self._left = length
        # With reserved bits, or masked, a frame is an error of the server's: the library says it.
        self._divides = length > FRAGMENT_BYTES and data[0] & ~_FINAL in _DATA
        if self._divides:
            self._opcode, self._is_final = Opcode(data[0] & ~_FINAL), bool(data[0] & _FINAL)
        else:
            given += data[: 2 + width]
        return 2 + width


class FragmentedConnection(ClientConnection):
    """A connection of the library's whose frames are short."""

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        self._fragmented = _Fragmented(sock)
        super().__init__(self._fragmented, *arguments, **named)  # type: ignore[arg-type]

    def ping(self, *arguments: Any, **named: Any) -> threading.Event:
        """As the library's, which gives a server up that does not answer in time: while it is let wait, nobody reads
        its answer, nor what it had sent before that.
        """
        return Answer(super().ping(*arguments, **named), self._is_silent)

    def _is_silent(self) -> bool:
        heard = self._fragmented.take_heard()
        return not heard and not self.recv_messages.paused

    def send_data(self) -> None:
        """As the library's, which afterwards waits for a server that has said goodbye, or what is no WebSocket's, to
        close the connection: its next ping alone would end that.
        """
        super().send_data()
        if self.protocol.close_rcvd is not None or self.protocol.parser_exc is not None:
            with suppress(OSError):  # it was faster
                self.socket.shutdown(socket.SHUT_RD)


class Answer(threading.Event):
    """The answer to a ping, awaited for as long as anything else is heard, or nothing could be.

    ``is_silent``: whether nothing was since it was asked last.
    """

    def __init__(self, pong: threading.Event, is_silent: Callable[[], bool]) -> None:
        super().__init__()
        self._pong = pong
        self._is_silent = is_silent

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it has come; False after so many seconds of silence."""
        self._is_silent()
        while not self._pong.wait(timeout):
            if self._is_silent():
                return False
        return True


class _Fragmented:
    """A socket from which short frames are read."""

    def __init__(self, connected: socket.socket) -> None:
        self._connected = connected
        self._fragments = Fragments()
        self._heard = False

    def recv(self, size: int) -> bytes:
        """As of a socket."""
        received = self._connected.recv(size)
        self._heard = True
        # Nothing would be the end; what nobody waits for is passed over.
        return self._fragments.of(received) or (_SILENT_PONG if received else b"")

    def take_heard(self) -> bool:
        """Whether anything was read since this was asked last."""
        heard, self._heard = self._heard, False
        return heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connected, name)
