"""What is told of an evaluation that Spark SQL could not make."""

from __future__ import annotations

from dataclasses import dataclass

from spark_backend.spark_sql.deferred import error_text


@dataclass
class _JavaError:
    said: str
    cause: _JavaError | None = None

    def getCause(self) -> _JavaError | None:  # noqa: N802  # Java's name
        return self.cause

    def __str__(self) -> str:
        return self.said


class _CalledError(Exception):
    """As Py4J raises it: what it says first is which object was called, another one each time."""

    java_exception = _JavaError(
        "SparkException: in awaitResult", _JavaError("SparkException: no such plan\n+- Project")
    )


def test_an_error_of_java_is_told_by_what_caused_it() -> None:
    error = _CalledError("An error occurred while calling o342.getResult.\n: SparkException: in awaitResult")
    assert error_text(error) == "SparkException: no such plan"


def test_another_error_is_told_by_its_kind_and_its_first_line() -> None:
    assert error_text(ValueError("no such column\nin a long plan")) == "ValueError: no such column"
