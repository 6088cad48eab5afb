"""A case as the oracle plays it: its requests change streams and graphs in memory, its query is answered of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import lcm
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox

from conformance.rsp.case import Case
from conformance.rsp.expected import Evaluation
from conformance.rsp.oracle.dataset import Graphs
from conformance.rsp.oracle.elements import OracleStream, Triple
from conformance.rsp.oracle.evaluation import OracleAnswer, answers
from conformance.rsp.oracle.facts_text import ONLY_STREAM
from conformance.rsp.oracle.messages import elements
from conformance.rsp.oracle.reading import ReadQuery, read_query
from conformance.rsp.oracle.stream_settings import OracleSettings, settings_of
from conformance.rsp.oracle.window_text import instant
from conformance.rsp.oracle.windows import CountWindow, LandmarkWindow, SessionWindow, TimeWindow, Window
from conformance.rsp.script import Await, Close, Listen, ScriptRequest, Step

ROOT = "http://oracle.invalid/"
_LONGEST = 300_000
"""As many instants as are looked at, one after the other."""


@dataclass
class OraclePlayer:
    """The state after some steps. ``queries``: those registered under a name, with their start, in order."""

    text: str
    streams: dict[str, OracleStream] = field(default_factory=dict)
    settings: dict[str, OracleSettings] = field(default_factory=dict)
    store: ox.Store = field(default_factory=ox.Store)
    queries: list[tuple[str, ReadQuery, int | None]] = field(default_factory=list)
    earlier: list[tuple[int, Graphs]] = field(default_factory=list)
    """What the graphs were up to an instant, where they were changed after evaluations were awaited."""
    asked: ReadQuery | None = None
    start: int | None = None
    posted: int = 0
    awaited: int | None = None
    upto: int | None = None

    def take(self, step: Step) -> None:
        match step:
            case ScriptRequest():
                if step.status is None or step.status < 300:
                    self._request(step)
            case Listen(since):
                self._listen(since)
            case Await(time):
                self.awaited = time
            case Close():
                self.upto = self.awaited

    def _listen(self, since: str | None) -> None:
        # since moves the start back.
        asked = None if since is None or since == "beginning" else int(since)
        own = self._settled(read_query(self.text, ROOT), None)
        for _, query, start in self.queries:
            if query == own:
                self.asked, self.start = query, start if since is None else asked
                return
        self.asked = own
        self.start = self._reached(own) if since is None else asked

    def _request(self, request: ScriptRequest) -> None:
        match request.path:
            case ("streams", name):
                if request.method == "PUT":
                    self.settings[name] = settings_of(request.body, ROOT + f"streams/{name}")
                    self.streams[self.settings[name].iri] = OracleStream(self.settings[name].lateness)
                elif request.method == "POST":
                    at = parse_qs(urlsplit(request.target).query).get("at", [None])[0]
                    settings = self.settings[name]
                    self.posted += 1
                    scope = f"r{self.posted}"
                    for time, triples in elements(request.body, request.content_type, at, settings.path, scope):
                        self.streams[settings.iri].append(time, triples)
            case ("streams", name, "watermark"):
                stream = self.streams[self.settings[name].iri]
                if request.body == "end":
                    stream.ended = True
                else:
                    stream.advance(instant(request.body))
            case ("queries", name):
                self._register(name, request.body)
            case ("sparql",) if "query" in request.content_type:
                self._register(None, request.body)
            case ("sparql",):
                self._remember()
                self.store.update(request.body)
            case ("graphs",):
                self._remember()
                self._load(request)

    def _register(self, name: str | None, text: str) -> None:
        read = read_query(text, ROOT)
        name = name or (read.name or "").rpartition("/")[2]
        read = self._settled(read, name)
        self.queries.append((name, read, self._reached(read)))
        if read.publishes:
            self.streams[self._output(name, read)] = OracleStream()

    def _settled(self, read: ReadQuery, name: str | None) -> ReadQuery:
        """The query (of this name) with the facts of others; what names no stream reads the only one."""
        defined = [(known, one.defines) for known, one, _ in self.queries if known != name]
        read = read.with_facts([(known, one) for known, one in defined if one is not None])
        if all(window.stream != ONLY_STREAM for window in read.query.windows):
            return read
        (only,) = self.streams
        windows = tuple(
            replace(window, stream=only) if window.stream == ONLY_STREAM else window for window in read.query.windows
        )
        events = tuple(replace(one, window=replace(one.window, stream=only)) for one in read.query.events)
        return replace(read, query=replace(read.query, windows=windows, events=events))

    def _output(self, name: str, read: ReadQuery) -> str:
        return read.name if read.name is not None and ":" in read.name else f"{ROOT}streams/{name}"

    def _reached(self, read: ReadQuery) -> int | None:
        """Where a query starts: the least watermark of its streams, the ended ones apart."""
        streams = [self.streams[window.stream] for window in read.query.windows]
        watermarks = [stream.watermark for stream in streams if not stream.ended]
        return None if None in watermarks else min((w for w in watermarks if w is not None), default=None)

    def _load(self, request: ScriptRequest) -> None:
        graph = parse_qs(urlsplit(request.target).query).get("graph", [None])[0]
        name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
        if request.method in ("PUT", "DELETE"):
            self.store.clear_graph(name)
        if isinstance(name, ox.NamedNode) and request.method != "DELETE":
            self.store.add_graph(name)
        self.store.load(request.body, format=ox.RdfFormat.TURTLE, to_graph=name)

    def _remember(self) -> None:
        if self.awaited is not None:
            self.earlier.append((self.awaited, self._graphs()))

    def _graphs(self) -> Graphs:
        def triples(graph: ox.NamedNode | ox.BlankNode | ox.DefaultGraph) -> frozenset[Triple]:
            quads = self.store.quads_for_pattern(None, None, None, graph)
            return frozenset((str(q.subject), str(q.predicate), str(q.object)) for q in quads)

        names = [name for name in self.store.named_graphs() if isinstance(name, ox.NamedNode)]
        return Graphs(triples(ox.DefaultGraph()), {name.value: triples(name) for name in names})

    def graphs(self, t: int) -> Graphs:
        return next((graphs for upto, graphs in self.earlier if t <= upto), self._graphs())

    def evaluations(self) -> list[Evaluation]:
        """The answers of the case's query."""
        for name, read, start in self.queries:
            if read.publishes:
                self._publish(self._output(name, read), read, start)
        assert self.asked is not None
        found = self._answers(self.asked, self.start)
        return [
            _evaluation(t, answer, self.asked)
            for t, answer in found.items()
            if self.upto is None or t <= self.upto
        ]  # fmt: skip

    def _publish(self, iri: str, read: ReadQuery, start: int | None) -> None:
        """The answers of a query as the elements of its output, which has got as far as the query."""
        output = self.streams[iri]
        for t, answer in self._answers(read, start).items():
            assert isinstance(answer.content, frozenset)
            output.append(t, answer.content)
            output.advance(t)
        sources = [self.streams[window.stream] for window in read.query.windows]
        output.ended = all(stream.ended for stream in sources)
        reached = self._reached(read)
        if not output.ended and reached is not None:
            output.advance(reached)

    def _answers(self, read: ReadQuery, start: int | None) -> dict[int, OracleAnswer]:
        windows = tuple(window.started(start) for window in read.query.windows)
        events = tuple(one.started(start) for one in read.query.events)
        query = replace(read.query, windows=windows, events=events)
        return answers(query, self.streams, self.graphs, start, self._horizon(windows))

    def _horizon(self, windows: Sequence[Window]) -> tuple[int, int]:
        streams = [self.streams[window.stream] for window in windows]
        times = [element.time for stream in streams for element in stream.elements]
        if not times:
            return 0, -1
        first, last = min(times), max([*times, *(stream.said for stream in streams if stream.said is not None)])
        last += 1 + max(_reach(window) for window in windows)
        if last - first > _LONGEST:
            raise ValueError(f"from {first} to {last} there are more instants than the oracle looks at")
        return first, last


