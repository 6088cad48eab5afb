"""SERVICE out of a query: what is asked of other endpoints before it is evaluated (SPARQL 1.1 Federated Query).

A service is asked once an instant, and what it gave is a table like that of a window. Of its solutions those count that
agree with what they are joined with. So it is asked for no others, by VALUES, where that changes nothing: for variables
that every solution of both sides binds. A solution that is left out then is compatible with none of the other side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from protocol.language import algebra as a
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.language.sparql_text import group_text
from spark_backend.compiler.algebra.marks import certainly_bound
from spark_backend.compiler.algebra.operands import conjuncts, filter_of, join_of, join_operands
from spark_backend.compiler.refusals import NotCompilable

_OF_THE_STREAM = frozenset({a.TIMESTAMP}) | a.INTERVAL
_NOT_GIVEN = a.VARYING | _OF_THE_STREAM
"""Calls whose values may be others where a part of the query is evaluated alone."""


@dataclass(frozen=True)
class ServiceCall:
    """One SERVICE of a query.

    ``service``: its address, or ``?name`` of the variable that has it. ``pattern``: its group as text. ``variables`` of
    its solutions, of which each binds those that are ``certain``. ``given``: the variables whose terms are sent.
    """

    service: str
    pattern: str
    variables: tuple[str, ...]
    certain: tuple[str, ...]
    given: tuple[str, ...]
    silent: bool
    base: str | None = None
    place: int | None = field(default=None, compare=False)

    @property
    def variable(self) -> str | None:
        """The name of the variable that has its address."""
        return self.service[1:] if self.service.startswith("?") else None

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> ServiceCall:
        """Of a document like that of ``asdict``."""
        call: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return cls(**call)

    def request(self, rows: Sequence[tuple[str, ...]]) -> str:
        """What is asked where the variables ``given`` have these terms; of no variables, everything."""
        base = "" if self.base is None else f"BASE <{self.base}> "
        asked = " ".join(f"?{name}" for name in self.variables) or "*"
        if not self.given:
            return f"{base}SELECT {asked} WHERE {self.pattern}"
        names = " ".join(f"?{name}" for name in self.given)
        values = " ".join(f"({' '.join(row)})" for row in rows)
        return f"{base}SELECT {asked} WHERE {{ VALUES ({names}) {{ {values} }} {self.pattern} }}"


@dataclass(frozen=True)
class SplitService:
    """A service, and the query of the terms that it is given; None where it is given none."""

    call: ServiceCall
    bindings: ContinuousQuery | None


def split_services(query: ContinuousQuery) -> tuple[ContinuousQuery, tuple[SplitService, ...]]:
    """The query over what services gave, in the order in which they are asked, and these.

    Raises NotCompilable for a SERVICE in EXISTS, one that reads a window, and one whose address nothing binds.
    """
    pattern = query.expression.pattern
    if not _asks(pattern):
        return query, ()
    for node in a.nodes(pattern):
        if isinstance(node, a.Exists):
            for inner in a.nodes(node.pattern):
                if isinstance(inner, a.Service):
                    raise NotCompilable("SERVICE in EXISTS is not evaluated over windows: use MINUS", inner.place)
    splitter = _Splitter(query)
    pattern = splitter.pattern(pattern, _Beside())
    return replace(query, expression=replace(query.expression, pattern=pattern)), tuple(splitter.found)


@dataclass(frozen=True)
class _Beside:
    """What the solutions of a pattern are joined with: whatever agrees with none of it changes nothing.

    ``conditions`` are those of the innermost filter around, which sees the patterns from the place ``since`` on.
    """

    patterns: tuple[a.Pattern, ...] = ()
    conditions: tuple[a.Expression, ...] = ()
    since: int = 0

    def under(self, condition: a.Expression) -> _Beside:
        """As it is inside of a filter."""
        known = tuple(one for one in conjuncts(condition) if _is_given(one))
        return _Beside(self.patterns, known, len(self.patterns))

    def in_sub_select(self, variables: Sequence[a.Variable]) -> _Beside:
        """As a sub-select sees it that shows these variables: others of their names are not the same."""
        shown = frozenset(variables)
        seen = [(one, tuple(sorted(a.in_scope(one) & shown, key=_name))) for one in self.patterns]
        return _Beside(tuple(a.Project(one, variables) for one, variables in seen if variables))


_NOTHING = _Beside()


class _Splitter:
    def __init__(self, query: ContinuousQuery) -> None:
        self._query = query
        self._graphs: list[a.Graph] = []
        self.found: list[SplitService] = []

    def pattern(self, pattern: a.Pattern, beside: _Beside) -> a.Pattern:
        """The pattern with what services gave in their place."""
        if not _asks(pattern):
            return pattern
        match pattern:
            case a.Service():
                return self._service(pattern, beside)
            case a.Join(left, right):
                left = self.pattern(left, self._with(beside, right))
                return a.Join(left, self.pattern(right, self._with(beside, left)))
            case a.Union(left, right):
                return a.Union(self.pattern(left, beside), self.pattern(right, beside))
            case a.LeftJoin(left, right) | a.Minus(left, right):
                left = self.pattern(left, beside)
                return replace(pattern, left=left, right=self.pattern(right, self._with(_NOTHING, left)))
            case a.Filter(inner, condition):
                return replace(pattern, pattern=self.pattern(inner, beside.under(condition)))
            case a.Project(inner, variables):
                return replace(pattern, pattern=self.pattern(inner, beside.in_sub_select(variables)))
            case a.Extend() | a.Distinct() | a.OrderBy():
                return replace(pattern, pattern=self.pattern(pattern.pattern, beside))
            case a.Graph(_, inner):
                self._graphs.append(pattern)
                inner = self.pattern(inner, beside)
                self._graphs.pop()
                return replace(pattern, pattern=inner)
            case a.Group(inner) | a.Slice(inner) | a.Aggregation(inner):
                return replace(pattern, pattern=self.pattern(inner, _NOTHING))
        raise AssertionError(f"no pattern with SERVICE: {pattern!r}")

    def _with(self, beside: _Beside, pattern: a.Pattern) -> _Beside:
        """Also beside a pattern, of what is known before this service is asked, in the graph that it is in."""
        known = [one for one in join_operands(pattern) if not _asks(one) and not _draws(one)]
        for graph in reversed(self._graphs):
            known = [replace(graph, pattern=one) for one in known]
        return replace(beside, patterns=(*beside.patterns, *known))

    def _service(self, service: a.Service, beside: _Beside) -> a.Pattern:
        self._refuse_what_is_of_streams(service)
        name = service.name if isinstance(service.name, a.Variable) else None
        bound = certainly_bound(service.pattern)
        joined = frozenset[a.Variable]().union(*map(certainly_bound, beside.patterns))
        given = bound & joined
        if name is not None:
            if name not in joined:
                raise NotCompilable(
                    f"?{name.name} has to be bound by what SERVICE ?{name.name} is joined with: in each solution of a "
                    "pattern beside it in its group, or before OPTIONAL",
                    service.place,
                )
            given |= {name}
        shown = a.in_scope(service.pattern) | frozenset(() if name is None else (name,))
        variables = tuple(sorted(shown, key=_name))
        # Where it fails silently, there is one solution that binds nothing but its address.
        address = frozenset(() if name is None else (name,))
        certain = address if service.silent else bound | address
        sent = tuple(sorted(given & shown, key=_name))
        call = ServiceCall(
            service=f"?{name.name}" if name is not None else _iri(service.name),
            pattern=group_text(a.Query(service.pattern, ())),
            variables=tuple(map(_name, variables)),
            certain=tuple(_name(one) for one in variables if one in bound | address),
            given=tuple(map(_name, sent)),
            silent=service.silent,
            base=self._query.expression.base,
            place=service.place,
        )
        self.found.append(SplitService(call, self._bindings(sent, beside) if sent else None))
        return a.ServiceSolutions(len(self.found) - 1, variables, tuple(one for one in variables if one in certain))

    def _bindings(self, given: tuple[a.Variable, ...], beside: _Beside) -> ContinuousQuery:
        """The query of the terms that these variables have in what a service is joined with."""
        connected = _connected(beside.patterns, frozenset(given))
        seen = frozenset[a.Variable]().union(
            *(certainly_bound(one) for one in beside.patterns[beside.since :] if one in connected)
        )
        conditions = [one for one in beside.conditions if a.expression_variables(one) <= seen]
        pattern = a.Distinct(a.Project(filter_of(join_of(connected), conditions), given))
        expression = a.Query(pattern, given, base=self._query.expression.base)
        return replace(self._query, expression=expression, form=Form.SELECT, operator=R2S.RSTREAM, registration=None)

    def _refuse_what_is_of_streams(self, service: a.Service) -> None:
        windows = {f"<{member.graph}>" for member in self._query.windows if member.graph is not None}
        for node in a.nodes(service.pattern):
            if isinstance(node, a.Graph) and (
                node.windows_only or node.facts or (isinstance(node.name, a.Constant) and node.name.text in windows)
            ):
                raise NotCompilable("a window is not at another endpoint: match it beside SERVICE", node.place)
            if isinstance(node, a.Call) and node.name in _OF_THE_STREAM:
                raise NotCompilable(f"{node.name} is of a stream, and no function of another endpoint", node.place)


def _connected(patterns: Sequence[a.Pattern], variables: frozenset[a.Variable]) -> list[a.Pattern]:
    """Those of the patterns that say something of the variables, or of what is joined with these."""
    reached, kept, left = variables, set[int](), dict(enumerate(patterns))
    while met := [place for place, one in left.items() if a.in_scope(one) & reached]:
        reached = reached.union(*(a.in_scope(left[place]) for place in met))
        kept.update(met)
        for place in met:
            del left[place]
    return [one for place, one in enumerate(patterns) if place in kept]


def _asks(pattern: a.Pattern) -> bool:
    return any(isinstance(node, a.Service) for node in a.nodes(pattern))


def _draws(pattern: a.Pattern) -> bool:
    return any(isinstance(node, a.Call) and node.name in a.DRAWING for node in a.nodes(pattern))


def _is_given(condition: a.Expression) -> bool:
    return not any(
        isinstance(node, a.Exists) or (isinstance(node, a.Call) and node.name in _NOT_GIVEN)
        for node in a.nodes(condition)
    )


def _iri(name: a.Variable | a.Constant) -> str:
    assert isinstance(name, a.Constant)
    return name.text[1:-1]


def _name(variable: a.Variable) -> str:
    return variable.name
