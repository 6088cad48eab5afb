"""The engine against a brute-force reading of RSP-QL: random streams, windows, queries, batches and restarts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.evaluations import Ended, Evaluation, Failed
from protocol.time import format_instant
from tests.spark_backend.oracle.answers import Answer, Graphs, Query, answers
from tests.spark_backend.oracle.queries import EX, INTEGER, KNOWS, LABEL, SHAPES, VALUE, Shape, build
from tests.spark_backend.oracle.streams import Stream, Triple
from tests.spark_backend.oracle.windows import (
    CHANGE,
    CLOSE,
    NON_EMPTY,
    PERIODIC,
    CountWindow,
    LandmarkWindow,
    NowWindow,
    TimeWindow,
    Window,
)
from tests.spark_backend.stepped_backend import Graphs as StoreGraphs
from tests.spark_backend.stepped_backend import SteppedBackend

END = 2**62
"""After all instants."""
HORIZON = (-60, 700)
"""Beyond every evaluation that the strategies below can bring about."""
GENERATED_AT = "<http://www.w3.org/ns/prov#generatedAtTime>"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
STATIC: frozenset[Triple] = frozenset(
    {
        (f"<{EX}s0>", LABEL, '"zero"'),
        (f"<{EX}s1>", LABEL, '"one"'),
        (f"<{EX}s1>", LABEL, '"uno"'),
        (f"<{EX}s2>", VALUE, f'"4"^^<{INTEGER}>'),
    }
)
ABOUT: frozenset[Triple] = frozenset({(f"<{EX}s0>", VALUE, f'"5"^^<{INTEGER}>')})


@dataclass(frozen=True)
class Append:
    stream: str
    elements: tuple[tuple[int, frozenset[Triple]], ...]
    """Time and triples of each; an element without triples comes alone."""


@dataclass(frozen=True)
class Advance:
    stream: str
    watermark: int


@dataclass(frozen=True)
class Register:
    since: int | None


@dataclass(frozen=True)
class End:
    stream: str


@dataclass(frozen=True)
class Step:
    batches: int


@dataclass(frozen=True)
class Restart:
    keep_offset: bool


Action = Append | Advance | Register | End | Step | Restart


@dataclass(frozen=True)
class Scenario:
    lateness: dict[str, int]
    shape: Shape
    windows: tuple[Window, ...]
    operator: str | None
    actions: tuple[Action, ...]

    def __repr__(self) -> str:
        lines = [f"lateness {self.lateness}", build(self.shape, self.windows, self.operator)[0]]
        return "\n".join(lines + [f"  {action}" for action in self.actions])


# --- running ---------------------------------------------------------------------------------


class Run:
    """A scenario as the engine does it and, beside it, the streams and the start as the oracle knows them."""

    def __init__(self, directory: Path, scenario: Scenario) -> None:
        self._directory = directory
        self._scenario = scenario
        self.text, self.query = build(scenario.shape, scenario.windows, scenario.operator)
        self.streams = {name: Stream(lateness) for name, lateness in scenario.lateness.items()}
        self.start: int | None = None
        self.told: list[Evaluation] = []
        self.stepped = self._open()
        for name, lateness in scenario.lateness.items():
            self.stepped.event_stream(name, EX + name, lateness)

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
            case Append(name, elements):
                post(self.stepped, name, elements)
                for time, triples in elements:
                    self.streams[name].append(time, triples)
            case Advance(name, watermark):
                self.stepped.backend.advance(name, watermark)
                self.streams[name].advance(watermark)
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
        return list(self.stepped.backend.replay("q", after, END))

    def expected(self, start: int | None) -> dict[int, Answer]:
        return answers(self.query, self.streams, Graphs(STATIC, {EX + "about": ABOUT}), start, HORIZON)


@contextmanager
def running(scenario: Scenario) -> Iterator[Run]:
    with tempfile.TemporaryDirectory() as directory:
        run = Run(Path(directory), scenario)
        try:
            yield run
        finally:
            run.stepped.close()


def post(stepped: SteppedBackend, stream: str, elements: Sequence[tuple[int, frozenset[Triple]]]) -> None:
    """One request: a single element by ``at``, several as messages of one timestamped graph each."""
    if len(elements) == 1:
        ((time, triples),) = elements
        body = "".join(f"{' '.join(triple)} .\n" for triple in sorted(triples))
        stepped.backend.append(stream, body.encode(), "application/n-triples", time)
        return
    messages = []
    for place, (time, triples) in enumerate(elements):
        graph = f"<{EX}g{place}>"
        quads = [f'{graph} {GENERATED_AT} "{format_instant(time)}"^^<{DATE_TIME}> .']
        quads += [f"{' '.join(triple)} {graph} ." for triple in sorted(triples)]
        messages.append("\n".join(quads) + "\n")
    stepped.backend.append(stream, "# @message\n".join(messages).encode(), "application/n-quads; messages=rdfm", None)


def least_watermark(query: Query, streams: dict[str, Stream]) -> int | None:
    """Where a query starts; an ended stream holds nobody up, and where all have ended nothing follows."""
    read = {window.stream: streams[window.stream] for window in query.windows}
    watermarks = [stream.watermark for stream in read.values() if not stream.ended]
    return None if None in watermarks else min((w for w in watermarks if w is not None), default=END)


def read(evaluation: Evaluation, query: Query, streams: dict[str, Stream]) -> Answer:
    """A document as the oracle writes its answers. CONSTRUCT's say nothing of the windows."""
    text = evaluation.data.decode()
    bounds = {window: window.bounds(streams[window.stream], evaluation.instant) for window in query.windows}
    expected_bounds = tuple(bounds[window] for window in query.windows)
    if query.template is not None:
        lines = text.splitlines()
        assert len(lines) == len(set(lines))
        s_p_o = [line.removesuffix(" .").split(" ", 2) for line in lines]
        return Answer(frozenset((s, p, o) for s, p, o in s_p_o), expected_bounds)
    document = json.loads(text)
    assert document["evaluation"]["time"] == format_instant(evaluation.instant)
    assert document["evaluation"]["operator"] == query.operator
    told = document["evaluation"]["windows"]
    written = {window.graph: window for window in query.windows if window.graph is not None}
    for graph, window in written.items():
        assert told[graph] == [format_instant(bound) for bound in bounds[window]]
    assert sorted(map(tuple, told.values())) == sorted(tuple(map(format_instant, b)) for b in expected_bounds)
    if "boolean" in document:
        return Answer(document["boolean"], expected_bounds)
    solutions = [
        frozenset((name, written_term(term)) for name, term in binding.items())
        for binding in document["results"]["bindings"]
    ]
    return Answer(tuple(solutions) if query.ordered else tuple(sorted(solutions, key=sorted)), expected_bounds)


