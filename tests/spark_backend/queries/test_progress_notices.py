"""How far queries are, and when they end, as listeners are told and descriptions say."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from protocol.evaluations import Ended, Gone, Progress
from spark_backend.registry import Registry
from tests.spark_backend.engine_side import CLOSES, END, EVERY_2, EX, LABELLED, PUBLISHES, answers, post, progress
from tests.spark_backend.stepped_backend import SteppedBackend


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
