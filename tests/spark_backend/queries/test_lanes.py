"""Lanes: what was deferred is evaluated in a lane of its own, nothing skipped or twice, and goes back when cheap."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from protocol.evaluations import Ended, Evaluation, Failed
from protocol.processes.durable_files import write_atomically
from spark_backend.answers.answer import Answer
from spark_backend.budget import Lane
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.step import EvaluationError, Step, Stopped
from spark_backend.files import document, read_document
from spark_backend.layout import Layout
from tests.spark_backend.stepped_backend import SteppedBackend

QUERY = "SELECT ?v FROM STREAM <http://ex/s> [RANGE 1 STEP 1] WHERE { ?s <http://ex/v> ?v }"


class Heavy(Evaluator):
    """An evaluator to which the queries of some names are too much; what the tables of others take is ``costly``."""

    def __init__(self, root: Path, heavy: set[str], costly: set[str]) -> None:
        super().__init__(root)
        self._heavy = heavy
        self._costly = costly

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        if any(key.partition(".")[0] in self._heavy for key, _ in step.members):
            raise Stopped("it was stopped after 30 s")
        return [
            (key, replace(answer, processor=0.5) if key.partition(".")[0] in self._costly else answer)
            for key, answer in super().run(step)
        ]


class Lanes:
    """A backend whose queries are heavy in one lane or the other as the test says."""

    def __init__(self, directory: Path) -> None:
        self.heavy: dict[Lane, set[str]] = {lane: set() for lane in Lane}
        self.costly: set[str] = set()
        self._directory = directory
        self.stepped = self.open()
        self.stepped.event_stream("s", "http://ex/s")

    def open(self) -> SteppedBackend:
        def evaluators(layout: Layout) -> dict[Lane, Heavy]:
            return {lane: Heavy(layout.root, heavy, self.costly) for lane, heavy in self.heavy.items()}

        self.stepped = SteppedBackend(self._directory, evaluators=evaluators)
        return self.stepped

    def post(self, *times: int) -> None:
        for time in times:
            self.stepped.post("s", f"<http://ex/a> <http://ex/v> {time} .", time)

    def lane(self, name: str) -> Lane:
        return self.stepped.running(name).registered.lane

    def told(self, name: str) -> list[int]:
        return [one.instant for one in self.stepped.notices if isinstance(one, Evaluation) and one.query == name]


@pytest.fixture
def lanes(tmp_path: Path) -> Iterator[Lanes]:
    made = Lanes(tmp_path)
    yield made
    made.stepped.close()


def _step_all(stepped: SteppedBackend) -> None:
    while stepped.pipeline.step():
        pass


def test_what_is_heavy_leaves_the_common_lane_and_the_light_one_has_its_answers_without_a_turn(lanes: Lanes) -> None:
    for name in ("heavy", "light"):
        lanes.stepped.register(name, QUERY)
    lanes.post(1, 2)
    lanes.stepped.run()
    lanes.heavy[Lane.COMMON].add("heavy")
    lanes.post(3, 4, 5)
    _step_all(lanes.stepped)
    assert lanes.told("light") == [1, 2, 3, 4]
    assert (lanes.told("heavy"), lanes.lane("heavy")) == ([1], Lane.OWN)
    lanes.post(6)
    _step_all(lanes.stepped)
    assert not any(key.startswith("heavy") for key, *_ in lanes.stepped.pipeline.batches[-1]), "it is planned no more"
    lanes.stepped.run()
    assert lanes.told("heavy") == lanes.told("light") == [1, 2, 3, 4, 5]
    assert lanes.stepped.answers("heavy").keys() == lanes.stepped.answers("light").keys()


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_query_whose_tables_alone_take_long_leaves_the_common_lane_until_they_do_not(
    lanes: Lanes, at_once: int
) -> None:
    lanes.stepped.register("large", QUERY)
    lanes.stepped.register("once", QUERY)
    lanes.post(1, 2)
    lanes.stepped.run()
    lanes.costly |= {"large", "once"}
    for time in (3, 4):
        lanes.post(time)
        _step_all(lanes.stepped)
    assert lanes.lane("large") is lanes.lane("once") is Lane.COMMON, "a process may have to make it anew"
    lanes.costly.remove("once")
    lanes.post(*range(5, 5 + at_once))
    _step_all(lanes.stepped)
    assert (lanes.lane("large"), lanes.lane("once")) == (Lane.OWN, Lane.COMMON)
    lanes.post(*range(5 + at_once, 30))
    _step_all(lanes.stepped)
    assert not any(key.startswith("large") for key, *_ in lanes.stepped.pipeline.batches[-1]), "it is planned no more"
    lanes.stepped.run()
    assert lanes.lane("large") is Lane.OWN
    lanes.costly.clear()
    lanes.post(*range(30, 50))
    lanes.stepped.run()
    assert lanes.lane("large") is Lane.COMMON
    assert lanes.told("large") == lanes.told("once") == list(range(1, 49))


def test_a_turn_in_which_oxigraph_panics_is_not_the_last(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As pyoxigraph's is."""

    monkeypatch.setattr("spark_backend.queries.lanes._LONG_PAUSE", 0.0)
    own, turns = lanes.stepped.backend._lanes, list[None]()

    def panic() -> bool:
        turns.append(None)
        if len(turns) == 2:
            own.stop()
        raise Panic

    own._run(panic)
    assert len(turns) == 2


