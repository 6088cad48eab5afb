"""Which evaluations go to Spark SQL, and that their answers take their place among the others; no Spark here.

What stands for Spark SQL is another DuckDB evaluator: the same answers, given elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from protocol.errors import UnsupportedFeature
from protocol.evaluations import Evaluation, Failed
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.layout import Layout
from spark_backend.site import Site, SiteChoice
from spark_backend.spark.task import answer_batch, read_answers
from spark_backend.spark_sql.deferred import complete
from tests.spark_backend.stepped_backend import SteppedBackend

SPARK = SiteChoice(Site.SPARK)
WINDOW = "FROM STREAM <http://ex/s> [RANGE 10 STEP 5]"
QUERY = f"SELECT ?s ?v {WINDOW} WHERE {{ ?s <http://ex/v> ?v }}"


class Elsewhere:
    """Answers, and notes what it was asked for."""

    def __init__(self, root: Path, fails: Callable[[int], bool] = lambda _: False) -> None:
        self._root = root
        self._fails = fails
        self.asked: list[tuple[int, ...]] = []

    def answers(self, prepared: str, instants: Sequence[int], rows: int) -> list[Answer]:
        self.asked.append(tuple(instants))
        if any(map(self._fails, instants)):
            raise RuntimeError("no more executors\nand a long stack")
        due = [("q", prepared, instants)]
        return [answer for _, answer in Evaluator(Layout(self._root).root).evaluate(due)]


def fill(stepped: SteppedBackend, upto: int = 30, triples: int = 1) -> None:
    for at in range(1, upto):
        stepped.post("s", "".join(f"<http://ex/{at}> <http://ex/v> {number} . " for number in range(triples)), at)
    stepped.backend.advance("s", upto)


def made(root: Path, sites: SiteChoice, elsewhere: Elsewhere | None = None) -> SteppedBackend:
    stepped = SteppedBackend(root, sites=sites, spark_sql=elsewhere)
    stepped.event_stream("s", "http://ex/s")
    return stepped


@pytest.mark.parametrize("operator", ["", "ISTREAM", "DSTREAM"])
def test_answers_are_the_same_documents_at_either_site(tmp_path: Path, operator: str) -> None:
    text = QUERY.replace("SELECT", f"SELECT {operator}")
    told: list[list[tuple[int, bytes]]] = []
    for sites in (SiteChoice(Site.DUCKDB), SPARK, SiteChoice(spark_above=9)):
        root = tmp_path / str(len(told))
        elsewhere = Elsewhere(root)
        stepped = made(root, sites, elsewhere)
        stepped.register("q", text)
        fill(stepped)
        stepped.run()
        told.append(list(stepped.answers("q").items()))
        assert bool(elsewhere.asked) is (sites.forced is not Site.DUCKDB)
        stepped.close()
    assert told[0] == told[1] == told[2]
    assert [instant for instant, _ in told[0]] == [5, 10, 15, 20, 25, 30]


def test_windows_above_the_setting_go_to_spark_sql_and_no_others(tmp_path: Path) -> None:
    elsewhere = Elsewhere(tmp_path)
    stepped = made(tmp_path, SiteChoice(spark_above=9), elsewhere)
    stepped.register("q", QUERY)
    fill(stepped)
    stepped.run()
    # (0, 5] has 5 triples, the last one 9 (nothing comes at 30), those between 10.
    assert sorted(instant for instants in elsewhere.asked for instant in instants) == [10, 15, 20, 25]
    stepped.close()


def untranslatable(monkeypatch: pytest.MonkeyPatch) -> None:
    """No statement has a translation: the compiler writes none that is known to lack one."""
    monkeypatch.setattr(
        "spark_backend.spark_sql.translation.plans.refusal", lambda plan, windows: "no median in Spark SQL"
    )


def test_large_windows_of_a_query_without_a_translation_stay_in_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untranslatable(monkeypatch)
    elsewhere = Elsewhere(tmp_path)
    stepped = made(tmp_path, SiteChoice(spark_above=9), elsewhere)
    stepped.register("q", QUERY)
    fill(stepped)
    stepped.run()
    assert elsewhere.asked == []
    assert list(stepped.answers("q")) == [5, 10, 15, 20, 25, 30]
    stepped.close()


def test_where_all_goes_to_spark_sql_a_query_without_a_translation_is_refused_when_it_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped = made(tmp_path, SPARK, Elsewhere(tmp_path))
    stepped.register("q", QUERY)
    untranslatable(monkeypatch)
    with pytest.raises(UnsupportedFeature, match="no median in Spark SQL") as refused:
        stepped.register("r", f"PREFIX : <http://ex/>\n {QUERY}")
    assert (refused.value.line, refused.value.column) == (2, 2)
    assert [query.name for query in stepped.backend.queries()] == ["q"]
    stepped.close()


def test_a_replay_asks_the_same_site(tmp_path: Path) -> None:
    elsewhere = Elsewhere(tmp_path)
    stepped = made(tmp_path, SPARK, elsewhere)
    stepped.register("q", QUERY)
    fill(stepped)
    stepped.run()
    elsewhere.asked.clear()
    live = stepped.answers("q")
    assert stepped.replayed("q", 10, 25) == {instant: data for instant, data in live.items() if 10 < instant <= 25}
    assert [instant for instants in elsewhere.asked for instant in instants] == [15, 20, 25]
    stepped.close()


def test_what_fails_at_spark_sql_is_an_error_and_takes_no_other_query_down(tmp_path: Path) -> None:
    elsewhere = Elsewhere(tmp_path, fails=lambda instant: instant == 10)
    stepped = made(tmp_path, SPARK, elsewhere)
    stepped.register("q", f"SELECT ?s {WINDOW.replace('STEP 5', 'STEP 10')} WHERE {{ ?s ?p ?v }}")
    stepped.register("r", f"SELECT ?s {WINDOW.replace('[RANGE 10 STEP 5]', '[RANGE 7]')} WHERE {{ ?s ?p ?v }}")
    fill(stepped, 12)
    stepped.run()
    assert [notice.instant for notice in stepped.notices if isinstance(notice, Evaluation)] == [7]
    (failed,) = [notice for notice in stepped.notices if isinstance(notice, Failed)]
    assert (failed.query, failed.instant, failed.detail) == ("q", 10, "RuntimeError: no more executors")
    stepped.close()


class Counting:
    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def answers(self, prepared: str, instants: Sequence[int], rows: int) -> list[Answer]:
        self.asked.append((prepared, tuple(instants)))
        return [Answer(instant, f'{{"of":"{prepared}"}}'.encode()) for instant in instants]


def test_small_windows_are_evaluated_together_large_ones_alone_and_all_keep_their_order() -> None:
    def deferred(instant: int, read: int, prepared: str = "one") -> tuple[str, Answer]:
        return "q", Answer(instant, site=Site.SPARK, read=read, deferred=prepared)

    spark = Counting()
    batch = [
        deferred(1, 600_000), deferred(2, 300_000), deferred(3, 200_000), ("q", Answer(4, b"here")),
        deferred(5, 9_000_000), deferred(6, 1), deferred(7, 1, "two"),
    ]  # fmt: skip
    answers = list(complete(batch, spark))
    assert spark.asked == [("one", (1, 2)), ("one", (3,)), ("one", (5,)), ("one", (6,)), ("two", (7,))]
    assert [answer.instant for _, answer in answers] == [1, 2, 3, 4, 5, 6, 7]
    assert [answer.read for _, answer in answers] == [600_000, 300_000, 200_000, 0, 9_000_000, 1, 1]
    assert [answer.site for _, answer in answers] == [Site.SPARK] * 3 + [Site.DUCKDB] + [Site.SPARK] * 3
    assert all(answer.deferred is None for _, answer in answers)


def test_an_answer_tells_its_site_what_was_read_and_how_long_it_took(tmp_path: Path) -> None:
    stepped = made(tmp_path, SiteChoice(Site.DUCKDB))
    stepped.register("q", QUERY)
    stepped.register("r", QUERY.replace("?s ?v", "?s", 1))
    fill(stepped, triples=2)
    stepped.post("s", "<http://ex/1> <http://ex/v> 0 .", 12)  # a triple that is there already, at another time
    stepped.run()
    for name in ("q", "r"):
        prepared = stepped.running(name).registered.prepared
        answers = list(stepped.pipeline.answers(name, prepared, [5, 10, 15], Budget()))
        assert [answer.read for answer in answers] == [10, 20, 20]
        assert {answer.site for answer in answers} == {Site.DUCKDB}
        assert all(0 < answer.seconds < 60 for answer in answers)
    stepped.close()


def test_an_answer_passes_from_the_task_to_the_driver_whole() -> None:
    answers = [
        ("a", Answer(5, b'{"x":1}', [], None, Site.DUCKDB, 12, 0.25)),
        ("a", Answer(10, site=Site.SPARK, read=10**10, deferred="file")),
        ("b", Answer(7, error="it failed")),
    ]
    passed = read_answers(answer_batch(answers))
    assert passed == answers
    told = [(one.site, one.read, one.seconds, one.deferred) for _, one in passed]
    assert told == [(one.site, one.read, one.seconds, one.deferred) for _, one in answers]


def test_documents_say_nothing_of_the_site(tmp_path: Path) -> None:
    elsewhere = Elsewhere(tmp_path)
    stepped = made(tmp_path, SPARK, elsewhere)
    stepped.register("q", QUERY)
    fill(stepped, 7)
    stepped.run()
    ((_, data),) = stepped.answers("q").items()
    assert set(json.loads(data)) == {"head", "results", "evaluation"}
    assert set(json.loads(data)["evaluation"]) == {"time", "operator", "windows"}
    stepped.close()