def written_term(term: dict[str, str]) -> str:
    if term["type"] == "uri":
        return f"<{term['value']}>"
    datatype = term.get("datatype")
    return json.dumps(term["value"]) + (f"^^<{datatype}>" if datatype else "")


def check_answers(scenario: Scenario) -> None:
    with running(scenario) as run:
        run.act()
        check_same(run, run.told, run.expected(run.start))


def check_same(run: Run, told: Sequence[Evaluation], expected: dict[int, Answer]) -> None:
    instants = [evaluation.instant for evaluation in told]
    assert instants == list(expected), f"start {run.start}, told {instants}, expected {list(expected)}"
    for evaluation in told:
        got, wanted = read(evaluation, run.query, run.streams), expected[evaluation.instant]
        assert got == wanted, f"at {evaluation.instant}: {got}, expected {wanted}"


def check_replay(scenario: Scenario) -> None:
    with running(scenario) as run:
        run.act()
        live = run.told
        assert run.replayed(run.start) == live, "replayed at once"
        from_the_beginning = run.replayed(None)
        check_same(run, from_the_beginning, run.expected(None))
        run.restart(keep_offset=False)
        assert run.replayed(run.start) == live, "replayed after a restart"
        assert run.replayed(None) == from_the_beginning, "from the beginning, after a restart"
        run.stepped.run()
        run.collect()
        assert run.told == live, "told twice"
        for before, evaluation in zip([run.start, *(e.instant for e in live)], live, strict=False):
            assert list(run.stepped.backend.replay("q", before, evaluation.instant)) == [evaluation], "one of them"


# --- scenarios -------------------------------------------------------------------------------

