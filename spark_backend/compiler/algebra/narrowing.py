"""Which triple patterns of a query narrow which: what one matches, the other need not match otherwise.

Of the triples that a pattern matches, those count that agree with a match of each pattern it is joined with. So fewer
can be looked at, and no solution is another: where ``?o :by :X`` has three matches, ``?o a ?type`` is asked of these.
It is no matter of instants, as what agrees at none of them agrees at no one.
Nor need a pattern match what a condition of its own variables is not true of, what equals no match of another pattern
where ``FILTER(?v = ?w)`` asks for that, or what NOT EXISTS or MINUS of one other pattern takes out again: the latter at
the same instant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import certainly_bound, joins_alike
from spark_backend.compiler.algebra.operands import conjuncts

Leaf = a.TriplePattern | a.Static | a.Closure | a.Values
RANGING = ""
"""In place of a graph's IRI: each of several, one at a time."""
Place = tuple[Leaf, str | None]
"""A leaf, and the IRI of the graph that it is matched in; None for the default graph."""
Column = tuple[a.Variable, int]
"""A variable, and the sub-select that hides it from the outside: 0 where none does."""


@dataclass(eq=False)
class Operand:
    """A leaf of the query, its columns that are surely bound, and the other leaves that narrow it.

    ``asked``: it is only asked whether there is a match, however many there are; ``unread`` are then the variables that
    nothing else is said of. ``within``: the graphs around it. ``required``: each solution of the query has
    a match of it. ``conditions`` are true of what it matches in each solution, and are of its columns alone.
    ``equals``: in each solution a variable of its own equals one of another leaf, as ``=`` compares values.
    ``barred_by``: what agrees with a match of one of them at the same instant, in these variables, is in no solution.
    """

    leaf: Leaf
    columns: dict[a.Variable, Column]
    asked: bool = False
    within: tuple[a.Graph, ...] = ()
    unread: frozenset[a.Variable] = frozenset()
    required: bool = False
    narrowed_by: set[Operand] = field(default_factory=set)
    conditions: list[a.Expression] = field(default_factory=list)
    equals: set[tuple[a.Variable, Operand, a.Variable]] = field(default_factory=set)
    barred_by: dict[Operand, frozenset[a.Variable]] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        match self.within:
            case ():
                return self.leaf, None
            case (*_, a.Graph(a.Constant(name))):
                return self.leaf, name[1:-1]
        return self.leaf, RANGING


@dataclass(frozen=True)
class _Found:
    """Of a pattern: leaves that each solution has a match of, and those that what it is joined with may narrow."""

    required: tuple[Operand, ...] = ()
    narrowable: tuple[Operand, ...] = ()


