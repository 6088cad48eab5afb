"""Answers are told once each, whatever cannot be written, or made, when they are taken."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.errors import Unavailable
from protocol.evaluations import Evaluation, Failed
from spark_backend.answers.answer import Answer
from spark_backend.registry import Registry
from tests.spark_backend.stepped_backend import SteppedBackend

ALL = "SELECT ?o FROM STREAM <http://ex/s> [RANGE 1 STEP 1] WHERE { ?s ?p ?o }"
NEWS = ALL.replace("SELECT", "SELECT ISTREAM")


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    yield stepped
    stepped.close()


def post(stepped: SteppedBackend, *times: int) -> None:
    for time in times:
        stepped.post("s", f"<http://ex/a> <http://ex/v> {time} .", time)


def told(stepped: SteppedBackend, name: str) -> list[int]:
    return [one.instant for one in stepped.notices if isinstance(one, Evaluation) and one.query == name]


def full(*given: object, **named: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_answers_are_told_though_the_progress_cannot_be_written_and_are_the_same_after_a_crash(
    stepped: SteppedBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("all", ALL), ("news", NEWS)):
        stepped.register(name, text)
    post(stepped, 1, 2)
    stepped.run()
    post(stepped, 3)
    with monkeypatch.context() as broken:
        broken.setattr("spark_backend.queries.delivery.write_progress", full)
        with pytest.raises(OSError, match="No space"):
            stepped.run()
    before = {name: stepped.answers(name) for name in ("all", "news")}
    assert told(stepped, "all") == told(stepped, "news") == [1, 2]
    stepped.close()
    again = SteppedBackend(tmp_path)
    try:
        again.run()
        assert {name: again.answers(name) for name in before} == {name: {2: before[name][2]} for name in before}
    finally:
        again.close()


def test_answers_that_were_told_in_a_batch_that_failed_are_not_told_again_by_the_next(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("all", ALL)
    post(stepped, 1, 2)
    with monkeypatch.context() as broken:
        broken.setattr("spark_backend.queries.delivery.write_progress", full)
        with pytest.raises(OSError, match="No space"):
            stepped.run()
    post(stepped, 3)
    stepped.run()
    assert told(stepped, "all") == [1, 2]


class Panicking(BaseException):
    """As pyoxigraph's is."""


@pytest.mark.parametrize("failure", [Unavailable("Spark is starting"), Panicking("out of bounds")])
def test_an_answer_whose_previous_one_cannot_be_had_comes_again_and_keeps_no_other_from_being_told(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    for name, text in (("before", ALL), ("news", NEWS), ("others", ALL)):
        stepped.register(name, text)
    post(stepped, 1, 2)
    stepped.run()
    stepped.running("news").writer.previous = None  # as after a restart
    post(stepped, 3)

    def gone(*given: object) -> None:
        raise failure

    with monkeypatch.context() as broken:
        broken.setattr(stepped.pipeline, "answers", gone)
        with pytest.raises(type(failure)):
            stepped.run()
    assert [told(stepped, name) for name in ("before", "news", "others")] == [[1, 2], [1], [1, 2]]
    stepped.run()
    assert [told(stepped, name) for name in ("before", "news", "others")] == [[1, 2], [1, 2], [1, 2]]


def test_answers_are_told_though_it_cannot_be_written_that_a_query_changes_lanes(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("old", ALL)
    post(stepped, 1, 2)
    stepped.run()
    stepped.register("new", ALL)
    post(stepped, 3)
    with monkeypatch.context() as broken:
        broken.setattr(Registry, "write", full)
        with pytest.raises(OSError, match="No space"):
            stepped.run()
    stepped.run()
    assert (told(stepped, "old"), told(stepped, "new")) == ([1, 2], [2])


def test_what_could_not_be_written_of_a_query_is_written_again(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("old", ALL)
    post(stepped, 1, 2)
    stepped.run()
    stepped.register("new", ALL)
    post(stepped, 3)
    with monkeypatch.context() as broken:
        broken.setattr(Registry, "write", full)
        with pytest.raises(OSError, match="No space"):
            stepped.run()
    stepped.backend._write_again()
    post(stepped, 4, 5)
    stepped.run()
    assert (told(stepped, "old"), told(stepped, "new")) == ([1, 2, 3, 4], [2, 3, 4])


def test_no_position_is_kept_that_is_beyond_a_move_that_is_not(
    stepped: SteppedBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("old", ALL)
    post(stepped, 1, 2)
    stepped.run()
    stepped.register("new", ALL)
    post(stepped, 3)
    with monkeypatch.context() as broken:
        broken.setattr(Registry, "write", full)
        broken.setattr("spark_backend.streams.catalogue.write_atomically", full)
        for time in (4, 5):
            with pytest.raises(OSError, match="No space"):
                stepped.run()
            post(stepped, time)
    assert told(stepped, "old") == [1, 2, 3]
    # As it was before the new query was to have another lane.
    assert stepped.backend._delivery.saved_progress() == {stepped.running("old").registered.key: 2}


def test_a_registration_that_could_not_be_written_down_keeps_nothing_from_being_evaluated(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("old", ALL)
    post(stepped, 1, 2)
    with monkeypatch.context() as broken:
        broken.setattr("spark_backend.streams.catalogue.write_atomically", full)
        with pytest.raises(OSError, match="No space"):
            stepped.register("new", ALL)
        stepped.run()
    assert told(stepped, "old") == [1]
    stepped.backend._write_again()
    assert [query.name for query in stepped.backend.queries()] == ["old"]


def test_a_query_that_fails_at_each_instant_is_logged_once(
    stepped: SteppedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    stepped.register("all", ALL)
    running = stepped.backend._running.named("all")
    failures = [(running.registered.key, Answer(instant, error="its log is damaged")) for instant in (1, 2, 3)]
    stepped.backend._delivery.receive(failures)
    assert [one.instant for one in stepped.notices if isinstance(one, Failed)] == [1, 2, 3]
    stepped.backend._delivery.receive([(running.registered.key, Answer(4, error="it is another way"))])
    assert [record.getMessage() for record in caplog.records] == [
        "query all at 1970-01-01T00:00:00.001Z: its log is damaged",
        "query all at 1970-01-01T00:00:00.004Z: it is another way",
    ]
