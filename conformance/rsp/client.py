"""An endpoint played a case: its requests sent, the result stream read (docs/http.md, "Result streams")."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
from httpx_sse import ServerSentEvent

from conformance.engines.endpoints import Endpoint
from conformance.engines.engine import EngineFailure
from conformance.rsp.case import Case, Refusal
from conformance.rsp.evaluations import evaluation_of, evaluation_of_graph, milliseconds
from conformance.rsp.expected import Evaluation
from conformance.rsp.script import Await, Close, Listen, Resume, ScriptRequest
from endpoint.client.event_stream import events
from protocol.formats.media_types import PROBLEM
from protocol.formats.negotiation import media_type_of

_TIMEOUT_SECONDS = 60.0
_QUERY = {"Content-Type": "application/sparql-query"}


class EndpointPlayer:
    """One case with one endpoint. Streams and queries that it made are gone after ``close``, and so are all graphs."""

    def __init__(self, endpoint: Endpoint, client: httpx.Client, case: Case) -> None:
        self._root = endpoint.url
        self._client = client
        self._case = case
        self._streams: list[str] = []
        self._queries: list[str] = []
        self._listens_to: str | None = None
        self._has_graphs = False
        self._connection = ExitStack()
        self._events: Iterator[ServerSentEvent] | None = None
        self._last_id = ""
        self._graph: str | None = None
        self._evaluations: list[Evaluation] = []
        self._reached: int | None = None
        self._closed = False

    def close(self) -> None:
        """Remove what the case made, readers before what they read."""
        self._connection.close()
        for path in [*(f"queries/{name}" for name in reversed(self._queries)), *self._streams]:
            self._client.delete(f"{self._root}/{path}")
        if self._has_graphs:
            self._client.post(
                f"{self._root}/sparql", content=b"DROP ALL", headers={"Content-Type": "application/sparql-update"}
            )

    def evaluations(self) -> list[Evaluation]:
        """What the query is answered, until its result stream ends. EngineFailure if anything goes wrong."""
        for step in self._case.script:
            match step:
                case ScriptRequest():
                    self._send(step)
                case Listen(since):
                    self._listen({} if since is None else {"since": since})
                case Await(instant):
                    self._read(instant)
                case Resume():
                    self._connection.close()
                    self._listen({}, self._last_id)
                case Close():
                    self._closed = True
        if not self._closed:
            self._read(None)
        return self._evaluations

    def refusal(self) -> Refusal:
        """How the query is refused. EngineFailure if it is not."""
        for step in self._case.script:
            if isinstance(step, ScriptRequest):
                self._send(step)
        response = self._client.post(
            f"{self._root}/sparql",
            content=self._case.query.encode(),
            headers={**_QUERY, "Accept": "application/sparql-results+json, text/turtle;q=0.5"},
            params={"since": "beginning"},
            timeout=10,
        )
        if response.is_success:
            raise EngineFailure("the query was accepted")
        if media_type_of(response.headers.get("content-type")) != PROBLEM:
            raise EngineFailure(f"refused with {response.status_code}, and no problem document")
        problem = response.json()
        return Refusal(response.status_code, problem.get("line"), problem.get("column"))

    def _send(self, request: ScriptRequest) -> None:
        headers = {"Content-Type": request.content_type}
        path = request.target.lstrip("/")
        response = self._client.request(
            request.method, f"{self._root}/{path}", content=request.body.encode(), headers=headers
        )  # fmt: skip
        self._note(request, response)
        good = response.is_success if request.status is None else response.status_code == request.status
        if not good:
            told = " ".join(response.text[:400].split())
            raise EngineFailure(f"{request.method} {request.target}: {response.status_code} {told}")

    def _note(self, request: ScriptRequest, response: httpx.Response) -> None:
        """Remember what was made."""
        if not response.is_success:
            return
        match request.path:
            case ("streams", name) if request.method == "PUT":
                self._streams.append(f"streams/{name}")
            case ("queries", name) if request.method == "PUT":
                self._queries.append(name)
                if request.body == self._case.query:
                    self._listens_to = name
            case ("sparql",) if "query" in request.content_type and "location" in response.headers:
                name = response.headers["location"].rpartition("/")[2]
                self._queries.append(name)
                if request.body == self._case.query:
                    self._listens_to = name
            case ("sparql",) | ("graphs",):
                self._has_graphs = True

    def _listen(self, parameters: dict[str, str], last_id: str = "") -> None:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
        if self._listens_to is not None:
            request = self._client.build_request(
                "GET", f"{self._root}/queries/{self._listens_to}/results", params=parameters, headers=headers
            )
        else:
            request = self._client.build_request(
                "POST",
                f"{self._root}/sparql",
                params=parameters,
                headers=headers | _QUERY,
                content=self._case.query.encode(),
            )
        response = self._client.send(request, stream=True)
        self._connection.callback(response.close)
        if response.status_code != 200:
            response.read()
            raise EngineFailure(f"the query: {response.status_code} {' '.join(response.text[:400].split())}")
        self._events = events(response)

    def _read(self, upto: int | None) -> None:
        """Take events until the evaluations up to this instant are out; None: until the end."""
        if self._events is None:
            raise EngineFailure("the script awaits what it does not listen to")
        if upto is not None and self._reached is not None and self._reached >= upto:
            return
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        for event in self._events:
            if time.monotonic() > deadline:
                raise EngineFailure(f"nothing came up to {upto} within {_TIMEOUT_SECONDS:g} s: {self._evaluations}")
            self._take(event)
            if event.event == "end":
                if upto is not None and (self._reached is None or self._reached < upto):
                    raise EngineFailure(f"the result stream ended before {upto}")
                self._closed = True
                return
            if upto is not None and self._reached is not None and self._reached >= upto and self._graph is None:
                return
        raise EngineFailure("the result stream broke off before its end")

    def _take(self, event: ServerSentEvent) -> None:
        if event.event in ("error", "reset"):
            raise EngineFailure(f"{event.event}: {event.data[:400]}")
        if event.event == "message":
            self._last_id = event.id
            if self._case.is_graph:
                self._graph = event.data
            else:
                self._add(evaluation_of(event.data))
        elif event.event == "progress":
            if self._graph is not None:
                self._add(evaluation_of_graph(self._graph, event.data))
                self._graph = None
            self._reached = max(self._reached or 0, _time_of(event))

    def _add(self, evaluation: Evaluation) -> None:
        self._evaluations.append(evaluation)
        self._reached = max(self._reached or evaluation.time, evaluation.time)


def _time_of(event: ServerSentEvent) -> int:
    return milliseconds(json.loads(event.data)["time"])
