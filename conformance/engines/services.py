"""Endpoints that SERVICE asks, on the loopback interface: Oxigraph in process behind a minimal SPARQL protocol."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs

import pyoxigraph as ox

from conformance.answers.cases import Document
from protocol.formats.media_types import FORM
from protocol.formats.negotiation import media_type_of

ADDRESS = "127.0.0.1"
FETCHED = re.compile(r"\b(?:SERVICE|LOAD)\s+(?:SILENT\s+)?<(https?:[^>]*)>", re.IGNORECASE)
"""Where a text names what is asked or fetched."""
_POLL_SECONDS = 0.05


class StandIns:
    """Endpoint IRIs, each with the loopback URL that stands in for it."""

    def __init__(self, urls: Mapping[str, str]) -> None:
        self._urls = dict(urls)

    def rewritten(self, text: str) -> str:
        """The text with each endpoint IRI made the URL of its stand-in."""
        for iri, url in self._urls.items():
            text = text.replace(iri, url)
        return text

    def original(self, content: bytes) -> bytes:
        """An answer with each such URL made the endpoint IRI again."""
        for iri, url in self._urls.items():
            content = content.replace(url.encode(), iri.encode())
        return content


class FederatedServices:
    """A server of stand-ins, one set at a time; a context. ``url`` is the prefix of all that it serves."""

    def __init__(self) -> None:
        self._server = _Server((ADDRESS, 0), _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        self.url = f"http://{ADDRESS}:{self._server.server_port}/"

    def stand_ins(self, iris: Sequence[str], data: Mapping[str, Sequence[Document]]) -> StandIns:
        """Stand-ins for these IRIs over their documents' triples, instead of those before; without documents: 404."""
        urls = {iri: f"{self.url}{number}/sparql" for number, iri in enumerate(iris)}
        found = StandIns(urls)
        stores: dict[str, ox.Store] = {}
        for number, iri in enumerate(iris):
            if iri not in data:
                continue
            store = stores[f"/{number}/sparql"] = ox.Store()
            for document in data[iri]:
                content = found.rewritten(document.content.decode())
                store.extend(ox.parse(content, format=document.syntax, base_iri=document.iri, rename_blank_nodes=True))
        self._server.stores = stores
        return found

    def __enter__(self) -> FederatedServices:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    stores: Mapping[str, ox.Store]

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.stores = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        form = media_type_of(self.headers.get("Content-Type")) == FORM
        self._answer(parse_qs(body).get("query", [""])[0] if form else body)

    def do_GET(self) -> None:
        self._answer(parse_qs(self.path.partition("?")[2]).get("query", [""])[0])

    def _answer(self, query: str) -> None:
        assert isinstance(self.server, _Server)
        store = self.server.stores.get(self.path.partition("?")[0])
        if store is None:
            self._send(404, b"", "text/plain")
            return
        try:
            found = store.query(query)
            assert not isinstance(found, ox.QueryTriples)
            content = found.serialize(format=ox.QueryResultsFormat.JSON) or b""
        except (SyntaxError, RuntimeError) as error:
            self._send(400, str(error).encode(), "text/plain")
            return
        self._send(200, content, "application/sparql-results+json")

    def _send(self, status: int, content: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Requests of a stand-in are no news."""
