"""How far queries are is told once, and logs learn what is still to be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.errors import StorageFull, Unavailable
from protocol.evaluations import Ended, Notice, Progress
from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.time import BEFORE_ALL, Instant, Milliseconds
from protocol.windows.spec import (
    CountWindow,
    LandmarkWindow,
    NowWindow,
    Partition,
    Report,
    SessionWindow,
    Strategy,
    StreamWindow,
    TimeWindow,
    TriplePart,
    Unit,
    WindowSpec,
)
from protocol.windows.timeline import END
from spark_backend.answers.documents import DocumentWriter
from spark_backend.budget import Budget
from spark_backend.compiler.plan import compile_query
from spark_backend.log.writer import StreamLog
from spark_backend.queries.outputs import Outputs
from spark_backend.queries.progress import QueryProgress
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.registry import RegisteredQuery
from spark_backend.streams.streams import Streams
from spark_backend.streams.timelines import Timelines
from tests.spark_backend.log.log_oracle import event_stream, request, triple

CLOSES = Report(frozenset({Strategy.ON_WINDOW_CLOSE}))
TUMBLING = TimeWindow(10, 10, 0, CLOSES)
Needed = dict[str, tuple[Milliseconds, Instant | None]]


class NotedStreams(Streams):
    """Streams that note what they are to retain."""

    def __init__(self) -> None:
        self.needed: Needed = {}
        self.failing: OSError | None = None

    def retain(self, needed: Needed) -> None:
        if self.failing is not None:
            raise self.failing
        self.needed = needed

    def retention(self, log: str) -> Milliseconds:
        return 70


class NotedOutputs(Outputs):
    """Outputs that note how far they are, or fail."""

    def __init__(self) -> None:
        self.reached: list[tuple[str, Instant]] = []
        self.failing: dict[str, Exception] = {}

    def reach(self, running: RunningQuery, watermark: Instant) -> None:
        if running.name in self.failing:
            raise self.failing[running.name]
        self.reached.append((running.name, watermark))


class Watched:
    """Queries over logs that the test writes, and what is told of them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._logs: dict[str, StreamLog] = {}
        self.timelines = Timelines(root)
        self.queries = RunningQueries()
        self.streams, self.outputs = NotedStreams(), NotedOutputs()
        self.published = 0
        self.progress = QueryProgress(self.queries, self.timelines, self.streams, self.outputs, self._publish)

    def log(self, name: str) -> StreamLog:
        if name not in self._logs:
            self._logs[name] = StreamLog.open(self._root / name, event_stream(retention=10**6), lambda: 0)
        return self._logs[name]

    def append(self, name: str, *times: Instant) -> None:
        self.log(name).append(request(*((time, [triple(str(time))]) for time in times)))

    def run(self, name: str, *windows: tuple[str, WindowSpec], start: Instant | None = None) -> RunningQuery:
        """A query over windows of logs, as if it had just been registered."""
        members = tuple(StreamWindow(log, window, f"http://ex/{log}", True) for log, window in windows)
        for log, _ in windows:
            self.log(log)
        text = "SELECT * { GRAPH <http://ex/s> { ?s ?p ?o } }"
        query = ContinuousQuery(text, read_query(text), Form.SELECT, R2S.RSTREAM, members)
        registered = RegisteredQuery(f"{name}.1", members, "", start)
        plan = compile_query(query, present=lambda _: False)
        running = RunningQuery(name, query, True, registered, plan, DocumentWriter(query, plan.variables), Budget())
        self.queries.put(running)
        self.timelines.follow([], self.queries.windows)
        return running

    def told(self) -> list[Notice]:
        """What there is to tell now."""
        notices: list[Notice] = []
        self.queries.listener = notices.extend
        self.progress.say()
        return notices

    def close(self) -> None:
        for log in self._logs.values():
            log.close()

    def _publish(self) -> None:
        self.published += 1


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.close()


def test_without_a_watermark_there_is_nothing_to_tell(watched: Watched) -> None:
    watched.run("q", ("s", TUMBLING), ("other", TUMBLING))
    assert watched.told() == []
    watched.append("s", 25)  # the other stream still has none
    assert watched.told() == []


def test_a_query_has_progressed_to_its_watermark_once_all_that_is_due_is_out(watched: Watched) -> None:
    running = watched.run("q", ("s", TUMBLING))
    watched.append("s", 5, 26)
    assert watched.told() == []  # 10 and 20 are due
    running.evaluated = 10
    assert watched.told() == []
    running.evaluated = 20
    assert watched.told() == [Progress("q", 25, 25)]
    assert watched.outputs.reached == [("q", 25)]
    assert watched.told() == []
    watched.log("s").advance(29)
    assert watched.told() == [Progress("q", 29, 29)]


def test_the_stream_furthest_behind_says_how_far_a_query_is(watched: Watched) -> None:
    watched.run("q", ("s", TUMBLING), ("other", TUMBLING))
    watched.append("s", 9)
    watched.append("other", 4)
    assert watched.told() == [Progress("q", 3, 3)]


def test_a_query_ends_once_with_its_streams(watched: Watched) -> None:
    running = watched.run("q", ("s", TUMBLING))
    watched.append("s", 5)
    watched.log("s").end()
    assert watched.told() == []  # the last window is due
    assert (running.ended, watched.published) == (False, 0)
    running.evaluated = watched.timelines.instants(running.windows, None, END, None)[-1]
    assert watched.told() == [Ended("q", "all streams of the query have ended")]
    assert (running.ended, running.progressed, watched.published) == (True, END, 1)
    assert watched.told() == []
    assert watched.published == 1


