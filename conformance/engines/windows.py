"""An endpoint's continuous queries, tested with the suites for one-shot ones.

Each graph of a test is one message of a stream: the default graph of one read by ``FROM STREAM``, each named
graph of one read by ``FROM NAMED STREAM``. The window is closed, and what it is answered with has to be the
answer of the test: a continuous query means at an instant what the query means over the windows' contents.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Mapping, Sequence

import httpx
import pyoxigraph as ox

from conformance.answers.cases import Document, QueryCase, UpdateCase, graphs_of_from
from conformance.answers.comparison import QueryResult
from conformance.answers.results import UnreadableAnswer, actual_answer
from conformance.engines.endpoints import Endpoint
from conformance.engines.engine import Contents, EngineFailure, Language
from conformance.engines.http import GRAPH_TYPES, SOLUTIONS_TYPES
from conformance.engines.services import FETCHED, FederatedServices, StandIns
from conformance.engines.windowed_queries import windowed
from protocol.formats.media_types import SolutionsFormat
from protocol.formats.negotiation import media_type_of

WINDOW = "[RANGE 1h TUMBLING REPORT ON_WINDOW_CLOSE]"
_POSTED, _CLOSED = "2020-01-01T00:30:00Z", "2020-01-01T01:00:00Z"
_DEFAULT = "urn:x-sparql-streams:conformance:stream:"
_TIMEOUT_SECONDS = 120.0


class WindowsEngine:
    """``Engine`` over the streams of an endpoint whose store is empty. Only queries are tested.

    ``services`` stand in for the endpoints that SERVICE names; the endpoint must be allowed to ask them.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        transport: httpx.BaseTransport | None = None,
        services: FederatedServices | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._services = services
        self._client = httpx.Client(timeout=_TIMEOUT_SECONDS, transport=transport, trust_env=False)
        self._numbers = itertools.count()

    def close(self) -> None:
        self._client.close()

    def answers(self, case: QueryCase, preferred: str | None) -> Mapping[str, QueryResult]:
        """See ``Engine``. One way: ``windows``."""
        made: list[str] = []
        mock = StandIns({})
        if self._services is not None:
            iris = dict.fromkeys([*(iri for iri, _ in case.services), *FETCHED.findall(case.text)])
            mock = self._services.stand_ins(list(iris), dict(case.services))
        try:
            default, named = _by_use(case)
            streams: dict[str, str] = {}
            for name, documents in {**default, **named}.items():
                # A graph that is in both parts of the dataset is two streams' content, but one stream.
                streams[name] = self._stream(name, documents, made, mock)
            text = f"BASE <{case.base}>\n{windowed(case.text, list(default), list(named), WINDOW)}"
            for stream in made:
                self._done(self._send("PUT", f"streams/{stream}/watermark", content=_CLOSED.encode()), "the watermark")
            return {"windows": self._answer(text, case, preferred, mock)}
        finally:
            for stream in made:
                self._send("DELETE", f"streams/{stream}")

    def after(self, case: UpdateCase) -> Contents:
        """See ``Engine``: there are no updates of windows."""
        raise EngineFailure("an update is not evaluated over windows")

    def accepts(self, text: str, language: Language) -> str | None:
        """See ``Engine``: syntax is tested without windows."""
        raise EngineFailure("the syntax of continuous queries is not tested with these suites")

    def _stream(self, iri: str, documents: Sequence[Document], made: list[str], mock: StandIns) -> str:
        name = f"t{next(self._numbers)}"
        settings = {"iri": iri, "time": "event", "retention": "P36500D"}
        self._done(self._send("PUT", f"streams/{name}", json=settings), f"the stream of {iri}")
        made.append(name)
        body = b"".join(
            ox.serialize((quad.triple for quad in document.quads()), format=ox.RdfFormat.N_TRIPLES) or b""
            for document in documents
        )
        body = mock.rewritten(body.decode()).encode()
        headers = {"Content-Type": "application/n-triples"}
        posted = self._send("POST", f"streams/{name}?at={_POSTED}", headers=headers, content=body)
        self._done(posted, f"the message of {iri}")
        return name

    def _answer(self, text: str, case: QueryCase, preferred: str | None, mock: StandIns) -> QueryResult:
        turn = zlib.crc32(case.base.encode())
        first = preferred or SOLUTIONS_TYPES[turn % len(SOLUTIONS_TYPES)]
        second = GRAPH_TYPES[turn % len(GRAPH_TYPES)]
        headers = {"Accept": f"{first}, {second};q=0.9", "Content-Type": "application/sparql-query"}
        content = mock.rewritten(text).encode()
        response = self._send("POST", "sparql?since=beginning", headers=headers, content=content)
        if response.status_code == 406:  # JSON-LD has no triple terms
            headers["Accept"] = f"{first}, {GRAPH_TYPES[0]};q=0.9"
            response = self._send("POST", "sparql?since=beginning", headers=headers, content=content)
        self._done(response, "the query")
        media_type = media_type_of(response.headers["content-type"])
        content = mock.original(response.content)
        if media_type == SolutionsFormat.JSON:
            # The member that tells of the evaluation is ours; pyoxigraph's reader knows the standard's alone.
            document = json.loads(content)
            del document["evaluation"]
            content = json.dumps(document).encode()
        try:
            return actual_answer(content, media_type)
        except UnreadableAnswer as error:
            raise EngineFailure(str(error)) from None

    def _done(self, response: httpx.Response, what: str) -> None:
        if not response.is_success:
            raise EngineFailure(f"{what}: {response.status_code} {' '.join(response.text[:400].split())}")

    def _send(self, method: str, path: str, **options: object) -> httpx.Response:
        try:
            return self._client.request(method, f"{self._endpoint.url}/{path}", **options)  # type: ignore[arg-type]  # httpx's own
        except httpx.HTTPError as error:
            raise EngineFailure(f"{method} {path}: {error!r}") from error


def _by_use(case: QueryCase) -> tuple[dict[str, list[Document]], dict[str, list[Document]]]:
    """The documents by the stream they are posted to: those of the default graph, those of each named graph."""
    if case.names_dataset:
        default_names, named_names = graphs_of_from(case.text, case.base)
        documents = dict(case.data.named)
        return (
            {f"{_DEFAULT}{number}": [documents[name]] for number, name in enumerate(default_names)},
            {name: [documents[name]] for name in named_names},
        )
    named: dict[str, list[Document]] = {}
    for name, document in case.data.named:
        named.setdefault(name, []).append(document)
    return {f"{_DEFAULT}all": list(case.data.default)}, named
