"""``AGGREGATE { (?new, FUNCTION(?argument), {?key, …}) FILTER … }`` (C-SPARQL section 2.2).

Each solution of the WHERE is kept, and has one more binding: the aggregate over the solutions with the same keys. A
FILTER sees the new variables; those of the WHERE are decided before anything is counted.
"""

from __future__ import annotations

from protocol.errors import ProtocolError, QuerySemanticError
from protocol.grammar.cursor import Cursor
from protocol.grammar.expressions import Expressions
from protocol.grammar.terms import Terms
from protocol.language.algebra import Aggregate, Aggregation, Expression, Filter, Pattern, Variable, in_scope

_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")


class AggregateClauses:
    """Reads the clauses that follow the WHERE of the outermost query."""

    def __init__(self, cursor: Cursor, terms: Terms, expressions: Expressions) -> None:
        self._cursor = cursor
        self._terms = terms
        self._expressions = expressions

    def over(self, pattern: Pattern) -> Pattern:
        """The pattern with all clauses that follow.

        Raises QuerySyntaxError, and QuerySemanticError for variables that are not the WHERE's, or are not new.
        """
        where = in_scope(pattern)
        new: set[Variable] = set()
        conditions: list[Expression] = []
        while self._cursor.take("AGGREGATE"):
            with self._cursor.nested("{", "}", "{ after AGGREGATE"):
                if not self._cursor.at_punctuation("("):
                    raise self._cursor.unexpected("an aggregate such as (?n, COUNT, {?key}) in AGGREGATE { }")
                while self._cursor.at_punctuation("("):
                    self._cursor.count_operation()
                    pattern = self._aggregate(pattern, where, new)
                    while self._cursor.take("FILTER"):
                        condition = self._expressions.constraint()
                        if condition is None:
                            raise self._cursor.unexpected("an expression in brackets or a call after FILTER")
                        conditions.append(condition)
        for condition in conditions:
            pattern = Filter(pattern, condition)
        return pattern

    def _aggregate(self, pattern: Pattern, where: frozenset[Variable], new: set[Variable]) -> Pattern:
        """``( ?new , FUNCTION , keys )``."""
        cursor = self._cursor
        with cursor.nested("(", ")"):
            result = self._terms.variable("a new variable after ( in AGGREGATE")
            if result in where or result in new:
                raise self._error(
                    f"?{result.name} is bound already: the result of AGGREGATE needs a new variable", result
                )
            cursor.expect_punctuation(",", ", after the new variable")
            function = cursor.expect(*_FUNCTIONS, after="the comma")
            argument: Variable | None = None
            if cursor.at_punctuation("("):
                with cursor.nested("(", ")"):
                    argument = self._read(f"the variable of {function.word}", where, new)
            elif function.word != "COUNT":
                raise cursor.unexpected(f"( and a variable after {function.word}")
            cursor.expect_punctuation(",", ", after the function")
            keys = self._keys(where, new)
        new.add(result)
        return Aggregation(pattern, tuple(keys), Aggregate(function.word, argument, result))

    def _keys(self, where: frozenset[Variable], new: set[Variable]) -> list[Variable]:
        cursor = self._cursor
        if not cursor.at_punctuation("{"):
            return [self._read("a variable or {?key, …} after the comma", where, new)]
        with cursor.nested("{", "}"):
            keys = [self._read("a variable to group by", where, new)]
            while cursor.take_punctuation(","):
                keys.append(self._read("a variable to group by", where, new))
        return keys

    def _read(self, wanted: str, where: frozenset[Variable], new: set[Variable]) -> Variable:
        variable = self._terms.variable(wanted)
        if variable not in where:
            other = " (another AGGREGATE's variable cannot be used)" if variable in new else ""
            raise self._error(
                f"?{variable.name} is not a variable of the WHERE, which AGGREGATE is over{other}", variable
            )
        return variable

    def _error(self, detail: str, variable: Variable) -> ProtocolError:
        return self._cursor.error(detail, variable.place, QuerySemanticError)