def test_what_is_new_is_tried_apart_and_only_what_is_light_joins_those_that_are_evaluated(lanes: Lanes) -> None:
    lanes.stepped.register("old", QUERY)
    lanes.post(1, 2)
    lanes.stepped.run()
    lanes.heavy[Lane.COMMON].add("heavy")
    for name in ("heavy", "light"):
        lanes.stepped.register(name, QUERY)
    assert lanes.lane("heavy") is lanes.lane("light") is Lane.NEW
    lanes.post(3, 4, 5)
    _step_all(lanes.stepped)
    assert lanes.told("old") == [1, 2, 3, 4]
    assert lanes.told("heavy") == lanes.told("light") == []
    assert lanes.stepped.turn()
    assert (lanes.lane("heavy"), lanes.lane("light")) == (Lane.OWN, Lane.COMMON)
    assert (lanes.told("heavy"), lanes.told("light")) == ([], [2])
    lanes.post(6)
    _step_all(lanes.stepped)
    assert lanes.told("light") == [2, 3, 4, 5]
    lanes.stepped.run()
    assert lanes.told("heavy") == lanes.told("light")
    assert not any(key.startswith("heavy") for batch in lanes.stepped.pipeline.batches for key, *_ in batch)


def test_a_query_that_is_cheap_for_a_while_goes_back_and_on_from_where_it_is(lanes: Lanes) -> None:
    lanes.stepped.register("q", QUERY)
    lanes.heavy[Lane.COMMON].add("q")
    lanes.post(*range(1, 12))
    lanes.stepped.run()
    assert lanes.lane("q") is Lane.COMMON
    lanes.heavy[Lane.COMMON].clear()
    lanes.post(*range(12, 16))
    _step_all(lanes.stepped)
    assert lanes.told("q") == list(range(1, 15))
    # The next time, it stays there for longer.
    lanes.heavy[Lane.COMMON].add("q")
    lanes.post(*range(16, 27))
    lanes.stepped.run()
    assert lanes.told("q") == list(range(1, 26))
    assert lanes.lane("q") is Lane.OWN


@pytest.mark.parametrize("stop_in_between", [True, False])
def test_nothing_is_skipped_or_twice_across_a_restart_in_a_lane_of_its_own(lanes: Lanes, stop_in_between: bool) -> None:
    lanes.stepped.register("q", QUERY)
    lanes.post(1, 2, 3)
    lanes.stepped.run()
    lanes.heavy[Lane.COMMON].add("q")
    lanes.post(4, 5, 6)
    _step_all(lanes.stepped)
    before, offset = lanes.told("q"), lanes.stepped.pipeline.offset
    if stop_in_between:
        assert lanes.stepped.turn()
        before = lanes.told("q")
    progress = lanes.stepped.backend._delivery.saved_progress()
    lanes.stepped.close()
    again = lanes.open()
    again.pipeline.offset = dict(progress or offset)
    again.run()
    assert [*before, *lanes.told("q")] == [1, 2, 3, 4, 5]


