"""``timestamp(?v)`` and ``timestamp(s p o)`` in the algebra (docs/language.md, "Time in queries"; C-SPARQL section
3.3).

A triple pattern that may tell the time has a hidden variable, bound to the latest timestamp of the triple it matches in
the windows' contents (an xsd:integer, milliseconds), and unbound where that triple is static only. The function is
the greatest of the hidden variables in scope where it stands: of the patterns that ?v is written in, or of those that
have matched the very triple that s, p and o are in this solution. So the rest is what SPARQL says of variables:

- joins and a matched OPTIONAL have the times of both sides, a UNION those of the branch, MINUS those of its left side;
  inside of EXISTS the times of the solution it is asked of are there too, and none comes out of it;
- what BIND, VALUES, GRAPH ?g, WINDOW ?w or an aggregate binds is bound by no triple and has no time from there, nor has
  a variable that BIND makes equal to another;
- out of a sub-select come the times of the variables that it projects, and no longer those of whole triples; of
  solutions that DISTINCT makes one, and of those of a group for its keys, it is the greatest;
- ``getSTARTTIME()`` is the greatest of the hidden variables of the patterns in CURRENT that are in scope: the time of
  a fact is when it began. Inside of EXISTS these are its own, or else those of the solution it is asked of;
- what is bound in a triple term of a triple is bound by this triple;
- sequences, alternatives, inverses and negated sets of a path are triple patterns. The end of a path with ``*``, ``+``
  or ``?`` is bound by an unknown number of them: its timestamp is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from protocol.language import algebra as a
from protocol.language.algebra import UNFOLDED
from spark_backend.compiler.algebra.operands import conjunction
from spark_backend.compiler.refusals import NotCompilable

TIMESTAMP = a.TIMESTAMP
TIME_IF = "TIME_IF"
"""A hidden variable where a condition is true, and nothing elsewhere; an argument of TIMESTAMP."""
LATEST_TIMESTAMP = "LATEST"
"""The aggregate for hidden variables: the greatest, and unbound if there is none."""

_HIDDEN = "_:time "


def is_time(variable: a.Variable) -> bool:
    """Whether it is a hidden variable for a triple's time."""
    return variable.name.startswith(_HIDDEN)


def with_timestamps(pattern: a.Pattern) -> a.Pattern:
    """The pattern of a whole query with its timestamp calls told by hidden variables. Raises UnsupportedFeature."""
    calls = [
        node for node in a.nodes(pattern) if isinstance(node, a.Call) and (node.name == TIMESTAMP or _is_of_facts(node))
    ]
    if not calls:
        return pattern
    read = {
        part for call in calls if len(call.arguments) == 1 for part in call.arguments if isinstance(part, a.Variable)
    }
    triples = tuple(call.arguments for call in calls if len(call.arguments) == 3)
    within = _within_triple_terms(pattern)
    return _Telling(frozenset(read), triples, calls, any(map(_is_of_facts, calls)), within).outermost(pattern)


def _within_triple_terms(pattern: a.Pattern) -> dict[a.Variable, frozenset[a.Variable]]:
    """By the variable of each triple term of a triple pattern those in it (``protocol.grammar.triple_terms``)."""
    found: dict[a.Variable, set[a.Variable]] = {}
    for node in a.nodes(pattern):
        match node:
            case a.Extend(_, part, a.Call(function, (a.Variable() as term,))) | a.Call(
                "SAMETERM", (a.Variable() as part, a.Call(function, (a.Variable() as term,)))
            ) if function in a.PARTS_OF_TRIPLES and term.name.startswith(UNFOLDED):
                found.setdefault(term, set()).add(part)

    def all_within(term: a.Variable) -> frozenset[a.Variable]:
        return frozenset({term}).union(*map(all_within, found.get(term, ())))

    return {term: all_within(term) for term in found}


def with_all_times(pattern: a.Pattern, times: list[a.Variable]) -> a.Pattern:
    """The pattern (triple patterns, filters, BIND) with a hidden variable for each triple, which ``times`` get."""
    match pattern:
        case a.BGP(triples):
            told = []
            for triple in triples:
                times.append(a.Variable(f"{_HIDDEN}{len(times) + 1}"))
                told.append(replace(triple, time=times[-1]))
            return a.BGP(tuple(told))
        case a.Join(left, right):
            return a.Join(with_all_times(left, times), with_all_times(right, times))
        case a.Filter(inner) | a.Extend(inner):
            return replace(pattern, pattern=with_all_times(inner, times))
    raise AssertionError(f"refused before (protocol.grammar.streams.facts): {pattern}")


