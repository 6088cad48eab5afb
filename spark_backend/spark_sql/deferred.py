"""Evaluations that the tasks left to Spark SQL, made good: the answers of a batch with none of them missing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Protocol

from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.site import Site

_ROWS_AT_ONCE = 1_000_000
"""Instants are evaluated in one job while their windows' contents have no more triples than this."""
_INSTANTS_AT_ONCE = 64


class SparkSql(Protocol):
    """What evaluates a prepared query by Spark SQL: ``SparkSqlEvaluator``.

    At ascending instants, where its windows hold ``rows`` triples, about.
    """

    def answers(self, prepared: str, instants: Sequence[Instant], rows: int) -> list[Answer]: ...


def complete(answers: Sequence[tuple[str, Answer]], spark: SparkSql) -> Iterator[tuple[str, Answer]]:
    """The same answers in the same order, those that were deferred given by Spark SQL.

    What goes wrong there is an Answer with an error for each instant it was asked for.
    """
    for (key, prepared), some in groupby(answers, key=lambda one: (one[0], one[1].deferred)):
        if prepared is None:
            yield from some
            continue
        for together in _together([answer for _, answer in some]):
            for answer in _evaluate(prepared, together, spark):
                yield key, answer


def error_text(error: Exception) -> str:
    """What kind of error it is, and its first line; of one of Java's, those of what caused it first."""
    java: Any = getattr(error, "java_exception", None)
    if java is None:
        return f"{type(error).__name__}: {first_line(error)}"
    # What Py4J says itself is which of its objects was called: another one each time.
    while (cause := java.getCause()) is not None:
        java = cause
    return first_line(java)


def first_line(error: object) -> str:
    """What an error says: Spark's bring their plans along, below that."""
    return str(error).strip().split("\n", 1)[0][:500]


def _together(deferred: Sequence[Answer]) -> Iterator[list[Answer]]:
    part: list[Answer] = []
    for answer in deferred:
        if part and (len(part) == _INSTANTS_AT_ONCE or sum(one.read for one in part) + answer.read > _ROWS_AT_ONCE):
            yield part
            part = []
        part.append(answer)
    if part:
        yield part


def _evaluate(prepared: str, deferred: list[Answer], spark: SparkSql) -> Iterator[Answer]:
    began = time.perf_counter()
    try:
        rows = sum(answer.read for answer in deferred)
        given = spark.answers(prepared, [answer.instant for answer in deferred], rows)
    except Exception as error:
        given = [Answer(answer.instant, error=error_text(error)) for answer in deferred]
    share = (time.perf_counter() - began) / len(deferred)
    for asked, answer in zip(deferred, given, strict=True):
        yield replace(answer, site=Site.SPARK, read=asked.read, seconds=share)
