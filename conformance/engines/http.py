"""An endpoint through HTTP: graphs by the Graph Store protocol, queries and updates by the SPARQL protocol.

Requests and result formats rotate with the test, so that all of them are used all over the suites. Each
query is asked in two ways: of the store's own graphs, and of a dataset named by ``default-graph-uri`` and
``named-graph-uri`` while the store's own default graph, and one more named graph, hold *decoys*: whoever
ignores the parameters answers with them.
"""

from __future__ import annotations

import json
import zlib
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import replace

import httpx
import pyoxigraph as ox

from conformance.answers.cases import Dataset, Document, QueryCase, UpdateCase
from conformance.answers.comparison import GraphAnswer, QueryResult, Solutions
from conformance.answers.results import UnreadableAnswer, actual_answer, graph
from conformance.engines.endpoints import TIMEOUT_SECONDS, Endpoint
from conformance.engines.engine import Contents, EngineFailure, Language
from conformance.engines.services import FETCHED, FederatedServices, StandIns
from protocol.errors import QuerySyntaxError, UpdateSyntaxError
from protocol.formats.media_types import FORM, SPARQL_QUERY, SPARQL_UPDATE
from protocol.formats.negotiation import media_type_of
from protocol.terms import term_text

SOLUTIONS_TYPES = ("application/sparql-results+json", "application/sparql-results+xml", "text/tab-separated-values")
_WITHOUT_TRIPLE_TERMS = "application/ld+json"
"""An answer with triple terms (RDF 1.2) is refused in this format; then the next one is asked for."""
GRAPH_TYPES = ("text/turtle", "application/n-triples", "application/rdf+xml", "application/ld+json")

DECOY_GRAPH = "urn:x-sparql-streams:conformance:decoy"
EMPTY_GRAPH = "urn:x-sparql-streams:conformance:empty"
_DEFAULT_DOCUMENT = "urn:x-sparql-streams:conformance:default:"
DECOYS = "".join(
    f"<urn:x-decoy:s{number}> <{predicate}> {value} .\n"
    for number, (predicate, value) in enumerate(
        [
            ("http://example.org/p", "1"),
            ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "<http://example.org/C>"),
            ("http://xmlns.com/foaf/0.1/name", '"Decoy"'),
            ("http://example.org/ns#p", '"decoy"@en'),
        ]
    )
)


