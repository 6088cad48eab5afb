"""An endpoint under test: where it is, and HTTP exchanges with it that send exactly what a test describes."""

from __future__ import annotations

import http.client
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from protocol.formats.negotiation import media_type_of

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Exchanged:
    """A response. ``headers`` have lower-case names; of several with one name, the last."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        return media_type_of(self.headers.get("content-type"))


@dataclass(frozen=True)
class Endpoint:
    """An endpoint by the URL of its root, under which are ``/sparql`` and ``/graphs``."""

    url: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.rstrip("/"))
        if urlsplit(self.url).scheme != "http" or not urlsplit(self.url).hostname:
            raise ValueError(f"{self.url!r} is not the http:// URL of an endpoint's root")

    @property
    def sparql(self) -> str:
        return f"{self.url}/sparql"

    @property
    def graphs(self) -> str:
        return f"{self.url}/graphs"

    @property
    def authority(self) -> str:
        return urlsplit(self.url).netloc

    def exchange(
        self, method: str, target: str, headers: Sequence[tuple[str, str]] = (), body: bytes | None = None
    ) -> Exchanged:
        """Send this and nothing else (Host and Content-Length apart); ``target`` is path and query as they are sent.

        A fresh connection each time: what a request leaves unread disturbs no other. OSError if it fails.
        """
        connection = http.client.HTTPConnection(self.authority, timeout=TIMEOUT_SECONDS)
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            content = response.read()
            received = {name.lower(): value for name, value in response.getheaders()}
            return Exchanged(response.status, received, content)
        except http.client.HTTPException as error:
            raise OSError(f"{method} {target}: no HTTP response: {error!r}") from error
        finally:
            connection.close()

    def path(self, resource: str) -> str:
        """The path of ``/sparql`` or ``/graphs`` as sent in a request."""
        return f"{urlsplit(self.url).path}{resource}"
