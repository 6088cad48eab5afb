"""One connection of a client: its requests have to come whole in time, and it gives way when there are too many.

uvicorn has no limit for a connection that has begun a request and sends no more of it, and may leave one open that is
idle after it was refused (docs/operations.md, "Limits").
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

from protocol.formats.media_types import PROBLEM

LEAST_PACE = 1024
"""Bytes a second by which a request that is still coming has longer."""

IDLE_SECONDS = 75
"""For the next request on a connection. Longer than clients keep one, and proxies (60 s by default): who sends a
request while the server closes the connection never hears what became of it."""

_READ_BYTES = 1024 * 1024
"""So much is read at once of what has come: asyncio reads a quarter of that, and each time costs as much."""

_LAST_SECONDS = 5.0
"""For what was written of a response that was cut off, and the client has not taken; and for a client to hear of a
refusal and to close."""

_RESET = struct.pack("ii", 1, 0)
"""Of ``SO_LINGER``: what closes a connection lets nothing more be sent, and says so."""

_EMPTY_LINE = re.compile(rb"\r?\n")
_COMING = (h11.IDLE, h11.SEND_BODY)


@dataclass
class Connections:
    """The limits of the connections of one server, and which of them wait for a request, or the rest of one.

    ``waiting`` has the one that has waited longest first; ``ended`` are those that were told to go, and are not gone
    yet: they take nobody's place. ``refused`` is told the reason of each request that is not answered for these limits,
    as refusals are counted by.
    """

    request_seconds: float
    most: int
    refused: Callable[[str], None]
    waiting: dict[Connection, None] = field(default_factory=dict)
    ended: set[Connection] = field(default_factory=set)

    def protocol(self) -> Any:
        """What uvicorn makes the connections with: ``uvicorn.Config(http=…)``."""
        return partial(Connection, limits=self)


class _Received(ReceiveBuffer):
    """What has come and h11 has not read yet. All of it is given as it is: h11's own buffer copies it twice, which of
    bodies of megabytes is a quarter of the time that receiving them takes.
    """

    def first(self, count: int) -> bytes:
        """The first so many bytes, which stay."""
        return bytes(self._data[:count])

    def maybe_extract_at_most(self, count: int) -> bytearray | None:
        if count < len(self):
            return super().maybe_extract_at_most(count)
        found, self._data = self._data, bytearray()
        self._next_line_search = self._multiple_lines_search = 0
        return found or None


class _Requests(h11.Connection):
    """h11's, without requests whose end may be elsewhere for a proxy in front (RFC 9112 section 6.1), and with those
    that an empty line stands before, which small clients write behind the body of the last one (section 2.2).

    ``method`` is that of the request that is being answered, empty between requests; ``received`` what no request has
    been read of yet.
    """

    method = b""

    def __init__(self) -> None:
        super().__init__(h11.SERVER)
        self.received = self._receive_buffer = _Received()

    def start_next_cycle(self) -> None:
        super().start_next_cycle()
        self.method = b""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            beginning = self.received.first(2)
            if beginning == b"\r":
                return h11.NEED_DATA
            if (empty := _EMPTY_LINE.match(beginning)) is not None:
                self.received.maybe_extract_at_most(empty.end())
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.method = event.method
            names = {name for name, _ in event.headers}
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
                raise h11.RemoteProtocolError(
                    "Content-Length beside Transfer-Encoding, or HTTP/1.0 with it, leaves open where the request ends"
                )
        return event


class _StagedClose(asyncio.Transport):
    """A connection's transport as a response has it: closed in stages where more of the request is still coming.

    What a client has not read yet is lost when its connection is closed at once and it sends on (RFC 9112 section 9.6):
    it would hear of a reset instead of what was refused. So what is written ends first, and what comes is thrown
    away until the client closes, or ``_LAST_SECONDS`` are over.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._connection.transport.write(data)

    def is_closing(self) -> bool:
        return self._connection.transport.is_closing()

    def close(self) -> None:
        transport = self._connection.transport
        if self._connection.conn.their_state is h11.SEND_BODY and transport.can_write_eof():
            self._connection.throw_away()
            transport.write_eof()
        else:
            transport.close()