def test_after_three_evaluations_over_budget_in_a_row_a_query_has_failed_alone_and_may_be_put_again(
    lanes: Lanes,
) -> None:
    for name in ("heavy", "light"):
        lanes.stepped.register(name, QUERY)
    for heavy in lanes.heavy.values():
        heavy.add("heavy")
    lanes.post(1, 2, 3)
    lanes.stepped.run()
    assert lanes.stepped.backend.query("heavy").state == "running"
    lanes.heavy[Lane.OWN].clear()
    lanes.post(4)
    lanes.stepped.run()
    lanes.heavy[Lane.OWN].add("heavy")
    lanes.post(*range(5, 10))
    lanes.stepped.run()
    notices = [one for one in lanes.stepped.notices if one.query == "heavy"]
    assert [one.instant for one in notices if isinstance(one, Failed)] == [1, 2, 4, 5, 6]
    assert isinstance(notices[-1], Ended)
    description = lanes.stepped.backend.query("heavy")
    assert (description.state, description.evaluated) == ("failed", 6)
    assert "stopped after 30 s" in (description.last_error or "")
    assert description.overdue == 0
    assert "has been due" not in lanes.stepped.backend.plan("heavy")
    assert lanes.told("light") == list(range(1, 9))
    for heavy in lanes.heavy.values():
        heavy.clear()
    lanes.stepped.register("heavy", QUERY)
    lanes.post(10, 11)
    lanes.stepped.run()
    assert lanes.told("heavy")[1:] == [9, 10], "it goes on from where its stream was"


PUBLISHED = (
    "REGISTER STREAM out AS CONSTRUCT { ?s <http://ex/q> ?v } "
    "FROM STREAM <http://ex/s> [RANGE 1 STEP 1] WHERE { ?s <http://ex/v> ?v }"
)
READER = "SELECT ?v FROM STREAM <http://endpoint.example/streams/out> [RANGE 1 STEP 1] WHERE { ?s <http://ex/q> ?v }"


def test_a_query_that_has_failed_stays_so_over_restarts_until_it_is_put_again(lanes: Lanes) -> None:
    lanes.stepped.register("out", PUBLISHED)
    lanes.stepped.register("reader", READER)
    lanes.post(1, 2)
    lanes.stepped.run()
    for heavy in lanes.heavy.values():
        heavy.add("out")
    lanes.post(3, 4, 5)
    lanes.stepped.run()
    before, reader = lanes.stepped.backend.query("out"), lanes.stepped.backend.query("reader")
    assert (before.state, before.evaluated, before.lane) == ("failed", 4, "own")
    for heavy in lanes.heavy.values():
        heavy.clear()
    for time in (6, 7):
        lanes.stepped.close()
        lanes.open()
        lanes.post(time)
        lanes.stepped.run()
        after = lanes.stepped.backend.query("out")
        assert (after.state, after.last_error, after.lane) == ("failed", before.last_error, "own")
        assert after.evaluated == before.evaluated
        assert not lanes.stepped.notices
        assert lanes.stepped.backend.query("reader").watermark == reader.watermark
    lanes.stepped.register("out", PUBLISHED)
    assert lanes.stepped.backend.query("out").state == "running"
    lanes.stepped.close()
    lanes.open()
    lanes.post(8, 9)
    lanes.stepped.run()
    again = lanes.stepped.backend.query("out")
    assert (again.state, again.last_error) == ("running", None)
    assert lanes.told("out") == [7, 8]


def test_a_query_that_is_known_to_be_heavy_is_so_after_a_restart(lanes: Lanes) -> None:
    lanes.stepped.register("q", QUERY)
    lanes.post(1, 2)
    lanes.heavy[Lane.COMMON].add("q")
    lanes.stepped.run()
    lanes.stepped.close()
    lanes.open()
    assert lanes.lane("q") is Lane.OWN
    lanes.heavy[Lane.COMMON].clear()
    lanes.post(*range(3, 13))
    lanes.stepped.run()
    assert lanes.lane("q") is Lane.COMMON
    assert lanes.told("q") == list(range(2, 12))
    lanes.stepped.close()
    lanes.open()
    assert lanes.lane("q") is Lane.COMMON


