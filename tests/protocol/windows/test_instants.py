"""ET against its definition: an oracle that looks at every instant of a small range, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.windows.instants import evaluation_instants, next_instant, previous_instant
from protocol.windows.spec import (
    DEFAULT_REPORT,
    CountWindow,
    LandmarkWindow,
    NowWindow,
    Report,
    SessionWindow,
    Strategy,
    StreamWindow,
    TimeWindow,
    Unit,
    WindowSpec,
    offset_of,
)
from protocol.windows.timeline import END, Timeline

UNKNOWN = -1_000
"""The watermark before there is one."""
LOWEST, HIGHEST = -80, 500
"""All instants the oracle looks at: beyond every end that the strategies below can produce."""
LATEST_ENTRY = 9
"""The longest offset and gap."""


@dataclass
class Stream:
    """Elements (timestamp, watermark at arrival, triples) as they came, and the watermark."""

    lateness: int
    elements: list[tuple[int, int, int]] = field(default_factory=list)
    watermark: int = UNKNOWN
    said: int | None = None

    def append(self, t: int, triples: int) -> None:
        self.elements.append((t, self.watermark, triples))
        self.watermark = max(self.watermark, t - self.lateness - 1)

    def advance(self, watermark: int) -> None:
        self.watermark = max(self.watermark, watermark)
        self.said = watermark if self.said is None else max(self.said, watermark)

    def timeline(self, chunk: int = 100) -> Timeline:
        timeline = Timeline(counting=True, offsets=range(1, LATEST_ENTRY + 1))
        for i in range(0, len(self.elements), chunk):
            part = self.elements[i : i + chunk]
            timeline.extend(*([e[k] for e in part] for k in range(3)))
        if self.said is not None:
            timeline.advance(self.said)
        return timeline


Streams = dict[str, Stream]


def content(window: WindowSpec, stream: Stream, e: int) -> list[tuple[int, int, int]]:
    if isinstance(window, SessionWindow):
        return session(window, stream, e)
    there = [(t, seen, n) for t, seen, n in stream.elements if n and t + offset_of(window) <= e and seen < e]
    match window:
        case TimeWindow():
            o = window.origin
            while o + window.width < e:
                o += window.slide
        case NowWindow():
            o = e - 1 if window.origin is None else max(e - 1, window.origin)
        case LandmarkWindow():
            o = LOWEST if window.landmark is None else window.landmark
        case CountWindow():
            return there  # whether it is empty is all that is asked
    return [element for element in there if element[0] + offset_of(window) > o]


def session(window: SessionWindow, stream: Stream, e: int) -> list[tuple[int, int, int]]:
    """The session that closes at e: the newest elements, as far back as there is no gap."""
    there = sorted((t, seen, n) for t, seen, n in stream.elements if n and t <= e and seen < e)
    if not there or there[-1][0] + window.gap != e:
        return []
    begins = [i for i in range(1, len(there)) if there[i][0] - there[i - 1][0] > window.gap]
    return there[max(begins, default=0) :]


def count(window: CountWindow, stream: Stream, e: int) -> int:
    return sum(n if window.unit is Unit.TRIPLES else 1 for _, _, n in content(window, stream, e))


def steps(origin: int | None, step: int, e: int) -> bool:
    return e % step == 0 if origin is None else e > origin and (e - origin) % step == 0


def holds(strategy: Strategy, window: WindowSpec, report: Report, stream: Stream, e: int) -> bool:
    if strategy is Strategy.ON_WINDOW_CLOSE:
        match window:
            case TimeWindow():
                since_first_close = e - (window.origin + window.width)
                return since_first_close >= 0 and since_first_close % window.slide == 0
            case NowWindow():
                return window.origin is None or e > window.origin
            case LandmarkWindow():
                assert window.step is not None
                return steps(window.origin, window.step, e)
            case SessionWindow():
                return bool(content(window, stream, e))
            case CountWindow():
                before, now = count(window, stream, e - 1), count(window, stream, e)
                return any(number % window.step == 0 for number in range(before + 1, now + 1))
    if strategy is Strategy.PERIODIC:
        assert report.period is not None
        if isinstance(window, TimeWindow):
            since_first_close = e - (window.origin + window.width)
            return since_first_close >= 0 and since_first_close % report.period == 0
        return steps(window.origin, report.period, e)
    inside = content(window, stream, e)
    if strategy is Strategy.NON_EMPTY_CONTENT or isinstance(window, SessionWindow):
        return bool(inside)
    return any(t + offset_of(window) == e for t, _, _ in inside)


def forgets(window: WindowSpec) -> bool:
    return isinstance(window, TimeWindow | NowWindow | SessionWindow)


def by_definition(windows: Sequence[StreamWindow], streams: Streams, *, ended: bool) -> list[int]:
    """ET in (LOWEST, HIGHEST], as docs/model.md words it ("Instants and reports")."""
    read = [streams[name] for name in {w.stream for w in windows}]
    reporting = [w for w in windows if w.window.report is not None] or windows
    elements = [element for stream in read for element in stream.elements]
    if not elements:
        return []
    found = []
    for e in range(LOWEST + 1, HIGHEST + 1):
        if not any(t <= e and seen < e for t, seen, _ in elements):
            continue
        for w in reporting:
            report = w.window.report or DEFAULT_REPORT
            if all(holds(s, w.window, report, streams[w.stream], e) for s in report.strategies):
                found.append(e)
                break
    if not ended:
        return found
    last = max(max(t, seen + 1) for t, seen, _ in elements)
    held = [
        e
        for e in range(last, HIGHEST + 1)
        if any(forgets(w.window) and content(w.window, streams[w.stream], e) for w in windows)
    ]
    for e in found:
        if e >= last and e > max(held, default=LOWEST):
            closed = max([e, *(stream.said for stream in read if stream.said is not None)])
            return [earlier for earlier in found if earlier <= closed]
    return found


reports = st.builds(
    Report, st.frozensets(st.sampled_from(Strategy), min_size=1), st.integers(1, 7)
)  # fmt: skip
without_close = reports.filter(lambda report: Strategy.ON_WINDOW_CLOSE not in report.strategies)
origins = st.none() | st.integers(-15, 15)
time_windows = st.builds(
    TimeWindow,
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(-15, 15),
    st.none() | reports,
    st.just(0) | st.integers(0, LATEST_ENTRY),
)
count_windows = st.builds(
    CountWindow, st.integers(1, 5), st.sampled_from(Unit), st.integers(1, 6), origins, st.none() | reports
)
now_windows = st.builds(NowWindow, origins, st.none() | reports)
landmark_windows = st.builds(
    LandmarkWindow, st.none() | st.integers(-20, 30), st.integers(1, 9), origins, st.none() | reports
) | st.builds(LandmarkWindow, st.none() | st.integers(-20, 30), st.none(), origins, without_close)
session_windows = st.builds(SessionWindow, st.integers(1, LATEST_ENTRY), origins, st.none() | reports)
any_window = time_windows | time_windows | count_windows | now_windows | landmark_windows | session_windows
queries = st.lists(
    st.builds(StreamWindow, st.sampled_from(["a", "b"]), any_window, st.none(), st.just(False)),
    min_size=1,
    max_size=3,
)


@st.composite
def streams_of_elements(draw: st.DrawFn, *, said: bool = True) -> Stream:
    stream = Stream(draw(st.integers(0, 6)))
    moves = st.tuples(st.integers(-20, 40), st.sampled_from([0, 1, 1, 2] + ([-1] if said else [])))
    for t, triples in draw(st.lists(moves, max_size=12)):
        if triples < 0:
            stream.advance(t)
        else:
            stream.append(t, triples)
    return stream


two_streams = st.fixed_dictionaries({"a": streams_of_elements(), "b": streams_of_elements()})


def timelines(streams: Streams, *, ended: bool = False) -> dict[str, Timeline]:
    index = {name: stream.timeline() for name, stream in streams.items()}
    for timeline in index.values() if ended else ():
        timeline.advance(END)
    return index


@settings(max_examples=400, deadline=None)
@given(queries, two_streams, st.integers(-40, 60), st.integers(0, 60))
def test_evaluation_instants_are_those_of_the_definition(
    windows: list[StreamWindow], streams: Streams, after: int, length: int
) -> None:
    expected = by_definition(windows, streams, ended=False)
    upto = after + length
    index = timelines(streams)
    found = evaluation_instants(windows, index, after, upto, limit=None)
    assert found == [e for e in expected if after < e <= upto]
    assert evaluation_instants(windows, index, None, upto, limit=None) == [e for e in expected if e <= upto]


@settings(max_examples=300, deadline=None)
@given(queries, two_streams)
def test_after_the_end_instants_go_on_to_the_first_at_which_all_windows_are_empty(
    windows: list[StreamWindow], streams: Streams
) -> None:
    expected = by_definition(windows, streams, ended=True)
    index = timelines(streams)
    assert evaluation_instants(windows, index, None, END, limit=None) == expected
    assert (next_instant(windows, index, None, END) is None) == (not expected)
    for i, e in enumerate(expected):
        assert (next_instant(windows, index, e, END) is None) == (i == len(expected) - 1)
        assert next_instant(windows, index, e - 1, END) is not None
    assert previous_instant(windows, index, END + 1, None) == (expected[-1] if expected else None)


@settings(max_examples=300, deadline=None)
@given(queries, two_streams, st.booleans(), st.integers(-40, 60), st.integers(0, 60))
def test_next_and_previous_are_the_neighbours_in_the_sequence(
    windows: list[StreamWindow], streams: Streams, ended: bool, at: int, length: int
) -> None:
    expected = by_definition(windows, streams, ended=ended)
    index = timelines(streams, ended=ended)
    within = [e for e in expected if at < e <= at + length]
    assert next_instant(windows, index, at, at + length) == (within[0] if within else None)
    before = [e for e in expected if at < e < at + length]
    assert previous_instant(windows, index, at + length, at) == (before[-1] if before else None)
    before = [e for e in expected if e < at]
    assert previous_instant(windows, index, at, None) == (before[-1] if before else None)


@settings(max_examples=150, deadline=None)
@given(queries, two_streams, st.integers(1, 5), st.booleans(), st.integers(-30, 60))
def test_enumerating_by_portions_or_splitting_anywhere_gives_the_same(
    windows: list[StreamWindow], streams: Streams, limit: int, ended: bool, split: int
) -> None:
    index = timelines(streams, ended=ended)
    upto = END if ended else 80
    whole = evaluation_instants(windows, index, None, upto, limit=None)
    portions: list[int] = []
    after: int | None = None
    while portion := evaluation_instants(windows, index, after, upto, limit=limit):
        assert len(portion) <= limit
        portions += portion
        after = portion[-1]
    assert portions == whole
    early = evaluation_instants(windows, index, None, split, limit=None)
    assert early + evaluation_instants(windows, index, split, upto, limit=None) == whole
    assert evaluation_instants(windows, index, None, upto, limit=0) == []


@st.composite
def arrivals(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    return draw(
        st.lists(
            st.tuples(st.sampled_from(["a", "b"]), st.integers(-20, 40), st.sampled_from([-1, 0, 1, 1, 2])), max_size=16
        )
    )


@settings(max_examples=300, deadline=None)
@given(queries, arrivals(), st.integers(0, 6), st.integers(0, 6))
def test_evaluating_as_the_data_comes_gives_what_a_replay_of_the_log_gives(
    windows: list[StreamWindow], moves: list[tuple[str, int, int]], lateness_a: int, lateness_b: int
) -> None:
    streams = {"a": Stream(lateness_a), "b": Stream(lateness_b)}
    read = {w.stream for w in windows}
    given_out: list[int] = []
    evaluated: int | None = None
    for name, t, triples in moves:
        if triples < 0:
            streams[name].advance(t)
        else:
            streams[name].append(t, triples)
        watermark = min(streams[s].watermark for s in read)
        if evaluated is None or watermark > evaluated:
            given_out += evaluation_instants(windows, timelines(streams), evaluated, watermark, limit=None)
            evaluated = watermark
    given_out += evaluation_instants(windows, timelines(streams), evaluated, END, limit=None)
    assert given_out == evaluation_instants(windows, timelines(streams), None, END, limit=None)


@settings(max_examples=100, deadline=None)
@given(queries, two_streams, st.integers(1, 4))
def test_batching_of_the_elements_changes_nothing(windows: list[StreamWindow], streams: Streams, chunk: int) -> None:
    batched = {name: stream.timeline(chunk) for name, stream in streams.items()}
    assert evaluation_instants(windows, batched, None, END, limit=None) == evaluation_instants(
        windows, timelines(streams), None, END, limit=None
    )


@settings(max_examples=100, deadline=None)
@given(queries, streams_of_elements(said=False), st.randoms(use_true_random=False))
def test_the_order_of_arrival_within_the_allowed_lateness_changes_nothing(
    windows: list[StreamWindow], stream: Stream, random: Random
) -> None:
    times = sorted((t, n) for t, _, n in stream.elements)
    in_order, shuffled = Stream(1_000), Stream(1_000)
    for t, n in times:
        in_order.append(t, n)
    random.shuffle(times)
    for t, n in times:
        shuffled.append(t, n)
    assert evaluation_instants(
        windows, {"a": in_order.timeline(), "b": Stream(0).timeline()}, None, END, limit=None
    ) == evaluation_instants(windows, {"a": shuffled.timeline(), "b": Stream(0).timeline()}, None, END, limit=None)
