"""Constant expressions computed once, where a query is registered, by the engine that evaluates them otherwise.

Never NOW(), nor what draws: these differ from one evaluation to the next; nor functions of the application, which are
called where evaluations are, and bounded as they are. What fails is ``FAILURE``, and truth values
are three-valued (SPARQL 1.1 Query section 17.2): a failure in a conjunction may still be FALSE. A variable that nothing
binds is constant, too: a failure. Inside of EXISTS it may be bound outside.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyoxigraph

from protocol.functions.table import CUSTOM_FUNCTIONS, FUNCTIONS
from protocol.language import algebra as a
from protocol.language.parts import with_parts
from protocol.terms import XSD, term_text
from spark_backend.compiler.algebra.marks import BNODE_OF
from spark_backend.compiler.algebra.operands import conjuncts, filter_of
from spark_backend.compiler.algebra.sparql_text import expression_text
from spark_backend.compiler.algebra.timestamps import TIMESTAMP
from spark_backend.compiler.algebra.traversal import bottom_up
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.sql.values import FALSE, TRUE

FAILURE = a.Call("COALESCE", ())
"""An expression that is an error, whatever is bound."""
_TRUE, _FALSE = a.Constant(TRUE), a.Constant(FALSE)
_OPPOSITES: Mapping[a.Expression, a.Expression] = {_TRUE: _FALSE, _FALSE: _TRUE, FAILURE: FAILURE}
_VARYING = a.VARYING | {BNODE_OF, TIMESTAMP}
_STRICT = a.COMPARISONS | {"+", "-", "*", "/"}
"""Operators that fail if an operand does, and are no truth values' own."""


def fold_constants(query: a.Query, knowledge: Knowledge) -> a.Query:
    folding = _Folder(query.base or knowledge.base)
    return replace(query, pattern=bottom_up(query.pattern, folding.pattern))


def fold_conditions(pattern: a.Pattern, condition: a.Expression, base: str | None) -> a.Pattern:
    """The pattern under what is left of a condition of its FILTER."""
    return filter_of(pattern, _Folder(base)._conditions(condition))