@dataclass(frozen=True)
class _Witness:
    """A triple pattern, or those of a group: the time, the variables it is told of, the triple while it can be seen.

    ``fact``: the time is when a fact began.
    """

    time: a.Variable
    of: frozenset[a.Variable]
    triple: tuple[a.Expression, ...] | None
    fact: bool = False


_Witnesses = tuple[_Witness, ...]


@dataclass
class _Telling:
    """``read`` are the variables and ``triples`` the triples whose time is asked anywhere in the query.

    ``beginnings``: when facts began is asked somewhere. ``within``: by variables of triple terms, what is in these.
    """

    read: frozenset[a.Variable]
    triples: Sequence[tuple[a.Expression, ...]]
    calls: Sequence[a.Call]
    beginnings: bool
    within: Mapping[a.Variable, frozenset[a.Variable]]
    _made: int = field(default=0)
    _facts: bool = field(default=False)
    """Whether what is told now is matched among facts: in CURRENT, and in no other graph there."""

    def outermost(self, pattern: a.Pattern) -> a.Pattern:
        """The query's own projection, which nothing reads above."""
        match pattern:
            case a.Slice(inner) | a.Distinct(inner):
                return replace(pattern, pattern=self.outermost(inner))
            case a.Project(inner):
                return replace(pattern, pattern=self._tell(inner, ())[0])
        return self._tell(pattern, ())[0]

    def _tell(self, pattern: a.Pattern, outer: _Witnesses) -> tuple[a.Pattern, _Witnesses]:
        """The pattern and what its solutions witness. ``outer`` is what those witness that EXISTS is asked of."""
        match pattern:
            case a.BGP(triples):
                timed = tuple(map(self._with_time, triples))
                return a.BGP(timed), tuple(self._witness(one, one.time) for one in timed if one.time is not None)
            case a.Closure():
                self._check(pattern)
                return pattern, ()
            case a.Values() | a.ServiceSolutions():
                return pattern, ()
            case a.Join(left, right) | a.Union(left, right):
                (one, first), (other, second) = self._tell(left, outer), self._tell(right, outer)
                return replace(pattern, left=one, right=other), (*first, *second)
            case a.Minus(left, right):
                one, first = self._tell(left, outer)
                return replace(pattern, left=one, right=self._tell(right, outer)[0]), first
            case a.LeftJoin(left, right, condition, asked):
                (one, first), (other, second) = self._tell(left, outer), self._tell(right, outer)
                seen = _seen((*first, *second), outer)
                exists = tuple((variable, self._tell(inside, seen)[0]) for variable, inside in asked)
                asks = None if condition is None else _expression(condition, seen)
                return a.LeftJoin(one, other, asks, exists), (*first, *second)
            case a.MarkJoin(inner, _, exists):
                told, found = self._tell(inner, outer)
                return replace(pattern, pattern=told, exists=self._tell(exists, _seen(found, outer))[0]), found
            case a.Project(inner):
                return self._project(pattern, *self._tell(inner, ()))
            case a.Distinct(inner):
                told, found = self._tell(inner, outer)
                return replace(pattern, pattern=told, latest=tuple(witness.time for witness in found)), found
            case a.Group(inner):
                return self._group(pattern, *self._tell(inner, outer), outer)
            case a.Graph(_, inner):
                around, self._facts = self._facts, pattern.facts
                told, found = self._tell(inner, outer)
                self._facts = around
                return replace(pattern, pattern=told), found
        told, found = self._tell(pattern.pattern, outer)
        pattern = replace(pattern, pattern=told)
        seen = _seen(found, outer)
        match pattern:
            case a.Filter(_, condition):
                return replace(pattern, condition=_expression(condition, seen)), found
            case a.Extend(_, _, expression):
                return replace(pattern, expression=_expression(expression, seen)), found
            case a.OrderBy(_, conditions):
                keys = tuple(replace(key, expression=_expression(key.expression, seen)) for key in conditions)
                return replace(pattern, conditions=keys), found
        return pattern, found

    def _project(self, pattern: a.Project, inner: a.Pattern, found: _Witnesses) -> tuple[a.Pattern, _Witnesses]:
        seen = frozenset(pattern.variables)
        kept = tuple(
            _Witness(w.time, w.of & seen, None, w.fact)
            for w in found
            if w.of & seen & self.read or (w.fact and self.beginnings)
        )
        return a.Project(inner, (*pattern.variables, *(witness.time for witness in kept))), kept

    def _group(
        self, pattern: a.Group, inner: a.Pattern, found: _Witnesses, outer: _Witnesses
    ) -> tuple[a.Pattern, _Witnesses]:
        seen = _seen(found, outer)
        aggregates = tuple(
            one if one.argument is None else replace(one, argument=_expression(one.argument, seen))
            for one in pattern.aggregates
        )
        kept = []
        for key in pattern.keys or ():
            times = [witness.time for witness in found if key in witness.of]
            if key in self.read and times:
                kept.append(_Witness(self._hidden(), frozenset({key}), None))
                latest = a.Aggregate(LATEST_TIMESTAMP, a.Call(TIMESTAMP, tuple(times)), kept[-1].time)
                aggregates = (*aggregates, latest)
        facts = [witness.time for witness in found if witness.fact]
        if facts and self.beginnings:
            kept.append(_Witness(self._hidden(), frozenset(), None, True))
            latest = a.Aggregate(LATEST_TIMESTAMP, a.Call(TIMESTAMP, tuple(facts)), kept[-1].time)
            aggregates = (*aggregates, latest)
        return a.Group(inner, pattern.keys, aggregates), tuple(kept)

    def _with_time(self, triple: a.TriplePattern) -> a.TriplePattern:
        if triple.time is not None:  # of an event pattern
            return triple
        parts = (triple.subject, triple.predicate, triple.object)
        asked = self.read & self._bound(triple) or any(_may_be(parts, asked) for asked in self.triples)
        if asked or (self._facts and self.beginnings):
            return replace(triple, time=self._hidden())
        return triple

    def _bound(self, triple: a.TriplePattern) -> frozenset[a.Variable]:
        """The variables that a triple binds."""
        own = triple.variables
        return frozenset(own).union(*(self.within[one] for one in own if one in self.within))

    def _witness(self, triple: a.TriplePattern, time: a.Variable) -> _Witness:
        parts = (triple.subject, triple.predicate, triple.object)
        return _Witness(time, self._bound(triple), parts, self._facts)

    def _check(self, path: a.Closure) -> None:
        if self._facts and self.beginnings:
            raise NotCompilable(
                "getSTARTTIME() is not evaluated beside paths with *, + or ? in CURRENT: write out the triple patterns",
                next(call.place for call in self.calls if _is_of_facts(call)),
            )
        for variable in self.read.intersection(path.variables):
            raise NotCompilable(
                f"timestamp(?{variable.name}) is not evaluated where the variable is the end of a path with *, + or ?: "
                "write out the triple patterns",
                next(call.place for call in self.calls if call.arguments == (variable,)),
            )

    def _hidden(self) -> a.Variable:
        self._made += 1
        return a.Variable(f"{_HIDDEN}{self._made}")


