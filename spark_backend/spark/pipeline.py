"""The Structured Streaming query that drives every evaluation, and batch jobs for evaluations once more.

A source of due instants, whose tasks evaluate them and send the answers to the server (``Reception``), from one
checkpoint; on a cluster Spark collects them (``foreachBatch``). It is started again when it fails; what it had planned
is planned again, and answers that were out already are dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from protocol.errors import Unavailable
from protocol.time import Instant
from spark_backend.answers.answer import Answer, Answers
from spark_backend.budget import OWN_AT_ONCE, Budget, Lane
from spark_backend.evaluation.step import Due, EvaluationError, MeasuredStatement
from spark_backend.layout import Layout
from spark_backend.site import SiteChoice
from spark_backend.spark.hosts import HostRequirements, Task, WorkerHosts, on_fit_hosts, write_cores
from spark_backend.spark.launch.settings import local_cores
from spark_backend.spark.reception import Reception
from spark_backend.spark.task import AnswerPart
from spark_backend.spark.watchdog import Watchdog, Watched
from spark_backend.spark_sql.deferred import SparkSql, complete, first_line

log = logging.getLogger(__name__)

Receive = Callable[[Answers], None]
"""Gets the answers of a micro-batch, (key, answer), per query in order of their instants."""


class Answering(Protocol):
    """What evaluates queries apart from the streaming query."""

    def answers(self, key: str, prepared: str, instants: Sequence[Instant], budget: Budget) -> Iterator[Answer]:
        """Evaluate in a lane of its own: the answers of a prepared query at these instants, in order.

        Raises Unavailable while nothing is evaluated, and where ``cancel`` ended it.
        """

    def tried(self, due: Sequence[Due]) -> list[tuple[str, Answer]]:
        """Evaluate as in the common lane, apart from it: what takes too much is deferred.

        The answers (key, answer), of each query in order. Raises Unavailable while nothing is evaluated.
        """


class Evaluations(Answering, Protocol):
    """What the engine asks of whatever evaluates; ``Pipeline`` does it on Spark."""

    @property
    def state(self) -> str: ...

    @property
    def detail(self) -> str: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def measured(self, key: str, prepared: str, instant: Instant, budget: Budget) -> MeasuredStatement:
        """Evaluate in a lane of its own to see how that is done.

        Raises EvaluationError, also where it is for Spark SQL, and Unavailable as ``answers`` does.
        """

    def cancel(self, key: str) -> None:
        """End what is being evaluated of this registration in a lane of its own."""

    def session(self) -> SharedSession:
        """Spark, for what it does besides. Raises Unavailable while it is not there."""


class SharedSession(NamedTuple):
    """Spark's session, the data directory as its tasks know it, and what makes a task one for hosts that are fit."""

    session: Any
    root: Path
    on_hosts: Callable[[Task], Task]


MakePipeline = Callable[[Layout, str, Receive, SiteChoice, Budget], Evaluations]

