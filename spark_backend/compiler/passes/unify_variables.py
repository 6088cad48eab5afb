"""Variables that a FILTER says to be the same term are one variable, and the other is BIND of it behind the joins.

``?o :by ?x . ?y :of ?z FILTER(sameTerm(?x, ?y))`` is ``?o :by ?x . ?x :of ?z``: all that asks what joins what sees that
this does. Terms of compatible solutions are the same (18.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from protocol.language import algebra as a
from protocol.language.parts import with_names
from spark_backend.compiler.algebra.marks import certainly_bound
from spark_backend.compiler.algebra.operands import conjuncts, filter_of, join_of, join_operands, marks_of
from spark_backend.compiler.algebra.traversal import bottom_up, with_variables

_Part = TypeVar("_Part", bound=a.Variable | a.Constant | a.Parameter)


def unify_variables(query: a.Query, _: object) -> a.Query:
    return replace(query, pattern=bottom_up(query.pattern, _unified))


class _NotRenamed(Exception):
    """A pattern in which a variable cannot be another one."""


def _unified(pattern: a.Pattern, inside: bool) -> a.Pattern:
    if not isinstance(pattern, a.Filter) or inside:
        return pattern
    (marks, marked), conditions = marks_of(pattern.pattern), conjuncts(pattern.condition)
    for condition in conditions:
        try:
            found = _one_variable(marked, condition)
        except _NotRenamed:
            continue
        if found is not None:
            for mark in reversed(marks):
                found = replace(mark, pattern=found)
            return _unified(filter_of(found, [one for one in conditions if one != condition]), inside)
    return pattern


def _one_variable(pattern: a.Pattern, condition: a.Expression) -> a.Pattern | None:
    """The pattern where the condition, that two variables of it are the same, is true; None where it is another one."""
    match condition:
        case a.Call("SAMETERM", (a.Variable() as kept, a.Variable() as other)) if kept != other:
            if isinstance(pattern, a.LeftJoin | a.Minus):
                left = _one_variable(pattern.left, condition)
                return None if left is None else replace(pattern, left=left)
            operands = join_operands(pattern)
            bound = [certainly_bound(operand) if _is_plain(operand) else frozenset() for operand in operands]
            if {kept, other} <= frozenset().union(*bound):
                return a.Extend(join_of(_renamed(operand, other, kept) for operand in operands), other, kept)
    return None


def _is_plain(pattern: a.Pattern) -> bool:
    """Whether a pattern binds all of its variables by what it matches."""
    match pattern:
        case a.BGP() | a.Closure():
            return True
        case a.Graph(_, inner) | a.Filter(inner):
            return _is_plain(inner)
        case a.Join(left, right):
            return _is_plain(left) and _is_plain(right)
    return False


def _renamed(pattern: a.Pattern, old: a.Variable, new: a.Variable) -> a.Pattern:
    """A pattern with one variable in place of another, for solutions in which they are the same. Raises _NotRenamed."""
    if old not in a.mentioned_variables(pattern):
        return pattern

    def variable(part: _Part) -> _Part | a.Variable:
        return new if part == old else part

    def triple(one: a.TriplePattern) -> a.TriplePattern:
        return a.TriplePattern(variable(one.subject), variable(one.predicate), variable(one.object), one.time)

    match pattern:
        case a.BGP(triples):
            return a.BGP(tuple(dict.fromkeys(map(triple, triples))))
        case a.Closure(subject, object):
            return replace(pattern, subject=variable(subject), object=variable(object))
        case a.Join(left, right) | a.Union(left, right):
            return replace(pattern, left=_renamed(left, old, new), right=_renamed(right, old, new))
        case a.Graph(name, inner):
            return replace(pattern, name=variable(name), pattern=_renamed(inner, old, new))
        case a.Filter(inner, condition):
            # It does not see what is bound around it: what is unbound here stays so.
            if not {old, new} & a.mentioned_variables(condition) <= certainly_bound(inner):
                raise _NotRenamed
            return a.Filter(_renamed(inner, old, new), with_variables(condition, {old: new}))
        case a.Distinct(inner, ()):
            # Solutions that differ only in where they have the term stay two.
            if not {old, new} & a.mentioned_variables(inner) <= certainly_bound(inner):
                raise _NotRenamed
            return a.Distinct(_renamed(inner, old, new))
        case a.Project(inner, variables):
            if old not in variables:  # it hides another variable of that name
                return pattern
            if new not in variables and new in a.mentioned_variables(inner):
                raise _NotRenamed
            return a.Project(_renamed(inner, old, new), tuple(dict.fromkeys(map(variable, variables))))
    if new in a.mentioned_variables(pattern):
        raise _NotRenamed
    return with_names(pattern, {old: new})
