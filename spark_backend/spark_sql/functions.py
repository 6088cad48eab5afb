"""The prelude in Spark SQL: the functions that DuckDB has there, by the same names, over Arrow columns.

The very same Python computes them, in Spark's workers.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # its stubs are behind

from spark_backend.compiler.sql.expressions.expressions import PreludeFunction
from spark_backend.evaluation.prelude.boxes import SIDES
from spark_backend.evaluation.prelude.functions import FIXED, SparqlFunction

_TYPES = {"facet_k": "smallint", "facet_n": "double", "order_number": "double", "order_rest": "double"}
_TYPES |= dict.fromkeys(SIDES, "double")
"""Results that are no strings."""
_ARROW = {"smallint": pa.int16(), "double": pa.float64(), "string": pa.string()}
_KEPT = 200

_of_queries: dict[tuple[str, str], SparqlFunction] = {}
"""In a worker, functions of queries by their names, which are digests, and by the functions of the application that
they may call: what they have found out is kept.
"""


def install(session: SparkSession) -> None:
    """Define the fixed functions of the prelude in a session."""
    for name in FIXED:
        kind = _TYPES.get(name, "string")
        _register(session, name, kind, _Fixed(name, kind))


def install_function(session: SparkSession, function: PreludeFunction, base: str | None, functions: str = "") -> None:
    """Define one expression of a query as a function of its variables' terms, which may call the application's own."""
    _register(session, function.name, "string", _OfQuery(function, base, functions))


def _register(session: SparkSession, name: str, kind: str, function: Callable[..., pa.Array]) -> None:
    def vectorised(*columns: pa.Array) -> pa.Array:
        return function(*columns)

    session.udf.register(name, arrow_udf(vectorised, kind))


class _Fixed:
    """A fixed function by its name: that is what travels to the workers."""

    def __init__(self, name: str, kind: str) -> None:
        self._name, self._kind = name, kind

    def __call__(self, *columns: pa.Array) -> pa.Array:
        return FIXED[self._name](*columns).cast(_ARROW[self._kind])


class _OfQuery:
    """A SPARQL expression, made into a function where it is called."""

    def __init__(self, function: PreludeFunction, base: str | None, functions: str) -> None:
        self._function, self._base, self._functions = function, base, functions

    def __call__(self, *columns: pa.Array) -> pa.Array:
        key = self._function.name, self._functions
        known = _of_queries.get(key)
        if known is None:
            if len(_of_queries) >= _KEPT:
                _of_queries.clear()
            known = _of_queries[key] = SparqlFunction(self._function, self._base, self._functions)
        return known(*columns)
