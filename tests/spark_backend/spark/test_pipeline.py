"""What Spark SQL fails to answer, while Spark is there and when it is not, and how Spark is started again; no Spark
here.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from protocol.errors import Unavailable
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget
from spark_backend.engine import SparkBackend
from spark_backend.layout import Layout
from spark_backend.site import Site, SiteChoice
from spark_backend.spark.pipeline import Pipeline, _SparkSql
from spark_backend.statics.graphs import Quad
from tests.spark_backend.static_graphs import QuadsInMemory

INSTANTS = (5, 10)


class EndsAtTen:
    """Stands for Spark SQL: what it is asked for at 10 fails."""

    def __enter__(self) -> EndsAtTen:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def answers(self, prepared: str, instants: Sequence[int], rows: int) -> list[Answer]:
        return [Answer(one, error="it ended" if one == 10 else None) for one in instants]


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    made: Any = Pipeline(
        Layout(tmp_path), "spark://cluster:7077", lambda _: None, SiteChoice(Site.SPARK), Budget(), frozen_after=60
    )
    made._session, made._spark_sql = SimpleNamespace(sparkContext=None), EndsAtTen()
    deferred = [("q", Answer(one, site=Site.SPARK, deferred="file")) for one in INSTANTS]
    monkeypatch.setattr(made, "_apart", lambda *_: deferred)
    return made  # type: ignore[no-any-return]


def spark_is(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_backend.spark.launch.session.responds", lambda _: there)


def test_what_fails_while_spark_is_there_is_the_error_of_its_instant(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark_is(True, monkeypatch)
    assert [one.error for one in pipeline.answers("q", "file", INSTANTS, Budget())] == [None, "it ended"]


def test_what_ends_with_spark_is_no_answer_and_is_evaluated_again(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark_is(False, monkeypatch)
    with pytest.raises(Unavailable, match="the evaluation was ended: it ended"):
        list(pipeline.answers("q", "file", INSTANTS, Budget()))


class SlowToCancel:
    """Stands for Spark's context, and for Spark SQL: an evaluation ends by itself while it is being cancelled."""

    def __init__(self) -> None:
        self.cancelling, self.goes_on = threading.Event(), threading.Event()
        self.busy = False
        self.busy_at_its_end: list[bool] = []

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802 - Spark's name
        self.busy = True
        self.cancelling.set()
        assert self.goes_on.wait(60)
        self.busy = False

    def __enter__(self) -> SlowToCancel:
        return self

    def __exit__(self, *_: object) -> None:
        self.busy_at_its_end.append(self.busy)
        self.goes_on.set()

    def answers(self, prepared: str, instants: Sequence[int], rows: int) -> list[Answer]:
        assert self.cancelling.wait(60)
        return [Answer(one) for one in instants]


