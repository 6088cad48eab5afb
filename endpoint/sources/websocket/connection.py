"""A WebSocket as a source: it has no positions, so what is sent while nobody listens is lost."""

from __future__ import annotations

import base64
import socket
import ssl
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import connect

from endpoint.back_off import patience
from endpoint.logins.password import password_of
from endpoint.outgoing.breaking import break_off
from endpoint.sources.connection import Surroundings
from endpoint.sources.waiting import Put, Waiting
from endpoint.sources.web import USER_AGENT, message_type, require_permitted
from endpoint.sources.websocket.fragments import FRAGMENT_BYTES, FragmentedConnection
from protocol.formats.media_types import MESSAGE_TYPE
from protocol.sources import BEGINNING_BYTES, SourceBatch, SourceFailed, SourceMessage, bounded_message

_SCHEMES = frozenset({"ws", "wss"})
_OPEN_SECONDS = 10.0
_CLOSE_SECONDS = 1.0


class WebSocketConnection:
    """A message is one of the WebSocket's, text or bytes. Pings tell whether the other side is still there.

    A thread of its own receives a batch ahead of what is stored, and then lets the sender wait.
    """

    is_kept = False

    def __init__(self, surroundings: Surroundings) -> None:
        """Raises SourceFailed where there is no WebSocket, or nobody says what it carries."""
        self.notice: str | None = "a WebSocket has no positions: what is sent while the connection is away is lost"
        self._url = surroundings.settings.url
        self._largest = surroundings.largest
        self._open = ExitStack()
        require_permitted(surroundings, self._url, _SCHEMES)
        try:
            with ExitStack() as begun:
                begun.enter_context(_failures_of(self._url))
                connected = self._open.enter_context(_connected(self._url))
                # Another descriptor of the same connection: whoever begins TLS with it lets go of the first.
                same = self._open.enter_context(connected.dup())
                begun.enter_context(surroundings.breaking(partial(break_off, same)))
                self._connection = self._open.enter_context(
                    connect(
                        self._url,
                        # With a socket that is given it follows no redirects, which might lead anywhere.
                        sock=connected,
                        ssl=ssl.create_default_context() if self._url.lower().startswith("wss:") else None,
                        additional_headers=_login(surroundings),
                        user_agent_header=USER_AGENT,
                        proxy=None,
                        compression=None,
                        open_timeout=_OPEN_SECONDS,
                        close_timeout=_CLOSE_SECONDS,
                        # Of a message that is too long the rest is passed over, fragment by fragment.
                        max_size=(None, FRAGMENT_BYTES),
                        create_connection=FragmentedConnection,
                    )
                )
            response = self._connection.response
            told = None if response is None else response.headers.get(MESSAGE_TYPE)
            self._content_type = message_type(surroundings, told)
        except BaseException:
            self._open.close()
            raise
        self._waiting = Waiting(f"websocket-{surroundings.stream}", self._receive)

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``Connection.take``."""
        return self._waiting.take(seconds)

    def stored(self, batch: SourceBatch) -> None:
        """A WebSocket awaits no word."""

    def close(self) -> None:
        """Close it, and end the thread with it."""
        self._waiting.close()
        self._open.close()
        self._waiting.join()

    def forget(self) -> None:
        """The other side knows of nobody."""

    def _receive(self, put: Put) -> None:
        """What the thread does, until the connection breaks or is closed."""
        with _failures_of(self._url):
            while put(self._message(), {}):
                pass

    def _message(self) -> SourceMessage:
        """The next one; of one that is too long no more than the beginning is kept."""
        body, length, key = bytearray(), 0, uuid.uuid4().bytes
        for fragment in self._connection.recv_streaming(decode=False):
            length += len(fragment)
            if length <= self._largest:
                body += fragment
            else:
                body += fragment[: max(0, BEGINNING_BYTES - len(body))]
                del body[BEGINNING_BYTES:]
        return bounded_message(bytes(body), length, self._largest, self._content_type, self._url, key)


def _connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme.lower() == "wss" else 80)
    return socket.create_connection((parts.hostname or "", port), _OPEN_SECONDS)


def _login(surroundings: Surroundings) -> dict[str, str]:
    settings = surroundings.settings
    if settings.login.user is None:
        return {}
    login = f"{settings.login.user}:{password_of(settings.login) or ''}".encode()
    return {"Authorization": f"Basic {base64.b64encode(login).decode()}"}


@contextmanager
def _failures_of(url: str) -> Iterator[None]:
    try:
        yield
    except ConnectionClosed as error:
        raise SourceFailed(f"the connection to {url} was closed: {error}") from None
    except OSError as error:
        raise SourceFailed(f"{url} cannot be reached: {error.strerror or error}") from None
    except (WebSocketException, ValueError) as error:
        asked = error.response.headers.get("Retry-After", "") if isinstance(error, InvalidStatus) else ""
        said = f"{url} is no WebSocket that can be read: {error}"
        raise SourceFailed(said, retry_after=patience(asked)) from None