_LANE_VARIABLE = "SPARQL_STREAMS_LANE"
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Pipeline:
    """Runs Spark in threads of its own.

    ``state`` is "starting", "running", "stalled" (a process stands still, or a cluster
    has no host to evaluate on), "failed" or "stopped".
    A process of Spark's that stands still for ``frozen_after`` seconds is ended and started anew. ``functions`` are the
    application's own (``PythonFunctions.to_json``).
    """

    def __init__(
        self,
        layout: Layout,
        master: str,
        receive: Receive,
        sites: SiteChoice,
        budget: Budget,
        *,
        frozen_after: float,
        functions: str = "",
    ) -> None:
        self._layout = layout
        self._master = master
        self._receive = receive
        self._sites = sites
        self._budget = budget
        self._functions = functions
        self._session: Any = None
        self._query: Any = None
        self._spark_sql: _SparkSql
        # The data directory, as tasks know it.
        self._root = layout.root
        # Of a cluster; here, there is one host, which has everything.
        self._requirements: HostRequirements | None = None
        self._hosts: WorkerHosts | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._changing = threading.Lock()
        self._watchdog = Watchdog(self._processes, frozen_after)
        # The hosts of a cluster do not know the server: Spark brings the answers from there.
        self._reception = None if local_cores(master) is None else Reception(self._on_answers)
        self._state, self._detail = "starting", "Spark is starting"
        self._failures = 0
        """Of the streaming query."""

    @property
    def state(self) -> str:
        hosts = self._hosts
        still = self._watchdog.said is not None or (hosts is not None and not hosts.fit)
        return "stalled" if self._state == "running" and still else self._state

    @property
    def detail(self) -> str:
        hosts = self._hosts
        return self._watchdog.said or (hosts and hosts.said) or self._detail

    def start(self) -> None:
        """Start Spark behind the caller's back."""
        self._watchdog.start()
        if self._reception is not None:
            self._reception.start()
        self._thread = threading.Thread(target=self._run, name="spark-pipeline", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the streaming query, Spark and its processes."""
        self._stopping.set()
        self._watchdog.stop()
        self._stop_spark()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=15)
        if self._reception is not None:
            self._reception.stop()
        self._layout.source_turns.unlink(missing_ok=True)
        self._state, self._detail = "stopped", "Spark was stopped"

    def answers(self, key: str, prepared: str, instants: Sequence[Instant], budget: Budget) -> Iterator[Answer]:
        """Evaluate as a batch job, in Spark's job group of that key."""
        from spark_backend.spark.launch.session import responds

        session = self._session
        answers = self._apart(key, [(key, prepared, instants)], Lane.OWN, budget)
        spark_sql = _BoundedSparkSql(self._spark_sql, session.sparkContext, key, budget)
        for _, answer in complete(answers, spark_sql):
            # What ends with Spark has not failed: it is evaluated again when Spark is back.
            if answer.error is not None and not responds(session):
                raise Unavailable(f"the evaluation was ended: {answer.error}")
            yield answer

    def tried(self, due: Sequence[Due]) -> list[tuple[str, Answer]]:
        """Evaluate as a batch job, in the budget of the common lane."""
        return self._apart("trials", due, Lane.COMMON, self._budget)

    def measured(self, key: str, prepared: str, instant: Instant, budget: Budget) -> MeasuredStatement:
        """Evaluate as a batch job, in Spark's job group of that key."""
        from spark_backend.spark.task import MEASURED_SCHEMA, measured_in_arrow, measurement

        measure = measurement(self._root, self._sites, budget=budget, functions=self._functions)
        task = self._on_hosts(partial(measured_in_arrow, measure))
        (row,) = self._job(key, [(key, prepared, [instant])], task, MEASURED_SCHEMA).to_pylist()
        if row["error"] is not None:
            raise EvaluationError(row["error"])
        return MeasuredStatement(instant, row["tables_seconds"], row["operators"])

    def _apart(self, group: str, due: Sequence[Due], lane: Lane, budget: Budget) -> list[tuple[str, Answer]]:
        """Evaluate as a batch job in a job group, as in that lane."""
        from spark_backend.spark.task import ANSWER_SCHEMA, read_answers

        return read_answers(self._job(group, due, self._task(lane, budget), ANSWER_SCHEMA))

    def _job(self, group: str, due: Sequence[Due], task: Task, schema: str) -> Any:
        """The rows of this schema, in Arrow, that a batch job in a job group makes of what is due."""
        session = self._session
        if session is None or self._query is None:
            raise Unavailable(f"{self.detail}: try again in a few seconds")
        from spark_backend.spark.task import DUE_SCHEMA, due_table

        try:
            context = session.sparkContext
            context.setJobGroup(group, f"evaluations of {group}", interruptOnCancel=True)
            # Where slots are scarce, those of the common lane are given out in turn with all others together.
            context.setLocalProperty("spark.scheduler.pool", Lane.OWN)
            rows = session.createDataFrame(due_table(due), DUE_SCHEMA)
            return rows.coalesce(1).mapInArrow(task, schema).toArrow()
        except Exception as error:
            raise Unavailable(f"the evaluation was ended: {first_line(error)}") from error

    def cancel(self, key: str) -> None:
        session = self._session
        if session is not None:
            session.sparkContext.cancelJobGroup(key)

    def session(self) -> SharedSession:
        """As ``Evaluations.session``."""
        session = self._session
        if session is None or self._query is None or not self._has_spark():
            raise Unavailable(f"{self.detail}: it is needed, and tried again in a few seconds")
        return SharedSession(session, self._root, self._on_hosts)

    def _on_hosts(self, task: Task) -> Task:
        return task if self._requirements is None else on_fit_hosts(self._requirements, task)

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                if self._session is None:
                    self._start_spark()
                if self._stopping.is_set():
                    break
                self._query = self._start_query()
                self._detail = "Spark is warming up"
                self._query.awaitTermination()
                reason = "it ended"
            except Exception as error:
                reason = first_line(error)
                if not self._stopping.is_set():
                    log.exception("the streaming query failed")
            if self._stopping.is_set():
                break
            # What has run for a while can do so again: the processes it had may have been ended, and Spark is there.
            well = time.monotonic() - began > _LONGEST_PAUSE
            if well:
                pause = _FIRST_PAUSE
            again = "evaluation" if well and self._has_spark() else "Spark"
            log.error("%s is started again in %.0f s: %s", again, pause, reason)
            with self._changing:
                self._failures += 1
                self._state, self._detail = "failed", f"{again} is started again: {reason}"
            # Jobs wait for the next one, but not for its first batch: to be received, that may need a job, as for what
            # ISTREAM compares with.
            self._query = None
            self._stopping.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            if again == "Spark" or not self._has_spark():
                self._stop_spark()
        self._stop_spark()

    def _start_spark(self) -> None:
        from spark_backend.spark.launch.session import start_session
        from spark_backend.spark.source import evaluation_instants

        session = start_session(master=self._master, directory=self._layout.spark)
        with self._changing:
            self._session = session
        # Ours is the position that counts, and is checked: Spark's might be damaged without anybody noticing.
        # Not before now: the Spark that a killed server has left may have written there until it was ended.
        self._layout.remove_checkpoint()
        if local_cores(self._master) is None:
            requirements = self._requirements = HostRequirements.publish(self._layout)
            self._root = Path(requirements.root)
            self._hosts = WorkerHosts(self._master, session, requirements, self._layout)
            self._hosts.start()
            self._hosts.wait(self._stopping)
        else:
            write_cores(self._layout, session.sparkContext.defaultParallelism)
        self._spark_sql = _SparkSql(session, self._root, local_cores(self._master), self._functions)
        # Spark keeps workers of another environment apart: those of the common lane are never taken by the others.
        environment = session.sparkContext.environment
        environment[_LANE_VARIABLE] = Lane.COMMON.value
        session.dataSource.register(evaluation_instants(self._layout.root, self._answer_part()))
        environment[_LANE_VARIABLE] = Lane.OWN.value

    def _task(self, lane: Lane, budget: Budget) -> Task:
        from spark_backend.spark.task import evaluation, in_arrow

        evaluate = evaluation(self._root, self._sites, lane=lane, budget=budget, functions=self._functions)
        return self._on_hosts(partial(in_arrow, evaluate))

    def _processes(self) -> Sequence[Watched]:
        from spark_backend.spark.launch.session import spark_processes

        return spark_processes(self._layout.spark, self._layout.source_turns)

    def _has_spark(self) -> bool:
        from spark_backend.spark.launch.session import is_alive

        return self._session is not None and is_alive(self._session)

    def _stop_spark(self) -> None:
        """Stop the session, once: whoever comes first, the thread that runs it or ``stop``."""
        with self._changing:
            session, self._session, self._query = self._session, None, None
            hosts, self._hosts = self._hosts, None
        try:
            if hosts is not None:
                hosts.close()
            if session is not None:
                from spark_backend.spark.launch.session import stop_session

                stop_session(session)
        except Exception:
            # Where there is no room on the disk, or no thread to be had. Whoever starts Spark the next time goes on
            # all the same, and whoever stops has more to stop.
            log.exception("Spark could not be stopped")

    def _answer_part(self) -> AnswerPart:
        """What tasks of the streaming query do with what is due."""
        from spark_backend.spark.task import collected, evaluation, sent

        evaluate = evaluation(self._root, self._sites, lane=Lane.COMMON, budget=self._budget, functions=self._functions)
        if self._reception is not None:
            return partial(sent, self._reception.way, evaluate)
        return self._on_hosts(partial(collected, evaluate))

    def _start_query(self) -> Any:
        from spark_backend.spark.source import INSTANTS_FORMAT

        answers = self._session.readStream.format(INSTANTS_FORMAT).load().writeStream.queryName("evaluations")
        if self._reception is None:
            answers = answers.foreachBatch(self._on_batch)
        else:
            # What a batch was for is out when it ends. Where the next one begins may be written down meanwhile: a
            # batch that is planned again although it was over tells nobody anything.
            answers = answers.format("noop").option("asyncProgressTrackingEnabled", "true")
        return (
            # Elsewhere the file system of a path is the cluster's.
            answers.option("checkpointLocation", self._layout.checkpoint.as_uri())
            .trigger(processingTime="0 seconds")
            .start()
        )

    def _on_batch(self, frame: Any, batch: int) -> None:
        from spark_backend.spark.task import read_answers

        try:
            self._on_answers(read_answers(frame.toArrow()))
        except BaseException as error:  # a panic in Oxigraph is no Exception
            # Spark 4.3 searches what comes out of here with an expression that overflows its stack where the text is
            # long, as that of a failed job is; its thread ends then, and whoever waits for it waits for ever.
            raise RuntimeError(first_line(error)) from None

    def _on_answers(self, answers: Answers) -> None:
        failures = self._failures
        self._receive(answers)
        # The first batch of a streaming query evaluates nothing: it is there to have the workers warm.
        with self._changing:
            # Not by what was on its way when the streaming query failed.
            runs = failures == self._failures and self._state != "running" and not self._stopping.is_set()
            if runs:
                self._state, self._detail = "running", "Spark is running"
        if runs:
            for lane in [Lane.OWN] * OWN_AT_ONCE + [Lane.COMMON]:
                threading.Thread(target=self._warm_up, args=(lane,), name="warm-up", daemon=True).start()

    def _warm_up(self, lane: Lane) -> None:
        """Evaluate nothing apart: to start workers and load classes for it would hold up the light queries later."""
        try:
            self._apart("warm-up", [("", "", [])], lane, self._budget)
        except Unavailable as error:
            if not self._stopping.is_set():
                log.info("what evaluates apart is not warm: %s", error.detail)


class _SparkSql:
    """Spark SQL over a data directory, made when it is asked for the first time: most endpoints never do.

    For one at a time: whoever comes second waits.
    """

    def __init__(self, session: Any, root: Path, tasks: int | None, functions: str) -> None:
        self._session = session
        self._functions = functions
        self._tasks = tasks
        self._root = root
        self._evaluating = threading.Lock()
        self._evaluator: SparkSql | None = None

    def __enter__(self) -> SparkSql:
        self._evaluating.acquire()
        try:
            if self._evaluator is None:
                self._evaluator = self._made()
        except BaseException:
            # Spark may have just ended: others are not to wait for who is here no more.
            self._evaluating.release()
            raise
        return self._evaluator

    def __exit__(self, *_: object) -> None:
        self._evaluating.release()

    def _made(self) -> SparkSql:
        from spark_backend.spark_sql.evaluator import SparkSqlEvaluator

        return SparkSqlEvaluator(self._session, self._root, tasks=self._tasks, functions=self._functions)


class _BoundedSparkSql:
    """The same in a job group that is cancelled where evaluations take longer than their budget."""

    def __init__(self, spark_sql: _SparkSql, context: Any, group: str, budget: Budget) -> None:
        self._spark_sql = spark_sql
        self._context = context
        self._group = group
        self._budget = budget

    def answers(self, prepared: str, instants: Sequence[Instant], rows: int) -> list[Answer]:
        with self._spark_sql as spark_sql:
            over = threading.Event()

            def stop() -> None:
                over.set()
                self._context.cancelJobGroup(self._group)

            timer = threading.Timer(self._budget.seconds * len(instants), stop)
            timer.start()
            try:
                given = spark_sql.answers(prepared, instants, rows)
            finally:
                timer.cancel()
                # Whatever it cancels yet is of this evaluation: the next one is in the same job group.
                timer.join()
            if not over.is_set():
                return given
            said = f"it was stopped after {self._budget.seconds:g} s, the time that one evaluation has"
            return [Answer(instant, error=said, stopped=True) for instant in instants]