def test_that_an_output_stays_behind_is_said_of_each_query_also_of_one_that_has_the_name_of_another_that_is_gone(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.outputs.failing["q"] = Unavailable("no space left on device")
    watched.append("s", 5)
    for times in (1, 2):
        watched.run("q", ("s", TUMBLING))
        assert watched.told() == []
        assert caplog.text.count("the output of the query q stays behind: no space left on device") == times
        watched.queries.remove("q")
        assert watched.told() == []


@pytest.mark.parametrize("error", [Unavailable, StorageFull, OSError])
def test_a_query_whose_output_cannot_be_written_stays_behind_until_it_can(
    watched: Watched, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    running = watched.run("q", ("s", TUMBLING))
    watched.run("other", ("s", TUMBLING))
    watched.append("s", 9)
    watched.outputs.failing["q"] = error("no space left on device")
    assert watched.told() == [Progress("other", 8, 8)]
    assert watched.streams.needed == {"s": (10, BEFORE_ALL)}, "what is still to be read is known nevertheless"
    assert running.progressed is None
    assert watched.told() == []
    assert caplog.text.count("the output of the query q stays behind: no space left on device") == 1
    watched.outputs.failing.clear()
    assert watched.told() == [Progress("q", 8, 8)]


def test_what_has_been_found_out_is_told_though_nothing_can_be_written(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise OSError("no space left on device")

    watched.run("q", ("s", TUMBLING))
    watched.run("other", ("t", TUMBLING))
    watched.log("s").end()
    watched.append("t", 9)
    monkeypatch.setattr(watched.streams, "retain", full)
    monkeypatch.setattr(watched.progress, "_publish", full)
    assert watched.told() == [Ended("q", "all streams of the query have ended"), Progress("other", 8, 8)]


@pytest.mark.parametrize(
    ("window", "reach"),
    [
        (TimeWindow(30, 10, 0, CLOSES), 30),
        (TimeWindow(30, 10, 0, CLOSES, offset=100), 130),
        (NowWindow(), 1),
        (SessionWindow(5), 5),
        (SessionWindow(12), 43),
        (LandmarkWindow(5, None, None), 35),
        (LandmarkWindow(50, None, None), 0),
        (LandmarkWindow(None, None, None), 40 - BEFORE_ALL),
        (LandmarkWindow(BEFORE_ALL, None, None), 70),
        (CountWindow(2, Unit.ELEMENTS, 1), 21),
        (CountWindow(9, Unit.TRIPLES, 1), 31),
        (CountWindow(1, Unit.ELEMENTS, partition=Partition((TriplePart.SUBJECT,))), 40 - BEFORE_ALL),
    ],
    ids=[
        "time",
        "time of the past",
        "now",
        "no session that is open",
        "an open session",
        "landmark",
        "a landmark to come",
        "no landmark",
        "an event pattern without a window",
        "the last two",
        "more than there are",
        "the last of each key",
    ],
)
def test_a_log_keeps_what_the_windows_over_it_reach_back_to(
    watched: Watched, window: WindowSpec, reach: Milliseconds
) -> None:
    running = watched.run("q", ("s", window))
    watched.append("s", 10, 20, 30, 45)
    running.evaluated = 40
    watched.timelines.refresh()
    watched.progress.retain()
    assert watched.streams.needed == {"s": (reach, 40)}


def test_a_log_keeps_what_the_widest_window_reads_from_where_the_slowest_query_is(watched: Watched) -> None:
    fast = watched.run("fast", ("s", TimeWindow(100, 10, 0, CLOSES)))
    slow = watched.run("slow", ("s", TUMBLING), ("t", TUMBLING))
    fast.evaluated, slow.evaluated, slow.progressed = 90, 20, 25
    watched.progress.retain()
    assert watched.streams.needed == {"s": (100, 20), "t": (10, 20)}
    # What is out already is read again for the latest answer, if that is not long past.
    slow.progressed = 500
    watched.progress.retain()
    assert watched.streams.needed == {"s": (100, 90), "t": (10, 490)}


def test_a_log_keeps_nothing_for_an_answer_that_there_is_not_or_that_others_decide_on(watched: Watched) -> None:
    none = watched.run("none", ("s", TUMBLING))
    both = watched.run("both", ("t", CountWindow(2, Unit.ELEMENTS, 1)), ("u", TUMBLING))
    alone = watched.run("alone", ("v", CountWindow(2, Unit.ELEMENTS, 1)))
    none.progressed = both.progressed = alone.progressed = 500
    both.evaluated = alone.evaluated = 20
    watched.progress.retain()
    assert {log: place for log, (_, place) in watched.streams.needed.items()} == {"s": 500, "t": 500, "u": 490, "v": 20}


def test_a_query_that_starts_now_needs_nothing_from_before(watched: Watched) -> None:
    watched.run("q", ("s", TUMBLING), start=70)
    watched.run("all", ("t", TUMBLING))
    watched.progress.retain()
    assert watched.streams.needed == {"s": (10, 70), "t": (10, BEFORE_ALL)}


def test_that_a_log_cannot_be_told_is_logged_once_until_it_can(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    for times in (1, 2):
        watched.streams.failing = OSError("Read-only file system")
        for _ in range(3):
            watched.told()
        assert caplog.text.count("could not be told what is still to be read: Read-only file system") == times
        watched.streams.failing = None
        watched.told()
