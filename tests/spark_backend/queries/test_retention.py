"""What is kept of streams for the queries that read them, and what is said of what is held no more."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import HeldNoMore, NotFound, QuerySemanticError
from protocol.evaluations import Evaluation
from protocol.language.model import ContinuousQuery
from protocol.streams import StreamSettings, TimeKind
from protocol.time import Instant
from protocol.windows.spec import StreamWindow
from spark_backend.answers.answer import Answer
from spark_backend.compiler.plan import Plan
from spark_backend.streams.late import LateElements
from tests.spark_backend.engine_side import END, EVERY_2, EX, answers, post, progress
from tests.spark_backend.stepped_backend import BASE, SteppedBackend


def keep_up(stepped: SteppedBackend, number: int) -> None:
    """With every fifth element evaluate what is due, and have retention take what it may."""
    if number % 5 == 0:
        stepped.run()
        progress(stepped)


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


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("window", ["RANGE 50 STEP 20", "RANGE 20 STEP 20"])
@pytest.mark.parametrize("select", ["DSTREAM ?s", "ISTREAM (COUNT(?s) AS ?n)"])
def test_what_the_latest_answer_was_compared_with_is_kept_with_it(
    opened: Callable[..., SteppedBackend], window: str, select: str
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", f"SELECT {select} FROM STREAM <{EX}s> [{window}] WHERE {{ ?s ?p ?o }}")
    for number in range(1, 158):
        post(stepped, number)
        keep_up(stepped, number)
    again = opened()
    progress(again)
    post(again, 158)
    progress(again)
    assert again.backend._streams.retained_from("s.1") is not None
    latest = again.backend.latest("q")
    assert latest is not None
    assert (latest.instant, latest.data) == (140, stepped.answers("q")[140])


@pytest.mark.usefixtures("small_segments")
def test_a_first_answer_is_the_latest_though_what_was_before_the_query_is_held_no_more(
    opened: Callable[..., SteppedBackend],
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=25))
    post(stepped, *range(1, 100))
    stepped.register("q", f"SELECT ISTREAM ?s FROM STREAM <{EX}s> [RANGE 40 STEP 40] WHERE {{ ?s ?p ?o }}")
    post(stepped, *range(100, 130))
    stepped.run()
    progress(stepped)
    held, start = stepped.backend.retained_from("q"), stepped.backend.query("q").start
    assert held is not None
    assert start is not None
    assert start < held < 120
    latest = stepped.backend.latest("q")
    assert latest is not None
    assert (latest.instant, latest.data) == (120, stepped.answers("q")[120])


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


@pytest.mark.usefixtures("small_segments")
def test_a_latest_answer_is_made_again_where_the_query_and_retention_have_gone_on_meanwhile(
    opened: Callable[..., SteppedBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped = opened()
    stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", EVERY_2)
    post(stepped, *range(1, 50))
    stepped.run()
    progress(stepped)
    once_more = stepped.backend._delivery._once_more

    def meanwhile(*asked: Any, **how: Any) -> Iterator[Answer]:
        monkeypatch.setattr(stepped.backend._delivery, "_once_more", once_more)
        for number in range(50, 152):
            post(stepped, number)
            keep_up(stepped, number)
        return once_more(*asked, **how)

    monkeypatch.setattr(stepped.backend._delivery, "_once_more", meanwhile)
    latest = stepped.backend.latest("q")
    assert latest is not None
    assert (latest.instant, latest.data) == max(stepped.answers("q").items())


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
