"""The engine's registrations, restarts, notices and replays, over the real log, clock and evaluator, without Spark."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import Conflict, HeldNoMore, NotFound, ProtocolError, QuerySemanticError, UnsupportedFeature
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.evaluations import Ended, Evaluation, Failed, Gone, Notice, Progress
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from protocol.language.model import ContinuousQuery
from protocol.sparql.dataset import NONE_REQUESTED, RequestedGraphs
from protocol.streams import StreamElement, StreamGap, StreamSettings, TimeKind
from protocol.time import Instant
from protocol.windows.spec import StreamWindow
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget
from spark_backend.compiler.plan import Plan
from spark_backend.evaluation.spill import spill_of
from spark_backend.layout import Layout
from spark_backend.log.writer import StreamLog
from spark_backend.registry import Registry
from spark_backend.statics.graphs import Quad
from spark_backend.streams.catalogue import read_catalogue
from spark_backend.streams.late import LateElements
from tests.spark_backend.stepped_backend import BASE, Graphs, SteppedBackend, SteppedPipeline

EX = "http://ex/"
END = 2**62
EVERY_2 = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s ?p ?o }}"
EVERY_3 = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 3] WHERE {{ ?s ?p ?o }}"
NEWS = f"SELECT ISTREAM ?s FROM STREAM <{EX}s> [RANGE 6 STEP 2] WHERE {{ ?s ?p ?o }}"
CLOSES = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2 REPORT ON_WINDOW_CLOSE] WHERE {{ ?s ?p ?o }}"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., SteppedBackend]]:
    """Opens a backend over the same directory, again and again; a second closes the first."""
    there: list[SteppedBackend] = []

    def open_backend(graphs: Graphs | None = None, *, offset: bool = True) -> SteppedBackend:
        before = there[-1] if there else None
        if before is not None:
            before.close()
        backend = SteppedBackend(tmp_path, graphs or (None if before is None else before.graphs))
        if before is not None and offset:
            backend.pipeline.offset = json.loads(json.dumps(before.pipeline.offset))
        there.append(backend)
        return backend

    yield open_backend
    there[-1].close()


@pytest.fixture
def stepped(opened: Callable[..., SteppedBackend]) -> SteppedBackend:
    backend = opened()
    backend.event_stream("s", EX + "s")
    return backend


def post(stepped: SteppedBackend, *at: int, stream: str = "s") -> None:
    for t in at:
        stepped.post(stream, f"<{EX}e{t}> a <{EX}T> .", t)


def subjects(document: bytes) -> list[str]:
    bindings = json.loads(document)["results"]["bindings"]
    return sorted(binding["s"]["value"].removeprefix(EX) for binding in bindings)


def answers(stepped: SteppedBackend, name: str = "q") -> dict[int, list[str]]:
    return {t: subjects(document) for t, document in stepped.answers(name).items()}


def progress(stepped: SteppedBackend) -> list[Notice]:
    """What the ticker would tell now."""
    return stepped.backend._progress.look()


def keep_up(stepped: SteppedBackend, number: int) -> None:
    """With every fifth element evaluate what is due, and have retention take what it may."""
    if number % 5 == 0:
        stepped.run()
        progress(stepped)


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name in ("catalogue.json", "registry.json")
    }


@pytest.mark.parametrize("step", [(Registry, "write_prepared"), (Registry, "__init__"), (SteppedPipeline, "__init__")])
def test_a_backend_for_which_there_was_no_room_at_a_start_can_be_built_in_the_same_process(
    step: tuple[type, str],
    opened: Callable[..., SteppedBackend],
    stepped: SteppedBackend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1)
    stepped.close()

    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(*step, full)
        # What fails is held, as by whoever writes down where it did.
        with pytest.raises(OSError, match="No space left") as failed:
            SteppedBackend(tmp_path)
    stepped = opened()
    post(stepped, 5)
    stepped.run()
    assert answers(stepped) == {2: ["e1"]}
    assert failed.tb is not None


# --- registration ----------------------------------------------------------------------------

UNKNOWN_STREAM = (
    f"SELECT ?s\nFROM STREAM <{EX}s> [RANGE 2]\n  FROM STREAM <{EX}nowhere> [RANGE 2]\nWHERE {{ ?s ?p ?o }}"
)
NOT_YET = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s ?p ?o FILTER EXISTS {{ SERVICE <{EX}other> {{}} }} }}"


@pytest.mark.parametrize(
    ("text", "error"), [(UNKNOWN_STREAM, QuerySemanticError), (NOT_YET, UnsupportedFeature)]
)  # fmt: skip
@pytest.mark.parametrize("name", ["q", "new"])
def test_a_registration_that_fails_changes_nothing(
    tmp_path: Path, stepped: SteppedBackend, text: str, error: type[ProtocolError], name: str
) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1)
    before, described = files(tmp_path), stepped.backend.queries()
    with pytest.raises(error):
        stepped.register(name, text)
    assert files(tmp_path) == before
    assert stepped.backend.queries() == described
    post(stepped, 5)
    stepped.run()
    assert answers(stepped) == {2: ["e1"]}
    assert not [notice for notice in stepped.notices if isinstance(notice, Ended | Gone)]


def test_an_unknown_stream_is_named_with_its_line_and_column(stepped: SteppedBackend) -> None:
    with pytest.raises(QuerySemanticError, match=r"no stream <http://ex/nowhere>.*PUT /streams") as raised:
        stepped.register("q", UNKNOWN_STREAM)
    assert (raised.value.line, raised.value.column) == (3, 15)
    assert f"<{EX}s>" in raised.value.detail


def test_a_query_starts_at_the_watermark_and_since_moves_that(stepped: SteppedBackend) -> None:
    post(stepped, 1, 3, 5, 7)
    stepped.register("now", EVERY_2)
    stepped.register("beginning", EVERY_2, since=-(10**12))
    stepped.register("four", EVERY_2, since=4)
    stepped.register("three", EVERY_2, since=3)
    post(stepped, 9)
    stepped.run()
    assert list(stepped.answers("now")) == [8]
    assert list(stepped.answers("beginning")) == [2, 4, 6, 8]
    assert list(stepped.answers("four")) == [6, 8]
    assert list(stepped.answers("three")) == [4, 6, 8]
    assert stepped.backend.query("now").start == 6


def test_a_query_over_a_stream_without_elements_starts_with_the_first(stepped: SteppedBackend) -> None:
    stepped.register("q", CLOSES)
    stepped.run()
    assert stepped.backend.query("q").start is None
    post(stepped, 7, 11)
    stepped.run()
    assert answers(stepped) == {8: ["e7"], 10: []}


def test_a_replacement_ends_the_old_query_and_starts_at_the_watermark_of_now(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1, 5)
    stepped.run()
    told = len(stepped.notices)
    stepped.register("q", EVERY_3)
    assert stepped.notices[told:] == [Gone("q", "the query was replaced", replaced=True)]
    described = stepped.backend.query("q")
    assert (described.start, described.evaluated, described.evaluations) == (4, None, 0)
    post(stepped, 12)
    stepped.run()
    assert answers(stepped) == {2: ["e1"], 6: ["e5"]}
    assert len(stepped.backend.queries()) == 1


def test_registering_says_whether_the_name_is_new(stepped: SteppedBackend) -> None:
    from protocol.grammar.parser import parse

    query = parse(EVERY_2)
    assert isinstance(query, ContinuousQuery)
    assert stepped.backend.register("q", query, standing=True) is True
    assert stepped.backend.register("q", query, standing=False) is False
    assert stepped.backend.register("q", query, standing=True) is False


def test_answers_planned_for_a_replaced_query_are_not_told_as_the_new_ones(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    old = stepped.running("q")
    stepped.register("q", EVERY_3)
    stepped.pipeline.receive([(old.registered.key, Answer(2, b'{"s":{}}'))])
    assert answers(stepped) == {}


def test_nothing_is_told_of_a_query_after_its_end(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1, 5)
    running = stepped.running("q")
    write, removers = running.writer.write, []

    def write_while_it_is_removed(answer: Answer) -> tuple[bytes, int]:
        removers.append(threading.Thread(target=stepped.backend.remove, args=("q",)))
        removers[-1].start()
        removers[-1].join(0.2)  # has to wait for what is being told
        return write(answer)

    running.writer.write = write_while_it_is_removed  # type: ignore[method-assign]  # of this one object
    stepped.run()
    removers[0].join(10)
    assert [type(notice) for notice in stepped.notices] == [Evaluation, Gone]


def test_a_removed_query_is_unknown_and_answers_no_more(tmp_path: Path, stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1)
    stepped.backend.remove("q")
    post(stepped, 5)
    stepped.run()
    assert stepped.notices == [Gone("q", "the query was removed")]
    assert not list((tmp_path / "queries").glob("q.*"))
    ask = stepped.backend
    for action in (ask.query, ask.plan, ask.remove, ask.retained_from, lambda name: list(ask.replay(name, None, 9))):
        with pytest.raises(NotFound, match="no query q"):
            action("q")


# --- streams ---------------------------------------------------------------------------------


def test_a_stream_that_a_standing_query_reads_is_not_deleted(stepped: SteppedBackend) -> None:
    stepped.register("b", EVERY_2)
    stepped.register("a", EVERY_3)
    stepped.register("live", EVERY_3, standing=False)
    with pytest.raises(Conflict, match="read by a, b: delete the queries first"):
        stepped.backend.delete_stream("s")
    assert [query.name for query in stepped.backend.queries()] == ["a", "b", "live"]
    assert [stream.name for stream in stepped.backend.streams()] == ["s"]


def test_deleting_a_stream_ends_the_live_queries_that_read_it(stepped: SteppedBackend) -> None:
    stepped.event_stream("t", EX + "t")
    stepped.register("live", EVERY_2, standing=False)
    stepped.register("other", EVERY_2.replace(f"<{EX}s>", f"<{EX}t>"))
    stepped.backend.delete_stream("s")
    assert stepped.notices == [Gone("live", "the query was removed")]
    assert [query.name for query in stepped.backend.queries()] == ["other"]
    with pytest.raises(NotFound):
        stepped.backend.stream("s")


def test_while_the_files_of_a_large_stream_are_deleted_others_are_asked(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def ask() -> None:
        asked.append([query.name for query in stepped.backend.queries()])

    def delete(_: StreamLog) -> None:
        other = threading.Thread(target=ask, daemon=True)
        other.start()
        other.join(timeout=20)

    monkeypatch.setattr(StreamLog, "delete", delete)
    stepped.event_stream("t", EX + "t")
    stepped.register("q", PUBLISHES)
    stepped.backend.delete_stream("t")
    stepped.backend.remove("q")
    assert asked == [["q"], []]


def test_a_stream_made_anew_has_nothing_of_the_old_one(stepped: SteppedBackend) -> None:
    post(stepped, 1, 50)
    stepped.backend.delete_stream("s")
    stepped.event_stream("s", EX + "s")
    stepped.register("q", EVERY_2)
    assert stepped.backend.query("q").start is None
    post(stepped, 3, 5)
    stepped.run()
    assert answers(stepped) == {4: ["e3"]}


def test_the_end_of_an_arrival_stream_leaves_in_the_log_how_far_its_clock_had_closed_windows(
    opened: Callable[..., SteppedBackend],
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s"))
    stepped.register("q", CLOSES)
    stepped.now = 1
    stepped.backend.append("s", f"<{EX}x> a <{EX}T> .".encode(), "text/turtle", None)
    stepped.now = 21
    stepped.backend._streams.tick()
    stepped.run()
    stepped.backend.end_stream("s")
    stepped.run()
    assert list(stepped.answers("q")) == list(range(2, 21, 2))
    live = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    assert list(stepped.backend.replay("q", None, END)) == live
    again = opened()
    assert list(again.backend.replay("q", None, END)) == live


# --- restarts --------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("query", [EVERY_2, NEWS])
def test_a_standing_query_goes_on_after_a_restart_and_tells_nothing_twice(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend, query: str, offset: bool
) -> None:
    stepped.register("q", query)
    stepped.register("live", query, standing=False)
    post(stepped, 1, 3, 5)
    stepped.run()
    described = stepped.backend.query("q")
    again = opened(offset=offset)
    assert [found.name for found in again.backend.queries()] == ["q"]
    found = again.backend.query("q")
    assert (found.start, found.evaluated, found.standing) == (described.start, 4, True)
    assert found.query.text == query
    again.run()
    assert again.notices == []
    post(again, 7)
    again.run()
    assert answers(stepped) == {2: ["e1"], 4: ["e3"]}
    assert answers(again) == {6: ["e5"]}


def test_a_relative_name_means_after_a_restart_the_stream_that_it_meant_before(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", EVERY_2.replace(f"<{EX}s>", "<s>"))
    assert [known.stream for known in stepped.backend.query("q").query.windows] == [f"{BASE}/streams/s"]
    stepped.event_stream("since", f"{BASE}/s")
    again = opened()
    post(again, 3, stream="since")
    post(again, 1, 3)
    again.run()
    assert answers(again) == {2: ["e1"]}


def test_a_query_that_was_replaced_or_removed_does_not_come_back(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", EVERY_2)
    stepped.register("q", EVERY_3)
    stepped.register("made live", EVERY_3)
    stepped.register("made live", EVERY_3, standing=False)
    stepped.register("gone", EVERY_2)
    stepped.backend.remove("gone")
    again = opened()
    assert [(found.name, found.query.text) for found in again.backend.queries()] == [("q", EVERY_3)]


def test_what_was_planned_but_not_told_before_a_crash_is_told_after_it(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1, 3, 5)
    again = opened(offset=False)
    again.run()
    assert answers(again) == {2: ["e1"], 4: ["e3"]}


# --- answers ---------------------------------------------------------------------------------


def test_a_failed_evaluation_is_told_and_the_query_goes_on(stepped: SteppedBackend) -> None:
    stepped.register("q", NEWS)
    key = stepped.running("q").registered.key
    one, two = b'{"s":{"type":"uri","value":"http://ex/one"}}', b'{"s":{"type":"uri","value":"http://ex/two"}}'
    stepped.pipeline.receive(
        [(key, Answer(2, one)), (key, Answer(4, error="too much")), (key, Answer(6, one + b"\n" + two))]
    )
    assert [type(notice) for notice in stepped.notices] == [Evaluation, Failed, Evaluation]
    assert answers(stepped) == {2: ["one"], 6: ["two"]}  # compared with the last that there was
    described = stepped.backend.query("q")
    assert (described.evaluated, described.evaluations, described.solutions) == (6, 2, 2)
    assert described.last_error == "too much"


def test_after_a_restart_istream_passes_over_a_failed_evaluation_too(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("q", NEWS)
    post(stepped, 1, 3, 5)
    stepped.run()
    again = opened()
    real = again.pipeline.answers

    def failing_at_4(key: str, prepared: str, instants: list[int], budget: Budget) -> Iterator[Answer]:
        return (Answer(4, error="too much") if a.instant == 4 else a for a in real(key, prepared, instants, budget))

    monkeypatch.setattr(again.pipeline, "answers", failing_at_4)
    post(again, 7)
    again.run()
    assert answers(again) == {6: ["e3", "e5"]}


def test_an_answer_that_was_out_is_not_told_again(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1, 5)
    stepped.run()
    told = list(stepped.notices)
    stepped.pipeline.offset = {}
    stepped.run()
    assert stepped.notices == told


# --- replays ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "jobs"), [(0.0, [1, 2, 4, 8, 5]), (0.4, [1] + [2] * 9 + [1]), (2.0, [1] * 20)])
def test_a_replay_of_what_may_take_long_is_many_short_jobs(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch, seconds: float, jobs: list[int]
) -> None:
    stepped.register("q", NEWS)
    post(stepped, *range(1, 42))
    stepped.run()
    told = list(stepped.backend.replay("q", None, END))
    running = stepped.backend._running.named("q")
    running.registered = running.registered.in_own_lane()
    evaluate, asked = stepped.pipeline.answers, list[int]()

    def answers(key: str, prepared: str, instants: Sequence[Instant], budget: Budget) -> Iterator[Answer]:
        asked.append(len(instants))
        return (replace(one, seconds=seconds) for one in evaluate(key, prepared, instants, budget))

    monkeypatch.setattr(stepped.pipeline, "answers", answers)
    assert list(stepped.backend.replay("q", None, END)) == told
    assert asked == jobs


def test_a_replay_gives_what_was_told_after_and_up_to_the_instants_asked_for(stepped: SteppedBackend) -> None:
    stepped.register("q", NEWS)
    post(stepped, 1, 3, 5, 7, 9)
    stepped.run()
    live = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    assert [evaluation.instant for evaluation in live] == [2, 4, 6, 8]
    for after, upto, wanted in [(None, 8, live), (2, 6, live[1:3]), (3, 7, live[1:3]), (8, 99, []), (6, 2, [])]:
        assert list(stepped.backend.replay("q", after, upto)) == wanted


@pytest.mark.parametrize("operator", ["ISTREAM", "DSTREAM"])
def test_from_before_the_start_each_answer_is_compared_with_the_one_before_wherever_a_replay_begins(
    stepped: SteppedBackend, operator: str
) -> None:
    news = NEWS.replace("ISTREAM", operator)
    stepped.register("always", news)
    post(stepped, 1, 3, 5, 7)
    stepped.register("q", news)
    assert stepped.running("q").registered.start == 6
    post(stepped, 9, 11)
    stepped.run()
    always = stepped.answers("always")
    assert list(always) == [2, 4, 6, 8, 10]
    for after in range(1, 6):
        assert stepped.replayed("q", after) == {t: data for t, data in always.items() if t > after}
    # Who begins at the start has what was told live, unless it had what was there.
    assert stepped.replayed("q", 6) == stepped.answers("q") != {t: always[t] for t in (8, 10)}
    had = list(stepped.backend.replay("q", 6, END, before_start=True))
    assert {one.instant: one.data for one in had if isinstance(one, Evaluation)} == {t: always[t] for t in (8, 10)}


def test_from_before_the_start_nothing_is_compared_with_what_is_held_no_more(stepped: SteppedBackend) -> None:
    stepped.register("q", NEWS)
    post(stepped, 1, 3, 5, 7, 9)
    stepped.run()
    replay = stepped.backend._delivery.replay
    first, *_ = replay("q", 4, END, lambda: 3, before_start=True)
    assert isinstance(first, Evaluation)
    assert first.data == stepped.answers("q")[6]
    first, *_ = replay("q", 4, END, lambda: 4, before_start=True)
    assert isinstance(first, Evaluation)
    assert first.data != stepped.answers("q")[6]


def test_answers_tell_their_streams_from_those_that_had_their_names_before(
    opened: Callable[..., SteppedBackend],
) -> None:
    stepped = opened()

    def incarnations() -> set[int]:
        """Of the query and all of its answers: those told, those replayed, and the latest."""
        stepped.run()
        told = [one for one in stepped.notices if isinstance(one, Evaluation)]
        latest = stepped.backend.latest("q")
        assert latest is not None
        assert told
        answers = [*told, *stepped.backend.replay("q", None, END), latest]
        of_answers = {one.incarnation for one in answers if isinstance(one, Evaluation)}
        return {stepped.backend.query("q").incarnation} | of_answers

    stepped.event_stream("s", EX + "s")
    stepped.register("q", EVERY_2)
    post(stepped, 1, 2, 3)
    assert incarnations() == {0}
    stepped.backend.remove("q")
    stepped.register("q", EVERY_2, since=0)
    assert incarnations() == {0}
    stepped.backend.remove("q")
    stepped.backend.delete_stream("s")
    stepped.event_stream("s", EX + "s")
    stepped.notices.clear()
    stepped.register("q", EVERY_2)
    post(stepped, 1, 2, 3)
    anew = incarnations()
    assert len(anew) == 1
    assert min(anew) > 0
    stepped = opened()
    post(stepped, 7)
    assert incarnations() == anew


def test_who_reads_on_after_an_element_of_a_stream_that_is_gone_gets_all_of_the_new_one(
    stepped: SteppedBackend,
) -> None:
    def taken(after: int, incarnation: int | None) -> tuple[int, list[type]]:
        follower = stepped.backend.follow("s", after, incarnation=incarnation)
        found = [type(one) for one in follower.take()]
        follower.close()
        return follower.incarnation, found

    post(stepped, 1, 2)
    assert taken(0, 0) == (0, [StreamElement])
    stepped.backend.delete_stream("s")
    stepped.event_stream("s", EX + "s")
    post(stepped, 3, 4, 5)
    anew, found = taken(0, 0)
    assert found == [StreamGap, *3 * [StreamElement]]
    assert anew > 0
    assert taken(0, anew) == (anew, 2 * [StreamElement])
    assert taken(-1, None) == (anew, 3 * [StreamElement])


def test_a_replay_stops_at_the_watermark(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    assert list(stepped.backend.replay("q", None, END)) == []
    post(stepped, 1, 4)
    stepped.run()
    # 4 may still get more elements, so the answer at 4 is not known yet.
    assert [evaluation.instant for evaluation in stepped.backend.replay("q", None, END)] == [2]


def test_a_long_replay_is_whole_and_in_order(stepped: SteppedBackend) -> None:
    stepped.register("q", CLOSES)
    post(stepped, 1)
    stepped.backend.advance("s", 1400)
    stepped.run()
    live = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    assert [evaluation.instant for evaluation in live] == list(range(2, 1401, 2))
    assert list(stepped.backend.replay("q", None, 1400)) == live


def test_blank_nodes_keep_their_names_in_replays_but_not_in_another_delivery(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", EVERY_2.replace("?s FROM", "?s ?o FROM"))
    body = f"_:b <{EX}p> _:b . _:b <{EX}q> _:c ."
    stepped.post("s", body, 1)
    stepped.post("s", body, 3)
    stepped.backend.advance("s", 4)
    stepped.run()
    live = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    assert list(stepped.backend.replay("q", None, END)) == live
    assert list(opened().backend.replay("q", None, END)) == live
    one, other = (
        {term["value"] for row in json.loads(e.data)["results"]["bindings"] for term in row.values()} for e in live
    )
    assert len(one) == len(other) == 2
    assert not one & other  # scoped to their messages


# --- retention -------------------------------------------------------------------------------


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new segment every few elements, so that old ones can go."""
    real = StreamLog.open

    def opened_small(
        directory: Path, settings: StreamSettings, clock: Callable[[], int], *, known: bool = False
    ) -> StreamLog:
        return real(directory, settings, clock, segment_bytes=4096, known=known)

    monkeypatch.setattr(StreamLog, "open", opened_small)


