"""What happens to an endpoint, drawn at random: streams, requests, watermarks, a query, batches, restarts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from conformance.rsp.oracle import (
    CHANGE,
    CLOSE,
    NON_EMPTY,
    PERIODIC,
    CountWindow,
    LandmarkWindow,
    NowWindow,
    SessionWindow,
    TimeWindow,
    Triple,
    Window,
)
from tests.spark_backend.oracle.queries import EX, INTEGER, KNOWS, LABEL, SHAPES, VALUE, Shape, build

END = 2**62
"""After all instants."""
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
    partition: int | None = None


@dataclass(frozen=True)
class Advance:
    stream: str
    watermark: int
    partition: int | None = None


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
    partitions: int = 1
    """Of each stream."""

    def __repr__(self) -> str:
        streams = f"lateness {self.lateness}, partitions {self.partitions}"
        lines = [streams, build(self.shape, self.windows, self.operator)[0]]
        return "\n".join(lines + [f"  {action}" for action in self.actions])


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
        kind = draw(
            st.sampled_from([time_windows, time_windows, count_windows, now_windows, landmark_windows, sessions])
        )
        window = draw(kind(stream, graph, draw(strategies), draw(st.integers(1, 9))))
        windows.append(window)
    # Of which an instant is, an evaluation cannot tell where content decides on two: that is refused.
    asking = [window for window in windows if isinstance(window, CountWindow) and window.where]
    others = [window for window in windows if isinstance(window, SessionWindow) and window.partition]
    refused = asking if others else asking[1:]
    return tuple(replace(window, where=None) if window in refused else window for window in windows)


Common = tuple[str, str | None, frozenset[str] | None, int]
"""A window's stream, graph, strategies and period."""
partitions = st.just(()) | st.sampled_from(
    [("SUBJECT",), ("PREDICATE",), ("OBJECT", "SUBJECT"), (VALUE,), (KNOWS, VALUE), ("SUBJECT", KNOWS)]
)
conditions = st.none() | st.sampled_from(
    [
        f"{{ ?s {VALUE} ?x FILTER(?x > 2) }}",
        f"{{ ?s {KNOWS} ?o }}",
        f"{{ ?s {VALUE} ?x FILTER NOT EXISTS {{ ?s {KNOWS} ?o }} }}",
    ]
)
origins = st.none() | st.integers(-3, 15)


@st.composite
def time_windows(draw: st.DrawFn, *common: *Common) -> Window:
    width = draw(st.integers(1, 12))
    origin = draw(st.sampled_from([-width, 0]) | st.integers(0, 15))
    return TimeWindow(*common, width, draw(st.integers(1, 14)), origin, draw(st.sampled_from([0, 0, 0, 1, 4, 13])))


@st.composite
def count_windows(draw: st.DrawFn, *common: *Common) -> Window:
    by = draw(st.sampled_from(["TRIPLES", "ELEMENTS"]))
    step, origin, keys = draw(st.sampled_from([1, 1, 2, 3, 5])), draw(origins), draw(partitions)
    steps = draw(st.sampled_from([True, False]))
    return CountWindow(
        *common, draw(st.integers(1, 6)), by, step if steps else 1, origin, keys, draw(conditions), steps
    )


@st.composite
def now_windows(draw: st.DrawFn, *common: *Common) -> Window:
    return NowWindow(*common, draw(origins))


@st.composite
def sessions(draw: st.DrawFn, *common: *Common) -> Window:
    return SessionWindow(*common, draw(st.integers(1, 8)), draw(origins), draw(partitions))


@st.composite
def landmark_windows(draw: st.DrawFn, *common: *Common) -> Window:
    step = draw(st.none() | st.integers(1, 9))
    if step is None and CLOSE in (common[2] or ()):
        step = 4
    of_query = draw(st.booleans())
    return LandmarkWindow(*common, None if of_query else draw(st.integers(-3, 20)), step, draw(origins), of_query)


@st.composite
def _request(
    draw: st.DrawFn, sent: Sequence[tuple[int, frozenset[Triple]]], time: Callable[[], int]
) -> list[tuple[int, frozenset[Triple]]]:
    """Some elements, one that is perhaps without triples, a burst at one time, or ones that were sent before."""
    kind = draw(st.integers(0, 11))
    if kind == 0:
        return [(time(), draw(contents))]
    if kind == 1:
        now = time()
        return [(now, draw(full_contents)) for _ in range(draw(st.integers(2, 12)))]
    again = [element for element in sent if element[1]]
    if kind == 2 and again:
        return draw(st.lists(st.sampled_from(again), min_size=1, max_size=3))
    return [(time(), draw(full_contents)) for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3, 5])))]


@st.composite
def scenarios(draw: st.DrawFn, *, restarts: bool = False, most_partitions: int = 1) -> Scenario:
    lateness = {name: draw(st.integers(0, 7)) for name in "abc"[: draw(st.sampled_from([1, 1, 2, 2, 3]))]}
    shape = draw(st.sampled_from(SHAPES))
    windows = draw(windows_over(list(lateness), shape.needs_named))
    operator = draw(st.sampled_from([None, "RSTREAM", "ISTREAM", "DSTREAM"])) if shape.select != "ASK" else None
    partitions = draw(st.integers(min(2, most_partitions), most_partitions))
    of_any = st.sampled_from([None, *(range(partitions) if partitions > 1 else ())])
    cursors: defaultdict[tuple[str, int | None], int] = defaultdict(partial(int, draw(st.integers(0, 12))))
    sent: dict[str, list[tuple[int, frozenset[Triple]]]] = {name: [] for name in lateness}
    names = st.sampled_from(list(lateness))
    actions: list[Action] = []
    kinds = ["append"] * 7 + ["advance"] + ["step"] * 2 + ["restart"] * restarts

    def time(*of: *tuple[str, int | None]) -> int:
        gap = 90 if draw(st.integers(0, 40)) == 40 else 0
        cursors[of] = max(0, cursors[of] + draw(moves) + gap)
        return cursors[of]

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
            partition = draw(of_any)
            if kind == "advance":
                actions.append(Advance(name, time(name, partition) + draw(st.integers(-2, 15)), partition))
            else:
                elements = draw(_request(sent[name], partial(time, name, partition)))
                sent[name] += elements
                actions.append(Append(name, tuple(elements), partition))
            if place > 9 and draw(st.integers(0, 9)) == 9:
                actions.append(End(name))
                ended.add(name)
    if not any(isinstance(action, Register) for action in actions):
        actions.append(Register(draw(st.sampled_from([None, -1_000]))))
    for name in draw(st.permutations(sorted(lateness))):
        if name not in ended and draw(st.integers(0, 5)) < 5:
            actions += [Step(1), End(name)]
    return Scenario(lateness, shape, windows, operator, tuple(actions), partitions)


RELAXED = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