def expected_of(case: Case) -> list[Evaluation]:
    """What a case has to be answered, as the model says."""
    played = OraclePlayer(case.query)
    for step in case.script:
        played.take(step)
    return played.evaluations()


def _reach(window: Window) -> int:
    """How long after the last element something may still happen in a window."""
    match window:
        case TimeWindow():
            step = lcm(window.slide, window.period or 1)  # what both closes and beats has
            return window.width + step + window.offset + 2 * window.period + max(0, window.origin)
        case LandmarkWindow():
            return lcm(window.step or 1, window.period or 1) + window.period + max(0, window.landmark or 0)
        case CountWindow():
            return window.period + 1
        case SessionWindow():
            return window.gap + 2 * window.period + 1
        case _:
            return window.period + 2


def _evaluation(t: int, answer: OracleAnswer, read: ReadQuery) -> Evaluation:
    query = read.query
    if isinstance(answer.content, bool):
        return Evaluation(t, answer.content, query.operator, _window_bounds(t, answer, query.windows))
    if isinstance(answer.content, frozenset):
        return Evaluation(t, tuple(sorted(f"{' '.join(triple)} ." for triple in answer.content)))
    rows = tuple(
        dict(sorted(solution, key=lambda pair: answer.variables.index(pair[0]))) for solution in answer.content
    )
    return Evaluation(t, rows, query.operator, _window_bounds(t, answer, query.windows))


def _window_bounds(t: int, answer: OracleAnswer, windows: Sequence[Window]) -> Mapping[str, tuple[int, int]]:
    """The bounds that docs/http.md speaks of ("Events"): those of an instance (o, t] of a window with a name."""
    return {
        window.graph: bounds
        for window, bounds in zip(windows, answer.bounds, strict=True)
        if isinstance(window, TimeWindow) and window.graph is not None and bounds[0] < bounds[1]
        if not re.match("urn:x-oracle:", window.graph)
    }
