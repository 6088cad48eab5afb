"""The engine over the real log, clock and evaluator, without Spark: its start and end, streams, documents."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import Conflict, NotFound
from protocol.evaluations import Evaluation, Gone
from protocol.streams import StreamSettings
from spark_backend.evaluation.spill import spill_of
from spark_backend.layout import Layout
from spark_backend.log.writer import StreamLog
from spark_backend.registry import Registry
from spark_backend.streams.catalogue import read_catalogue
from tests.spark_backend.engine_side import CLOSES, END, EVERY_2, EVERY_3, EX, PUBLISHES, answers, post
from tests.spark_backend.stepped_backend import SteppedBackend, SteppedPipeline


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


def test_what_an_evaluator_that_was_killed_left_behind_is_gone_at_the_end(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    left = spill_of(Layout(tmp_path), 2**30)  # the number of no process
    left.mkdir(parents=True)
    stepped.close()
    assert not left.exists()


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
