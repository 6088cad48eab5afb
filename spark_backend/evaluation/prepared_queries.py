"""Queries as they were compiled, read from their files once, and the functions that DuckDB calls for them."""

from __future__ import annotations

import duckdb

from spark_backend.compiler.plan import Plan
from spark_backend.evaluation.prelude.functions import SparqlFunction
from spark_backend.evaluation.prelude.in_duckdb import install_function
from spark_backend.registry import PreparedQuery, Registry

_MOST = 2000


class PreparedQueries:
    """Those that one evaluator has read; ``functions`` are the application's own (``PythonFunctions.to_json``).

    ``stopped``: the marks of plans whose statements were stopped, as joining little took long.
    """

    def __init__(self, registry: Registry, functions: str, connection: duckdb.DuckDBPyConnection) -> None:
        self.stopped: set[str] = set()
        self._registry = registry
        self._own_functions = functions
        self._connection = connection
        self._queries: dict[str, PreparedQuery] = {}
        self._functions: dict[str, SparqlFunction] = {}
        self._installed: set[str] = set()

    def read(self, name: str) -> PreparedQuery:
        """The query of this file, whose functions can be called from now on. Raises what reading the file does."""
        query = self._queries.get(name)
        if query is None:
            if len(self._queries) >= _MOST:
                self._forget()
            query = self._registry.read_prepared(name)
            for plan in (query.plan, *query.conditions.values()):
                self._install(plan)
            self._queries[name] = query
        return query

    def move_to(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Go on with another database. What functions know that were used lately stays."""
        self._connection = connection
        self._queries.clear()
        self._functions = {name: self._functions[name] for name in self._installed}
        self._installed.clear()

    def _install(self, plan: Plan) -> None:
        for function in plan.functions:
            if function.name not in self._installed:
                if function.name not in self._functions:
                    self._functions[function.name] = SparqlFunction(function, plan.base, self._own_functions)
                install_function(self._connection, function, self._functions[function.name])
                self._installed.add(function.name)

    def _forget(self) -> None:
        """Let go of all; those that go on are read again."""
        self._queries.clear()
        self.stopped.clear()
        for function in self._installed:
            self._connection.remove_function(function)
        self._installed.clear()
        self._functions.clear()
