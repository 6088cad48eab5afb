"""Which triple patterns of a query narrow which: what one matches, the other need not match otherwise.

Of the triples that a pattern matches, those count that agree with a match of each pattern it is joined with. So fewer
can be looked at, and no solution is another: where ``?o :by :X`` has three matches, ``?o a ?type`` is asked of these.
It is no matter of instants, as what agrees at none of them agrees at no one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import certainly_bound, joins_alike
from spark_backend.compiler.algebra.operands import conjuncts

Leaf = a.TriplePattern | a.Static
Column = tuple[a.Variable, int]
"""A variable, and the sub-select that hides it from the outside: 0 where none does."""


@dataclass(eq=False)
class Operand:
    """A leaf of the query, its columns that are surely bound, and the other leaves that narrow it.

    ``asked``: it is only asked whether there is a match, however many there are; ``unread`` are then the variables that
    nothing else is said of. ``within``: the graphs around it. ``required``: each solution of the query has
    a match of it.
    """

    leaf: Leaf
    columns: dict[a.Variable, Column]
    asked: bool = False
    within: tuple[a.Graph, ...] = ()
    unread: frozenset[a.Variable] = frozenset()
    required: bool = False
    narrowed_by: set[Operand] = field(default_factory=set)


@dataclass(frozen=True)
class _Found:
    """Of a pattern: leaves that each solution has a match of, and those that what it is joined with may narrow."""

    required: tuple[Operand, ...] = ()
    narrowable: tuple[Operand, ...] = ()


def operands(pattern: a.Pattern) -> dict[Leaf, Operand]:
    """The triple patterns, and the static patterns that are tables of their own, by what they are.

    One table stands for all places of what is there several times: it is narrowed by what narrows it in each of them,
    and left out where its places are not alike.
    """
    walk = _Walk()
    required = {operand.leaf for operand in walk.pattern(pattern).required}
    times = Counter(node for node in a.nodes(pattern) if isinstance(node, a.TriplePattern | a.Static | a.Variable))
    # What a static pattern matches is in a table of its own, made before.
    apart = Counter(
        node for static in times.elements() if isinstance(static, a.Static) for node in a.nodes(static.pattern)
    )
    places: dict[Leaf, list[Operand]] = {}
    for operand in walk.found:
        places.setdefault(operand.leaf, []).append(operand)
    found = {
        leaf: some[0] for leaf, some in places.items() if len(some) == times[leaf] - apart[leaf] and _are_alike(some)
    }
    hiding: dict[tuple[int, ...], int] = {}
    for leaf, operand in found.items():
        operand.required = leaf in required
        narrowing = [{one.leaf for one in place.narrowed_by} for place in places[leaf]]
        operand.narrowed_by = {found[one] for one in set.intersection(*narrowing) if one in found and one != leaf}
        for variable in operand.columns:
            hidden = tuple(place.columns[variable][1] for place in places[leaf])
            if len(set(hidden)) > 1:  # by another sub-select in each place, as in others that agree with it
                operand.columns[variable] = variable, hiding.setdefault(hidden, walk.selects + len(hiding) + 1)
        if operand.asked and isinstance(leaf, a.TriplePattern):
            operand.unread = frozenset(variable for variable in leaf.variables if times[variable] == times[leaf])
    return found


def _are_alike(places: Sequence[Operand]) -> bool:
    """Whether what a leaf matches is asked for in the same way at all of its places, and in the same graph."""

    def way(place: Operand) -> tuple[object, ...]:
        hidden = frozenset(variable for variable, (_, number) in place.columns.items() if number)
        return place.asked, place.within, hidden

    return len(set(map(way, places))) == 1


class _Walk:
    def __init__(self) -> None:
        self.found: list[Operand] = []
        self.selects = 0
        self._asking = False
        self._within: tuple[a.Graph, ...] = ()

    def pattern(self, pattern: a.Pattern) -> _Found:
        match pattern:
            case a.BGP(triples):
                # Where its time is asked, a triple is not alone what it is.
                return self._leaves([(one, frozenset(one.variables)) for one in triples if one.time is None])
            case a.Static(inner):
                return self._leaves([(pattern, certainly_bound(inner))])
            case a.Join(left, right):
                one, other = self.pattern(left), self.pattern(right)
                _narrow(other.narrowable, one.required)
                _narrow(one.narrowable, other.required)
                return _Found(one.required + other.required, one.narrowable + other.narrowable)
            case a.Union(left, right):
                one, other = self.pattern(left), self.pattern(right)
                return _Found((), one.narrowable + other.narrowable)
            case a.LeftJoin(left, right):
                required = self.pattern(left)
                _narrow(self.pattern(right).narrowable, required.required)
                return self._asked_of(required, [exists for _, exists in pattern.asked])
            case a.Minus(left, right):
                return self._asked_of(self.pattern(left), [right])
            case a.MarkJoin(inner, _, exists):
                return self._asked_of(self.pattern(inner), [exists])
            case a.Filter(a.MarkJoin(), condition):
                return self._filtered(pattern.pattern, conjuncts(condition))
            case a.Graph(_, inner):
                return self._in_graph(pattern, inner)
            case a.PathJoin(inner) | a.Filter(inner) | a.Extend(inner) | a.OrderBy(inner):
                return self.pattern(inner)
            case a.Project(inner, variables):
                return self._hide(inner, frozenset(variables))
            case a.Distinct(inner, latest) if not latest:
                return self.pattern(inner)
            case a.Values() | a.Closure() | a.ServiceSolutions():
                return _Found()
        asking, self._asking = self._asking, False
        self.pattern(pattern.pattern)  # groups, cuts and draws are of all solutions
        self._asking = asking
        return _Found()

    def _leaves(self, leaves: Iterable[tuple[Leaf, frozenset[a.Variable]]]) -> _Found:
        made = tuple(
            Operand(leaf, {one: (one, 0) for one in variables}, self._asking, self._within)
            for leaf, variables in leaves
        )
        self.found += made
        _narrow(made, made)
        return _Found(made, made)

    def _in_graph(self, graph: a.Graph, inner: a.Pattern) -> _Found:
        before, self._within = self._within, (*self._within, replace(graph, pattern=a.BGP(())))
        found = self.pattern(inner)
        self._within = before
        return found

    def _asked_of(self, left: _Found, asked: Iterable[a.Pattern]) -> _Found:
        """What is asked of each solution of the left side, and is not narrowed by what that side is joined with.

        A solution of the right side that no solution of the left is compatible with changes nothing.
        """
        for pattern in asked:
            self._asked(left, pattern)
        return left

    def _asked(self, left: _Found, pattern: a.Pattern) -> _Found:
        asking, self._asking = self._asking, True
        found = self.pattern(pattern)
        _narrow(found.narrowable, left.required)
        self._asking = asking
        return found

    def _filtered(self, pattern: a.Pattern, true: Sequence[a.Expression]) -> _Found:
        """The solutions that a filter on EXISTS keeps: what is to exist narrows those it is asked of."""
        if not isinstance(pattern, a.MarkJoin):
            return self.pattern(pattern)
        left = self._filtered(pattern.pattern, true)
        found = self._asked(left, pattern.exists)
        if pattern.variable in true and joins_alike(pattern.exists, a.in_scope(pattern.pattern)):
            _narrow(left.narrowable, found.required)
        return left

    def _hide(self, pattern: a.Pattern, shown: frozenset[a.Variable]) -> _Found:
        before = len(self.found)
        inner = self.pattern(pattern)
        self.selects += 1
        for operand in self.found[before:]:
            for variable, (_, hidden) in operand.columns.items():
                if not hidden and variable not in shown:
                    operand.columns[variable] = variable, self.selects
        return inner


def _narrow(operands: Iterable[Operand], by: Iterable[Operand]) -> None:
    by = tuple(by)
    for operand in operands:
        columns = set(operand.columns.values())
        operand.narrowed_by.update(
            one for one in by if one is not operand and columns.intersection(one.columns.values())
        )