def operands(pattern: a.Pattern) -> dict[Place, Operand]:
    """The triple patterns, the static patterns that are tables of their own, the paths that begin or end at a node that
    is given, and inline data, by what they are and the graphs that they are matched in.

    One table stands for all places of what is there several times in a graph: it is narrowed by what narrows it in each
    of them, and left out where its places are not alike.
    """
    walk = _Walk()
    required = {operand.place for operand in walk.pattern(pattern).required}
    times = Counter(node for node in a.nodes(pattern) if isinstance(node, Leaf | a.Variable))
    # What a static pattern matches is in a table of its own, made before.
    apart = Counter(
        node for static in times.elements() if isinstance(static, a.Static) for node in a.nodes(static.pattern)
    )
    walked = Counter(operand.leaf for operand in walk.found)
    places: dict[Place, list[Operand]] = {}
    for operand in walk.found:
        places.setdefault(operand.place, []).append(operand)
    found = {
        place: some[0]
        for place, some in places.items()
        if walked[place[0]] == times[place[0]] - apart[place[0]] and _are_alike(some)
    }
    hiding: dict[tuple[int, ...], int] = {}
    for place, operand in found.items():
        operand.required = place in required
        narrowing = [{one.place for one in alike.narrowed_by} for alike in places[place]]
        operand.narrowed_by = {found[one] for one in set.intersection(*narrowing) if one in found and one != place}
        equal = [{(own, one.place, theirs) for own, one, theirs in alike.equals} for alike in places[place]]
        operand.equals = {
            (own, found[one], theirs) for own, one, theirs in set.intersection(*equal) if one in found and one != place
        }
        operand.conditions = [
            one for one in operand.conditions if all(one in alike.conditions for alike in places[place])
        ]
        for variable in operand.columns:
            hidden = tuple(alike.columns[variable][1] for alike in places[place])
            if len(set(hidden)) > 1:  # by another sub-select in each place, as in others that agree with it
                operand.columns[variable] = variable, hiding.setdefault(hidden, walk.selects + len(hiding) + 1)
        leaf = operand.leaf
        if operand.asked and isinstance(leaf, a.TriplePattern):
            operand.unread = frozenset(
                variable for variable in leaf.variables if times[variable] == len(places[place]) == times[leaf]
            )
    for place, operand in found.items():
        barring = [{one.place: shared for one, shared in alike.barred_by.items()} for alike in places[place]]
        operand.barred_by = {
            found[one]: shared
            for one, shared in barring[0].items()
            if one in found
            and all(other.get(one) == shared for other in barring)
            and all(operand.columns[variable] == found[one].columns[variable] for variable in shared)
        }
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
        self._depth = 0
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
                places = {operand.place for operand in other.required}
                both = tuple(operand for operand in one.required if operand.place in places)
                return _Found(both, one.narrowable + other.narrowable)
            case a.LeftJoin(left, right):
                required = self.pattern(left)
                _narrow(self.pattern(right).narrowable, required.required)
                return self._asked_of(required, [exists for _, exists in pattern.asked])
            case a.Minus(left, right):
                found = self.pattern(left)
                self._bar(found, a.in_scope(left), right, self._asked(found, right))
                return found
            case a.MarkJoin(inner, _, exists):
                return self._asked_of(self.pattern(inner), [exists])
            case a.Filter(inner, condition):
                true = conjuncts(condition)
                found = self._filtered(inner, true)
                _keep(found.narrowable, true)
                _equate(found, true)
                return found
            case a.Graph(_, inner):
                return self._in_graph(pattern, inner)
            case a.PathJoin(inner) | a.Extend(inner) | a.OrderBy(inner):
                return self.pattern(inner)
            case a.Project(inner, variables):
                return self._hide(inner, frozenset(variables))
            case a.Group(inner, keys):
                found = self._of_all(a.Project(inner, keys or ()))
                return _Found() if keys is None else found
            case a.Distinct(inner, latest) if not latest:
                return self.pattern(inner)
            case a.Closure(subject, object_) if isinstance(subject, a.Variable) != isinstance(object_, a.Variable):
                return self._leaves([(pattern, frozenset(pattern.variables))])
            case a.Values(variables, rows) if rows:
                bound = [one for place, one in enumerate(variables) if all(row[place] is not None for row in rows)]
                return self._leaves([(pattern, frozenset(bound))])
            case a.Values() | a.Closure() | a.ServiceSolutions():
                return _Found()
        return self._of_all(pattern.pattern)

    def _of_all(self, pattern: a.Pattern) -> _Found:
        """Groups, cuts and draws are of all solutions: none of these may be left out, but of nothing there is none."""
        asking, self._asking = self._asking, False
        found = self.pattern(pattern)
        self._asking = asking
        return _Found(found.required)

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
        self._depth += 1
        found = self.pattern(pattern)
        self._depth -= 1
        _narrow(found.narrowable, left.required)
        self._asking = asking
        return found

    def _bar(self, left: _Found, scope: frozenset[a.Variable], pattern: a.Pattern, found: _Found) -> None:
        """What the solutions of a side, which has these variables, may not be compatible with, if it is one leaf.

        Not in what is asked of other solutions: there variables may have values from outside.
        """
        while isinstance(pattern, a.Graph) and isinstance(pattern.name, a.Constant):
            pattern = pattern.pattern
        if self._depth or not isinstance(pattern, a.BGP | a.Static) or len(found.required) != 1:
            return
        (one,) = found.required
        shared = a.in_scope(pattern) & scope
        columns = {(variable, 0) for variable in shared}
        if columns and columns <= set(one.columns.values()):
            for operand in left.narrowable:
                if columns <= set(operand.columns.values()):
                    operand.barred_by[one] = shared

    def _filtered(self, pattern: a.Pattern, true: Sequence[a.Expression]) -> _Found:
        """The solutions that a filter on EXISTS keeps: what is to exist narrows those it is asked of."""
        if not isinstance(pattern, a.MarkJoin):
            return self.pattern(pattern)
        left = self._filtered(pattern.pattern, true)
        found = self._asked(left, pattern.exists)
        scope = a.in_scope(pattern.pattern)
        if joins_alike(pattern.exists, scope):
            if pattern.variable in true:
                _narrow(left.narrowable, found.required)
            elif a.Call("!", (pattern.variable,)) in true:
                self._bar(left, scope, pattern.exists, found)
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


_CHEAP = a.COMPARISONS | {"SAMETERM", "IN", "NOT IN", "&&", "||", "!", "BOUND"}
"""Operators that cost little."""


def costs_little(condition: a.Expression) -> bool:
    """Whether it may be asked more than once."""
    return all(node.name in _CHEAP for node in a.nodes(condition) if isinstance(node, a.Call))


def _keep(operands: Iterable[Operand], true: Iterable[a.Expression]) -> None:
    """Conditions that are true of solutions are true of what operands match, where they are of that alone."""
    for condition in true:
        read = {(variable, 0) for variable in a.expression_variables(condition)}
        if read and costs_little(condition):
            for operand in operands:
                if isinstance(operand.leaf, a.TriplePattern) and read <= set(operand.columns.values()):
                    operand.conditions.append(condition)


def _equate(found: _Found, true: Iterable[a.Expression]) -> None:
    """Variables that are equal in solutions are so in what operands match that are required, and in others."""
    for condition in true:
        match condition:
            case a.Call("=", (a.Variable() as one, a.Variable() as other)):
                for own, theirs in ((one, other), (other, one)):
                    required = [operand for operand in found.required if operand.columns.get(theirs) == (theirs, 0)]
                    for operand in found.narrowable:
                        if operand.columns.get(own) == (own, 0):
                            operand.equals.update((own, by, theirs) for by in required if by is not operand)


def _narrow(operands: Iterable[Operand], by: Iterable[Operand]) -> None:
    by = tuple(by)
    for operand in operands:
        columns = set(operand.columns.values())
        operand.narrowed_by.update(
            one for one in by if one is not operand and columns.intersection(one.columns.values())
        )
