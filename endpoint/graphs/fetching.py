"""Documents fetched because a request says so (LOAD): from allowed addresses only, within limits of time and size."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from endpoint.graphs.documents import Document, InvalidGraph, n_triples
from endpoint.outgoing.time_limit import TimeLimit
from endpoint.outgoing.trust import is_outside, trusted
from protocol.errors import ProtocolError
from protocol.formats.allow_list import NOTHING, AllowList
from protocol.formats.media_types import GRAPH_OFFERS, RDF_EXTENSIONS, RdfSyntax
from protocol.formats.negotiation import media_type_of
from protocol.sparql.guard import FetchRefused
from protocol.sparql.iris import resolve
from protocol.sparql.load import loads
from protocol.sparql.source import error_at
from protocol.sparql.syntax import require_update

if TYPE_CHECKING:
    import httpx

SECONDS = 30.0
"""For one document, redirects included."""

MAXIMUM_BYTES = 64 * 1024 * 1024
"""Of one document, where no other limit is given."""

_REDIRECTS = 5
_WAIT_SECONDS = 10.0
_LEAST_SECONDS = 0.001
_UNTELLING = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream", "text/html"})
_ACCEPT = (
    "text/turtle, application/n-triples, application/ld+json, application/rdf+xml, application/trig;q=0.8, "
    "application/n-quads;q=0.8, */*;q=0.1"
)


class LoadFailed(ProtocolError):
    """A document could not be had, or is no RDF graph."""

    status = 502
    title = "The document could not be loaded"


class LeadsElsewhere(LoadFailed):
    """What is at an allowed address leads to one that is not: there may be a document, but not for this server."""


@dataclass(frozen=True)
class Fetching:
    """What may be fetched, and how: at most ``maximum_bytes`` of a document, within ``seconds``.

    ``transport`` takes the place of the network, ``clock`` gives seconds that never step back.
    """

    allowed: AllowList = NOTHING
    maximum_bytes: int = MAXIMUM_BYTES
    seconds: float = SECONDS
    transport: httpx.BaseTransport | None = field(default=None, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    def graph(self, iri: str) -> str:
        """The document's triples in N-Triples, with blank nodes of their own. Raises LoadFailed.

        Its syntax is told by its content type, or, if that tells nothing, by the extension of its path;
        relative IRIs in it are relative to where it was found after redirects.
        Raises Unavailable where the process that reads it is lost, GraphNotRead where it breaks.
        """
        found, media_type, body = self.document(iri, _ACCEPT)
        syntax = _syntax(found, media_type)
        if syntax is None:
            raise LoadFailed(
                f"<{iri}> is {media_type or 'without a content type'}: neither that nor the end of its path is one of "
                "an RDF syntax"
            )
        try:
            return n_triples([Document(syntax, body)], found).decode()
        except InvalidGraph as error:
            raise LoadFailed(f"<{iri}> is not a graph in {syntax}: {error.detail}") from None

    def document(self, iri: str, accept: str, form: Mapping[str, str] | None = None) -> tuple[str, str, bytes]:
        """Where the document was found, its media type, and its bytes. Raises LoadFailed.

        ``accept``: the media types that are wanted, as in a request. ``form``: what is sent by POST, also to where that
        leads; without, it is GET.
        """
        import httpx  # late: the processes that only read the store import this module, too

        deadline = self.clock() + self.seconds
        address = iri
        for _ in range(_REDIRECTS + 1):
            if not self.allowed.permits(address):
                if address == iri:
                    raise LoadFailed(f"this server may not fetch <{iri}>")
                # What has no http or https address cannot be had by anybody.
                refused = LeadsElsewhere if address.lower().startswith(("http:", "https:")) else LoadFailed
                raise refused(f"<{iri}> leads to <{address}>, which this server may not fetch")
            try:
                answer = self._once(address, accept, deadline, form)
            except httpx.InvalidURL as error:
                raise LoadFailed(f"<{address}> is not an address: {error}") from None
            except TimeoutError:
                raise self._late(address) from None
            except httpx.TimeoutException:
                raise LoadFailed(f"<{address}> did not answer in time") from None
            except httpx.HTTPError as error:
                raise LoadFailed(f"<{address}> cannot be fetched: {str(error) or type(error).__name__}") from None
            if isinstance(answer, tuple):
                return address.partition("#")[0], *answer
            address = answer
        raise LoadFailed(f"<{iri}> leads to more than {_REDIRECTS} others, one after the other")

    def _once(
        self, address: str, accept: str, deadline: float, form: Mapping[str, str] | None
    ) -> tuple[str, bytes] | str:
        """Media type and bytes of what is at the address, or the address it leads to.

        Raises TimeoutError where that is not there by the deadline.
        """
        import httpx

        left = max(deadline - self.clock(), _LEAST_SECONDS)
        timeout = httpx.Timeout(min(_WAIT_SECONDS, left))
        # What comes compressed could be a thousand times as long: it is asked for as it is.
        headers = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": "sparql-streams"}
        with (
            TimeLimit(left) as limit,
            httpx.Client(
                transport=self.transport,
                timeout=timeout,
                trust_env=is_outside(address),
                verify=trusted(address),
                headers=headers,
            ) as client,
            client.stream(
                "GET" if form is None else "POST", address, data=form, extensions=limit.extensions
            ) as response,
        ):
            if response.has_redirect_location:
                return resolve(address, response.headers["location"])
            if not response.is_success:
                raise LoadFailed(f"<{address}> answers with {response.status_code} {response.reason_phrase}".rstrip())
            if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
                raise LoadFailed(f"<{address}> comes compressed, though it was asked for as it is")
            chunks: list[bytes] = []
            size = 0
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > self.maximum_bytes:
                    raise LoadFailed(f"<{address}> is larger than {self.maximum_bytes} bytes")
                if self.clock() > deadline:
                    raise self._late(address)
                chunks.append(chunk)
            media_type = media_type_of(response.headers.get("content-type"))
            return media_type, b"".join(chunks)

    def _late(self, address: str) -> LoadFailed:
        # Of a SERVICE it is what its requests before have left.
        return LoadFailed(f"<{address}> was not there whole within {round(self.seconds, 2):g} s")


def documents(update: str, fetching: Fetching, base: str | None = None) -> list[str | None]:
    """What the LOAD operations of an update load, as N-Triples, in order; None for a SILENT one that failed.

    Raises UpdateSyntaxError and FetchRefused, before anything is fetched, and what ``Fetching.graph`` raises;
    FetchRefused also where an address leads to one that is not on the list, for as little is it the load that fails
    then.
    """
    found: list[str | None] = []
    if "load" in update.casefold():
        # Before anything is refused or fetched for it: a text that is no update has no LOAD operations.
        require_update(update, base)
    for operation in loads(update, fetching.allowed, base=base):
        try:
            found.append(fetching.graph(operation.iri))
        except LeadsElsewhere as error:
            raise error_at(FetchRefused, f"LOAD is refused: {error.detail}", update, operation.start) from None
        except ProtocolError:
            # SILENT holds whatever the reason is (SPARQL 1.1 Update 3.1.4), also where nobody could read it here.
            if not operation.silent:
                raise
            found.append(None)
    return found


def _syntax(address: str, media_type: str) -> RdfSyntax | None:
    if media_type not in _UNTELLING and media_type in GRAPH_OFFERS:
        return GRAPH_OFFERS[media_type]
    return RDF_EXTENSIONS.get(urlsplit(address).path.rpartition("/")[2].rpartition(".")[2].lower())