def _seen(found: _Witnesses, outer: _Witnesses) -> _Witnesses:
    """What is witnessed where an expression stands, ``outer`` by the solution that its EXISTS is asked of.

    Facts of its own hide those of that solution from getSTARTTIME(), which is told of the innermost ones.
    """
    if any(witness.fact for witness in found):
        outer = tuple(replace(witness, fact=False) for witness in outer)
    return (*found, *outer)


def _may_be(parts: Iterable[a.Expression], asked: Iterable[a.Expression]) -> bool:
    """Whether two triple patterns can stand for the same triple."""
    return all(
        not (isinstance(x, a.Constant) and isinstance(y, a.Constant)) or x == y
        for x, y in zip(parts, asked, strict=True)
    )


def _is_of_facts(call: a.Call) -> bool:
    """Whether it is getSTARTTIME() of facts: that of an event pattern has the times of its occurrences."""
    return call.name == a.START_TIME and not call.arguments


def _expression(expression: a.Expression, seen: _Witnesses) -> a.Expression:
    if not isinstance(expression, a.Call):
        return expression
    if _is_of_facts(expression):
        return a.Call(TIMESTAMP, tuple(witness.time for witness in seen if witness.fact))
    if expression.name != TIMESTAMP:
        return a.Call(expression.name, tuple(_expression(argument, seen) for argument in expression.arguments))
    if len(expression.arguments) == 1:
        times: Iterable[a.Expression] = (witness.time for witness in seen if expression.arguments[0] in witness.of)
    else:
        times = (
            _time_if(witness, witness.triple, expression.arguments)
            for witness in seen
            if witness.triple is not None and _may_be(witness.triple, expression.arguments)
        )
    return a.Call(TIMESTAMP, tuple(times))


def _time_if(witness: _Witness, triple: Iterable[a.Expression], asked: Iterable[a.Expression]) -> a.Expression:
    same = [a.Call("SAMETERM", pair) for pair in zip(triple, asked, strict=True) if pair[0] != pair[1]]
    if not same:
        return witness.time
    condition = conjunction(same)
    return a.Call(TIME_IF, (condition, witness.time))
