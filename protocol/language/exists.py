"""EXISTS in which a variable stands for what its own group binds, and for nothing that is bound outside of that.

Where Oxigraph 0.5 evaluates a group solution by solution of what stands before it, it puts what those bind into EXISTS,
too. By the standard (Query section 18.6, substitute) only the solution that is filtered counts there: variables that
are not in scope in it are variables of the pattern alone, whatever they are called.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import count
from typing import TypeVar

from protocol.language import algebra as a
from protocol.language.parts import with_names, with_parts

T = TypeVar("T")
_Scope = frozenset[a.Variable]


def with_own_variables(query: a.Query) -> a.Query:
    """The query with other names for such variables, where what stands beside the group may bind them; the same object
    where there are none. RecursionError if it is too deep.
    """
    if not any(isinstance(node, a.Exists) for node in a.nodes(query)):
        return query
    return _Naming().of(query, frozenset(), frozenset())


class _Naming:
    def __init__(self) -> None:
        self._numbers = count()

    def of(self, node: T, beside: _Scope, solution: _Scope) -> T:
        """A part of the query. What stands beside it may bind the variables ``beside``, and what EXISTS in it is asked
        for may bind ``solution``.
        """
        match node:
            case a.BGP() | a.Values() | a.Closure():
                return node
            case tuple():
                return tuple(self.of(one, beside, solution) for one in node)  # type: ignore[return-value]  # of the same members
            case a.Exists(pattern):
                others = (a.mentioned_variables(pattern) & beside) - solution
                fresh = {one: a.Variable(f"_:own{next(self._numbers)}") for one in sorted(others, key=_name)}
                return with_parts(node, pattern=self.of(with_names(pattern, fresh), frozenset(), solution))
            case a.Join(left, right):
                return with_parts(
                    node,
                    left=self.of(left, beside | a.in_scope(right), solution),
                    right=self.of(right, beside | a.in_scope(left), solution),
                )
            case a.LeftJoin(left, right, condition):
                return with_parts(
                    node,
                    left=self.of(left, beside, solution),
                    right=self.of(right, beside | a.in_scope(left), solution),
                    condition=self.of(condition, beside, solution | a.in_scope(node)),
                )
            case a.Graph(a.Variable() as name, pattern):
                return with_parts(node, pattern=self.of(pattern, beside | {name}, solution))
            case a.Project(pattern, variables):
                known = frozenset(variables)
                return with_parts(node, pattern=self.of(pattern, beside & known, solution & known))
            case a.Filter(pattern) | a.Extend(pattern) | a.OrderBy(pattern) | a.Group(pattern):
                asked = solution | a.in_scope(pattern)
                return self._with_parts(node, beside, solution, asked)
        return self._with_parts(node, beside, solution, solution)

    def _with_parts(self, node: T, beside: _Scope, solution: _Scope, asked: _Scope) -> T:
        """``asked`` may be bound where what is no pattern of the node's is evaluated."""
        if not is_dataclass(node):
            return node
        parts = {}
        for part in fields(node):
            value = getattr(node, part.name)
            parts[part.name] = self.of(value, beside, solution if part.name == "pattern" else asked)
        return with_parts(node, **parts)


def _name(variable: a.Variable) -> str:
    return variable.name
