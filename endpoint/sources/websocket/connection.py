"""A WebSocket as a source: it has no positions, so what is sent while nobody listens is lost."""

from __future__ import annotations

import base64
import socket
import ssl
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from endpoint.logins.password import password_of
from endpoint.sources.connection import MOST_BYTES, MOST_MESSAGES, Surroundings
from endpoint.sources.web import MESSAGE_TYPE, USER_AGENT, message_type, require_permitted
from protocol.sources import SourceBatch, SourceFailed, SourceMessage

_SCHEMES = frozenset({"ws", "wss"})
_OPEN_SECONDS = 10.0
_CLOSE_SECONDS = 1.0


class WebSocketConnection:
    """A message is one of the WebSocket's, text or bytes. Pings tell whether the other side is still there.

    The library receives some messages ahead, and then lets the sender wait.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        """Raises OSError or SourceFailed where there is no WebSocket, or nobody says what it carries."""
        self.notice: str | None = "a WebSocket has no positions: what is sent while the connection is away is lost"
        self._url = surroundings.settings.url
        self._open = ExitStack()
        require_permitted(surroundings, self._url, _SCHEMES)
        try:
            with _failures_of(self._url):
                connected = self._open.enter_context(_connected(self._url))
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
                        max_size=surroundings.largest,
                    )
                )
            response = self._connection.response
            told = None if response is None else response.headers.get(MESSAGE_TYPE)
            self._content_type = message_type(surroundings, told)
        except BaseException:
            self.close()
            raise

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``Connection.take``."""
        messages: list[SourceMessage] = []
        deadline = time.monotonic() + seconds
        size = 0
        while len(messages) < MOST_MESSAGES and size < MOST_BYTES:
            try:
                with _failures_of(self._url):
                    received = self._connection.recv(0 if messages else max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                break
            except SourceFailed:
                if not messages:
                    raise
                break  # which the next one says again
            body = received.encode() if isinstance(received, str) else received
            size += len(body)
            messages.append(SourceMessage(body, self._content_type, self._url, uuid.uuid4().bytes))
        return SourceBatch(messages, {}) if messages else None

    def stored(self, batch: SourceBatch) -> None:
        """A WebSocket awaits no word."""

    def close(self) -> None:
        """Close it."""
        self._open.close()

    def forget(self) -> None:
        """The other side knows of nobody."""


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
    except (WebSocketException, ValueError) as error:
        raise SourceFailed(f"{url} is no WebSocket that can be read: {error}") from None