class HttpEngine:
    """``Engine`` over an endpoint. Whatever its store holds is dropped."""

    def __init__(
        self,
        endpoint: Endpoint,
        services: FederatedServices | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """``services``: stand in for the endpoints that SERVICE names; the endpoint must be allowed to ask them."""
        self.endpoint = endpoint
        self._services = services
        self._is_empty = False
        self._client = httpx.Client(timeout=TIMEOUT_SECONDS, transport=transport, trust_env=False)

    def close(self) -> None:
        self._client.close()

    def empty(self) -> None:
        """Drop every graph, unless there is none."""
        if not self._is_empty:
            self._changed(self._post_update("DROP ALL", 1), "DROP ALL")
            self._is_empty = True

    def touched(self) -> None:
        """To be called by who changes the store past this engine."""
        self._is_empty = False

    def put(self, graph_name: str | None, document: Document, *, add: bool = False) -> None:
        """Load a document of the suite, with its own IRI as base, by PUT (or POST) to a graph (None: the default)."""
        content, media_type = _with_base(document)
        self._load(graph_name, content, media_type, add=add)

    def load_turtle(self, graph_name: str | None, content: bytes) -> None:
        """Replace a graph (None: the default) by what this Turtle says."""
        self._load(graph_name, content, "text/turtle", add=False)

    # Engine

    def answers(self, case: QueryCase, preferred: str | None) -> Mapping[str, QueryResult]:
        """See ``Engine``. Ways: ``store`` and ``parameters``; where the query names its dataset, ``FROM``.

        Each under all regimes of the case, which are named where there is one.
        """
        turn = zlib.crc32(case.base.encode())
        mock = self._stand_ins([*(iri for iri, _ in case.services), *FETCHED.findall(case.text)], dict(case.services))
        text = f"BASE <{case.base}>\n{case.text}"
        self.empty()
        self._load_datasets(case.data)
        for name, document in case.data.named:
            if document.graph is None:
                self._load(name, *_with_base(document, mock), add=False)
        if case.names_dataset:
            self.decoys()
            return self._under(case, "FROM", text, [], turn, preferred, mock)
        for document in case.data.default:
            if document.graph is None:
                self._load(None, *_with_base(document, mock), add=True)
        own = self._under(case, "store", text, [], turn, preferred, mock)
        parameters = [("named-graph-uri", name) for name in case.data.names]
        for number, document in enumerate(case.data.default):
            self._load(f"{_DEFAULT_DOCUMENT}{number}", *_with_base(document, mock), add=False)
            parameters.append(("default-graph-uri", f"{_DEFAULT_DOCUMENT}{number}"))
        self.decoys()
        parameters = parameters or [("default-graph-uri", EMPTY_GRAPH)]
        return {**own, **self._under(case, "parameters", text, parameters, turn + 1, preferred, mock)}

    def _under(
        self,
        case: QueryCase,
        way: str,
        text: str,
        parameters: Sequence[tuple[str, str]],
        turn: int,
        preferred: str | None,
        mock: StandIns | None,
    ) -> dict[str, QueryResult]:
        """The answer under each regime of the case, by the names of the ways."""
        found = {}
        for regime in case.regimes:
            asked = [*parameters, ("entailment", str(regime))] if regime.infers else parameters
            name = f"{way} under {regime}" if regime.infers else way
            found[name] = self._answer(text, asked, turn, preferred, mock)
        return found

    def after(self, case: UpdateCase) -> Contents:
        """See ``Engine``."""
        self.empty()
        self._load_datasets(case.before)
        for document in case.before.default:
            if document.graph is None:
                self.put(None, document, add=True)
        for name, document in case.before.named:
            if document.graph is None:
                self.put(name, document)
        turn = zlib.crc32(case.base.encode())
        self._changed(self._post_update(f"BASE <{case.base}>\n{case.text}", turn), "the update")
        return self.contents(turn)

    def accepts(self, text: str, language: Language) -> str | None:
        """See ``Engine``. A text that is refused for another reason than its syntax has to be read all the same:

        with one bracket too many it has to be a syntax error.
        """
        self.empty()
        told = self._judged(text, language)
        if told is None or isinstance(told, str):
            return told
        again = self._judged(f"{text}\n}}", language)
        if isinstance(again, str):
            return None
        raise EngineFailure(f"refused without being read: {_shown(told)}")

    # Requests

    def contents(self, turn: int = 0) -> Contents:
        """All that the store holds, by GET of each graph; graphs without triples are as good as none."""
        found = self._answer("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }", [], 0, SOLUTIONS_TYPES[0], None)
        assert isinstance(found, Solutions)
        names = [term.value for row in found.rows if isinstance(term := row["g"], ox.NamedNode)]
        return Contents(self.graph(None, turn), {name: self.graph(name, turn) for name in sorted(names)})

    def graph(self, name: str | None, turn: int = 0) -> GraphAnswer:
        """One graph of the store."""
        accept = GRAPH_TYPES[turn % len(GRAPH_TYPES)]
        response = self._send("GET", self.endpoint.graphs, _graph(name), headers={"Accept": accept})
        if response.status_code == 406 and accept == _WITHOUT_TRIPLE_TERMS:
            return self.graph(name, turn + 1)
        if response.status_code != 200:
            raise EngineFailure(f"GET of the graph {name or 'default'}: {_shown(response)}")
        try:
            return graph(response.content, media_type_of(response.headers.get("content-type")))
        except UnreadableAnswer as error:
            raise EngineFailure(f"GET of the graph {name or 'default'}: {error}") from None

    def _answer(
        self,
        text: str,
        parameters: Sequence[tuple[str, str]],
        turn: int,
        preferred: str | None,
        mock: StandIns | None,
    ) -> QueryResult:
        sent = text if mock is None else mock.rewritten(text)
        first = preferred or SOLUTIONS_TYPES[turn % len(SOLUTIONS_TYPES)]
        second = GRAPH_TYPES[turn % len(GRAPH_TYPES)]
        accept = {"Accept": f"{first}, {second};q=0.9"}
        if turn % 4 == 0:
            response = self._send("GET", self.endpoint.sparql, [("query", sent), *parameters], headers=accept)
        elif turn % 4 == 1:
            form = httpx.QueryParams([("query", sent), *parameters])
            headers = {**accept, "Content-Type": FORM}
            response = self._send("POST", self.endpoint.sparql, headers=headers, content=str(form).encode())
        else:
            headers = {**accept, "Content-Type": SPARQL_QUERY}
            response = self._send("POST", self.endpoint.sparql, parameters, headers=headers, content=sent.encode())
        if response.status_code == 406 and second == _WITHOUT_TRIPLE_TERMS:
            return self._answer(text, parameters, turn + 1, preferred, mock)
        if response.status_code != 200:
            raise EngineFailure(_shown(response))
        media_type = media_type_of(response.headers.get("content-type"))
        if media_type not in (first, second):
            raise EngineFailure(f"asked for {first} or {second}, the answer is {media_type}")
        content = response.content if mock is None else mock.original(response.content)
        try:
            return actual_answer(content, media_type)
        except UnreadableAnswer as error:
            raise EngineFailure(str(error)) from None

    def _judged(self, text: str, language: Language) -> str | httpx.Response | None:
        """None: done. A text: what is wrong with the syntax. A response: refused, and not for its syntax."""
        mock = self._stand_ins(FETCHED.findall(text), {})
        sent = text if mock is None else mock.rewritten(text)
        if language is Language.QUERY:
            headers = {"Content-Type": SPARQL_QUERY, "Accept": f"{SOLUTIONS_TYPES[0]}, {GRAPH_TYPES[0]}"}
            response = self._send("POST", self.endpoint.sparql, headers=headers, content=sent.encode())
        else:
            response = self._post_update(sent, 0)
        if response.is_success:
            return None
        try:
            problem = response.json()
            title, detail = str(problem["title"]), str(problem["detail"])
        except (ValueError, KeyError, TypeError):
            title, detail = "", response.text[:300]
        if response.status_code == 400 and title in ("", QuerySyntaxError.title, UpdateSyntaxError.title):
            return detail
        return response

    def _stand_ins(self, iris: Sequence[str], data: Mapping[str, Sequence[Document]]) -> StandIns | None:
        if not iris or self._services is None:
            return None
        return self._services.stand_ins(list(dict.fromkeys(iris)), data)

    def decoys(self) -> None:
        """Triples that no test is about, in the default graph and in one named graph."""
        for name in (None, DECOY_GRAPH):
            self.load_turtle(name, DECOYS.encode())

    def _load_datasets(self, data: Dataset) -> None:
        """Add the graphs of documents that have several, whose blank nodes may be in more than one of them."""
        documents = [*data.default, *(document for _, document in data.named)]
        for document in dict.fromkeys(replace(one, graph=None) for one in documents if one.graph is not None):
            text = "".join(map(_quad_data, document.quads()))
            self._changed(self._post_update(f"INSERT DATA {{ {text} }}", 0), f"the graphs of {document.iri}")

    def _load(self, name: str | None, content: bytes, media_type: str, *, add: bool) -> None:
        self._is_empty = False
        method = "POST" if add else "PUT"
        headers = {"Content-Type": media_type}
        response = self._send(method, self.endpoint.graphs, _graph(name), headers=headers, content=content)
        self._changed(response, f"{method} of the graph {name or 'default'}")

    def _post_update(self, text: str, turn: int) -> httpx.Response:
        self._is_empty = False
        if turn % 2:
            return self._send(
                "POST", self.endpoint.sparql, headers={"Content-Type": SPARQL_UPDATE}, content=text.encode()
            )
        content = str(httpx.QueryParams([("update", text)])).encode()
        return self._send("POST", self.endpoint.sparql, headers={"Content-Type": FORM}, content=content)

    def _changed(self, response: httpx.Response, what: str) -> None:
        if not response.is_success:
            raise EngineFailure(f"{what}: {_shown(response)}")

    def _send(
        self,
        method: str,
        url: str,
        parameters: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> httpx.Response:
        try:
            return self._client.request(
                method, url, params=list(parameters) or None, headers=headers, content=content
            )  # fmt: skip
        except httpx.HTTPError as error:
            raise EngineFailure(f"{method} {url}: {error!r}") from error


def _quad_data(quad: ox.Quad) -> str:
    """The quad as it stands in INSERT DATA."""
    triple = f"{quad.subject} {quad.predicate} {term_text(quad.object)} . "
    return triple if isinstance(quad.graph_name, ox.DefaultGraph) else f"GRAPH {quad.graph_name} {{ {triple}}} "


def _graph(name: str | None) -> list[tuple[str, str]]:
    return [("default", "")] if name is None else [("graph", name)]


def _with_base(document: Document, mock: StandIns | None = None) -> tuple[bytes, str]:
    """The document as a request's body; Turtle and TriG get a line that makes the file's IRI their base."""
    content, syntax = document.content, document.syntax
    if document.graph is not None:
        triples = [quad.triple for quad in document.quads()]
        return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"", ox.RdfFormat.N_TRIPLES.media_type
    if syntax in (ox.RdfFormat.TURTLE, ox.RdfFormat.TRIG):
        content = f"@base <{document.iri}> .\n".encode() + content.removeprefix(BOM_UTF8)
    elif syntax not in (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS):
        # Other syntaxes have no such line; what they say is sent as N-Triples.
        triples = [quad.triple for quad in document.quads()]
        content, syntax = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"", ox.RdfFormat.N_TRIPLES
    return (content if mock is None else mock.rewritten(content.decode()).encode()), syntax.media_type


def _shown(response: httpx.Response) -> str:
    try:
        detail = json.loads(response.text)["detail"]
    except (ValueError, KeyError, TypeError):
        detail = response.text[:300]
    return f"{response.status_code}: {detail}"