def test_an_evaluation_that_ends_while_it_is_cancelled_leaves_the_next_one_alone(
    pipeline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = SlowToCancel()

    class Timer(threading.Timer):
        def join(self, timeout: float | None = None) -> None:
            spark.goes_on.set()
            super().join(timeout)

    monkeypatch.setattr(threading, "Timer", Timer)
    spark_is(True, monkeypatch)
    pipeline._session, pipeline._spark_sql = SimpleNamespace(sparkContext=spark), spark
    told = [one.stopped for one in pipeline.answers("q", "file", INSTANTS, Budget(seconds=0.0))]
    assert told == [True, True]
    assert not any(spark.busy_at_its_end)


def test_whoever_waits_for_spark_sql_has_it_next_also_where_it_could_not_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    def make(*_: object, **__: object) -> object:
        made.append(object())
        if len(made) == 1:
            raise ConnectionRefusedError("Spark has ended")
        return made[-1]

    monkeypatch.setattr("spark_backend.spark_sql.evaluator.SparkSqlEvaluator", make)
    spark_sql = _SparkSql(None, tmp_path, 1, "")
    with pytest.raises(ConnectionRefusedError), spark_sql:
        pass
    assert not spark_sql._evaluating.locked()
    with spark_sql as evaluator:
        assert (evaluator, len(made)) == (made[1], 2)
    with spark_sql as evaluator:
        assert (evaluator, len(made)) == (made[1], 2)


class Sessions:
    """Stands for Spark, which ends in its first streaming query; in the next one a batch is received."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        self.queries = 0
        self.refused: list[str] = []

    def start_query(self) -> Sessions:
        self.queries += 1
        return self

    def awaitTermination(self) -> None:  # noqa: N802 - Spark's name
        if self.queries == 1:
            raise ConnectionRefusedError("Spark has ended")
        self.pipeline._on_answers([])
        self.pipeline._stopping.set()

    @property
    def sparkContext(self) -> Sessions:  # noqa: N802 - Spark's name
        return self

    def setJobGroup(self, *_: object, **__: object) -> None:  # noqa: N802 - Spark's name
        raise RuntimeError("An error occurred while calling setJobGroup")

    def wait(self, seconds: float) -> None:
        """Take the place of a pause."""
        assert self.pipeline.state == "failed"
        with pytest.raises(Unavailable) as refused:
            self.pipeline.tried([])
        self.refused.append(refused.value.detail)


def test_what_a_batch_needs_to_be_received_is_evaluated_as_soon_as_spark_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    def receive(_: object) -> None:
        # As for what ISTREAM compares with.
        with pytest.raises(Unavailable) as error:
            made.tried([])
        ended.append(error.value.detail)

    made: Any = Pipeline(
        Layout(tmp_path), "spark://cluster:7077", receive, SiteChoice(Site.SPARK), Budget(), frozen_after=60
    )
    spark = Sessions(made)
    monkeypatch.setattr(made, "_start_spark", lambda: setattr(made, "_session", spark))
    monkeypatch.setattr(made, "_start_query", spark.start_query)
    monkeypatch.setattr(made, "_stop_spark", lambda: setattr(made, "_session", None))
    monkeypatch.setattr(made, "_task", lambda *_: None)
    monkeypatch.setattr(made, "_has_spark", lambda: False)
    monkeypatch.setattr(made._stopping, "wait", spark.wait)
    made._run()
    assert spark.refused == ["Spark is started again: Spark has ended: try again in a few seconds"]
    assert ended == ["the evaluation was ended: An error occurred while calling setJobGroup"]


def test_what_is_received_last_of_a_spark_that_has_ended_does_not_say_that_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiving, ended = threading.Event(), threading.Event()
    told: list[tuple[str, str]] = []

    def receive(_: object) -> None:
        receiving.set()
        assert ended.wait(60)

    made: Any = Pipeline(
        Layout(tmp_path), "spark://cluster:7077", receive, SiteChoice(Site.SPARK), Budget(), frozen_after=60
    )
    late = threading.Thread(target=made._on_answers, args=([],))

    def end() -> None:
        late.start()
        assert receiving.wait(60)
        raise ConnectionRefusedError("Spark has ended")

    def wait(_: float) -> None:
        """Take the place of the pause before Spark is started again."""
        ended.set()
        late.join()
        told.append((made.state, made.detail))
        made._stopping.set()

    monkeypatch.setattr(made, "_has_spark", lambda: False)
    monkeypatch.setattr(made, "_start_spark", lambda: None)
    monkeypatch.setattr(made, "_start_query", lambda: SimpleNamespace(awaitTermination=end))
    monkeypatch.setattr(made._stopping, "wait", wait)
    made._run()
    assert told == [("failed", "Spark is started again: Spark has ended")]


def test_spark_is_started_again_also_where_the_one_before_could_not_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = Pipeline(
        Layout(tmp_path), "spark://cluster:7077", lambda _: None, SiteChoice(Site.SPARK), Budget(), frozen_after=60
    )
    spark = Sessions(made)

    def without_threads(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("spark_backend.spark.launch.session.stop_session", without_threads)
    monkeypatch.setattr(made, "_start_spark", lambda: setattr(made, "_session", spark))
    monkeypatch.setattr(made, "_start_query", spark.start_query)
    monkeypatch.setattr(made, "_has_spark", lambda: False)
    monkeypatch.setattr(made._stopping, "wait", lambda _: None)
    made._run()
    assert spark.queries == 2


def test_what_the_spark_of_a_killed_server_has_written_last_is_no_matter_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path)
    layout.make()
    spark = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1, environment={}), dataSource=Sources())
    found: list[list[str]] = []

    def start_session(**_: object) -> Any:
        # Before it is ended there, the one that was left behind writes down where its next batch begins.
        (layout.checkpoint / "offsets").mkdir()
        (layout.checkpoint / "offsets" / "58").write_text("v1")
        return spark

    def start_query() -> Any:
        found.append([path.name for path in layout.checkpoint.rglob("*")])
        made._stopping.set()
        return SimpleNamespace(awaitTermination=lambda: None)

    monkeypatch.setattr("spark_backend.spark.launch.session.start_session", start_session)
    backend = SparkBackend(tmp_path, NoGraphs(), base_iri="http://here", spark_master="local[1]")
    made: Any = backend._pipeline
    monkeypatch.setattr(made, "_start_query", start_query)
    backend.start()
    made._thread.join(60)
    backend.stop()
    assert found == [[]]


class NoGraphs(QuadsInMemory):
    """A store without any triple."""

    def quads(self, *_: object) -> list[Quad]:
        return []

    def named_graphs(self) -> list[str]:
        return []


class Sources:
    """Stands for what Spark knows of sources."""

    def register(self, source: object) -> None:
        pass
