"""The RSP-QL cases played to the engine without Spark and without HTTP: what they expect, and as a replay once more."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox
import pytest

from conformance.manifest import Test
from conformance.rsp.case import Case, Refusal, case_of, select_cases
from conformance.rsp.evaluations import evaluation_of
from conformance.rsp.expected import Evaluation, difference
from conformance.rsp.script import Await, Close, Listen, ScriptRequest
from protocol import evaluations
from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.names import registered_name
from protocol.settings.stream import parse_stream_settings
from protocol.time import FIRST_INSTANT, Instant, parse_instant
from spark_backend.statics.graphs import Quad
from tests.spark_backend.stepped_backend import BASE, SteppedBackend

END = 2**62
FEATURES = {name: list(tests) for name, tests in groupby(select_cases(), key=lambda test: test.directory)}


class Played:
    """One case with one engine."""

    def __init__(self, directory: Path, case: Case, regime: Regime = Regime.NONE) -> None:
        self.stepped = SteppedBackend(directory)
        self._case = case
        self._regime = regime
        self._store = ox.Store()
        self._name: str | None = None
        self._beginning = False
        self._upto: Instant | None = None
        self._awaited: Instant | None = None

    def play(self) -> None:
        for step in self._case.script:
            match step:
                case ScriptRequest() if step.status is None:
                    self._request(step)
                case ScriptRequest():
                    with pytest.raises(ProtocolError) as refused:
                        self._request(step)
                    assert refused.value.status == step.status
                case Listen(since):
                    self._listen(since)
                case Await(time):
                    self._run()
                    self._awaited = time
                case Close():
                    self._upto = self._awaited
        self._run()

    def told(self) -> list[Evaluation]:
        """What was answered while the case was played."""
        assert self._name is not None
        if self._beginning:
            return self.replayed()
        return [self._read(instant, data) for instant, data in self.stepped.answers(self._name).items()]

    def replayed(self) -> list[Evaluation]:
        assert self._name is not None
        after = None if self._beginning else self._start
        found = self.stepped.replayed(self._name, after, END if self._upto is None else self._upto)
        return [self._read(instant, data) for instant, data in found.items()]

    def _run(self) -> None:
        self.stepped.run()
        self.stepped.backend._progress.say()  # which moves the watermarks of outputs
        self.stepped.run()
        assert not any(isinstance(notice, evaluations.Failed) for notice in self.stepped.notices)

    def _listen(self, since: str | None) -> None:
        self._beginning = since == "beginning"
        if self._name is None:
            start = FIRST_INSTANT if self._beginning else None if since is None else int(since)
            self._register("listened", self._case.query, since=start)
        assert self._name is not None
        self._start = self.stepped.backend.query(self._name).start

    def _register(self, name: str | None, text: str, since: Instant | None = None) -> None:
        query = parse(text, base=f"{BASE}/sparql")
        assert isinstance(query, ContinuousQuery)
        query = replace(query, entailment=self._regime)
        if name is None:
            assert query.registration is not None
            name = registered_name(query.registration)
        self.stepped.backend.register(name, query, standing=True, since=since)
        if text == self._case.query:
            self._name = name

    def _request(self, request: ScriptRequest) -> None:
        backend, body = self.stepped.backend, request.body.encode()
        match request.path:
            case ("streams", name) if request.method == "PUT":
                backend.create_stream(name, parse_stream_settings(body, default_iri=f"{BASE}/streams/{name}"))
            case ("streams", name):
                at = parse_qs(urlsplit(request.target).query).get("at", [None])[0]
                backend.append(name, body, request.content_type, None if at is None else parse_instant(at))
            case ("streams", name, "watermark"):
                if request.body == "end":
                    backend.end_stream(name)
                else:
                    backend.advance(name, parse_instant(request.body))
            case ("queries", name):
                self._register(name, request.body)
            case ("sparql",) if "query" in request.content_type:
                self._register(None, request.body)
            case ("sparql",):
                self._store.update(request.body)
                self._changed()
            case _:
                graph = parse_qs(urlsplit(request.target).query).get("graph", [None])[0]
                target = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
                self._store.clear_graph(target)
                self._store.load(body, format=ox.RdfFormat.TURTLE, to_graph=target)
                self._changed()

    def _changed(self) -> None:
        quads: list[Quad] = []
        for s, p, o, g in self._store:
            quads.append(("" if isinstance(g, ox.DefaultGraph) else str(g), str(s), str(p), str(o)))
        self.stepped.graphs.set(quads)
        self.stepped.backend.store_changed()

    def _read(self, instant: Instant, data: bytes) -> Evaluation:
        if self._case.is_graph:
            return Evaluation(instant, tuple(line for line in data.decode().split("\n") if line))
        return evaluation_of(data.decode())


@contextmanager
def played(case: Case, regime: Regime = Regime.NONE) -> Iterator[Played]:
    """A case that was played, its queries under a regime."""
    with tempfile.TemporaryDirectory() as directory:
        one = Played(Path(directory), case, regime)
        try:
            one.play()
            yield one
        finally:
            one.stepped.close()


def refusal(case: Case) -> Refusal:
    with tempfile.TemporaryDirectory() as directory:
        one = Played(Path(directory), case)
        try:
            with pytest.raises(ProtocolError) as refused:
                one.play()
        finally:
            one.stepped.close()
        return Refusal(refused.value.status, refused.value.line, refused.value.column)


def check(test: Test, *, replay: bool) -> None:
    case = case_of(test)
    if isinstance(case.expected, Refusal):
        refused = refusal(case)
        wanted = {name: value for name, value in vars(case.expected).items() if value is not None}
        assert {name: getattr(refused, name) for name in wanted} == wanted, test.iri
        return
    with played(case) as one:
        assert difference(case.expected, one.told(), ordered=case.ordered) is None, test.iri
        if replay:
            assert difference(case.expected, one.replayed(), ordered=case.ordered) is None, test.iri


@pytest.mark.parametrize("tests", FEATURES.values(), ids=FEATURES)
def test_cases_are_answered_as_they_expect(tests: list[Test]) -> None:
    for test in tests[::3]:
        check(test, replay=False)


@pytest.mark.long
@pytest.mark.parametrize("tests", FEATURES.values(), ids=FEATURES)
def test_all_cases_are_answered_as_they_expect_live_and_as_a_replay(tests: list[Test]) -> None:
    for test in tests:
        check(test, replay=test.directory != "rsp/static")  # whose graphs a replay reads as they are at the end
