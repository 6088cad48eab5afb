"""The functions of the prelude, vectorised over Arrow columns: the same in DuckDB and in Spark SQL.

They are total: Spark calls a function also for rows where a CASE excludes it, and what it is not meant for is NULL.
A query's own expressions are evaluated by Oxigraph, which answers one-shot queries too, over the
distinct tuples of their arguments: one query with a VALUES block for each batch of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyoxigraph

from protocol.functions.aggregates import aggregate_term
from protocol.functions.python_functions import callables
from protocol.numbers import order_number, order_rest
from protocol.order import order_triple
from protocol.terms import (
    XSD,
    TermKind,
    blank_nodes,
    comparable_facets,
    escape,
    facets,
    is_triple,
    parse_term,
    term_text,
    unescape,
)
from protocol.time import format_duration, format_instant
from spark_backend.answers.numbers import number_term, sum_term
from spark_backend.compiler.sql.expressions.expressions import PreludeFunction
from spark_backend.evaluation.prelude.boxes import SIDES

_ROWS_PER_QUERY = 2000
_REMEMBERED_CHARACTERS = 2**24
_OVERHEAD = 60
"""Characters that a term costs beside its own."""
_ROW = pyoxigraph.NamedNode("urn:x-sparql-streams:row")
_ARGUMENT = "urn:x-sparql-streams:argument:"
_EXACT = (TermKind.INTEGER, TermKind.DECIMAL)


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
    return comparable_facets(term)[1]


def _lexical(term: str) -> str | None:
    """STR of an IRI or literal."""
    if term[0] == "_" or is_triple(term):
        return None
    return term[1:-1] if term[0] == "<" else unescape(term[1 : term.rindex('"')])


def _string_term(text: str) -> str:
    return f'"{escape(text)}"'


def _instant_term(instant: int) -> str:
    return f'"{format_instant(instant)}"^^<{XSD}dateTime>'


def _duration_term(milliseconds: int) -> str:
    days, rest = divmod(milliseconds, 86_400_000)
    time = format_duration(rest).removeprefix("P") if rest or not days else ""
    return f'"P{f"{days}D" if days else ""}{time}"^^<{XSD}dayTimeDuration>'


def _number_term(kind: int | None, number: float | None) -> str | None:
    if kind is None or (kind in _EXACT and number is not None and not math.isfinite(number)):
        return None
    return number_term(kind, number)


def _each(function: Callable[..., str | None]) -> Callable[..., pa.Array]:
    """A vectorised function of terms that is called for every row: 0.0 and -0.0 are not the same one."""

    def vectorised(*columns: Any) -> pa.Array:
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([function(*row) for row in rows], pa.string())

    return vectorised


def _has_blank_node(term: str) -> bool:
    return term[0] == "_" or (is_triple(term) and any(blank_nodes(term)))


class SparqlFunction:
    """A SPARQL expression as a vectorised function of term columns, NULL for unbound and for errors.

    It remembers results, so that windows that overlap ask for those of new terms only: as many as have
    ``_REMEMBERED_CHARACTERS`` together.
    """

    def __init__(self, function: PreludeFunction, base: str | None, functions: str = "") -> None:
        """``functions`` are the application's own (``PythonFunctions.to_json``). Raises FunctionsNotLoaded."""
        self._functions = callables(functions)
        self._expression = function.expression
        self._arguments = [f"a{index}" for index in range(function.arguments)]
        self._base = base
        self._store = pyoxigraph.Store()
        self._known: dict[tuple[str | None, ...], str | None] = {}
        self._characters = 0

    def __call__(self, *columns: Any) -> pa.Array:
        width = len(self._arguments)
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
        rows = [row[:width] for row in rows]
        unknown = [row for row in dict.fromkeys(rows) if row not in self._known]
        with_blank_nodes = [row for row in unknown if any(term is not None and _has_blank_node(term) for term in row)]
        for row in with_blank_nodes:
            of_triples = any(term is not None and is_triple(term) for term in row)
            self._known[row] = self._of_triples(row) if of_triples else self._single(row)
        plain = [row for row in unknown if row not in self._known]
        for start in range(0, len(plain), _ROWS_PER_QUERY):
            self._many(plain[start : start + _ROWS_PER_QUERY])
        results = pa.array([self._known[row] for row in rows], pa.string())
        self._characters += sum(len(term or "") + _OVERHEAD for row in unknown for term in (*row, self._known[row]))
        if self._characters > _REMEMBERED_CHARACTERS:
            self._known.clear()
            self._characters = 0
        return results

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
            self._known[rows[int(solution["row"].value)]] = None if result is None else term_text(result)

    def _of_triples(self, row: tuple[str | None, ...]) -> str | None:
        """As ``_single``, of triple terms: by its optimizer Oxigraph compares what is substituted by term."""
        store = pyoxigraph.Store()
        read = []
        for name, term in zip(self._arguments, row, strict=True):
            if term is not None:
                place = pyoxigraph.NamedNode(f"{_ARGUMENT}{name}")
                store.add(pyoxigraph.Quad(_ROW, place, parse_term(term)))
                read.append(f"?row {place} ?{name} .")
        query = f"SELECT ?result WHERE {{ {' '.join(read)} BIND({self._expression} AS ?result) }}"
        found: Any = store.query(query, base_iri=self._base, custom_functions=self._functions)
        for solution in found:
            return None if solution["result"] is None else term_text(solution["result"])
        return None

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
            return None if solution["result"] is None else term_text(solution["result"])
        return None

    def _solutions(self, query: str, substitutions: dict[pyoxigraph.Variable, Any] | None = None) -> Any:
        return self._store.query(
            query, base_iri=self._base, substitutions=substitutions, custom_functions=self._functions
        )


FIXED: Mapping[str, Callable[..., pa.Array]] = {
    "facet_k": _each_distinct(_kind, pa.uint8()),
    "facet_n": _each_distinct(_number, pa.float64()),
    "lexical": _each_distinct(_lexical, pa.string()),
    "string_term": _each_distinct(_string_term, pa.string()),
    "instant_term": _each_distinct(_instant_term, pa.string()),
    "duration_term": _each_distinct(_duration_term, pa.string()),
    "order_number": _each_distinct(order_number, pa.float64()),
    "order_rest": _each_distinct(order_rest, pa.float64()),
    "order_triple": _each_distinct(order_triple, pa.string()),
    "sum_term": _each(sum_term),
    "number_term": _each(_number_term),
    "aggregate_term": _each(aggregate_term),
    **SIDES,
}
"""The fixed functions by their names in SQL."""