class Connection(H11Protocol):
    """uvicorn's connection with an end for requests that do not come whole.

    A request has ``request_seconds`` from its beginning (the first one, from that of the connection), and a second more
    for each ``LEAST_PACE`` bytes of it; the time in which the server reads nothing does not count. Then the connection
    is closed, after a 408 if there is no response yet. It waits ``IDLE_SECONDS`` for its next request. Responses take
    as long as they take; after one that was cut off the connection is aborted.
    One connection more than ``most`` closes the one that has waited longest for its request; if all have theirs, it
    gets a 503.
    """

    def __init__(self, *arguments: Any, limits: Connections, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = self._requests = _Requests()
        self.timeout_keep_alive = IDLE_SECONDS
        self._limits = limits
        self._idle = False
        self._seconds = self._began = 0.0
        self._received = 0
        self._state: Any = None  # h11 has no public type for its states
        self._timer: asyncio.TimerHandle | None = None
        self._end: asyncio.TimerHandle | None = None
        self._throws_away = False
        self._application = self.app
        self.app = self._answered

    async def _answered(self, scope: Any, receive: Any, send: Any) -> None:
        cycle = self.cycle
        cycle.transport = _StagedClose(self)
        try:
            # Cancelled where the server stops and has waited long enough: told of that, uvicorn would write a stack
            # trace for each, as of a fault.
            with contextlib.suppress(asyncio.CancelledError):
                await self._application(scope, receive, send)
        finally:
            if not cycle.response_complete:
                if cycle.response_started and cycle.scope["http_version"] == "1.0":
                    self._have_closing_reset()
                # uvicorn closes the connection, which waits for ever for a client that takes nothing.
                self.loop.call_later(_LAST_SECONDS, self.transport.abort)

    def _have_closing_reset(self) -> None:
        """Have the end of the connection be an error for the client.

        A response to HTTP/1.0, which nginx asks with unless it is told otherwise, has no last chunk: it ends where the
        connection is closed (RFC 9112 section 6.3), so that a part of it would look like the whole.
        """
        connected = self.transport.get_extra_info("socket")
        if connected is not None and not self.transport.is_closing():
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    # What asyncio and uvicorn call

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if hasattr(transport, "max_size"):  # of asyncio's own loop, not of others
            transport.max_size = _READ_BYTES
        if len(self.connections) - len(self._limits.ended) > self._limits.most:
            oldest = next(iter(self._limits.waiting), None)
            if oldest is None:
                self._limits.refused("connections")
                self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"there are {self._limits.most} connections already")
                return
            self._limits.refused("connections")
            oldest.end("a newer connection needs the place of this one, whose request had not come whole")
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self._throws_away:
            return
        self._received += len(data)
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._limits.ended.discard(self)
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._limits.refused("malformed_request")
        error = sys.exception()
        if isinstance(error, h11.RemoteProtocolError):
            # What h11 quotes after the colon is written as Python writes it.
            said = str(error).partition(": bytearray")[0]
            self._refuse(HTTPStatus(error.error_status_hint), f"this is no HTTP/1.1 request: {said}")
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def _should_upgrade(self) -> bool:
        """Never, and without a warning: it is an offer (RFC 9110 section 7.8), which Java's clients make each time."""
        return False

    # Requests that do not come whole

    def _watch(self) -> None:
        """See whether a request is awaited, or the rest of one, and since when."""
        before, self._state = self._state, self.conn.their_state
        if self._state not in _COMING or self.transport.is_closing():
            self._forget()
        elif before not in _COMING or (before is h11.SEND_BODY and self._state is h11.IDLE):
            self._forget()
            self._limits.waiting[self] = None
            # None before the first request, whatever uvicorn's annotation says.
            self._idle = self.cycle is not None and not self._begun  # type: ignore[redundant-expr]
            self._count(IDLE_SECONDS if self._idle else self._limits.request_seconds)
        elif self._idle and self._begun:
            self._idle = False
            self._count(self._limits.request_seconds)

    def _count(self, seconds: float) -> None:
        """Give what is awaited so many seconds from now on."""
        if self._timer is not None:
            self._timer.cancel()
        self._seconds, self._began, self._received = seconds, self.loop.time(), 0
        self._timer = self.loop.call_later(seconds, self._check)

    def _check(self) -> None:
        now = self.loop.time()
        if self.flow.read_paused or (self._state is h11.SEND_BODY and self.cycle.waiting_for_100_continue):
            self._began, self._received = now, 0
        left = self._began + self._seconds + self._received / LEAST_PACE - now
        if left > 0:
            self._timer = self.loop.call_later(left, self._check)
        else:
            if self._begun:
                self._limits.refused("slow_request")
            self.end(
                f"the request did not come whole within {self._limits.request_seconds:g} s, and a second more for each "
                f"{LEAST_PACE} bytes of it"
            )

    def throw_away(self) -> None:
        """Read on, and do nothing with what comes."""
        self._throws_away = True
        self.flow.resume_reading()
        self.loop.call_later(_LAST_SECONDS, self.transport.close)

    def end(self, reason: str) -> None:
        """Close the connection for a request that does not come whole."""
        if self._begun:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, reason)
        else:
            self._forget()
            self._close()

    def _close(self) -> None:
        """Close the connection, also where what was written is not taken."""
        self._limits.ended.add(self)
        self.transport.close()
        self._end = self.loop.call_later(_LAST_SECONDS, self.transport.abort)

    @property
    def _begun(self) -> bool:
        """Whether anything of a request has come."""
        return self._state is not h11.IDLE or bool(self._requests.received)

    def _forget(self) -> None:
        self._limits.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer the request that there is, if it has no response yet, without the application; then close."""
        self._forget()
        # None before the first request, whatever uvicorn's annotation says.
        cycle = self.cycle if self.cycle is not None and not self.cycle.response_complete else None  # type: ignore[redundant-expr]
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            document = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
            body = json.dumps(document).encode()
            headers = [("Content-Type", PROBLEM), ("Content-Length", str(len(body))), ("Connection", "close")]
            if status is HTTPStatus.SERVICE_UNAVAILABLE:
                headers.append(("Retry-After", "2"))
            head_only = self._requests.method == b"HEAD"
            response = h11.Response(status_code=status.value, headers=headers, reason=status.phrase.encode())
            for event in (response, h11.Data(data=b"" if head_only else body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if cycle is not None:
            # The application learns that nobody waits for its response.
            cycle.disconnected = True
            cycle.message_event.set()
        self._close()