_subjects = st.sampled_from([f"<{EX}s{i}>" for i in range(4)])
_values = st.builds(lambda s, n: (s, VALUE, f'"{n}"^^<{INTEGER}>'), _subjects, st.integers(0, 5))
_links = st.builds(lambda s, o: (s, KNOWS, o), _subjects, _subjects)
contents = st.frozensets(_values | _links, max_size=3)
full_contents = st.frozensets(_values | _links, min_size=1, max_size=3)
moves = st.sampled_from([1, 0, 0, 1, 2, 2, 3, 3, 4, 5, 7, 9, 23, -1, -2, -5, -12])
strategies = st.none() | st.none() | st.frozensets(st.sampled_from([CLOSE, NON_EMPTY, CHANGE, PERIODIC]), min_size=1)


@st.composite
def windows_over(draw: st.DrawFn, streams: Sequence[str], named: bool) -> tuple[Window, ...]:
    windows: list[Window] = []
    for place in range(draw(st.integers(1, 3))):
        stream = draw(st.sampled_from(streams))
        names = [f"{EX}w{place}"] + [EX + stream] * all(window.graph != EX + stream for window in windows)
        default = [] if named and place == 0 else [None]
        graph = draw(st.sampled_from([*names, *default]))
        kind = draw(st.sampled_from([time_windows, time_windows, count_windows, now_windows, landmark_windows]))
        window = draw(kind(stream, graph, draw(strategies), draw(st.integers(1, 9))))
        windows.append(window)
    return tuple(windows)


Common = tuple[str, str | None, frozenset[str] | None, int]
"""A window's stream, graph, strategies and period."""
origins = st.none() | st.integers(-3, 15)


@st.composite
def time_windows(draw: st.DrawFn, *common: *Common) -> Window:
    width = draw(st.integers(1, 12))
    return TimeWindow(
        *common, width, draw(st.integers(1, 14)), draw(st.sampled_from([-width, 0]) | st.integers(0, 15))
    )  # fmt: skip


@st.composite
def count_windows(draw: st.DrawFn, *common: *Common) -> Window:
    by = draw(st.sampled_from(["TRIPLES", "ELEMENTS"]))
    return CountWindow(*common, draw(st.integers(1, 6)), by, draw(st.sampled_from([1, 1, 2, 3, 5])), draw(origins))


@st.composite
def now_windows(draw: st.DrawFn, *common: *Common) -> Window:
    return NowWindow(*common, draw(origins))


@st.composite
def landmark_windows(draw: st.DrawFn, *common: *Common) -> Window:
    step = draw(st.none() | st.integers(1, 9))
    if step is None and CLOSE in (common[2] or ()):
        step = 4
    of_query = draw(st.booleans())
    return LandmarkWindow(*common, None if of_query else draw(st.integers(-3, 20)), step, draw(origins), of_query)


@st.composite
def scenarios(draw: st.DrawFn, *, restarts: bool = False) -> Scenario:
    lateness = {name: draw(st.integers(0, 7)) for name in ["a", "b"][: draw(st.integers(1, 2))]}
    shape = draw(st.sampled_from(SHAPES))
    windows = draw(windows_over(list(lateness), shape.needs_named))
    operator = draw(st.sampled_from([None, "RSTREAM", "ISTREAM", "DSTREAM"])) if shape.select != "ASK" else None
    cursors = dict.fromkeys(lateness, draw(st.integers(0, 12)))
    names = st.sampled_from(list(lateness))
    actions: list[Action] = []
    kinds = ["append"] * 7 + ["advance"] + ["step"] * 2 + ["restart"] * restarts

    def time(name: str) -> int:
        cursors[name] = max(0, cursors[name] + draw(moves))
        return cursors[name]

    registered = draw(st.integers(0, 7))
    ended: set[str] = set()
    for place in range(draw(st.integers(3, 24))):
        if place == registered:
            actions.append(Register(draw(st.sampled_from([None, -1_000, None, -1_000]) | st.integers(-3, 20))))
        kind = draw(st.sampled_from(kinds))
        if kind == "step":
            actions.append(Step(draw(st.integers(1, 3))))
        elif kind == "restart":
            actions.append(Restart(draw(st.booleans())))
        else:
            name = draw(names)
            if name in ended:
                continue
            if kind == "advance":
                actions.append(Advance(name, time(name) + draw(st.integers(-2, 15))))
            elif draw(st.integers(0, 7)) == 0:
                actions.append(Append(name, ((time(name), draw(contents)),)))
            else:
                count = draw(st.sampled_from([1, 1, 1, 2, 3, 5]))
                actions.append(Append(name, tuple((time(name), draw(full_contents)) for _ in range(count))))
            if place > 9 and draw(st.integers(0, 9)) == 9:
                actions.append(End(name))
                ended.add(name)
    if not any(isinstance(action, Register) for action in actions):
        actions.append(Register(draw(st.sampled_from([None, -1_000]))))
    for name in draw(st.permutations(sorted(lateness))):
        if name not in ended and draw(st.integers(0, 5)) < 5:
            actions += [Step(1), End(name)]
    return Scenario(lateness, shape, windows, operator, tuple(actions))


