"""An ASGI application under a WSGI server: one event loop in a thread, one exchange a request (PEP 3333, ASGI 2.3).

The thread of the WSGI server that has the request reads the body and writes the response, as PEP 3333 wants it;
the application runs in the event loop. Both directions are streamed and bounded, so a result stream holds its
thread for as long as its client listens.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message

from endpoint.wsgi.loop import ApplicationLoop
from endpoint.wsgi.request import CutOffBody, RequestBody, client_has_gone, scope
from protocol.errors import ProtocolError, Unavailable
from protocol.formats.media_types import PROBLEM

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

logger = logging.getLogger(__name__)

WAITING_BYTES = 256 * 1024
"""How much of a response may wait for its client before the application's ``send`` waits too."""

LOOK_SECONDS = 1.0
"""How often a thread that waits for the application looks whether its client and its process are still there."""

_HOP_BY_HOP = frozenset(
    (
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "trailers",
        "transfer-encoding", "upgrade",
    )
)  # fmt: skip
"""Response headers that are the server's own affair (PEP 3333, "Other HTTP Features")."""


class Aborted(ConnectionAbortedError):
    """Raised to the WSGI server, so that it ends the connection: the response cannot be completed."""


class ClientGone(Exception):
    """The client has closed its connection."""


class ApplicationFailed(ProtocolError):
    """The application ended without a response; the reason is in the log."""

    status = 500
    title = "Internal server error"


