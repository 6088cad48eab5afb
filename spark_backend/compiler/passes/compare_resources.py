"""Comparisons of what is surely no literal, by its term alone (SPARQL 1.1 Query section 17.3).

A subject, a predicate and the name of a graph are IRIs or blank nodes. One of them equals what is the same term, and
nothing else (RDFterm-equal, where no literals are compared); it is neither less nor greater than anything. So ``=``
between variables becomes what joins can be made of, what never holds is FALSE, and IN is to be one of some terms.
"""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.parts import with_parts
from protocol.language.resources import resources_of
from protocol.terms import TermKind
from spark_backend.compiler.algebra.traversal import bottom_up
from spark_backend.compiler.sql.values import FALSE

Variables = frozenset[a.Variable]


def compare_resources(query: a.Query, _: object) -> a.Query:
    return replace(query, pattern=bottom_up(query.pattern, _compared))


def _compared(pattern: a.Pattern, _: bool) -> a.Pattern:
    match pattern:
        case a.Filter(inner, condition):
            return with_parts(pattern, condition=_condition(condition, resources_of(inner)))
        case a.LeftJoin(left, right, a.Call() as condition):
            return with_parts(pattern, condition=_condition(condition, resources_of(left) | resources_of(right)))
        case a.Extend(inner, _, a.Call() as expression):
            return with_parts(pattern, expression=_value(expression, resources_of(inner)))
    return pattern


def _condition(expression: a.Expression, resources: Variables) -> a.Expression:
    """One that is true for the same solutions: to be an error is as good as to be false there."""
    match expression:
        case a.Call("&&" | "||", arguments):
            return with_parts(expression, arguments=tuple(_condition(one, resources) for one in arguments))
        case a.Call("<" | ">", arguments) if not resources.isdisjoint(arguments):
            return a.Constant(FALSE)
        case a.Call("<=" | ">=", arguments) if not resources.isdisjoint(arguments):
            return _same(*(_value(one, resources) for one in arguments))
    return _value(expression, resources)


def _value(expression: a.Expression, resources: Variables) -> a.Expression:
    """An expression of the same value, or that fails as well."""
    if not isinstance(expression, a.Call):
        return expression
    arguments = tuple(_value(one, resources) for one in expression.arguments)
    if expression.name in ("=", "!=") and not resources.isdisjoint(arguments):
        same = _same(*arguments)
        return same if expression.name == "=" else a.Call("!", (same,))
    if expression.name in ("IN", "NOT IN") and len(arguments) > 1 and arguments[0] in resources:
        found = a.balanced("||", [_same(arguments[0], member) for member in arguments[1:]])
        return found if expression.name == "IN" else a.Call("!", (found,))
    return with_parts(expression, arguments=arguments)


def _same(one: a.Expression, other: a.Expression) -> a.Expression:
    """That both are the same term, of which one is a resource."""
    if _is_literal(one) or _is_literal(other):
        return a.Constant(FALSE)
    return a.Call("SAMETERM", (one, other))


def _is_literal(expression: a.Expression) -> bool:
    match expression:
        case a.Constant(text):
            return text.startswith('"')
        case a.Parameter(_, kind):
            return kind < TermKind.IRI
    return False
