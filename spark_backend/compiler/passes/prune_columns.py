"""Variables that nobody reads further up are not carried there, and what is only computed for them is not computed.

Projecting keeps every solution, so multiplicities stay. Sequences keep all their variables, because what ORDER BY and
LIMIT leave open is decided by the terms, and so do the solutions that terms are drawn for. What EXISTS asks is left as
it is: a projection there would hide outer variables.
"""

from __future__ import annotations

from dataclasses import replace

from spark_backend.compiler.algebra import nodes as a

_Needed = frozenset[a.Variable] | None
"""None: all variables."""


def prune_columns(query: a.Query, _: object) -> a.Query:
    return replace(query, pattern=_pruned(query.pattern, None))


def _pruned(pattern: a.Pattern, needed: _Needed) -> a.Pattern:
    match pattern:
        case a.BGP() | a.Values() | a.Closure():
            return pattern
        case a.Project(inner, variables):
            kept = variables if needed is None else tuple(variable for variable in variables if variable in needed)
            return a.Project(_pruned(inner, frozenset(kept)), kept)
        case a.Group(inner, keys, aggregates):
            if any(one.argument is None and one.distinct for one in aggregates):
                return replace(pattern, pattern=_pruned(inner, None))
            arguments = [a.expression_variables(one.argument) for one in aggregates if one.argument is not None]
            return replace(pattern, pattern=_pruned(inner, frozenset(keys or ()).union(*arguments)))
        case a.Distinct() | a.Slice() | a.OrderBy() | a.Aggregated():
            return replace(pattern, pattern=_pruned(pattern.pattern, None))
        case a.Extend(inner, variable, expression):
            if needed is not None and variable not in needed:
                return _pruned(inner, needed)
            return replace(pattern, pattern=_pruned(inner, _with(needed, a.expression_variables(expression), variable)))
        case a.Marked(inner, variable, exists):
            if needed is not None and variable not in needed:
                return _pruned(inner, needed)
            return replace(pattern, pattern=_pruned(inner, _with(needed, a.mentioned(exists), variable)))
        case a.Drawn(inner, variable):
            if needed is not None and variable not in needed:
                return _pruned(inner, needed)
            return replace(pattern, pattern=_pruned(inner, None))
        case a.Filter(inner, condition):
            return replace(pattern, pattern=_pruned(inner, _with(needed, a.expression_variables(condition))))
        case a.Graph(name, inner):
            named = frozenset({name}) if isinstance(name, a.Variable) else frozenset()
            return replace(pattern, pattern=_pruned(inner, _with(needed, named)))
        case a.Static(inner):
            return a.Static(_projected(inner, needed))
        case a.Union(left, right):
            return a.Union(_projected(left, needed), _projected(right, needed))
        case a.Followed(inner, path, start):
            shared = a.mentioned(inner) & a.mentioned(path)
            return replace(pattern, pattern=_projected(inner, _with(needed, shared | {start})))
        case a.Join(left, right):
            shared = a.mentioned(left) & a.mentioned(right)
            return a.Join(_pruned(left, _with(needed, shared)), _pruned(right, _with(needed, shared)))
        case a.Minus(left, right):
            shared = a.mentioned(left) & a.mentioned(right)
            return a.Minus(_pruned(left, _with(needed, shared)), _projected(right, shared))
        case a.LeftJoin(left, right, condition, asked):
            read = a.mentioned(left) & a.mentioned(right)
            read |= frozenset(node for node in a.nodes((condition, asked)) if isinstance(node, a.Variable))
            return replace(
                pattern, left=_pruned(left, _with(needed, read)), right=_projected(right, _with(needed, read))
            )
    raise AssertionError(f"no pattern: {pattern!r}")


def _with(needed: _Needed, more: frozenset[a.Variable], less: a.Variable | None = None) -> _Needed:
    return None if needed is None else needed - {less} | more


def _projected(pattern: a.Pattern, needed: _Needed) -> a.Pattern:
    """The pattern pruned, with no other variables than those that are needed."""
    pattern = _pruned(pattern, needed)
    if needed is None:
        return pattern
    exposed = _exposed(pattern)
    kept = tuple(variable for variable in exposed if variable in needed)
    return pattern if len(kept) == len(exposed) else a.Project(pattern, kept)


def _exposed(pattern: a.Pattern) -> dict[a.Variable, None]:
    """The variables of a pattern's solutions, hidden ones too."""
    match pattern:
        case a.BGP(triples):
            times = [triple.time for triple in triples if triple.time is not None]
            return dict.fromkeys([variable for triple in triples for variable in triple.variables] + times)
        case a.Closure() | a.Values() | a.Project():
            return dict.fromkeys(pattern.variables)
        case a.Group(_, keys, aggregates):
            return dict.fromkeys([*(keys or ()), *(one.result for one in aggregates)])
        case a.Join(left, right) | a.LeftJoin(left, right) | a.Union(left, right) | a.Followed(left, right):
            return _exposed(left) | _exposed(right)
        case a.Minus(left):
            return _exposed(left)
        case a.Extend(inner, variable) | a.Marked(inner, variable) | a.Drawn(inner, variable):
            return _exposed(inner) | {variable: None}
        case a.Aggregated(inner, _, aggregate):
            return _exposed(inner) | {aggregate.result: None}
        case a.Graph(name, inner):
            return _exposed(inner) | ({name: None} if isinstance(name, a.Variable) else {})
    return _exposed(pattern.pattern)
