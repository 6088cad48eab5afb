"""What Spark's tasks run: due evaluations in, answers out, by Arrow or straight to the server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from protocol.windows.spec import CountWindow
from spark_backend.answers.answer import Answer, Answers
from spark_backend.budget import Budget, Lane
from spark_backend.evaluation.step import Due
from spark_backend.registry import PreparedQuery
from spark_backend.site import BY_SIZE, Site, SiteChoice
from spark_backend.spark.reception import Part, Way, send

DUE_SCHEMA = "key string, prepared string, instants array<bigint>"
"""One row: a registered query, the file of its prepared form, the instants it is due at, ascending."""

ANSWER_SCHEMA = (
    "key string, instant bigint, solutions string, triples array<string>, error string, "
    "site string, read bigint, seconds double, deferred string, stopped boolean, quiet boolean, "
    "matches array<string>"
)
"""One row: the answer of one query at one instant (``Answer``), its solutions a line each."""

_COLUMNS = [
    "key",
    "instant",
    "solutions",
    "triples",
    "error",
    "site",
    "read",
    "seconds",
    "deferred",
    "stopped",
    "quiet",
    "matches",
]
_BATCH_BYTES = 16 * 1024 * 1024


Evaluate = Callable[[Sequence[Due]], Iterator[Answers]]
"""What a task runs: the answers to what is due, some at a time."""

AnswerPart = Callable[[Part, Sequence[Due]], Iterator[Any]]
"""What a task of the streaming query does with a part of a batch, and what it gives Spark: record batches, or none."""


def evaluation(root: Path, sites: SiteChoice = BY_SIZE, *, lane: Lane, budget: Budget) -> Evaluate:
    """What evaluates in a task; ``sites`` says what it is to evaluate.

    In the common lane, what takes more than ``budget.common`` is deferred.
    """
    return partial(_evaluate, str(root), sites, lane, budget if lane is Lane.OWN else budget.common)


def in_arrow(evaluate: Evaluate, batches: Iterator[Any]) -> Iterator[Any]:
    """For ``mapInArrow``: record batches of DUE_SCHEMA in, of ANSWER_SCHEMA out."""
    for batch in batches:
        due = [(row["key"], row["prepared"], row["instants"]) for row in batch.to_pylist()]
        yield from map(answer_batch, evaluate(due))


def collected(evaluate: Evaluate, part: Part, due: Sequence[Due]) -> Iterator[Any]:
    """For the source: the answers of a part, as record batches of ANSWER_SCHEMA that Spark collects."""
    yield from map(answer_batch, evaluate(due))


def sent(way: Way, evaluate: Evaluate, part: Part, due: Sequence[Due]) -> Iterator[Any]:
    """For the source: the answers of a part go to the server by themselves, and Spark is given nothing."""
    send(way, part, evaluate(due))
    yield from ()


_evaluators: dict[tuple[str, SiteChoice, Lane], Any] = {}
"""Per data directory: a worker that is used again finds its evaluator's connection and tables as it left them."""


def _evaluate(root: str, sites: SiteChoice, lane: Lane, budget: Budget, due: Sequence[Due]) -> Iterator[Answers]:
    from spark_backend.evaluation.step import EvaluationError, evaluate

    evaluator = _evaluator(root, sites, lane, budget)
    with contextlib.suppress(EvaluationError):  # whatever keeps it from refreshing, each evaluation says
        evaluator.refresh()
    pending: Answers = []
    size = 0
    for key, answer in evaluate(evaluator, due, lane):
        pending.append((key, answer))
        size += answer.size
        if size > _BATCH_BYTES:
            yield pending
            pending, size = [], 0
    if pending:
        yield pending


def _evaluator(root: str, sites: SiteChoice, lane: Lane, budget: Budget) -> Any:
    """An EvaluatorProcess: the source and the server read this module too, and need not import what evaluates."""
    from spark_backend.evaluation.evaluator import Evaluator
    from spark_backend.evaluation.process import EvaluatorProcess
    from spark_backend.layout import Layout

    known = _evaluators.get((root, sites, lane))
    if known is not None and known.budget == budget:
        return known
    if known is not None:
        known.close()

    def make(spill: Path) -> Evaluator:
        return Evaluator(Path(root), sites=sites, has_translation=has_translation, budget=budget, spill=spill)

    evaluator = _evaluators[root, sites, lane] = EvaluatorProcess(Layout(Path(root)), lane, budget, make)
    return evaluator


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
        (key, Answer(instant, solutions.split("\n") if solutions else [], triples, error, Site(site), *others))
        for key, instant, solutions, triples, error, site, *others in zip(*columns, strict=True)
    ]
    return sorted(answers, key=lambda one: (one[0], one[1].instant))


def answer_batch(answers: Answers) -> Any:
    """Answers as a record batch of ANSWER_SCHEMA."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(
        [
            pa.array([key for key, _ in answers], pa.string()),
            pa.array([answer.instant for _, answer in answers], pa.int64()),
            # JSON texts have no line breaks; one string is passed on faster than a list of them.
            pa.array(["\n".join(answer.solutions) for _, answer in answers], pa.string()),
            pa.array([answer.triples for _, answer in answers], pa.list_(pa.string())),
            pa.array([answer.error for _, answer in answers], pa.string()),
            pa.array([answer.site for _, answer in answers], pa.string()),
            pa.array([answer.read for _, answer in answers], pa.int64()),
            pa.array([answer.seconds for _, answer in answers], pa.float64()),
            pa.array([answer.deferred for _, answer in answers], pa.string()),
            pa.array([answer.stopped for _, answer in answers], pa.bool_()),
            pa.array([answer.quiet for _, answer in answers], pa.bool_()),
            pa.array([answer.matches for _, answer in answers], pa.list_(pa.string())),
        ],
        names=_COLUMNS,
    )
