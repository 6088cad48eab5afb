"""Variables that nobody reads further up are not carried there, and what is only computed for them is not computed.

Projecting keeps every solution, so multiplicities stay. Sequences keep all their variables, because what ORDER BY and
LIMIT leave open is decided by the terms, and so do the solutions that terms are drawn for. What EXISTS asks is left as
it is: a projection there would hide outer variables.
"""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import exposed_variables

_Needed = frozenset[a.Variable] | None
"""None: all variables."""


def prune_columns(query: a.Query, _: object) -> a.Query:
    return replace(query, pattern=_prune(query.pattern, None))


def _prune(pattern: a.Pattern, needed: _Needed) -> a.Pattern:
    match pattern:
        case a.BGP() | a.Values() | a.Closure() | a.ServiceSolutions():
            return pattern
        case a.Project(inner, variables):
            kept = variables if needed is None else tuple(variable for variable in variables if variable in needed)
            return a.Project(_prune(inner, frozenset(kept)), kept)
        case a.Group(inner, keys, aggregates):
            if any(one.counts_solutions for one in aggregates):
                return replace(pattern, pattern=_prune(inner, None))
            arguments = [a.expression_variables(one.argument) for one in aggregates if one.argument is not None]
            return replace(pattern, pattern=_prune(inner, frozenset(keys or ()).union(*arguments)))
        case a.Distinct() | a.Slice() | a.OrderBy() | a.Aggregation():
            return replace(pattern, pattern=_prune(pattern.pattern, None))
        case a.Extend(inner, variable, expression):
            if needed is not None and variable not in needed:
                return _prune(inner, needed)
            return replace(pattern, pattern=_prune(inner, _with(needed, a.expression_variables(expression), variable)))
        case a.MarkJoin(inner, variable, exists):
            if needed is not None and variable not in needed:
                return _prune(inner, needed)
            return replace(pattern, pattern=_prune(inner, _with(needed, a.mentioned_variables(exists), variable)))
        case a.Draw(inner, variable):
            if needed is not None and variable not in needed:
                return _prune(inner, needed)
            return replace(pattern, pattern=_prune(inner, None))
        case a.Filter(inner, condition):
            return replace(pattern, pattern=_prune(inner, _with(needed, a.expression_variables(condition))))
        case a.Graph(name, inner):
            named = frozenset({name}) if isinstance(name, a.Variable) else frozenset()
            return replace(pattern, pattern=_prune(inner, _with(needed, named)))
        case a.Static(inner):
            return a.Static(_project(inner, needed))
        case a.Monotone(inner):
            return replace(pattern, pattern=_project(inner, needed))
        case a.Union(left, right):
            return a.Union(_project(left, needed), _project(right, needed))
        case a.PathJoin(inner, path, start):
            shared = a.mentioned_variables(inner) & a.mentioned_variables(path)
            return replace(pattern, pattern=_project(inner, _with(needed, shared | {start})))
        case a.Join(left, right):
            shared = a.mentioned_variables(left) & a.mentioned_variables(right)
            return a.Join(_prune(left, _with(needed, shared)), _prune(right, _with(needed, shared)))
        case a.Minus(left, right):
            shared = a.mentioned_variables(left) & a.mentioned_variables(right)
            return a.Minus(_prune(left, _with(needed, shared)), _project(right, shared))
        case a.LeftJoin(left, right, condition, asked):
            read = a.mentioned_variables(left) & a.mentioned_variables(right)
            read |= frozenset(node for node in a.nodes((condition, asked)) if isinstance(node, a.Variable))
            return replace(pattern, left=_prune(left, _with(needed, read)), right=_project(right, _with(needed, read)))
    raise AssertionError(f"no pattern: {pattern!r}")


def _with(needed: _Needed, more: frozenset[a.Variable], less: a.Variable | None = None) -> _Needed:
    return None if needed is None else needed - {less} | more


def _project(pattern: a.Pattern, needed: _Needed) -> a.Pattern:
    """The pattern pruned, with no other variables than those that are needed."""
    pattern = _prune(pattern, needed)
    if needed is None:
        return pattern
    exposed = exposed_variables(pattern)
    kept = tuple(variable for variable in exposed if variable in needed)
    return pattern if len(kept) == len(exposed) else a.Project(pattern, kept)
