"""What an expression needs of its variables: that they are bound, and that they are literals.

An error is no truth (SPARQL 1.1 Query section 17.2), so that both are known of a condition by its words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from protocol.language.algebra import TIMESTAMP, Call, Constant, Exists, Expression, Variable

_NO_VARIABLES: frozenset[Variable] = frozenset()

OF_STRINGS = frozenset(
    {"CONCAT", "CONTAINS", "ENCODE_FOR_URI", "LCASE", "REGEX", "REPLACE", "STRAFTER", "STRBEFORE", "STRENDS"}
    | {"STRLEN", "STRSTARTS", "SUBSTR", "UCASE"}
)
"""Functions that an IRI or a blank node is an error for, and of which ``STR`` of an IRI is what was meant."""

_OF_LITERALS = OF_STRINGS | {"LANG", "DATATYPE", "ABS", "CEIL", "FLOOR", "ROUND", "+", "-", "*", "/"}
_OF_LITERALS |= {"YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"}

_Variables = Callable[[Expression], frozenset[Variable]]


def needed(condition: Expression) -> frozenset[Variable]:
    """The variables without which a condition is not true: an error, or false."""
    match condition:
        case Call("BOUND", (Variable() as variable,)):
            return frozenset({variable})
    return _where_true(condition, needed, evaluated)


def evaluated(expression: Expression) -> frozenset[Variable]:
    """The variables without which an expression is an error."""
    if isinstance(expression, Variable):
        return frozenset({expression})
    return _where_no_error(expression, evaluated)


def literal_where_true(condition: Expression) -> frozenset[Variable]:
    """The variables that are neither an IRI nor a blank node wherever a condition is true, each as it stands first in
    what says so: neither of these is less than anything, or equals a literal (section 17.3).
    """
    match condition:
        case Call("&&" | "||" | "!"):
            return _where_true(condition, literal_where_true, literal_where_no_error)
        case Call("<" | ">", sides):
            found = frozenset(side for side in sides if isinstance(side, Variable))
        case Call("=" | "<=" | ">=" | "IN", (Variable() as variable, *others)) if _are_literals(others):
            found = frozenset({variable})
        case Call("=" | "<=" | ">=", (other, Variable() as variable)) if _are_literals([other]):
            found = frozenset({variable})
        case Call("ISLITERAL" | "ISNUMERIC", (Variable() as variable,)):
            found = frozenset({variable})
        case _:
            found = _NO_VARIABLES
    return found | literal_where_no_error(condition)


def literal_where_no_error(expression: Expression) -> frozenset[Variable]:
    """The variables with which an expression is an error where they are an IRI or a blank node."""
    found = _where_no_error(expression, literal_where_no_error)
    if isinstance(expression, Call) and expression.name in _OF_LITERALS:
        found |= frozenset(one for one in expression.arguments if isinstance(one, Variable))
    return found


def _where_true(condition: Expression, true: _Variables, no_error: _Variables) -> frozenset[Variable]:
    """What holds of variables wherever a condition is true, by what does of those in its parts."""
    match condition:
        case Call("&&", (one, other)):
            return true(one) | true(other)
        case Call("||", (one, other)):
            return _common(true(one), true(other))
        case Call("!", (negated,)):
            return no_error(negated)
    return no_error(condition)


def _where_no_error(expression: Expression, no_error: _Variables) -> frozenset[Variable]:
    """What holds of variables wherever an expression is no error, by what does of those in its parts."""
    match expression:
        case Exists() | Call("BOUND") | Call("BNODE"):
            return _NO_VARIABLES
        case Call("&&" | "||", (one, other)):
            return _common(no_error(one), no_error(other))
        case Call("COALESCE", arguments):
            return reduce(_common, map(no_error, arguments)) if arguments else _NO_VARIABLES
        case Call("IF", (condition, one, other)):
            return no_error(condition) | _common(no_error(one), no_error(other))
        case Call("IN" | "NOT IN", (value, *_)):
            return no_error(value)
        case Call(name, arguments) if name != TIMESTAMP or len(arguments) == 1:
            return _NO_VARIABLES.union(*map(no_error, arguments))
    return _NO_VARIABLES


def _common(one: frozenset[Variable], other: frozenset[Variable]) -> frozenset[Variable]:
    """Those of both, as they stand in the first."""
    return frozenset(variable for variable in one if variable in other)


def _are_literals(expressions: Sequence[Expression]) -> bool:
    return all(isinstance(one, Constant) and one.text.startswith('"') for one in expressions)