def test_a_failure_is_kept_before_the_position_beyond_it(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(path: Path, progress: object) -> None:
        raise OSError(f"{path.name} is not written any more")

    lanes.stepped.register("q", QUERY)
    for heavy in lanes.heavy.values():
        heavy.add("q")
    lanes.post(1, 2, 3)
    lanes.stepped.run()
    lanes.post(4)
    monkeypatch.setattr("spark_backend.queries.delivery.write_progress", crash)
    with pytest.raises(OSError, match="not written"):
        lanes.stepped.run()
    lanes.stepped.close()
    lanes.open()
    assert lanes.stepped.backend.query("q").state == "failed"


def test_the_files_are_written_when_a_query_fails_and_not_at_each_evaluation(lanes: Lanes, tmp_path: Path) -> None:
    lanes.stepped.register("q", QUERY)
    catalogue = tmp_path / "catalogue.json"
    # A version before this one wrote neither lane nor failure.
    written = re.sub(r', "(own_lane|failed)": \w+', "", json.dumps(read_document(catalogue)))
    assert '"own_lane"' not in written
    write_atomically(document(catalogue, written))
    lanes.stepped.close()
    lanes.open()
    assert not lanes.stepped.backend.health().warnings
    lanes.post(1, 2, 3)
    before = catalogue.stat()
    lanes.stepped.run()
    assert lanes.told("q") == [1, 2]
    assert catalogue.stat().st_mtime_ns == before.st_mtime_ns
    for heavy in lanes.heavy.values():
        heavy.add("q")
    lanes.post(4, 5, 6)
    lanes.stepped.run()
    assert lanes.stepped.backend.query("q").state == "failed"
    (entry,) = read_document(catalogue)["queries"]
    assert (entry["own_lane"], entry["failed"]) == (True, lanes.stepped.backend.query("q").last_error)


def test_an_ordinary_error_is_told_in_the_common_lane_and_fails_nothing(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(self: Evaluator, step: Step) -> list[tuple[str, Answer]]:
        raise EvaluationError("ConversionException: no")

    lanes.stepped.register("q", QUERY)
    monkeypatch.setattr(Heavy, "run", wrong)
    lanes.post(*range(1, 8))
    lanes.stepped.run()
    assert lanes.lane("q") is Lane.COMMON
    description = lanes.stepped.backend.query("q")
    assert (description.state, description.last_error) == ("running", "ConversionException: no")


def test_queries_in_lanes_of_their_own_take_turns(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real: Callable[..., Iterator[Answer]] = lanes.stepped.pipeline.answers

    def slow(key: str, prepared: str, instants: Sequence[int], budget: object) -> Iterator[Answer]:
        asked.append(key.partition(".")[0])
        return (replace(answer, seconds=9.0) for answer in real(key, prepared, instants, budget))

    monkeypatch.setattr(lanes.stepped.pipeline, "answers", slow)
    for name in "abc":
        lanes.stepped.register(name, QUERY)
    lanes.heavy[Lane.COMMON].update("abc")
    lanes.post(*range(1, 5))
    lanes.stepped.run()
    assert asked == ["a", "b", "c"] * 3
    assert lanes.told("a") == lanes.told("c") == [1, 2, 3]


def test_that_a_query_has_failed_is_told_once_it_is_written_down(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*contents: object) -> None:
        raise OSError("No space left on device")

    lanes.stepped.register("q", QUERY)
    for heavy in lanes.heavy.values():
        heavy.add("q")
    lanes.post(1, 2, 3)
    lanes.stepped.run()
    lanes.post(4)
    with monkeypatch.context() as broken:
        broken.setattr("spark_backend.streams.catalogue.write_atomically", full)
        with pytest.raises(OSError, match="No space"):
            lanes.stepped.run()
    assert lanes.stepped.backend.query("q").state == "running"
    assert not any(isinstance(one, Ended) for one in lanes.stepped.notices)
    lanes.stepped.run()
    assert [one.instant for one in lanes.stepped.notices if isinstance(one, Failed)] == [1, 2, 3]
    assert isinstance(lanes.stepped.notices[-1], Ended)
    lanes.stepped.close()
    lanes.open()
    assert lanes.stepped.backend.query("q").state == "failed"