@pytest.mark.usefixtures("small_segments")
def test_nothing_is_dropped_that_a_query_has_still_to_read(opened: Callable[..., SteppedBackend]) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 40 STEP 20] WHERE {{ ?s ?p ?o }}")
    post(stepped, *range(1, 200))
    progress(stepped)
    assert stepped.backend.retained_from("q") is None
    stepped.run()
    assert answers(stepped)[180] == sorted(f"e{t}" for t in range(141, 181))
    progress(stepped)
    assert stepped.backend.retained_from("q") is not None
    post(stepped, *range(200, 203))
    stepped.run()
    assert answers(stepped)[200] == sorted(f"e{t}" for t in range(161, 201))


@pytest.mark.usefixtures("small_segments")
def test_after_retention_what_is_held_is_replayed_as_it_was_also_after_a_restart(
    opened: Callable[..., SteppedBackend],
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 4 REPORT ON_WINDOW_CLOSE] WHERE {{ ?s ?p ?o }}")
    # Gaps, so that there are windows to close between what was dropped and the first element held.
    post(stepped, *range(1, 600, 20))
    stepped.run()
    progress(stepped)
    post(stepped, *range(601, 700, 20))
    stepped.run()
    progress(stepped)
    held = stepped.backend.retained_from("q")
    assert held is not None
    live = [n for n in stepped.notices if isinstance(n, Evaluation) and n.instant > held]
    assert live
    assert list(stepped.backend.replay("q", held, END)) == live
    assert list(opened().backend.replay("q", held, END)) == live


