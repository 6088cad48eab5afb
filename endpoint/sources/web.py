"""Requests of sources: to allowed addresses only, wherever these lead."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from endpoint.back_off import patience
from endpoint.logins.password import password_of
from endpoint.outgoing.time_limit import TimeLimit
from endpoint.outgoing.trust import is_outside, trusted
from endpoint.sources.connection import Surroundings
from protocol.errors import size_text
from protocol.formats.media_types import MESSAGE_TYPE
from protocol.sources import SourceFailed
from protocol.sparql.iris import resolve

USER_AGENT = "sparql-streams"
_REDIRECTS = 5
_BODY_SECONDS = 300.0
"""For all of a body that is read as a whole."""


class AddressRefused(SourceFailed):
    """An address that the server may not use."""


@dataclass(frozen=True)
class Opened:
    """An answer whose body is still to be read, and where it was found."""

    address: str
    response: httpx.Response
    client: httpx.Client

    def body(self, surroundings: Surroundings) -> bytes:
        """All of it. Raises SourceFailed where it is longer than a message may be, or takes too long."""
        chunks: list[bytes] = []
        size, largest = 0, surroundings.largest
        with failures_of(self.address), TimeLimit(_BODY_SECONDS) as limit, surroundings.breaking(limit.end):
            limit.watch(self.response.extensions["network_stream"])
            for chunk in self.response.iter_raw():
                size += len(chunk)
                if size > largest:
                    raise SourceFailed(f"{self.address} is longer than {size_text(largest)}")
                chunks.append(chunk)
        return b"".join(chunks)

    def close(self) -> None:
        """Let go of the connection."""
        self.response.close()
        self.client.close()


def require_permitted(surroundings: Surroundings, address: str, schemes: frozenset[str]) -> None:
    """Raises AddressRefused for an address that the server may not use."""
    if not surroundings.allowed.permits(address, schemes):
        raise AddressRefused(f"{address} is not an address that this server may use: see --allow-fetch")


def open_address(
    surroundings: Surroundings,
    address: str,
    headers: Mapping[bytes, bytes],
    silence: float,
    also: Collection[int] = (),
) -> Opened:
    """The answer of an address, or of where it leads; ``silence`` is how many seconds nothing may come, and within
    which the answer has to begin.

    Raises AddressRefused, and SourceFailed, also for an answer that is no success, but for those with a status of
    ``also``.
    """
    for _ in range(_REDIRECTS + 1):
        require_permitted(surroundings, address, frozenset({"http", "https"}))
        with failures_of(address):
            opened = _ask(surroundings, address, headers, silence)
        response = opened.response
        if response.has_redirect_location:
            opened.close()
            address = resolve(address, response.headers["location"])
        elif response.is_success or response.status_code in also:
            return opened
        else:
            opened.close()
            said = f"{address} answers with {response.status_code} {response.reason_phrase}".rstrip()
            raise SourceFailed(said, retry_after=patience(response.headers.get("retry-after", "")))
    raise SourceFailed(f"{surroundings.settings.url} leads to more than {_REDIRECTS} others, one after the other")


@contextmanager
def failures_of(address: str) -> Iterator[None]:
    """What goes wrong with a request is SourceFailed."""
    try:
        yield
    except httpx.InvalidURL as error:
        raise SourceFailed(f"{address} is not an address: {error}") from None
    except TimeoutError as error:
        raise SourceFailed(f"{address} was {error}") from None
    except httpx.TimeoutException:
        raise SourceFailed(f"{address} was silent for too long") from None
    except httpx.HTTPError as error:
        raise SourceFailed(f"the connection to {address} broke: {str(error) or type(error).__name__}") from None


def _ask(surroundings: Surroundings, address: str, headers: Mapping[bytes, bytes], silence: float) -> Opened:
    settings = surroundings.settings
    client = httpx.Client(
        timeout=httpx.Timeout(10.0, read=silence),
        trust_env=is_outside(address),
        verify=trusted(address),
        # What comes compressed could be a thousand times as long: it is asked for as it is.
        headers={b"Accept-Encoding": b"identity", b"User-Agent": USER_AGENT.encode(), **headers},
    )
    try:
        login = None
        if settings.login.user is not None and urlsplit(address)[:2] == urlsplit(settings.url)[:2]:
            login = httpx.BasicAuth(settings.login.user, password_of(settings.login) or "")
        with TimeLimit(silence) as limit, surroundings.breaking(limit.end):
            request = client.build_request("GET", address, extensions=limit.extensions)
            response = client.send(request, stream=True, auth=login)
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity"):
            raise SourceFailed(f"{address} comes compressed ({coding}), though it was asked for as it is")
        return Opened(address, response, client)
    except BaseException:
        client.close()
        raise


def message_type(surroundings: Surroundings, told: str | None) -> str:
    """The content type of messages: what the channel says, else what the settings do. SourceFailed if neither does."""
    found = told or surroundings.settings.content_type
    if found is None:
        raise SourceFailed(
            f"{surroundings.settings.url} has no header {MESSAGE_TYPE} that says what its messages are: "
            "say it with the source's contentType"
        )
    return found
