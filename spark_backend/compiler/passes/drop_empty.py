"""What surely has no solution, whatever is matched, is not evaluated; nor is EXISTS whose answer is known.

A FILTER that never holds has none, nor has what is joined with it. EXISTS of it is FALSE, of the empty group TRUE.
"""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.parts import with_parts
from spark_backend.compiler.algebra.traversal import bottom_up, with_variables
from spark_backend.compiler.passes.fold_constants import fold_conditions
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.sql.values import FALSE, TRUE

_TRUE, _FALSE = a.Constant(TRUE), a.Constant(FALSE)
_Known = dict[a.Variable, a.Expression]


def drop_empty(query: a.Query, knowledge: Knowledge) -> a.Query:
    def changed(pattern: a.Pattern, _: bool) -> a.Pattern:
        return _without_empty(_decided(pattern, query.base or knowledge.base))

    return replace(query, pattern=bottom_up(query.pattern, changed))


def has_none(pattern: a.Pattern) -> bool:
    """Whether a pattern surely has no solution; of one in which each part that has none is gone."""
    match pattern:
        case a.Values(_, rows):
            return not rows
        case a.Project(inner) | a.Distinct(inner) | a.OrderBy(inner) | a.Slice(inner):
            return has_none(inner)
    return False


def _without_empty(pattern: a.Pattern) -> a.Pattern:
    """The pattern, whose operands were looked at before, without what has no solution."""
    match pattern:
        case a.Filter(inner, condition) if condition == _FALSE or has_none(inner):
            return _none(pattern)
        case a.Join(left, right) if has_none(left) or has_none(right):
            return _none(pattern)
        case a.LeftJoin(left) | a.Minus(left) if has_none(left):
            return _none(pattern)
        case a.Extend(inner) | a.MarkJoin(inner) | a.Draw(inner) | a.Graph(_, inner) if has_none(inner):
            return _none(pattern)
        case a.Union(left, right) if has_none(left) or has_none(right):
            return right if has_none(left) else left
        case a.Minus(left, right) if has_none(right):
            return left
        case a.LeftJoin(left, right, _, ()) if has_none(right):
            return left
    return pattern


def _none(pattern: a.Pattern) -> a.Values:
    """What has the variables of a pattern, and no solution."""
    return a.Values(tuple(sorted(a.in_scope(pattern), key=lambda variable: variable.name)), ())


def _decided(pattern: a.Pattern, base: str | None) -> a.Pattern:
    """The pattern without EXISTS of which it is known whether it is true."""
    match pattern:
        case a.Filter(inner, condition):
            inner, known = _unmarked(inner)
            if not known:
                return pattern
            found = fold_conditions(inner, with_variables(condition, known), base)
            if isinstance(found, a.Filter):
                return with_parts(found, pattern=_asked(inner, a.mentioned_variables(found.condition)))
            return _asked(found, frozenset())
        case a.Extend(inner, _, expression):
            inner, known = _unmarked(inner)
            return with_parts(pattern, pattern=inner, expression=with_variables(expression, known))
    return pattern


def _unmarked(pattern: a.Pattern) -> tuple[a.Pattern, _Known]:
    """A pattern without the marks right above it that are the same for each solution, and what these are."""
    if not isinstance(pattern, a.MarkJoin):
        return pattern, {}
    inner, known = _unmarked(pattern.pattern)
    if has_none(pattern.exists):
        return inner, {**known, pattern.variable: _FALSE}
    if pattern.exists == a.BGP(()):
        return inner, {**known, pattern.variable: _TRUE}
    return with_parts(pattern, pattern=inner), known


def _asked(pattern: a.Pattern, variables: frozenset[a.Variable]) -> a.Pattern:
    """A pattern without the marks right above it that are none of these."""
    if not isinstance(pattern, a.MarkJoin):
        return pattern
    inner = _asked(pattern.pattern, variables)
    return with_parts(pattern, pattern=inner) if pattern.variable in variables else inner
