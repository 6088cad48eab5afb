"""A scenario played to the stepped backend and, beside it, to the oracle."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from conformance.rsp.oracle import (
    Graphs,
    OracleAnswer,
    OracleQuery,
    OracleStream,
    Triple,
    answers,
)
from protocol.evaluations import Ended, Evaluation, Failed
from protocol.time import format_instant
from tests.spark_backend.model.partitioned_stream import PartitionedStream
from tests.spark_backend.model.scenarios import (
    ABOUT,
    DATE_TIME,
    END,
    GENERATED_AT,
    STATIC,
    Action,
    Advance,
    Append,
    End,
    Register,
    Restart,
    Scenario,
    Step,
)
from tests.spark_backend.oracle.queries import EX, build
from tests.spark_backend.stepped_backend import Graphs as StoreGraphs
from tests.spark_backend.stepped_backend import SteppedBackend


class Run:
    """A scenario as the engine does it and, beside it, the streams and the start as the oracle knows them."""

    def __init__(self, directory: Path, scenario: Scenario) -> None:
        self._directory = directory
        self._scenario = scenario
        self.text, self.query = build(scenario.shape, scenario.windows, scenario.operator)
        partitions = scenario.partitions
        self.streams = {name: PartitionedStream(lateness, partitions) for name, lateness in scenario.lateness.items()}
        self.start: int | None = None
        self.told: list[Evaluation] = []
        self.stepped = self._open()
        for name, lateness in scenario.lateness.items():
            self.stepped.event_stream(name, EX + name, lateness, partitions)

    def _open(self) -> SteppedBackend:
        quads = [("", *triple) for triple in sorted(STATIC)] + [(f"<{EX}about>", *triple) for triple in sorted(ABOUT)]
        return SteppedBackend(self._directory, StoreGraphs(quads))

    def act(self) -> None:
        for action in self._scenario.actions:
            self.take(action)
        self.stepped.run()
        self.collect()

    def take(self, action: Action) -> None:
        match action:
            case Append(name, elements, partition):
                post(self.stepped, name, elements, partition)
                for time, triples in elements:
                    self.streams[name].append(time, triples, partition)
            case Advance(name, watermark, partition):
                self.stepped.backend.advance(name, watermark, partition)
                self.streams[name].advance(watermark, partition)
            case End(name):
                self.stepped.backend.end_stream(name)
                self.streams[name].ended = True
            case Register(since):
                self.stepped.register("q", self.text, since=since)
                self.start = least_watermark(self.query, self.streams) if since is None else since
                self.query = replace(self.query, windows=tuple(w.started(self.start) for w in self.query.windows))
            case Step(batches):
                for _ in range(batches):
                    self.stepped.pipeline.step()
            case Restart(keep_offset):
                self.restart(keep_offset=keep_offset)

    def restart(self, *, keep_offset: bool) -> None:
        self.collect()
        offset = self.stepped.pipeline.offset
        self.stepped.close()
        self.stepped = self._open()
        if keep_offset:
            # As Spark keeps it.
            self.stepped.pipeline.offset = json.loads(json.dumps(offset))

    def collect(self) -> None:
        failed = [notice for notice in self.stepped.notices if isinstance(notice, Failed | Ended)]
        assert not failed
        self.told += [notice for notice in self.stepped.notices if isinstance(notice, Evaluation)]
        self.stepped.notices.clear()

    def replayed(self, after: int | None) -> list[Evaluation]:
        return [Evaluation("q", *answer) for answer in self.stepped.replayed("q", after).items()]

    def expected(self, start: int | None) -> dict[int, OracleAnswer]:
        return answers(self.query, self.streams, Graphs(STATIC, {EX + "about": ABOUT}), start, horizon(self.streams))


@contextmanager
def running(scenario: Scenario) -> Iterator[Run]:
    with tempfile.TemporaryDirectory() as directory:
        run = Run(Path(directory), scenario)
        try:
            yield run
        finally:
            run.stepped.close()


def post(
    stepped: SteppedBackend,
    stream: str,
    elements: Sequence[tuple[int, frozenset[Triple]]],
    partition: int | None = None,
) -> None:
    """One request: a single element by ``at``, several as messages of one timestamped graph each."""
    if len(elements) == 1:
        ((time, triples),) = elements
        body = "".join(f"{' '.join(triple)} .\n" for triple in sorted(triples))
        stepped.backend.append(stream, body.encode(), "application/n-triples", time, partition=partition)
        return
    messages = []
    for place, (time, triples) in enumerate(elements):
        graph = f"<{EX}g{place}>"
        quads = [f'{graph} {GENERATED_AT} "{format_instant(time)}"^^<{DATE_TIME}> .']
        quads += [f"{' '.join(triple)} {graph} ." for triple in sorted(triples)]
        messages.append("\n".join(quads) + "\n")
    several = "# @message\n".join(messages).encode()
    stepped.backend.append(stream, several, "application/n-quads; messages=rdfm", None, partition=partition)


def horizon(streams: Mapping[str, OracleStream]) -> tuple[int, int]:
    """Beyond every evaluation that scenarios can bring about."""
    times = [element.time for stream in streams.values() for element in stream.elements]
    return -60, max([0, *times, *(stream.said or 0 for stream in streams.values())]) + 100


def least_watermark(query: OracleQuery, streams: Mapping[str, OracleStream]) -> int | None:
    """Where a query starts; an ended stream holds nobody up, and where all have ended nothing follows."""
    read = {window.stream: streams[window.stream] for window in query.windows}
    watermarks = [stream.watermark for stream in read.values() if not stream.ended]
    return None if None in watermarks else min((w for w in watermarks if w is not None), default=END)


def read(evaluation: Evaluation, query: OracleQuery, streams: Mapping[str, OracleStream]) -> OracleAnswer:
    """A document as the oracle writes its answers. CONSTRUCT's say nothing of the windows."""
    text = evaluation.data.decode()
    bounds = {window: window.bounds(streams[window.stream], evaluation.instant) for window in query.windows}
    expected_bounds = tuple(bounds[window] for window in query.windows)
    if query.template is not None:
        lines = text.splitlines()
        assert len(lines) == len(set(lines))
        s_p_o = [line.removesuffix(" .").split(" ", 2) for line in lines]
        return OracleAnswer(frozenset((s, p, o) for s, p, o in s_p_o), expected_bounds)
    document = json.loads(text)
    assert document["evaluation"]["time"] == format_instant(evaluation.instant)
    assert document["evaluation"]["operator"] == query.operator
    told = document["evaluation"]["windows"]
    written = {window.graph: window for window in query.windows if window.graph is not None}
    for graph, window in written.items():
        assert told[graph] == [format_instant(bound) for bound in bounds[window]]
    assert sorted(map(tuple, told.values())) == sorted(tuple(map(format_instant, b)) for b in expected_bounds)
    if "boolean" in document:
        return OracleAnswer(document["boolean"], expected_bounds)
    solutions = [
        frozenset((name, written_term(term)) for name, term in binding.items())
        for binding in document["results"]["bindings"]
    ]
    return OracleAnswer(tuple(solutions) if query.ordered else tuple(sorted(solutions, key=sorted)), expected_bounds)


def written_term(term: dict[str, str]) -> str:
    if term["type"] == "uri":
        return f"<{term['value']}>"
    datatype = term.get("datatype")
    return json.dumps(term["value"]) + (f"^^<{datatype}>" if datatype else "")


def check_same(run: Run, told: Sequence[Evaluation], expected: dict[int, OracleAnswer]) -> None:
    instants = [evaluation.instant for evaluation in told]
    assert instants == list(expected), f"start {run.start}, told {instants}, expected {list(expected)}"
    for evaluation in told:
        got, wanted = read(evaluation, run.query, run.streams), expected[evaluation.instant]
        assert got == wanted, f"at {evaluation.instant}: {got}, expected {wanted}"
