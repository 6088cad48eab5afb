"""What a query asks of variables that they never give where it stands: a value, or a literal.

Only what is certain of the query's words is found: whatever the streams and the store have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from protocol.language import algebra as a
from protocol.language.needs import OF_STRINGS, evaluated, literal_where_true, needed
from protocol.language.resources import resources_of

_NO_VARIABLES: frozenset[a.Variable] = frozenset()
_NEVER = "this condition never holds"

Finding = tuple[int, str]
"""Where in the text, as an offset, and what is to be said of it."""

_Scope = Callable[[a.Pattern], frozenset[a.Variable]]
_Reading = tuple[frozenset[a.Variable], str]
"""Variables that are read, and what comes of one that is not bound."""


def unmet_needs(query: a.Query, parts: Sequence[object]) -> Iterator[Finding]:
    """Those of a query of which ``parts`` are the nodes of the pattern. What is in EXISTS sees variables of others,
    too, and is not looked at.
    """
    asked = {id(node) for one in parts if isinstance(one, a.Exists) for node in a.nodes(one.pattern)}
    remote = {id(node) for one in parts if isinstance(one, a.Service) for node in a.nodes(one.pattern)}
    scope = _scopes()
    # From the innermost on, whose scopes those of the others are made of.
    for node in reversed(parts):
        if id(node) in asked:
            continue
        match node:
            case a.Filter(inner, condition):
                binding: tuple[a.Pattern, ...] = (inner,)
            case a.LeftJoin(left, right, condition) if condition is not None:
                binding = (right, left)
            case _:
                yield from _readings_of_nothing(node, scope)
                continue
        yield from _conditions_on_nothing(condition, binding, scope)
        if id(node) not in remote:  # a service may have an order of its own of terms
            yield from _conditions_on_resources(condition, binding)
    for node in a.nodes(query.template):
        if isinstance(node, a.Variable) and _is_named(node) and node not in scope(query.pattern):
            yield _finding(node, "is never bound", "this triple is never made")


def _scopes() -> _Scope:
    """``in_scope``, which remembers."""
    scopes: dict[int, frozenset[a.Variable]] = {}

    def scope(pattern: a.Pattern) -> frozenset[a.Variable]:
        while isinstance(pattern, a.Filter | a.OrderBy):
            pattern = pattern.pattern
        if id(pattern) not in scopes:
            match pattern:
                case a.Extend(inner, variable) if id(inner) in scopes:
                    # Thousands of BIND are gone through once, and not again for each of them.
                    scopes[id(pattern)] = scopes[id(inner)] | {variable}
                case _:
                    scopes[id(pattern)] = a.in_scope(pattern)
        return scopes[id(pattern)]

    return scope


def _conditions_on_nothing(condition: a.Expression, binding: Sequence[a.Pattern], scope: _Scope) -> Iterator[Finding]:
    """FILTER and HAVING over variables that nothing binds where they stand."""
    missing = {one for one in needed(condition) if not one.name.startswith("_:")}
    for part in binding:
        missing = missing and missing - scope(part)
    for variable in missing:
        written = (one for one in a.nodes(condition) if one == variable and isinstance(one, a.Variable))
        yield _finding(min(written, key=lambda one: one.place or 0), "is never bound here", _NEVER)


def _conditions_on_resources(condition: a.Expression, binding: Sequence[a.Pattern]) -> Iterator[Finding]:
    """FILTER and HAVING that ask what no IRI and no blank node is."""
    others = literal_where_true(condition)
    resources = _NO_VARIABLES.union(*map(resources_of, binding)) if others else _NO_VARIABLES
    for variable in others:
        if variable in resources and variable.place is not None:
            of_strings = (one for one in a.nodes(condition) if isinstance(one, a.Call) and one.name in OF_STRINGS)
            right = f": write STR(?{variable.name})" if any(variable in one.arguments for one in of_strings) else ""
            yield _finding(variable, "is an IRI or a blank node here", f"{_NEVER}{right}")


def _readings_of_nothing(node: object, scope: _Scope) -> Iterator[Finding]:
    """What SELECT, BIND, GROUP BY, ORDER BY and aggregates read of variables that nothing binds where they stand."""
    match node:
        case a.Project(inner, variables):
            readings: list[_Reading] = [(frozenset(variables), "no solution has it")]
        case a.Extend(inner, _, expression):
            readings = [(evaluated(expression), "this expression never has a value")]
        case a.Group(inner, keys, aggregates):
            readings = [(frozenset(keys or ()), "it tells no groups apart"), *map(_aggregated, aggregates)]
        case a.OrderBy(inner, conditions):
            readings = [(evaluated(one.expression), "it orders nothing") for one in conditions]
        case _:
            return
    for read, effect in readings:
        for variable in read - scope(inner):
            if _is_named(variable):
                yield _finding(variable, "is never bound here", effect)


def _aggregated(aggregate: a.Aggregate) -> _Reading:
    argument = aggregate.argument
    return _NO_VARIABLES if argument is None else evaluated(argument), "this aggregate is of nothing"


def _is_named(variable: a.Variable) -> bool:
    """Whether the text has it."""
    return variable.place is not None and not variable.name.startswith("_:")


def _finding(variable: a.Variable, what: str, effect: str) -> Finding:
    assert variable.place is not None
    return variable.place, f"?{variable.name} {what}, so that {effect}"