RELAXED = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@settings(RELAXED, max_examples=60)
@given(scenarios())
def test_all_answers_are_those_of_the_model(scenario: Scenario) -> None:
    check_answers(scenario)


@pytest.mark.long
@settings(RELAXED, max_examples=2000)
@given(scenarios(restarts=True))
def test_all_answers_are_those_of_the_model_in_many_scenarios_with_restarts(scenario: Scenario) -> None:
    check_answers(scenario)


@settings(RELAXED, max_examples=25)
@given(scenarios(restarts=True))
def test_replays_give_the_bytes_that_were_told_live_before_and_after_a_restart(scenario: Scenario) -> None:
    check_replay(scenario)


@pytest.mark.long
@settings(RELAXED, max_examples=1000)
@given(scenarios(restarts=True))
def test_replays_give_the_bytes_that_were_told_live_in_many_scenarios(scenario: Scenario) -> None:
    check_replay(scenario)


# --- order and batching ----------------------------------------------------------------------


@dataclass(frozen=True)
class Deliveries:
    """The same elements of each stream twice over, in other orders and batches; none of them late."""

    lateness: int
    shape: Shape
    windows: tuple[Window, ...]
    operator: str | None
    orders: tuple[tuple[Append, ...], ...]

    def scenario(self, order: int) -> Scenario:
        appends = [action for append in self.orders[order] for action in (append, Step(1 + order))]
        ends: list[Action] = [End(name) for name in ("a", "b")]
        lateness = dict.fromkeys(("a", "b"), self.lateness)
        return Scenario(lateness, self.shape, self.windows, self.operator, (Register(None), *appends, *ends))


@st.composite
def deliveries(draw: st.DrawFn) -> Deliveries:
    lateness = draw(st.integers(0, 12))
    shape = draw(st.sampled_from(SHAPES))
    operator = draw(st.sampled_from([None, "ISTREAM", "DSTREAM"])) if shape.select != "ASK" else None
    windows = draw(windows_over(["a", "b"], shape.needs_named))
    # Equal timestamps are in the log's order for a count window: another order of arrival is another content.
    counted = any(isinstance(window, CountWindow) for window in windows)
    elements = draw(
        st.lists(
            st.tuples(st.sampled_from("ab"), st.integers(0, 40), full_contents),
            min_size=2,
            max_size=14,
            unique_by=(lambda element: element[:2]) if counted else None,
        )
    )
    orders = []
    for _ in range(2):
        left, order = sorted(elements, key=lambda element: element[1]), []
        while left:
            # Whatever is not later than the oldest one left by more than the lateness may come next.
            may = [e for e in left if e[1] - min(o[1] for o in left if o[0] == e[0]) <= lateness]
            chosen = draw(st.sampled_from(may))
            left.remove(chosen)
            order.append(chosen)
        appends: list[Append] = []
        for name, time, triples in order:
            if appends and appends[-1].stream == name and draw(st.booleans()):
                appends[-1] = Append(name, (*appends[-1].elements, (time, triples)))
            else:
                appends.append(Append(name, ((time, triples),)))
        orders.append(tuple(appends))
    return Deliveries(lateness, shape, windows, operator, tuple(orders))


def check_order(delivered: Deliveries) -> None:
    told = []
    for order in range(2):
        with running(delivered.scenario(order)) as run:
            run.act()
            assert not any(element.late for stream in run.streams.values() for element in stream.elements)
            told.append(run.told)
    assert told[0] == told[1]


@settings(RELAXED, max_examples=25)
@given(deliveries())
def test_the_same_elements_in_another_order_and_other_batches_give_the_same_bytes(delivered: Deliveries) -> None:
    check_order(delivered)


@pytest.mark.long
@settings(RELAXED, max_examples=1000)
@given(deliveries())
def test_the_same_elements_in_many_other_orders_give_the_same_bytes(delivered: Deliveries) -> None:
    check_order(delivered)
