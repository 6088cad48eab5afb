"""The prelude in DuckDB: functions that SQL lacks."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType

from spark_backend.compiler.sql.expressions.expressions import PreludeFunction
from spark_backend.evaluation.prelude.boxes import SIDES
from spark_backend.evaluation.prelude.functions import FIXED, SparqlFunction

_TYPES: dict[str, tuple[list[str], str]] = {
    "facet_k": (["VARCHAR"], "UTINYINT"),
    "facet_n": (["VARCHAR"], "DOUBLE"),
    "lexical": (["VARCHAR"], "VARCHAR"),
    "string_term": (["VARCHAR"], "VARCHAR"),
    "instant_term": (["BIGINT"], "VARCHAR"),
    "duration_term": (["BIGINT"], "VARCHAR"),
    "order_number": (["VARCHAR"], "DOUBLE"),
    "order_rest": (["VARCHAR"], "DOUBLE"),
    "order_triple": (["VARCHAR"], "VARCHAR"),
    "sum_term": (["BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR", "VARCHAR", "VARCHAR[]", "BIGINT"], "VARCHAR"),
    "number_term": (["UTINYINT", "DOUBLE"], "VARCHAR"),
    "aggregate_term": (["VARCHAR", "VARCHAR[]", "BIGINT"], "VARCHAR"),
    **{name: (["VARCHAR"], "DOUBLE") for name in SIDES},
}
"""Parameters and result of the fixed functions."""


def install(connection: duckdb.DuckDBPyConnection) -> None:
    """Define the fixed functions of the prelude on a connection."""
    for name, function in FIXED.items():
        _create(connection, name, function, *_TYPES[name])


def install_function(
    connection: duckdb.DuckDBPyConnection, function: PreludeFunction, evaluated: SparqlFunction
) -> None:
    """Define one expression of a query as a function of its variables' terms, which ``evaluated`` knows."""
    parameters = ["VARCHAR"] * max(function.arguments, 1)
    _create(connection, function.name, evaluated, parameters, "VARCHAR")


def _create(
    connection: duckdb.DuckDBPyConnection, name: str, function: Callable[..., Any], parameters: list[Any], result: str
) -> None:
    def wrapper(*columns: Any) -> Any:
        return function(*columns)

    # DuckDB asks how many arguments there are, which callables of any number do not tell.
    names = [Parameter(f"p{number}", Parameter.POSITIONAL_ONLY) for number in range(len(parameters))]
    wrapper.__signature__ = Signature(names)  # type: ignore[attr-defined]  # of any function (inspect.signature)
    connection.create_function(
        name, wrapper, parameters, result, type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL
    )