@pytest.mark.usefixtures("small_segments")
def test_a_restart_drops_nothing_that_a_query_has_still_to_read(opened: Callable[..., SteppedBackend]) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 40 STEP 20] WHERE {{ ?s ?p ?o }}")
    post(stepped, *range(1, 100))
    stepped.run()
    again = opened()
    post(again, *range(100, 130))
    again.run()
    assert answers(again) == {t: sorted(f"e{s}" for s in range(t - 39, t + 1)) for t in (100, 120)}


def lose_progress(stepped: SteppedBackend) -> None:
    """Leave what is out to what Spark has of it, in the middle of a batch that is further."""
    layout = stepped.backend._layout
    for directory in ("commits", "offsets"):
        (layout.checkpoint / directory).mkdir(exist_ok=True)
    planned = {key: instant + 1000 for key, instant in stepped.pipeline.offset.items()}
    for batch, offset in enumerate((stepped.pipeline.offset, planned)):
        (layout.checkpoint / "offsets" / f"{batch}").write_text(f"v1\n{{}}\n{json.dumps(offset)}")
    (layout.checkpoint / "commits" / "0").write_text("v1\n{}")
    layout.progress.write_bytes(b"")


def test_what_is_known_from_the_checkpoint_alone_is_known_at_later_starts_too(
    opened: Callable[..., SteppedBackend],
) -> None:
    stepped = opened()
    stepped.event_stream("s", EX + "s")
    stepped.register("often", EVERY_2)
    stepped.register("seldom", EVERY_2.replace("RANGE 2", "RANGE 100"))
    post(stepped, *range(1, 250))
    stepped.run()
    before = {name: stepped.running(name).evaluated for name in ("often", "seldom")}
    assert before == {"often": 248, "seldom": 200}
    lose_progress(stepped)
    again = opened(offset=False)
    assert {name: again.running(name).evaluated for name in before} == before
    again.pipeline.offset = again.backend._delivery.saved_progress() or {}
    post(again, 250, 251)
    again.run()
    assert list(again.answers("often")) == [250]
    last = opened(offset=False)
    assert {name: last.running(name).evaluated for name in before} == {"often": 250, "seldom": 200}