class _Folder:
    def __init__(self, base: str | None) -> None:
        self._base = base

    def pattern(self, pattern: a.Pattern, inside: bool) -> a.Pattern:
        match pattern:
            case a.Filter(inner, condition):
                return filter_of(inner, self._conditions(condition if inside else _of_bound(condition, inner)))
            case a.LeftJoin(_, _, a.Variable() | a.Constant() | a.Parameter() | a.Call() as condition, asked):
                conditions = self._conditions(condition)
                if not conditions and asked:
                    return replace(pattern, condition=_TRUE)
                told = filter_of(a.BGP(()), conditions)
                return replace(pattern, condition=told.condition if isinstance(told, a.Filter) else None)
            case a.Extend(_, _, expression):
                return with_parts(pattern, expression=self._value(expression))
            case a.Group(_, _, aggregates):
                return with_parts(pattern, aggregates=tuple(map(self._aggregate, aggregates)))
        return pattern

    def _aggregate(self, aggregate: a.Aggregate) -> a.Aggregate:
        """Terms only: an argument that fails is not one that is unbound."""
        if not isinstance(aggregate.argument, a.Call):
            return aggregate
        value = self._value(aggregate.argument)
        return replace(aggregate, argument=value) if isinstance(value, a.Constant) else aggregate

    def _conditions(self, condition: a.Expression) -> list[a.Expression]:
        """What is left to be true: nothing if it surely is, FALSE alone if it cannot be."""
        found = [self._truth(conjunct) for conjunct in conjuncts(condition)]
        if _FALSE in found or FAILURE in found:
            return [_FALSE]
        return [conjunct for conjunct in found if conjunct != _TRUE]

    def _truth(self, expression: a.Expression) -> a.Expression:
        """An expression of the same effective boolean value: TRUE, FALSE or FAILURE where that is known."""
        match expression:
            case a.Call("&&" | "||" as name, (left, right)):
                one, other = self._truth(left), self._truth(right)
                decides, changes_nothing = (_FALSE, _TRUE) if name == "&&" else (_TRUE, _FALSE)
                if decides in (one, other):
                    return decides
                if changes_nothing in (one, other):
                    return other if one == changes_nothing else one
                if one == FAILURE and other == FAILURE:
                    return FAILURE
                return with_parts(expression, arguments=(one, other))
            case a.Call("!", (operand,)):
                truth = self._truth(operand)
                opposite = _OPPOSITES.get(truth)
                return with_parts(expression, arguments=(truth,)) if opposite is None else opposite
            case a.Call("IF", (condition, yes, no)):
                truth = self._truth(condition)
                if truth in (_TRUE, _FALSE, FAILURE):
                    return FAILURE if truth == FAILURE else self._truth(yes if truth == _TRUE else no)
                return with_parts(expression, arguments=(truth, self._value(yes), self._value(no)))
        value = self._value(expression)
        if not isinstance(value, a.Constant) or value in (_TRUE, _FALSE):
            return value
        text = constant_term(f"!(!({value.text}))", self._base)
        return FAILURE if text is None else a.Constant(text)

    def _value(self, expression: a.Expression) -> a.Expression:
        """An expression of the same value: a term or FAILURE where that is known."""
        if not isinstance(expression, a.Call) or expression.name in _VARYING:
            return expression
        match expression:
            case a.Call("IF", (condition, yes, no)):
                truth = self._truth(condition)
                if truth == FAILURE:
                    return FAILURE
                if truth in (_TRUE, _FALSE):
                    return self._value(yes if truth == _TRUE else no)
                return with_parts(expression, arguments=(truth, self._value(yes), self._value(no)))
            case a.Call("COALESCE", arguments):
                return self._first(arguments)
        arguments = tuple(map(self._value, expression.arguments))
        if FAILURE in arguments and expression.name in _STRICT:
            return FAILURE
        if all(isinstance(argument, a.Constant) for argument in arguments) and not _of_application(expression.name):
            text = constant_term(expression_text(a.Call(expression.name, arguments), {}), self._base)
            return FAILURE if text is None else a.Constant(text)
        if expression.name == "&&" and _FALSE in arguments:
            return _FALSE
        if expression.name == "||" and _TRUE in arguments:
            return _TRUE
        return with_parts(expression, arguments=arguments)

    def _first(self, arguments: tuple[a.Expression, ...]) -> a.Expression:
        kept: list[a.Expression] = []
        for argument in map(self._value, arguments):
            if argument == FAILURE:
                continue
            kept.append(argument)
            if isinstance(argument, a.Constant):
                break
        if not kept:
            return FAILURE
        return kept[0] if isinstance(kept[0], a.Constant) else a.Call("COALESCE", tuple(kept))


def _of_bound(condition: a.Expression, pattern: a.Pattern) -> a.Expression:
    """A condition on a pattern's solutions, failures in place of the variables that none of them binds."""
    named = {variable for variable in a.expression_variables(condition) if not variable.name.startswith("_:")}
    unbound = named - a.in_scope(pattern) if named else named
    return _with_failures(condition, unbound) if unbound else condition


def _with_failures(expression: a.Expression, unbound: Collection[a.Variable]) -> a.Expression:
    match expression:
        case a.Variable():
            return FAILURE if expression in unbound else expression
        case a.Call("BOUND", (variable,)):
            return _FALSE if variable in unbound else expression
        case a.Call(_, arguments):
            return with_parts(expression, arguments=tuple(_with_failures(one, unbound) for one in arguments))
    return expression


def _of_application(function: str) -> bool:
    """Whether it is called by an IRI (``<`` and ``<=`` are operators) that is neither ours nor a cast's."""
    if not (function.startswith("<") and function.endswith(">")):
        return False
    iri = function[1:-1]
    return iri not in FUNCTIONS and not iri.startswith(XSD)


@lru_cache(maxsize=1024)
def constant_term(expression: str, base: str | None) -> str | None:
    """The term that an expression without variables gives, None if it fails."""
    query = f"SELECT ?result {{ BIND({expression} AS ?result) }}"
    answer: Any = pyoxigraph.Store().query(query, base_iri=base, custom_functions=CUSTOM_FUNCTIONS)
    for solution in answer:
        result = solution["result"]
        return None if result is None else term_text(result)
    return None
