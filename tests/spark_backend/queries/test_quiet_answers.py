"""Answers whose instant is none of ET, as content decides: nobody is told of them, and ISTREAM passes over them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from protocol.errors import HeldNoMore
from protocol.streams import StreamSettings, TimeKind
from protocol.windows.spec import NowWindow
from spark_backend.answers.answer import Answer
from spark_backend.budget import Lane
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.step import EvaluationError, Step
from spark_backend.layout import Layout
from tests.spark_backend.stepped_backend import SteppedBackend

NOW = "FROM STREAM <http://ex/s> [NOW]"
QUERY = f"SELECT ?v {NOW} WHERE {{ ?s <http://ex/v> ?v }}"


class Silent(Evaluator):
    """An evaluator that never finds anything to report."""

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        return [(key, replace(answer, quiet=True)) for key, answer in super().run(step)]


class Quiet(Evaluator):
    """An evaluator that finds nothing to report at even instants."""

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        return [(key, replace(answer, quiet=answer.instant % 2 == 0)) for key, answer in super().run(step)]


def quiet(layout: Layout) -> dict[Lane, Quiet]:
    return dict.fromkeys(Lane, Quiet(layout.root))


@pytest.fixture(autouse=True)
def now_is_decided_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.windows.spec.BY_CONTENT", (NowWindow,))


def posted(stepped: SteppedBackend, query: str, values: str) -> SteppedBackend:
    """The query, evaluated over elements at 1, 2, … with these values, and the stream's end."""
    stepped.event_stream("s", "http://ex/s")
    stepped.register("q", query)
    for time, value in enumerate(values, 1):
        stepped.post("s", f'<http://ex/a> <http://ex/v> "{value}" .', time)
        stepped.run()
    stepped.backend.end_stream("s")
    stepped.run()
    return stepped


def told(answers: Mapping[int, bytes]) -> list[tuple[int, str]]:
    """Instants, and the values of the solutions there."""
    rows = {instant: json.loads(data)["results"]["bindings"] for instant, data in answers.items()}
    return [(instant, "".join(sorted(row["v"]["value"] for row in rows[instant]))) for instant in sorted(rows)]


def test_nobody_is_told_of_an_instant_at_which_nothing_reports(tmp_path: Path) -> None:
    stepped = posted(SteppedBackend(tmp_path, evaluators=quiet), QUERY, "abcd")
    assert told(stepped.answers("q")) == [(1, "a"), (3, "c")]
    description = stepped.backend.query("q")
    assert (description.evaluated, description.evaluations) == (4, 2)


def test_a_replay_tells_what_was_told(tmp_path: Path) -> None:
    stepped = posted(SteppedBackend(tmp_path, evaluators=quiet), QUERY, "abcd")
    assert stepped.replayed("q") == stepped.answers("q")


def test_the_latest_answer_is_the_last_that_was_told(tmp_path: Path) -> None:
    stepped = posted(SteppedBackend(tmp_path, evaluators=quiet), QUERY, "abcd")
    latest = stepped.backend.latest("q")
    assert latest is not None
    assert (latest.instant, latest.data) == (3, stepped.answers("q")[3])


def test_there_is_no_latest_answer_where_none_was_told(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, evaluators=lambda layout: dict.fromkeys(Lane, Silent(layout.root)))
    posted(stepped, QUERY, "abcd")
    assert stepped.answers("q") == {}
    assert stepped.backend.latest("q") is None


class QuietLately(Evaluator):
    """An evaluator that finds nothing to report after a while."""

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        return [(key, replace(answer, quiet=answer.instant > 20)) for key, answer in super().run(step)]


@pytest.mark.usefixtures("small_segments")
def test_the_latest_answer_is_not_looked_for_where_nothing_is_held(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, evaluators=lambda layout: dict.fromkeys(Lane, QuietLately(layout.root)))
    stepped.backend.create_stream("s", StreamSettings("http://ex/s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", QUERY)
    for time in range(1, 150):
        stepped.post("s", f'<http://ex/a> <http://ex/v> "{time}" .', time)
        if time % 5 == 0:
            stepped.run()
            stepped.backend._progress.look()
    assert max(stepped.answers("q")) == 20
    with pytest.raises(HeldNoMore, match="or before, is held no more"):
        stepped.backend.latest("q")


class FailingLately(QuietLately):
    """An evaluator that fails after a while."""

    def run(self, step: Step) -> list[tuple[str, Answer]]:
        if step.instants[-1] > 20:
            raise EvaluationError("it fails")
        return super().run(step)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("evaluator", [QuietLately, FailingLately])
def test_a_query_that_tells_nothing_for_long_keeps_no_more_than_others(
    tmp_path: Path, evaluator: type[Evaluator]
) -> None:
    stepped = SteppedBackend(tmp_path, evaluators=lambda layout: dict.fromkeys(Lane, evaluator(layout.root)))
    stepped.backend.create_stream("s", StreamSettings("http://ex/s", time=TimeKind.EVENT, retention=10))
    stepped.register("q", QUERY.replace("SELECT", "SELECT ISTREAM"))
    for time in range(1, 150):
        stepped.post("s", f'<http://ex/a> <http://ex/v> "{time}" .', time)
        if time % 5 == 0:
            stepped.run()
            stepped.backend._progress.look()
    assert max(stepped.answers("q")) == 20
    held = stepped.backend._streams.retained_from("s.1")
    assert held is not None
    assert held > 100


def test_istream_compares_with_the_last_that_was_told(tmp_path: Path) -> None:
    query = QUERY.replace("SELECT", "SELECT ISTREAM")
    stepped = posted(SteppedBackend(tmp_path, evaluators=quiet), query, "abaca")
    assert told(stepped.answers("q")) == [(1, "a"), (3, ""), (5, "")]
    assert stepped.replayed("q", 2) == {instant: data for instant, data in stepped.answers("q").items() if instant > 2}
    stepped.close()
    again = SteppedBackend(tmp_path, evaluators=quiet)
    again.backend.start()
    latest = again.backend.latest("q")
    assert latest is not None
    assert latest.data == stepped.answers("q")[5]


def test_a_window_that_reports_by_time_is_reported(tmp_path: Path) -> None:
    """[RANGE 3 STEP 3] closes at 3, where NOW reports as well, and at 6."""
    window = "FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 3 STEP 3]"
    query = f"SELECT ?v {NOW} {window} WHERE {{ WINDOW <http://ex/w> {{ ?s <http://ex/v> ?v }} }}"
    stepped = posted(SteppedBackend(tmp_path, evaluators=quiet), query, "abcd")
    assert [instant for instant, _ in told(stepped.answers("q"))] == [1, 3, 6]
