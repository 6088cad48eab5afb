"""HTTP/1.1 as bytes: what no client library would send, and what came back."""

from __future__ import annotations

import http.client
import socket
from contextlib import suppress
from dataclasses import dataclass, field, replace

PATIENCE = 30.0
MANGLED_PATIENCE = 2.0
EVENTS_SECONDS = 0.15
"""How long a result stream is listened to."""


@dataclass(frozen=True)
class FuzzedRequest:
    """``target`` and ``headers`` are sent as they are; ``announced`` None: the body's own length.

    ``mangled``: the HTTP itself may be wrong, so that the server may refuse it by itself. ``cut``: the connection is
    closed after so many bytes of the body.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    chunked: bool = False
    announced: str | None = None
    cut: int | None = None
    mangled: bool = False
    host: str = "fuzz.example"
    notes: tuple[str, ...] = ()

    @property
    def is_http(self) -> bool:
        """Whether the request line and the headers are what HTTP allows."""
        return not self.mangled and self.target.isascii() and self.target.isprintable() and " " not in self.target

    def with_header(self, name: str, value: str) -> FuzzedRequest:
        kept = tuple(header for header in self.headers if header[0].lower() != name.lower())
        return replace(self, headers=(*kept, (name, value)))

    def noted(self, note: str) -> FuzzedRequest:
        return replace(self, notes=(*self.notes, note))

    def encoded(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1", f"Host: {self.host}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        body = self.body
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
            pieces = [body[start : start + 4000] for start in range(0, len(body), 4000)]
            body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        elif body or self.announced is not None or self.method in ("POST", "PUT", "QUERY", "PATCH"):
            lines.append(f"Content-Length: {self.announced if self.announced is not None else len(body)}")
        if self.cut is not None:
            body = body[: self.cut]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape") + body


@dataclass(frozen=True)
class Answered:
    """A response; ``status`` 0: there was none, for the reason in ``failure``. ``open``: a stream that goes on."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure: str = ""
    open: bool = False

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Connection:
    """One client: keeps its connection while that is as it should be.

    ``keep_open``: result streams are left open, unread, in ``held``.
    """

    keep_open = False

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self.held: list[socket.socket] = []

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, request: FuzzedRequest) -> Answered:
        """Send it, and read what comes back; on a new connection if the last one was closed meanwhile."""
        fresh = self._socket is None
        answered = self._ask(request)
        if answered.status == 0 and not fresh and request.cut is None and answered.failure != "timeout":
            answered = self._ask(request)
        return answered

    def _ask(self, request: FuzzedRequest) -> Answered:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), PATIENCE)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A server may rightly wait for more of what is mangled.
        self._socket.settimeout(PATIENCE if request.is_http else MANGLED_PATIENCE)
        refused = ""
        # A server may answer, and close, before it has read the body.
        try:
            self._socket.sendall(request.encoded())
        except OSError as error:
            refused = type(error).__name__
        if request.cut is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(self._socket, method=request.method)
        try:
            response.begin()
            answered = self._read(response)
        except TimeoutError:
            answered = Answered(0, failure="timeout")
        except (OSError, http.client.HTTPException, ValueError) as error:
            answered = Answered(0, failure=f"{type(error).__name__} {error} {refused}".strip())
        finally:
            response.close()
        if answered.open and self.keep_open:
            self.held.append(self._socket)
            self._socket = None
            return answered
        if (
            answered.status == 0
            or answered.open
            or response.will_close
            or not request.is_http
            or request.cut is not None
        ):
            self.close()
        return answered

    def _read(self, response: http.client.HTTPResponse) -> Answered:
        headers = {name.lower(): value for name, value in response.getheaders()}
        answered = Answered(response.status, headers)
        if answered.media_type != "text/event-stream" or response.length == 0:
            return replace(answered, body=response.read())
        assert self._socket is not None
        self._socket.settimeout(EVENTS_SECONDS)
        read = b""
        try:
            while len(read) < 100_000:
                piece = response.read1(65536)
                if not piece:
                    return replace(answered, body=read)
                read += piece
        except TimeoutError:
            pass
        return replace(answered, body=read, open=True)