@dataclass(frozen=True)
class WsgiResponse:
    """A response that has begun. ``body`` is to be closed when it has been written, or cannot be."""

    status: int
    headers: list[tuple[str, str]]
    body: Iterable[bytes]

    @property
    def status_line(self) -> str:
        """Code and reason, as ``start_response`` takes them."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return f"{self.status} Unknown"


class WsgiBridge:
    """A WSGI application that passes each request on to the ASGI application of a running ``ApplicationLoop``."""

    def __init__(self, running: ApplicationLoop) -> None:
        self.running = running

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response = self.respond(environ)
        start_response(response.status_line, response.headers)
        return response.body

    def respond(self, environ: WSGIEnvironment) -> WsgiResponse:
        """Begin the exchange and wait until the application has begun its response.

        Never raises for what the client or the application did: that is a problem document (RFC 9457).
        """
        try:
            exchange = Exchange(
                self.running, scope(environ), RequestBody.of(environ), partial(client_has_gone, environ)
            )
        except ProtocolError as error:
            return wsgi_problem(error.problem())
        try:
            exchange.begin()
        except ProtocolError as error:
            exchange.close()
            return wsgi_problem(error.problem())
        except ClientGone as error:
            exchange.close()
            return wsgi_problem(Unavailable(str(error)).problem())
        except BaseException:
            exchange.close()
            raise
        if environ["REQUEST_METHOD"] == "HEAD":
            exchange.close()
            return WsgiResponse(exchange.status, exchange.headers, ())
        return WsgiResponse(exchange.status, exchange.headers, exchange)


def wsgi_problem(document: dict[str, Any]) -> WsgiResponse:
    """A problem document as a response of its own."""
    body = json.dumps(document, ensure_ascii=False).encode()
    headers = [("Content-Type", PROBLEM), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
    return WsgiResponse(int(document["status"]), headers, (body,))


@dataclass(frozen=True)
class _Read:
    """The application waits for a piece of the body."""


@dataclass(frozen=True)
class _Start:
    status: int
    headers: list[tuple[str, str]]


@dataclass(frozen=True)
class _Chunk:
    data: bytes
    last: bool


@dataclass(frozen=True)
class _End:
    """The application is through, or cannot go on."""

    error: BaseException | None = None


class Exchange:
    """One request and its response. An iterator over the response's body, in the thread of the WSGI server.

    Methods that begin with ``_in_loop`` run in the event loop, as do ``receive`` and ``send``.
    """

    def __init__(
        self, running: ApplicationLoop, asked: dict[str, Any], body: RequestBody, client_has_gone: Callable[[], bool]
    ) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self._running = running
        self._scope = asked
        self._body = body
        self._client_has_gone = client_has_gone
        # From the event loop to the thread.
        self._messages: queue.SimpleQueue[_Read | _Start | _Chunk | _End] = queue.SimpleQueue()
        # Of the thread.
        self._over = False
        # Of the event loop.
        self._changed = asyncio.Event()
        self._pieces: deque[tuple[bytes, bool]] = deque([(b"", False)] if body.empty else [])
        self._body_asked = self._body_given = False
        self._started = self._complete = self._gone = False
        self._waiting = 0

    # In the thread of the WSGI server

    def begin(self) -> None:
        """Start the application and wait for the beginning of its response: ``status`` and ``headers``.

        Raises ApplicationFailed if there will be none, CutOffBody if the body cannot be read, ClientGone, and
        Unavailable if the application is not running, or stops.
        """
        self._running.open(self._in_loop_run, self._in_loop_stop)
        message = self._next()
        if isinstance(message, _Start):
            self.status, self.headers = message.status, message.headers
            return
        self._over = True
        error = message.error if isinstance(message, _End) else None
        if isinstance(error, Unavailable):
            raise error
        what = f"an unexpected {type(error).__name__}" if error is not None else "no response"
        raise ApplicationFailed(f"{what}; the server's log has more")

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        while not self._over:
            try:
                message = self._next()
            except CutOffBody as error:
                raise Aborted(error.detail) from error
            except ClientGone:
                break
            if isinstance(message, _Chunk):
                self._over = message.last
                if message.data:
                    self._running.tell(self._in_loop_taken, len(message.data))
                    return message.data
            elif isinstance(message, _End):
                if self._endless:
                    break
                self._over = True
                raise Aborted("the application ended before its response did") from message.error
        self._over = True
        raise StopIteration

    def close(self) -> None:
        """The response has been written, or cannot be: the application gets ``http.disconnect``."""
        self._over = True
        self._running.tell(self._in_loop_disconnect)

    @property
    def _endless(self) -> bool:
        """A result stream has no end that could be missed: it may stop anywhere, and is resumed."""
        return any(
            name.lower() == "content-type" and value.startswith("text/event-stream") for name, value in self.headers
        )

    def _next(self) -> _Start | _Chunk | _End:
        while True:
            try:
                message = self._messages.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                if self._client_has_gone():
                    raise ClientGone("the client has gone") from None
                continue
            if not isinstance(message, _Read):
                return message
            self._running.tell(self._in_loop_arrived, self._body.read())

    # In the event loop

    async def _in_loop_run(self, app: ASGIApp, state: dict[str, Any]) -> None:
        try:
            await app({**self._scope, "state": state}, self.receive, self.send)
        except ClientDisconnect as error:
            self._messages.put(_End(error))
        except asyncio.CancelledError:
            self._messages.put(_End())
            raise
        except BaseException as error:  # whatever it is, somebody waits for the response
            logger.exception("the application failed")
            self._messages.put(_End(error))
        else:
            self._messages.put(_End())

    async def receive(self) -> Message:
        """ASGI's ``receive``. May be cancelled while it waits; nothing is lost by that."""
        while not self._gone and not self._complete:
            if self._pieces:
                piece, more = self._pieces.popleft()
                self._body_given, self._body_asked = not more, False
                return {"type": "http.request", "body": piece, "more_body": more}
            if not self._body_given and not self._body_asked:
                self._body_asked = True
                self._messages.put(_Read())
            self._changed.clear()
            await self._changed.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """ASGI's ``send``; waits while the client has too much to take already. To a client that has gone: nothing."""
        if self._gone or self._complete:
            return
        if message["type"] == "http.response.start":
            self._started = True
            self._messages.put(_Start(message["status"], list(_response_headers(message.get("headers", ())))))
            return
        if message["type"] != "http.response.body" or not self._started:
            raise RuntimeError(f"{message['type']} cannot be sent here")
        data = bytes(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        self._waiting += len(data)
        self._messages.put(_Chunk(data, self._complete))
        if self._complete:
            self._changed.set()
        while self._full():
            self._changed.clear()
            await self._changed.wait()

    def _full(self) -> bool:
        return self._waiting > WAITING_BYTES and not self._gone and not self._complete

    def _in_loop_arrived(self, piece: tuple[bytes, bool]) -> None:
        self._pieces.append(piece)
        self._changed.set()

    def _in_loop_taken(self, size: int) -> None:
        self._waiting -= size
        self._changed.set()

    def _in_loop_disconnect(self) -> None:
        self._gone = True
        self._changed.set()

    def _in_loop_stop(self) -> None:
        """The event loop ends: so does the exchange, for both sides."""
        self._in_loop_disconnect()
        self._messages.put(_End(Unavailable("the endpoint stops")))


def _response_headers(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        shown = name.decode("latin-1")
        if shown.lower() not in _HOP_BY_HOP:
            yield shown, value.decode("latin-1").strip()