def test_of_a_query_that_was_planned_further_than_it_is_out_the_checkpoint_says_nothing(
    opened: Callable[..., SteppedBackend],
) -> None:
    stepped = opened()
    stepped.event_stream("s", EX + "s")
    stepped.register("q", EVERY_2)
    post(stepped, *range(1, 10))
    stepped.run()
    stepped.running("q").registered = stepped.running("q").registered.in_own_lane()
    stepped.backend._query_files.keep()
    lose_progress(stepped)
    again = opened(offset=False)
    assert again.running("q").evaluated is None
    again.run()
    assert answers(again) == answers(stepped)


def test_what_arrives_after_a_crash_of_a_machine_without_a_clock_is_in_no_answer_that_was_given(
    opened: Callable[..., SteppedBackend], tmp_path: Path
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s"))
    stepped.register("q", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 1s] WHERE {{ ?s ?p ?o }}")

    def arrive(now: SteppedBackend, name: str, at: Instant) -> None:
        now.now = at
        now.backend.append("s", f"<{EX}{name}> a <{EX}T> .".encode(), "text/turtle", None)

    arrive(stepped, "before", 9_500)
    (manifest,) = tmp_path.glob("streams/*/manifest")
    on_the_disk = manifest.read_bytes()
    stepped.now = 15_500
    stepped.backend._streams.tick()
    stepped.run()
    stepped.close()
    manifest.write_bytes(on_the_disk)
    again = opened(offset=False)
    again.pipeline.offset = again.backend._delivery.saved_progress() or {}
    arrive(again, "after", 9_000)
    again.now = 20_000
    again.backend._streams.tick()
    again.run()
    assert answers(stepped) == {10_000: ["before"]}
    assert answers(again) == {11_000: ["after"]}
    assert again.replayed("q") == stepped.answers("q") | again.answers("q")


@pytest.mark.usefixtures("small_segments")
def test_what_is_done_first_at_a_start_drops_nothing_that_a_query_has_still_to_read(
    opened: Callable[..., SteppedBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.backend.follow("s/late", None).close()
    stepped.register("q", f"SELECT ?s FROM STREAM <{BASE}/streams/s/late> [RANGE 100s] WHERE {{ ?s ?p ?o }}")
    stepped.post("s", "", 100_000)
    for late in range(60):
        stepped.now += 1000
        post(stepped, late)
        progress(stepped)

    def full(*asked: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(LateElements, "copy", full)
        post(stepped, 60)
    stepped.close()
    again = SteppedBackend(stepped.backend._layout.root, clock=stepped.now)
    again.now = 110_000
    again.backend._streams.tick()
    again.run()
    assert answers(again) == {100_000: sorted(f"e{late}" for late in range(61))}
    again.close()


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("window", ["RANGE 50 STEP 20", "RANGE 20 STEP 20 OFFSET 60", "ELEMENTS 50 STEP 30"])
@pytest.mark.parametrize("operator", ["RSTREAM", "ISTREAM"])
def test_the_latest_answer_is_what_it_was_after_retention_and_a_restart(
    opened: Callable[..., SteppedBackend], window: str, operator: str
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", f"SELECT {operator} ?s FROM STREAM <{EX}s> [{window}] WHERE {{ ?s ?p ?o }}")
    for number in range(1, 150):
        post(stepped, number)
        keep_up(stepped, number)
    assert stepped.backend._streams.retained_from("s.1") is not None
    last = max(answers(stepped))
    again = opened()
    progress(again)
    post(again, 150)
    progress(again)
    latest = again.backend.latest("q")
    assert latest is not None
    assert (latest.instant, latest.data) == (last, stepped.answers("q")[last])


def create_s_and_t(stepped: SteppedBackend) -> None:
    """Of s little is kept longer than it is needed."""
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.event_stream("t", EX + "t")


def when_t_changes(operator: str = "") -> str:
    """A query of what the stream s has had lately, whenever t has something new."""
    windows = {"w": f"<{EX}s> [RANGE 50 STEP 10]", "v": f"<{EX}t> [RANGE 5 REPORT ON_CONTENT_CHANGE]"}
    clauses = " ".join(f"FROM NAMED WINDOW <{EX}{name}> ON {window}" for name, window in windows.items())
    return f"SELECT {operator} ?s {clauses} WHERE {{ WINDOW <{EX}w> {{ ?s ?p ?o }} }}"


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize(("operator", "told"), [("ISTREAM", []), ("DSTREAM", ["e5", "e6"])])
def test_an_answer_is_compared_with_the_one_before_though_retention_and_a_restart_are_between(
    opened: Callable[..., SteppedBackend], operator: str, told: list[str]
) -> None:
    stepped = opened()
    create_s_and_t(stepped)
    stepped.register("q", when_t_changes(operator))
    for number in range(1, 300):
        stepped.post("s", f"<{EX}e{number % (7 if number < 100 else 5)}> a <{EX}T> .", number)
        if number == 45:
            post(stepped, number, stream="t")
        stepped.backend.advance("t", number)
        keep_up(stepped, number)
    assert list(answers(stepped)) == [45]
    again = opened()
    progress(again)
    post(again, 310, stream="t")
    for name in ("s", "t"):
        again.backend.advance(name, 310)
    again.run()
    assert answers(again) == {310: told}


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("operator", ["RSTREAM", "ISTREAM", "DSTREAM"])
def test_what_is_compared_with_an_answer_that_is_held_no_more_is_known(
    opened: Callable[..., SteppedBackend], operator: str
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", f"SELECT {operator} ?s FROM STREAM <{EX}s> [RANGE 5] WHERE {{ ?s ?p ?o }}")
    for number in [*range(1, 100), 200, 210]:
        post(stepped, number)
        keep_up(stepped, number)
    held = stepped.backend.retained_from("q")
    assert held is not None
    instants = [instant for instant in answers(stepped) if instant > held]
    for after in (held - 1, held, held + 1, *instants, instants[-1] + 1):
        compared = operator == "RSTREAM" or after <= held or any(instant <= after for instant in instants)
        assert stepped.backend.retained_from("q", after) == (held if compared else after)
    stepped.register("young", f"SELECT {operator} ?s FROM STREAM <{EX}s> [RANGE 5] WHERE {{ ?s ?p ?o }}")
    start = stepped.backend.query("young").start
    assert start is not None
    assert start > held
    assert stepped.backend.retained_from("young", start) == held


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("since", [0, 75, 141])
def test_a_start_in_the_past_is_no_further_back_than_retention_reaches(
    opened: Callable[..., SteppedBackend], since: int
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    for number in range(1, 150):
        post(stepped, number)
        if number % 5 == 0:
            progress(stepped)
    held = stepped.backend._streams.retained_from("s.1")
    assert held is not None
    assert 90 < held < 140
    stepped.register("q", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 5] WHERE {{ ?s ?p ?o }}", since=since)
    stepped.run()
    assert stepped.backend.query("q").start == max(since, held + 4)
    assert min(answers(stepped)) > held + 4
    assert all(found == sorted(f"e{s}" for s in range(t - 4, t + 1)) for t, found in answers(stepped).items())


@pytest.mark.usefixtures("small_segments")
def test_what_a_query_begins_with_in_the_past_is_kept_while_it_is_registered(
    opened: Callable[..., SteppedBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    for number in range(1, 100):
        post(stepped, number)
    save = stepped.backend._query_files.save

    def appended_meanwhile(*what: Any) -> None:
        for number in range(100, 200):
            post(stepped, number)
        save(*what)

    monkeypatch.setattr(stepped.backend._query_files, "save", appended_meanwhile)
    stepped.register("q", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 5] WHERE {{ ?s ?p ?o }}", since=0)
    stepped.run()
    assert min(answers(stepped)) < 100
    assert all(found == sorted(f"e{s}" for s in range(t - 4, t + 1)) for t, found in answers(stepped).items())


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("query", ["SELECT", "SELECT ISTREAM"])
def test_what_retention_takes_while_it_is_replayed_is_not_answered_with_what_is_left(
    opened: Callable[..., SteppedBackend], monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", f"{query} ?s FROM STREAM <{EX}s> [RANGE 5] WHERE {{ ?s ?p ?o }}")
    for number in range(1, 100):
        post(stepped, number)
    stepped.run()
    once_more = stepped.backend._delivery._once_more

    def meanwhile(*asked: Any, **how: Any) -> Iterator[Answer]:
        for number in range(100, 200):
            post(stepped, number)
            keep_up(stepped, number)
        return once_more(*asked, **how)

    with monkeypatch.context() as patched:
        patched.setattr(stepped.backend._delivery, "_once_more", meanwhile)
        with pytest.raises(HeldNoMore):
            list(stepped.backend.replay("q", 50, 90))
    stepped.run()
    held = stepped.backend.retained_from("q")
    assert held is not None
    assert list(stepped.replayed("q", held)) == [instant for instant in answers(stepped) if instant > held]


@pytest.mark.usefixtures("small_segments")
def test_a_latest_answer_that_is_held_no_more_is_not_made_of_what_is_left(
    opened: Callable[..., SteppedBackend],
) -> None:
    stepped = opened()
    create_s_and_t(stepped)
    text = when_t_changes()
    stepped.register("q", text)
    post(stepped, 3, stream="t")
    for number in range(1, 150):
        post(stepped, number)
        stepped.backend.advance("t", number)
        keep_up(stepped, number)
    assert list(answers(stepped)) == [3]
    with pytest.raises(NotFound, match=r"the latest answer of q, that of .*003Z, is held no more"):
        stepped.backend.latest("q")


@pytest.mark.parametrize("anew", [True, False])
def test_a_stream_that_is_deleted_while_a_query_is_registered_is_not_read(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch, anew: bool
) -> None:
    compile_query = stepped.backend._preparation.compile

    def deleted_meanwhile(query: ContinuousQuery, windows: tuple[StreamWindow, ...]) -> Plan:
        stepped.backend.delete_stream("s")
        if anew:
            stepped.event_stream("s", f"{EX}s")
        return compile_query(query, windows)

    monkeypatch.setattr(stepped.backend._preparation, "compile", deleted_meanwhile)
    with nullcontext() if anew else pytest.raises(QuerySemanticError, match="there is no stream"):
        stepped.register("q", EVERY_2)
    if anew:
        post(stepped, 1, 3)
        stepped.run()
        assert answers(stepped) == {2: ["e1"]}


# --- the store -------------------------------------------------------------------------------

LABELLED = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s a <{EX}T> . ?s <{EX}label> ?l }}"


def label(name: str) -> tuple[str, str, str, str]:
    return ("", f"<{EX}{name}>", f"<{EX}label>", '"l"')


def test_a_change_of_the_store_is_seen_from_the_next_evaluation_on(stepped: SteppedBackend) -> None:
    stepped.register("q", LABELLED)
    post(stepped, 1, 3)
    stepped.run()
    stepped.graphs.set([label("e3"), label("e5")])
    stepped.backend.store_changed()
    post(stepped, 5)
    stepped.run()
    stepped.graphs.set([])
    stepped.backend.store_changed()
    post(stepped, 7)
    stepped.run()
    assert answers(stepped) == {2: [], 4: ["e3"], 6: []}


def test_a_change_of_the_store_while_a_query_is_registered_is_seen(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_query = stepped.backend._preparation.compile

    def changed_meanwhile(query: ContinuousQuery, windows: tuple[StreamWindow, ...]) -> Plan:
        plan = compile_query(query, windows)
        if not stepped.graphs.version:
            stepped.graphs.set([label("e1")])
            stepped.backend.store_changed()
        return plan

    monkeypatch.setattr(stepped.backend._preparation, "compile", changed_meanwhile)
    stepped.register("q", LABELLED)
    post(stepped, 1, 3)
    stepped.run()
    assert answers(stepped) == {2: ["e1"]}


def test_a_change_that_touches_no_querys_triples_prepares_nothing_anew(tmp_path: Path, stepped: SteppedBackend) -> None:
    stepped.graphs.set([label("e1")])
    stepped.register("q", LABELLED)
    stepped.register("without", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s a <{EX}T> }}")
    before, prepared = files(tmp_path), sorted(path.name for path in (tmp_path / "queries").iterdir())
    stepped.graphs.set([label("e1"), ("", f"<{EX}x>", f"<{EX}y>", f"<{EX}z>")])
    stepped.backend.store_changed()
    assert files(tmp_path) == before
    assert sorted(path.name for path in (tmp_path / "queries").iterdir()) == prepared


@pytest.mark.parametrize("prepared", [True, False])
def test_a_change_of_the_store_that_could_not_be_written_down_is_seen_once_it_can_be(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch, prepared: bool
) -> None:
    for name in ("q", "other"):
        stepped.register(name, LABELLED)
    post(stepped, 1)

    def full(*given: object, **named: object) -> None:
        raise OSError("No space left on device")

    stepped.graphs.set([label("e1"), label("e3")])
    with monkeypatch.context() as broken:
        broken.setattr("spark_backend.streams.catalogue.write_atomically", full)
        broken.setattr(Registry, "write_prepared" if prepared else "write", full)
        with pytest.raises(OSError, match="No space"):
            stepped.backend.store_changed()
        with pytest.raises(OSError, match="No space"):
            stepped.backend._write_again()
    stepped.backend._write_again()
    post(stepped, 3, 5)
    stepped.run()
    assert answers(stepped) == answers(stepped, "other") == {2: ["e1"], 4: ["e3"]}


def test_a_query_that_a_changed_schema_ends_is_told_so_once_that_could_be_written_down(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("q", LABELLED)

    def full(*given: object, **named: object) -> None:
        raise OSError("No space left on device")

    def refused(*given: object) -> None:
        raise UnsupportedFeature("a schema under which it is not answered")

    stepped.graphs.set([label("e1")])
    with monkeypatch.context() as broken:
        broken.setattr(stepped.backend._preparation, "compile", refused)
        with monkeypatch.context() as without_room:
            without_room.setattr("spark_backend.streams.catalogue.write_atomically", full)
            with pytest.raises(OSError, match="No space"):
                stepped.backend.store_changed()
        assert (stepped.backend.query("q").state, stepped.notices) == ("running", [])
        stepped.backend._write_again()
    assert stepped.backend.query("q").state == "failed"
    assert [type(one) for one in stepped.notices] == [Ended]


def test_after_a_restart_the_store_is_read_as_it_is_then(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", LABELLED)
    post(stepped, 1)
    again = opened(Graphs([label("e1")]))
    post(again, 5)
    again.run()
    assert answers(again) == {2: ["e1"]}


OWN_GRAPHS = f"""SELECT ?s FROM <{EX}g2> FROM STREAM <{EX}s> [RANGE 2]
WHERE {{ ?s a <{EX}T> OPTIONAL {{ ?s <{EX}label> ?l }} OPTIONAL {{ GRAPH ?g {{ ?s <{EX}label> ?n }} }} """


@pytest.mark.parametrize(
    ("requested", "default", "named"),
    [
        (NONE_REQUESTED, ["e2"], []),
        (RequestedGraphs((EX + "g1",)), ["e1"], []),
        (RequestedGraphs((), (EX + "g1",)), [], ["e1"]),
        (RequestedGraphs((EX + "g1", EX + "g2"), (EX + "g3",)), ["e1", "e2"], ["e3"]),
    ],
)
def test_requested_graphs_are_the_static_dataset_also_after_a_restart_and_in_replays(
    opened: Callable[..., SteppedBackend], requested: RequestedGraphs, default: list[str], named: list[str]
) -> None:
    labels = [(f"<{EX}g{n}>", f"<{EX}e{n}>", f"<{EX}label>", '"l"') for n in (1, 2, 3)]
    everywhere = ("", f"<{EX}e3>", f"<{EX}label>", '"in the default graph, which no clause names"')
    stepped = opened(Graphs([*labels, everywhere]))
    stepped.event_stream("s", EX + "s")
    stepped.register("default", OWN_GRAPHS + "FILTER(BOUND(?l)) }", requested=requested)
    stepped.register("named", OWN_GRAPHS + "FILTER(BOUND(?n)) }", requested=requested)
    for start in (3, 13):
        for n in (1, 2, 3):
            stepped.post("s", f"<{EX}e{n}> a <{EX}T> .", start)
        post(stepped, start + 2)
        stepped.run()
        for name, expected in (("default", default), ("named", named)):
            assert answers(stepped, name)[start + 1] == expected
            assert stepped.replayed(name, start, start + 1) == {start + 1: stepped.answers(name)[start + 1]}
        stepped = opened()


# --- progress --------------------------------------------------------------------------------


def test_progress_is_told_when_the_watermark_moves_and_all_up_to_it_is_out(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    assert progress(stepped) == []
    post(stepped, 1)
    assert progress(stepped) == [Progress("q", 0, 0)]
    assert progress(stepped) == []
    post(stepped, 5)
    assert progress(stepped) == []  # 2 is due
    stepped.run()
    assert progress(stepped) == [Progress("q", 4, 4)]
    assert progress(stepped) == []
    stepped.backend.advance("s", 7)
    stepped.run()
    assert progress(stepped) == [Progress("q", 7, 7)]


def test_a_query_ends_when_all_its_streams_have_and_every_evaluation_is_out(stepped: SteppedBackend) -> None:
    stepped.event_stream("t", EX + "t")
    stepped.register("q", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] FROM STREAM <{EX}t> [RANGE 2] WHERE {{ ?s ?p ?o }}")
    post(stepped, 1)
    post(stepped, 3, stream="t")
    stepped.backend.end_stream("s")
    stepped.run()
    assert not any(isinstance(notice, Ended) for notice in progress(stepped))
    stepped.backend.end_stream("t")
    assert not any(isinstance(notice, Ended) for notice in progress(stepped))
    stepped.run()
    assert answers(stepped) == {2: ["e1"], 4: ["e3"]}
    assert progress(stepped) == [Ended("q", "all streams of the query have ended")]
    assert progress(stepped) == []
    assert stepped.backend.query("q").state == "ended"
    assert [e.instant for e in stepped.backend.replay("q", None, END)] == [2, 4]


def test_a_query_over_streams_that_have_ended_already_ends_at_once_unless_it_looks_back(
    stepped: SteppedBackend,
) -> None:
    post(stepped, 1)
    stepped.backend.end_stream("s")
    stepped.register("late", EVERY_2)
    stepped.register("back", EVERY_2, since=0)
    stepped.run()
    assert answers(stepped, "late") == {}
    assert answers(stepped, "back") == {2: ["e1"]}
    assert {notice.query for notice in progress(stepped) if isinstance(notice, Ended)} == {"late", "back"}


def test_a_stream_that_ends_without_an_element_ends_its_queries(stepped: SteppedBackend) -> None:
    stepped.register("q", CLOSES)
    stepped.backend.end_stream("s")
    stepped.run()
    assert answers(stepped) == {}
    assert progress(stepped) == [Ended("q", "all streams of the query have ended")]


def test_a_description_says_how_far_the_query_is(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    described = stepped.backend.query("q")
    assert (described.start, described.evaluated, described.watermark, described.state) == (None, None, None, "running")
    post(stepped, 1, 2, 5)
    stepped.run()
    described = stepped.backend.query("q")
    assert (described.evaluated, described.watermark, described.evaluations, described.solutions) == (2, 4, 1, 2)
    stepped.backend.end_stream("s")
    assert stepped.backend.query("q").watermark is None
    assert stepped.backend.health().state == "running"
    assert f"<{EX}s>" in stepped.backend.plan("q")


@pytest.mark.parametrize("before", [(), (1, 3)])
def test_what_is_due_of_a_stream_that_has_ended_is_behind_by_the_time_to_the_last_of_it(
    stepped: SteppedBackend, before: tuple[int, ...]
) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, *before)
    stepped.run()
    post(stepped, 5, 13)
    stepped.backend.end_stream("s")
    progress(stepped)
    described = stepped.backend.query("q")
    assert described.evaluated == (2 if before else None)
    assert described.behind == 14 - (2 if before else 6)
    stepped.run()
    progress(stepped)
    assert stepped.backend.query("q").behind == 0


class SlowGraphs(Graphs):
    """Graphs that do something of the test's before they answer."""

    asked: Callable[[], object] | None = None

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterator[Quad]:
        if self.asked is not None:
            self.asked()
        return super().quads(subject, predicate, object, graphs)


def test_while_a_plan_waits_for_the_store_others_are_described(opened: Callable[..., SteppedBackend]) -> None:
    graphs = SlowGraphs([label("e1")])
    stepped = opened(graphs)
    stepped.event_stream("s", EX + "s")
    stepped.register("q", LABELLED)
    graphs.version += 1
    others: list[bool] = []

    def describe() -> None:
        thread = threading.Thread(target=lambda: stepped.backend.query("q"), daemon=True)
        thread.start()
        thread.join(timeout=10)
        others.append(not thread.is_alive())

    graphs.asked = describe
    stepped.backend.plan("q")
    assert others
    assert all(others)


def test_while_it_is_found_what_a_new_query_reads_of_a_store_that_changes_others_are_described(
    opened: Callable[..., SteppedBackend],
) -> None:
    def name(element: str) -> Quad:
        g, s, p, o = label(element)
        return g, s, p.replace("label", "name"), o

    graphs = SlowGraphs([label("e1"), name("e1")])
    stepped = opened(graphs)
    stepped.event_stream("s", EX + "s")
    stepped.register("q", LABELLED)
    others: list[bool] = []
    changes: list[threading.Thread] = []

    def change_and_describe() -> None:
        if not changes:
            # It is read when the new query has found what it reads.
            graphs.set([label("e1"), label("e3"), name("e3")])
            changes.append(threading.Thread(target=stepped.backend.store_changed, daemon=True))
            changes[0].start()
        described = threading.Thread(target=lambda: stepped.backend.query("q"), daemon=True)
        described.start()
        described.join(timeout=10)
        others.append(not described.is_alive())

    graphs.asked = change_and_describe
    stepped.register("new", LABELLED.replace("label", "name"))
    graphs.asked = None
    changes[0].join(timeout=60)
    assert len(others) > 1
    assert all(others)
    post(stepped, 3, 5)
    stepped.run()
    assert answers(stepped) == answers(stepped, "new") == {4: ["e3"]}


# --- windows in documents --------------------------------------------------------------------


def test_a_named_window_keeps_its_name_in_documents_whatever_stands_before_it(stepped: SteppedBackend) -> None:
    stepped.register(
        "q",
        f"SELECT ?s FROM STREAM <{EX}s> [RANGE 6 STEP 2] FROM NAMED STREAM <{EX}s> [RANGE 2] "
        f"FROM STREAM <{EX}s> [RANGE 4 STEP 2] WHERE {{ ?s ?p ?o }}",
    )
    post(stepped, 7, 9)
    stepped.run()
    assert json.loads(stepped.answers("q")[8])["evaluation"]["windows"] == {
        EX + "s#": ["1970-01-01T00:00:00.002Z", "1970-01-01T00:00:00.008Z"],
        EX + "s": ["1970-01-01T00:00:00.006Z", "1970-01-01T00:00:00.008Z"],
        EX + "s##": ["1970-01-01T00:00:00.004Z", "1970-01-01T00:00:00.008Z"],
    }


PUBLISHES = f"REGISTER STREAM out AS CONSTRUCT {{ ?s a <{EX}U> }} FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s ?p ?o }}"


@pytest.mark.parametrize(
    "unwritable", ["queries/.registry.json.new", ".catalogue.json.new", ".catalogue.copy.json.new"]
)
def test_a_query_that_could_not_be_written_down_is_not_there_and_one_that_could_not_be_removed_is(
    unwritable: str, opened: Callable[..., SteppedBackend], stepped: SteppedBackend, tmp_path: Path
) -> None:
    stepped.register("kept", EVERY_2)
    stepped.register("replaced", EVERY_2)

    def kept() -> tuple[object, ...]:
        catalogue = read_catalogue(tmp_path / "catalogue.json")
        return catalogue.streams, catalogue.queries, (tmp_path / "queries" / "registry.json").read_bytes()

    before = kept()
    # It cannot be written to.
    (tmp_path / unwritable).mkdir()
    for name, text in (("new", EVERY_3), ("replaced", EVERY_3), ("out", PUBLISHES)):
        with pytest.raises(OSError, match="directory"):
            stepped.register(name, text)
    with pytest.raises(OSError, match="directory"):
        stepped.backend.remove("kept")
    described = {query.name: query.query.text for query in stepped.backend.queries()}
    assert described == {"kept": EVERY_2, "replaced": EVERY_2}
    assert kept() == before
    (tmp_path / unwritable).rmdir()
    post(stepped, 1, 3, 5)
    stepped.run()
    assert set(stepped.answers("replaced")) == set(stepped.answers("kept")) == {2, 4}
    stepped = opened()
    assert {query.name: query.query.text for query in stepped.backend.queries()} == described
    stepped.register("out", PUBLISHES)
    stepped.backend.remove("kept")
    assert {query.name for query in stepped.backend.queries()} == {"out", "replaced"}


@pytest.mark.parametrize(
    ("asked", "lowered"),
    [
        (NO_LIMITS, NO_LIMITS),
        (EvaluationLimits(99_999.0, 10**14), NO_LIMITS),
        (EvaluationLimits(Budget().seconds, Budget().memory), NO_LIMITS),
        (EvaluationLimits(2.5, 10**14), EvaluationLimits(seconds=2.5)),
        (EvaluationLimits(99_999.0, 2**27), EvaluationLimits(memory=2**27)),
    ],
)
def test_of_what_was_asked_for_only_what_is_less_than_the_settings_is_told(
    opened: Callable[..., SteppedBackend], asked: EvaluationLimits, lowered: EvaluationLimits
) -> None:
    stepped = opened()
    stepped.event_stream("s", EX + "s")
    stepped.register("q", EVERY_2, limits=asked)
    for again in (stepped, opened()):
        description = again.backend.query("q")
        # The very same text with the very same limits is still to be recognised.
        assert (description.limits, description.lowered) == (asked, lowered)


def test_what_an_evaluator_that_was_killed_left_behind_is_gone_at_the_end(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    left = spill_of(Layout(tmp_path), 2**30)  # the number of no process
    left.mkdir(parents=True)
    stepped.close()
    assert not left.exists()


def test_health_names_the_queries_that_are_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    for name in ("slow", "slower", "light"):
        stepped.register(name, "SELECT * FROM STREAM <http://ex/s> [RANGE 10s] WHERE { ?s ?p ?o }")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for name, seconds in (("slow", 12), ("slower", 70), ("light", 2)):
        stepped.running(name).reached.append((now - seconds, 0))
    stepped.backend._warnings.look()
    (warning,) = stepped.backend.health().warnings
    assert warning.endswith("overdue: 2, for longest slower for 70 s (lane common), slow for 12 s (lane common)")
    for name in ("slow", "slower"):
        stepped.running(name).reached.clear()
    stepped.backend._warnings.look()
    assert not stepped.backend.health().warnings
    stepped.close()


def same(term: object) -> object:
    return term


def test_a_query_whose_function_is_gone_is_kept_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    functions = PythonFunctions.of({"http://ex/same": same})
    first = SteppedBackend(tmp_path, functions=functions)
    first.event_stream("s", "http://ex/s")
    first.register("q", "SELECT (<http://ex/same>(?s) AS ?t) FROM STREAM <http://ex/s> [RANGE 2] { ?s ?p ?o }")
    assert first.backend.dormant() == frozenset()
    first.close()
    without = SteppedBackend(tmp_path)
    assert without.backend.dormant() == {"q"}
    assert without.backend.queries() == []
    (warning,) = warnings_of(without)
    assert warning.startswith("the standing query q cannot be evaluated: ")
    without.close()
    again = SteppedBackend(tmp_path, functions=functions)
    assert again.backend.dormant() == frozenset()
    assert again.backend.query("q").standing
    again.close()


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize(
    ("operator", "window"),
    [
        pytest.param("ISTREAM", "RANGE 20 STEP 10", marks=pytest.mark.slow),
        ("RSTREAM", "ELEMENTS 9 STEP 10 PARTITION BY OBJECT"),
        pytest.param("ISTREAM", "LANDMARK STEP 10", marks=pytest.mark.slow),
    ],
)
def test_a_query_that_could_not_be_evaluated_for_a_while_goes_on_where_it_was_over_all_there_was(
    operator: str, window: str, tmp_path: Path
) -> None:
    function = PythonFunctions.of({"http://ex/same": same})
    text = f"SELECT {operator} (<http://ex/same>(?s) AS ?t) FROM STREAM <{EX}s> [{window}] WHERE {{ ?s ?p ?o }}"

    def answered(name: str, functions: Sequence[PythonFunctions]) -> tuple[list[Instant], dict[Instant, bytes]]:
        """The instants told, each in each start, and the answers."""
        instants, documents = list[Instant](), dict[Instant, bytes]()
        for start, there in enumerate(functions):
            stepped = SteppedBackend(tmp_path / name, functions=there)
            if not start:
                stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
                stepped.register("q", text)
            for begin in range(1 + 120 * start, 120 * (start + 1), 40):
                post(stepped, *range(begin, begin + 40))
                stepped.run()
                progress(stepped)
            instants += stepped.answers("q")
            documents |= stepped.answers("q")
            if there is NO_FUNCTIONS:
                with pytest.raises(Conflict, match="read by q"):
                    stepped.backend.delete_stream("s")
            stepped.close()
        return instants, documents

    instants, documents = answered("paused", [function, NO_FUNCTIONS, function])
    assert (instants, documents) == answered("throughout", [function, function, function])
    assert len(instants) == len(documents) > 30


@pytest.mark.parametrize("name", ["out", f"<{EX}out>", "<out>"])
def test_a_query_says_the_same_wherever_the_endpoint_listens(name: str, tmp_path: Path) -> None:
    text = (
        f"REGISTER STREAM {name} AS CONSTRUCT {{ ?s <p> ?t }} FROM STREAM <{EX}s> [RANGE 2] "
        "WHERE { ?s ?p ?o BIND(IRI('t') AS ?t) }"
    )
    first = SteppedBackend(tmp_path, base="http://here.example")
    first.event_stream("s", EX + "s")
    first.register("q", text, base="http://here.example/sparql")
    post(first, 1, 3)
    first.run()
    first.close()
    again = SteppedBackend(tmp_path, base="http://there.example")
    assert again.backend.dormant() == frozenset()
    post(again, 5)
    again.run()
    told = first.answers("q") | again.answers("q")
    assert told == {t: f"<{EX}e{t - 1}> <http://here.example/p> <http://here.example/t> .\n".encode() for t in (2, 4)}
    again.close()


def test_an_output_whose_iri_an_earlier_version_did_not_keep_stops_no_other(tmp_path: Path) -> None:
    first = SteppedBackend(tmp_path, base="http://here.example")
    first.event_stream("s", EX + "s")
    first.register("q", PUBLISHES.replace("STREAM out", "STREAM <out>"), base="http://here.example/sparql")
    first.register("other", f"SELECT * FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s ?p ?o }}")
    first.close()
    catalogue = read_catalogue(tmp_path / "catalogue.json")
    catalogue.queries = {name: replace(entry, base=None) for name, entry in catalogue.queries.items()}
    catalogue.save()
    again = SteppedBackend(tmp_path, base="http://there.example")
    assert again.backend.dormant() == {"q"}
    assert [query.name for query in again.backend.queries()] == ["other"]
    (warning,) = warnings_of(again)
    assert "the output out has the IRI http://here.example/out" in warning
    again.close()


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_query_whose_function_is_gone_can_be_removed_and_replaced(tmp_path: Path, how: str) -> None:
    first = SteppedBackend(tmp_path, functions=PythonFunctions.of({"http://ex/same": same}))
    first.event_stream("s", "http://ex/s")
    first.register(
        "q",
        "REGISTER STREAM out AS CONSTRUCT { ?s ?p ?f } FROM STREAM <http://ex/s> [RANGE 2] "
        "WHERE { ?s ?p ?o BIND(<http://ex/same>(?o) AS ?f) }",
    )
    first.close()
    without = SteppedBackend(tmp_path)
    assert without.backend.dormant() == {"q"}

    def end() -> None:
        if how == "removed":
            without.backend.remove("q")
        else:
            without.register("q", "SELECT * FROM STREAM <http://ex/s> [RANGE 2] WHERE { ?s ?p ?o }")

    (output,) = {stream.settings.iri for stream in without.backend.streams()} - {"http://ex/s"}
    without.register("reader", f"SELECT * FROM STREAM <{output}> [RANGE 2] WHERE {{ ?s ?p ?o }}")
    with pytest.raises(Conflict, match="is read by reader"):
        end()
    without.backend.remove("reader")
    end()
    assert without.backend.dormant() == frozenset()
    assert warnings_of(without) == ()
    left = [] if how == "removed" else ["q"]
    assert [stream.name for stream in without.backend.streams()] == ["s"]
    assert [query.name for query in without.backend.queries()] == left
    without.close()
    again = SteppedBackend(tmp_path)
    assert again.backend.dormant() == frozenset()
    assert [query.name for query in again.backend.queries()] == left
    again.close()


def warnings_of(stepped: SteppedBackend) -> tuple[str, ...]:
    stepped.backend._warnings.look()
    return tuple(stepped.backend.health().warnings)


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("what", ["cancel", "records", "prepared", "retain"])
def test_a_query_that_is_over_is_so_whatever_cannot_be_done_after_it(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch, what: str, replaced: bool
) -> None:
    def fail(*given: object) -> None:
        if what == "retain" and given:
            return  # before the query is registered
        # Of Py4J's errors, where Java has just ended, none is one of the system.
        raise RuntimeError("Java is gone") if what == "cancel" else OSError(5, "Input/output error")

    stepped.register("q", PUBLISHES)
    backend = stepped.backend
    place = {
        "cancel": (backend._pipeline, "cancel"),
        "records": (backend._records, "forget"),
        "prepared": (Registry, "remove_prepared"),
        "retain": (backend._progress, "retain"),
    }[what]
    with monkeypatch.context() as broken:
        broken.setattr(*place, fail)
        if replaced:
            stepped.register("q", LABELLED)
        else:
            backend.remove("q")
    assert [type(one) for one in stepped.notices] == [Gone]
    assert [one.name for one in backend.streams()] == ["s"]
    assert [one.name for one in backend.queries()] == (["q"] if replaced else [])
    stepped.register("q", PUBLISHES)
    post(stepped, 1, 3)
    stepped.run()
    assert list(stepped.answers("q")) == [2]


@pytest.mark.parametrize("done", [0, 1])
def test_a_stream_that_was_refused_is_not_there_after_a_crash(
    opened: Callable[..., SteppedBackend],
    stepped: SteppedBackend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    done: int,
) -> None:
    real, replaced = os.replace, list[Path]()

    def failing(one: Path, other: Path) -> None:
        if len(replaced) == done:
            raise OSError(5, "Input/output error")
        replaced.append(other)
        real(one, other)

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", failing)
        with pytest.raises(OSError, match="Input/output error"):
            stepped.event_stream("t", EX + "t")
        with pytest.raises(OSError, match="Input/output error"):
            stepped.backend._write_again()
    stepped.backend._write_again()
    assert set(read_catalogue(tmp_path / "catalogue.json").streams) == {"s"}
    assert [one.name for one in opened().backend.streams()] == ["s"]
