"""What Spark's tasks run: due evaluations in, answers out, Arrow both ways (``mapInArrow``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from spark_backend.evaluation.answer import Answer

DUE_SCHEMA = "key string, prepared string, instants array<bigint>"
"""One row: a registered query, the file of its prepared form, the instants it is due at, ascending."""

ANSWER_SCHEMA = "key string, instant bigint, solutions string, triples array<string>, error string"
"""One row: the answer of one query at one instant (``Answer``), its solutions a line each."""

_BATCH_BYTES = 16 * 1024 * 1024


def evaluation_task(root: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for ``mapInArrow`` over DUE_SCHEMA, giving ANSWER_SCHEMA."""
    return partial(_evaluate, str(root))


_evaluators: dict[str, Any] = {}
"""Per data directory: a worker process that is used again finds its connection and tables as it left them."""


def _evaluate(root: str, batches: Iterator[Any]) -> Iterator[Any]:
    from spark_backend.evaluation.evaluator import Evaluator

    evaluator = _evaluators.get(root)
    if evaluator is None:
        evaluator = _evaluators[root] = Evaluator(Path(root))
    evaluator.refresh()
    for batch in batches:
        pending: list[tuple[str, Any]] = []
        size = 0
        due = [(row["key"], row["prepared"], row["instants"]) for row in batch.to_pylist()]
        for key, answer in evaluator.evaluate(due):
            pending.append((key, answer))
            size += sum(map(len, answer.solutions)) + sum(map(len, answer.triples))
            if size > _BATCH_BYTES:
                yield _batch(pending)
                pending, size = [], 0
        if pending:
            yield _batch(pending)


def received(rows: Any) -> list[tuple[str, Answer]]:
    """The answers in an Arrow table of ANSWER_SCHEMA, (key, answer), by key and instant."""
    columns = (rows[name].to_pylist() for name in ("key", "instant", "solutions", "triples", "error"))
    answers = [
        (key, Answer(instant, solutions.split("\n") if solutions else [], triples, error))
        for key, instant, solutions, triples, error in zip(*columns, strict=True)
    ]
    return sorted(answers, key=lambda one: (one[0], one[1].instant))


def _batch(answers: list[tuple[str, Any]]) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(
        [
            pa.array([key for key, _ in answers], pa.string()),
            pa.array([answer.instant for _, answer in answers], pa.int64()),
            # JSON texts have no line breaks; one string is passed on faster than a list of them.
            pa.array(["\n".join(answer.solutions) for _, answer in answers], pa.string()),
            pa.array([answer.triples for _, answer in answers], pa.list_(pa.string())),
            pa.array([answer.error for _, answer in answers], pa.string()),
        ],
        names=["key", "instant", "solutions", "triples", "error"],
    )
