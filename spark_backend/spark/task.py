"""What Spark's tasks run: due evaluations in, answers out, by Arrow or straight to the server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from protocol.windows.spec import CountWindow
from spark_backend.answers.answer import Answer, Answers
from spark_backend.budget import Budget, Lane
from spark_backend.site import BY_SIZE, Site, SiteChoice
from spark_backend.spark.reception import Part, Way, send

if TYPE_CHECKING:
    from spark_backend.evaluation.pool import EvaluatorKind
    from spark_backend.evaluation.process import ForkedEvaluator
    from spark_backend.evaluation.step import Due, MeasuredStatement
    from spark_backend.registry import PreparedQuery

DUE_SCHEMA = "key string, prepared string, instants array<bigint>"
"""One row: a registered query, the file of its prepared form, the instants it is due at, ascending."""

ANSWER_SCHEMA = (
    "key string, instant bigint, bindings binary, triples array<string>, error string, "
    "site string, read bigint, seconds double, processor double, deferred string, stopped boolean, quiet boolean, "
    "matches array<string>"
)
"""One row: the answer of one query at one instant (``Answer``)."""

MEASURED_SCHEMA = "tables_seconds double, operators string, error string"
"""One row: a ``MeasuredStatement``, or why there is none."""

_MEASURED = ["tables_seconds", "operators", "error"]
_COLUMNS = [
    "key",
    "instant",
    "bindings",
    "triples",
    "error",
    "site",
    "read",
    "seconds",
    "processor",
    "deferred",
    "stopped",
    "quiet",
    "matches",
]
_BATCH_BYTES = 16 * 1024 * 1024


class Evaluate(Protocol):
    """What a task runs: the answers to what is due, some at a time; by the evaluator at a place, if that is free."""

    def __call__(self, due: Sequence[Due], place: int = 0) -> Iterator[Answers]: ...


Measure = Callable[["Due"], "MeasuredStatement"]
"""What a task runs to see how an evaluation is made. Raises EvaluationError."""

AnswerPart = Callable[[Part, int, Sequence["Due"]], Iterator[Any]]
"""What a task of the streaming query does with a part of a batch, by the evaluator at a place, and what it gives Spark:
record batches, or none.
"""


def evaluation(root: Path, sites: SiteChoice = BY_SIZE, *, lane: Lane, budget: Budget, functions: str = "") -> Evaluate:
    """What evaluates in a task; ``sites`` says what it is to evaluate, ``functions`` which own functions there are.

    In the common lane, what takes more than ``budget.common`` is deferred.
    """
    return partial(_evaluate, str(root), sites, lane, budget if lane is Lane.OWN else budget.common, functions)


def due_table(due: Sequence[Due]) -> Any:
    """What is due, as an Arrow table of DUE_SCHEMA.

    Of a list of rows, Spark has each row brought into another form by a Python worker, for which it starts a daemon.
    """
    import pyarrow as pa

    return pa.table(
        {
            "key": pa.array([key for key, _, _ in due], pa.string()),
            "prepared": pa.array([prepared for _, prepared, _ in due], pa.string()),
            "instants": pa.array([list(instants) for _, _, instants in due], pa.list_(pa.int64())),
        }
    )


def in_arrow(evaluate: Evaluate, batches: Iterator[Any]) -> Iterator[Any]:
    """For ``mapInArrow``: record batches of DUE_SCHEMA in, of ANSWER_SCHEMA out."""
    for batch in batches:
        due = [(row["key"], row["prepared"], row["instants"]) for row in batch.to_pylist()]
        yield from map(answer_batch, evaluate(due))


def measurement(root: Path, sites: SiteChoice = BY_SIZE, *, budget: Budget, functions: str = "") -> Measure:
    """What makes an evaluation in a task, in a lane of its own, to see how it is made."""
    return partial(_measure, str(root), sites, budget, functions)


def measured_in_arrow(measure: Measure, batches: Iterator[Any]) -> Iterator[Any]:
    """For ``mapInArrow``: record batches of DUE_SCHEMA with a row each in, of MEASURED_SCHEMA out."""
    import pyarrow as pa

    from spark_backend.evaluation.step import EvaluationError

    for batch in batches:
        for row in batch.to_pylist():
            try:
                measured = measure((row["key"], row["prepared"], row["instants"]))
                columns = [[measured.tables_seconds], [measured.operators], [None]]
            except EvaluationError as error:
                columns = [[0.0], [None], [str(error)]]
            types = (pa.float64(), pa.string(), pa.string())
            yield pa.RecordBatch.from_arrays(list(map(pa.array, columns, types)), names=_MEASURED)


def _measure(root: str, sites: SiteChoice, budget: Budget, functions: str, due: Due) -> MeasuredStatement:
    from spark_backend.evaluation.pool import EvaluatorKind, evaluator, pool

    with evaluator(pool(start_evaluator), EvaluatorKind(root, sites, Lane.OWN, budget, functions), 0) as process:
        process.refresh()
        return process.operators(due)


def collected(evaluate: Evaluate, part: Part, place: int, due: Sequence[Due]) -> Iterator[Any]:
    """For the source: the answers of a part, as record batches of ANSWER_SCHEMA that Spark collects."""
    yield from map(answer_batch, evaluate(due, place))


def sent(way: Way, evaluate: Evaluate, part: Part, place: int, due: Sequence[Due]) -> Iterator[Any]:
    """For the source: the answers of a part go to the server by themselves, and Spark is given nothing."""
    send(way, part, evaluate(due, place))
    yield from ()


def _evaluate(
    root: str,
    sites: SiteChoice,
    lane: Lane,
    budget: Budget,
    functions: str,
    due: Sequence[Due],
    place: int = 0,
) -> Iterator[Answers]:
    # The source and the server read this module too, and need not import what evaluates.
    from spark_backend.evaluation.pool import EvaluatorKind, evaluator, pool
    from spark_backend.evaluation.step import EvaluationError, evaluate

    kind = EvaluatorKind(root, sites, lane, budget, functions)
    with evaluator(pool(start_evaluator), kind, place) as process:
        with contextlib.suppress(EvaluationError):  # whatever keeps it from refreshing, each evaluation says
            process.refresh()
        pending: Answers = []
        size = 0
        for key, answer in evaluate(process, due, lane):
            pending.append((key, answer))
            size += answer.size
            if size > _BATCH_BYTES:
                yield pending
                pending, size = [], 0
        if pending:
            yield pending


def start_evaluator(kind: EvaluatorKind) -> ForkedEvaluator:
    """A process that makes evaluations of a kind."""
    from spark_backend.evaluation.evaluator import Evaluator
    from spark_backend.evaluation.process import ForkedEvaluator
    from spark_backend.layout import Layout

    root = Path(kind.root)

    def make(spill: Path) -> Evaluator:
        return Evaluator(
            root,
            sites=kind.sites,
            has_translation=has_translation,
            budget=kind.budget,
            spill=spill,
            functions=kind.functions,
        )

    return ForkedEvaluator(Layout(root), kind.lane, kind.budget, make)


def has_translation(query: PreparedQuery) -> bool:
    """Whether Spark SQL can give the answers of a query that it was not forced to.

    What a partitioned window holds follows from what it held before, which a process that stays remembers.
    """
    if any(isinstance(w.window, CountWindow) and w.window.partition is not None for w in query.windows):
        return False
    # Few evaluations are for Spark SQL: the others' tasks need not import what translates.
    from spark_backend.spark_sql.translation.plans import refusal

    return refusal(query.plan, query.windows) is None


def read_answers(rows: Any) -> Answers:
    """The answers in an Arrow table of ANSWER_SCHEMA, (key, answer), by key and instant."""
    columns = (rows[name].to_pylist() for name in _COLUMNS)
    answers = [
        (key, Answer(instant, bindings, triples, error, Site(site), *others))
        for key, instant, bindings, triples, error, site, *others in zip(*columns, strict=True)
    ]
    return sorted(answers, key=lambda one: (one[0], one[1].instant))


def answer_batch(answers: Answers) -> Any:
    """Answers as a record batch of ANSWER_SCHEMA."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(
        [
            pa.array([key for key, _ in answers], pa.string()),
            pa.array([answer.instant for _, answer in answers], pa.int64()),
            pa.array([answer.bindings for _, answer in answers], pa.binary()),
            pa.array([answer.triples for _, answer in answers], pa.list_(pa.string())),
            pa.array([answer.error for _, answer in answers], pa.string()),
            pa.array([answer.site for _, answer in answers], pa.string()),
            pa.array([answer.read for _, answer in answers], pa.int64()),
            pa.array([answer.seconds for _, answer in answers], pa.float64()),
            pa.array([answer.processor for _, answer in answers], pa.float64()),
            pa.array([answer.deferred for _, answer in answers], pa.string()),
            pa.array([answer.stopped for _, answer in answers], pa.bool_()),
            pa.array([answer.quiet for _, answer in answers], pa.bool_()),
            pa.array([answer.matches for _, answer in answers], pa.list_(pa.string())),
        ],
        names=_COLUMNS,
    )
