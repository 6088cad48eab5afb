"""What a WSGI request says, for an ASGI application: its scope, its body, and whether its client is still there."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from _typeshed.wsgi import InputStream, WSGIEnvironment

READ_BYTES = 64 * 1024
"""How much of a request's body is asked of the server at a time."""

_PATH_CHARACTERS = "/:@!$&'()*+,;=~"


class LengthRequired(ProtocolError):
    """A chunked body, under a server that does not say where it ends (RFC 9110 section 15.5.12)."""

    status = 411
    title = "Length required"


class CutOffBody(ProtocolError):
    """The body ended before its announced length, or is not chunked as it should be (RFC 9112 section 8)."""

    title = "The body is cut off"


def scope(environ: WSGIEnvironment) -> dict[str, Any]:
    """The ASGI scope of a request (HTTP connection scope, version 2.3).

    ``root_path`` is ``SCRIPT_NAME``; ``path`` and ``raw_path`` begin with it. ``path`` is decoded once, and
    ``raw_path`` not at all where the server keeps the request line's path (``REQUEST_URI`` or ``RAW_URI``).
    """
    mounted = environ.get("SCRIPT_NAME", "").encode("latin-1")
    path = mounted + environ.get("PATH_INFO", "").encode("latin-1")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": environ.get("SERVER_PROTOCOL", "HTTP/1.1").partition("/")[2] or "1.1",
        "method": environ["REQUEST_METHOD"],
        "scheme": environ.get("wsgi.url_scheme", "http"),
        "path": path.decode("utf-8", "replace"),
        "raw_path": _raw_path(environ, mounted, path),
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1"),
        "root_path": mounted.decode("utf-8", "replace"),
        "headers": list(_headers(environ)),
        "server": (environ.get("SERVER_NAME", ""), _port(environ.get("SERVER_PORT"))),
        "client": (environ["REMOTE_ADDR"], _port(environ.get("REMOTE_PORT"))) if environ.get("REMOTE_ADDR") else None,
    }


def _raw_path(environ: WSGIEnvironment, mounted: bytes, path: bytes) -> bytes:
    """The path with its percent-encoding; made anew where the server does not keep it, or something rewrote it."""
    for name in ("REQUEST_URI", "RAW_URI"):
        target = environ.get(name)
        if not isinstance(target, str):
            continue
        if not target.startswith("/"):  # absolute-form, RFC 9112 section 3.2.2
            target = target.partition("://")[2]
            target = target[target.find("/") :] if "/" in target else "/"
        raw = target.partition("?")[0].partition("#")[0].encode("latin-1", "replace")
        decoded = unquote_to_bytes(raw)
        if decoded == path:
            return raw
        if mounted + decoded == path:  # a proxy in front takes the prefix off
            return quote_from_bytes(mounted, _PATH_CHARACTERS).encode() + raw
    return quote_from_bytes(path, _PATH_CHARACTERS).encode()


def _headers(environ: WSGIEnvironment) -> Iterator[tuple[bytes, bytes]]:
    for variable, value in environ.items():
        if variable in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            name = variable
        elif variable.startswith("HTTP_") and variable not in ("HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH"):
            name = variable[5:]
        else:
            continue
        if value or name not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            yield name.lower().replace("_", "-").encode("latin-1"), str(value).encode("latin-1")


def _port(text: object) -> int:
    return int(text) if isinstance(text, str | int) and str(text).isdigit() else 0


class RequestBody:
    """The body of a request, read a piece at a time in the thread of the WSGI server.

    ``length`` is that of ``Content-Length`` in bytes; None reads to the end, which the server has to mark.
    """

    def __init__(self, stream: InputStream, length: int | None) -> None:
        self._stream = stream
        self._length = length
        self._read = 0

    @classmethod
    def of(cls, environ: WSGIEnvironment) -> RequestBody:
        """Raises LengthRequired for a chunked body whose end the server does not mark (``wsgi.input_terminated``)."""
        announced = environ.get("CONTENT_LENGTH") or ""
        chunked = bool(environ.get("HTTP_TRANSFER_ENCODING", "").strip())
        # RFC 9112 section 6.3: with both, the transfer coding tells the length.
        if environ.get("wsgi.input_terminated") and (chunked or not announced):
            return cls(environ["wsgi.input"], None)
        if chunked:
            raise LengthRequired("this server does not take chunked bodies: send the body with a Content-Length")
        if announced and not (announced.isascii() and announced.isdigit()):
            raise CutOffBody(f"Content-Length: {announced[:40]!r} is not a number of bytes")
        return cls(environ["wsgi.input"], int(announced or 0))

    @property
    def empty(self) -> bool:
        """Known to have nothing in it."""
        return self._length == 0

    def read(self) -> tuple[bytes, bool]:
        """The next piece, and whether there may be more. Raises CutOffBody where the client stopped too early."""
        wanted = READ_BYTES if self._length is None else min(READ_BYTES, self._length - self._read)
        try:
            piece = self._stream.read(wanted)
        except Exception as error:  # each server has errors of its own for a body that breaks off
            raise CutOffBody(f"the body cannot be read to its end: {error}") from error
        self._read += len(piece)
        if self._length is None:
            return piece, bool(piece)
        if not piece:
            raise CutOffBody(f"the body ended after {self._read} of {self._length} bytes")
        return piece, self._read < self._length


def client_has_gone(environ: WSGIEnvironment) -> bool:
    """Whether the client has closed its connection, as far as the server lets one look; False where it does not.

    waitress has a function for it (with ``channel_request_lookahead``), gunicorn and werkzeug give the socket.
    """
    asked = environ.get("waitress.client_disconnected")
    if callable(asked):
        return bool(asked())
    connection = environ.get("gunicorn.socket") or environ.get("werkzeug.socket")
    if not isinstance(connection, socket.socket) or isinstance(connection, ssl.SSLSocket):
        return False
    try:
        # Asked first whether there is anything: gevent's sockets wait for it, whatever they are told.
        readable = select.poll()
        readable.register(connection, select.POLLIN)
        if not readable.poll(0):
            return False
        # Nothing to read, and no more to come. What is there to read is left there.
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except (BlockingIOError, InterruptedError):
        return False
    except (OSError, ValueError):  # of one that is closed here there is no descriptor to ask
        return True
