"""The prelude in DuckDB: functions that SQL lacks, vectorised over Arrow columns.

A query's own expressions are evaluated by Oxigraph, which answers one-shot queries too, over the
distinct tuples of their arguments: one query with a VALUES block for each batch of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyoxigraph
from duckdb.func import FunctionNullHandling, PythonUDFType

from protocol.terms import escape, facets, parse_term, unescape
from protocol.time import format_instant
from spark_backend.compiler.expressions import PreludeFunction
from spark_backend.evaluation.numbers import number_term, order_number, order_rest, sum_term

_XSD = "http://www.w3.org/2001/XMLSchema#"
_ROWS_PER_QUERY = 2000


def install(connection: duckdb.DuckDBPyConnection) -> None:
    """Define the fixed functions of the prelude on a connection."""
    fixed: Sequence[tuple[str, Callable[..., Any], list[str], str, pa.DataType]] = (
        ("facet_k", _kind, ["VARCHAR"], "UTINYINT", pa.uint8()),
        ("facet_n", _number, ["VARCHAR"], "DOUBLE", pa.float64()),
        ("lexical", _lexical, ["VARCHAR"], "VARCHAR", pa.string()),
        ("string_term", _string_term, ["VARCHAR"], "VARCHAR", pa.string()),
        ("instant_term", _instant_term, ["BIGINT"], "VARCHAR", pa.string()),
        ("order_number", order_number, ["VARCHAR"], "DOUBLE", pa.float64()),
        ("order_rest", order_rest, ["VARCHAR"], "DOUBLE", pa.float64()),
    )
    for name, function, parameters, result, kind in fixed:
        _create(connection, name, _each_distinct(function, kind), parameters, result)
    parameters = ["BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR", "VARCHAR", "VARCHAR[]", "BIGINT"]
    _create(connection, "sum_term", _each(sum_term), parameters, "VARCHAR")
    _create(connection, "number_term", _each(_number_term), ["UTINYINT", "DOUBLE"], "VARCHAR")


def install_function(connection: duckdb.DuckDBPyConnection, function: PreludeFunction, base: str | None) -> None:
    """Define one expression of a query as a function of its variables' terms."""
    parameters = ["VARCHAR"] * max(function.arguments, 1)
    _create(connection, function.name, _SparqlFunction(function, base), parameters, "VARCHAR")


def _create(
    connection: duckdb.DuckDBPyConnection, name: str, function: Callable[..., Any], parameters: list[Any], result: str
) -> None:
    # `varargs` functions and callables without a signature need it spelt out for DuckDB.
    names = [f"p{number}" for number in range(len(parameters))]
    scope: dict[str, Any] = {"function": function}
    wrapper = eval(f"lambda {', '.join(names)}: function({', '.join(names)})", scope)
    connection.create_function(
        name, wrapper, parameters, result, type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL
    )


def _each_distinct(function: Callable[..., Any], kind: pa.DataType) -> Callable[..., pa.Array]:
    """A vectorised function that calls ``function`` once for each distinct tuple without NULL in the first place."""

    def vectorised(*columns: Any) -> pa.Array:
        known: dict[Any, Any] = {}
        lists = [column.to_pylist() for column in columns]
        result: list[Any] = []
        for row in zip(*lists, strict=True):
            if row[0] is None:
                result.append(None)
                continue
            if row not in known:
                known[row] = function(*row)
            result.append(known[row])
        return pa.array(result, kind)

    return vectorised


def _kind(term: str) -> int:
    return int(facets(term)[0])


def _number(term: str) -> float | None:
    number = facets(term)[1]
    return None if number != number else number  # a NaN compares with nothing


def _lexical(term: str) -> str:
    """STR of an IRI or literal."""
    return term[1:-1] if term[0] == "<" else unescape(term[1 : term.rindex('"')])


def _string_term(text: str) -> str:
    return f'"{escape(text)}"'


def _instant_term(instant: int) -> str:
    return f'"{format_instant(instant)}"^^<{_XSD}dateTime>'


def _number_term(kind: int | None, number: float | None) -> str | None:
    return None if kind is None else number_term(kind, number)


def _each(function: Callable[..., str | None]) -> Callable[..., pa.Array]:
    """A vectorised function of terms that is called for every row: 0.0 and -0.0 are not the same one."""

    def vectorised(*columns: Any) -> pa.Array:
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([function(*row) for row in rows], pa.string())

    return vectorised


class _SparqlFunction:
    """A SPARQL expression as a vectorised function of term columns, NULL for unbound and for errors."""

    def __init__(self, function: PreludeFunction, base: str | None) -> None:
        self._expression = function.expression
        self._arguments = [f"a{index}" for index in range(function.arguments)]
        self._base = base
        self._store = pyoxigraph.Store()
        self._known: dict[tuple[str | None, ...], str | None] = {}

    def __call__(self, *columns: Any) -> pa.Array:
        width = len(self._arguments)
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
        rows = [row[:width] for row in rows]
        unknown = [row for row in dict.fromkeys(rows) if row not in self._known]
        if len(self._known) + len(unknown) > 100_000:
            self._known.clear()
            unknown = list(dict.fromkeys(rows))
        with_blank_nodes = [row for row in unknown if any(term is not None and term.startswith("_:") for term in row)]
        for row in with_blank_nodes:
            self._known[row] = self._single(row)
        plain = [row for row in unknown if row not in self._known]
        for start in range(0, len(plain), _ROWS_PER_QUERY):
            self._many(plain[start : start + _ROWS_PER_QUERY])
        return pa.array([self._known[row] for row in rows], pa.string())

    def _many(self, rows: Sequence[tuple[str | None, ...]]) -> None:
        names = " ".join(f"?{name}" for name in ("row", *self._arguments))
        lines = "\n".join(
            f"({number} {' '.join('UNDEF' if term is None else term for term in row)})"
            for number, row in enumerate(rows)
        )
        query = f"SELECT ?row ?result WHERE {{ VALUES ({names}) {{ {lines} }} BIND({self._expression} AS ?result) }}"
        self._known.update(dict.fromkeys(rows))
        for solution in self._solutions(query):
            result = solution["result"]
            self._known[rows[int(solution["row"].value)]] = None if result is None else str(result)

    def _single(self, row: tuple[str | None, ...]) -> str | None:
        # A blank node cannot be written in VALUES.
        substitutions: dict[pyoxigraph.Variable, Any] = {
            pyoxigraph.Variable(name): parse_term(term)
            for name, term in zip(self._arguments, row, strict=True)
            if term is not None
        }
        names = " ".join(f"?{variable.value}" for variable in substitutions)
        query = f"SELECT ?result {names} WHERE {{ BIND({self._expression} AS ?result) }}"
        for solution in self._solutions(query, substitutions):
            return None if solution["result"] is None else str(solution["result"])
        return None

    def _solutions(self, query: str, substitutions: dict[pyoxigraph.Variable, Any] | None = None) -> Any:
        return self._store.query(query, base_iri=self._base, substitutions=substitutions)
