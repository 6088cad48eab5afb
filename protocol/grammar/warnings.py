"""What is known of a query that will never answer, or not as its words ask (docs/language.md, "Warnings")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from protocol.language.algebra import (
    TIMESTAMP,
    Call,
    Constant,
    Exists,
    Expression,
    Filter,
    Graph,
    LeftJoin,
    Pattern,
    Service,
    Variable,
    in_scope,
    nodes,
)
from protocol.language.model import ContinuousQuery
from protocol.language.resources import resources_of
from protocol.sparql.source import Source
from protocol.windows.spec import FactsWindow

_NO_VARIABLES: frozenset[Variable] = frozenset()


def warnings(query: ContinuousQuery, source: Source) -> tuple[str, ...]:
    """A sentence each, with line and column, in the order of the text. Only what is certain of the query's words is
    said: whatever the streams and the store have.
    """
    parts = list(nodes(query.expression.pattern))
    graphs = [node for node in parts if isinstance(node, Graph)]
    found = [*_graphs_that_are_not_there(query, graphs), *_conditions_that_never_hold(parts)]
    told = [(*source.place(offset), detail) for offset, detail in dict.fromkeys(found)]
    told += [*_windows_that_are_not_read(query, graphs), *_facts_that_are_not_read(query)]
    return tuple(f"{detail} (line {line}, column {column})" for line, column, detail in sorted(told))


def _graphs_that_are_not_there(query: ContinuousQuery, graphs: Sequence[Graph]) -> Iterator[tuple[int, str]]:
    """Patterns over graphs that are none of the dataset, which is closed where a clause names a graph of the store."""
    closed = bool(query.from_graphs or query.from_named)
    named = {*query.from_named, *(window.name for window in query.windows), *(one.graph for one in query.currents)}
    ranged = {*query.from_named, *(window.name for window in query.windows if window.declared or window.also)}
    for graph in graphs:
        if graph.place is None:
            continue
        if isinstance(graph.name, Variable):
            if closed and not graph.windows_only and not ranged:
                yield graph.place, f"GRAPH ?{graph.name.name} never matches: the dataset has no named graph"
            continue
        iri = graph.name.text[1:-1]
        if iri in named:
            continue
        over = [window.name for window in query.windows if window.stream == iri and window.declared]
        if closed:
            right = f"write FROM NAMED <{iri}>"
            yield graph.place, f"GRAPH <{iri}> never matches: it is no named graph of the query's dataset: {right}"
        elif over:
            right = f"the stream's window is the graph <{over[0]}>"
            yield graph.place, f"GRAPH <{iri}> is a graph of the store, and not the stream of this name: {right}"


def _windows_that_are_not_read(query: ContinuousQuery, graphs: Sequence[Graph]) -> Iterator[tuple[int, int, str]]:
    """Declared windows that are a named graph, and no pattern's."""
    if any(isinstance(graph.name, Variable) for graph in graphs):
        return
    read = {graph.name.text[1:-1] for graph in graphs if isinstance(graph.name, Constant)}
    for window in query.windows:
        if window.declared and window.graph is not None and window.graph not in read:
            unnamed = f"write WINDOW <{window.graph}> {{…}}, or FROM STREAM <{window.stream}> for the default graph"
            yield window.line, window.column, f"no pattern reads the window <{window.graph}>: {unnamed}"


def _facts_that_are_not_read(query: ContinuousQuery) -> Iterator[tuple[int, int, str]]:
    """Definitions of facts before a query whose CURRENT are all of others."""
    read = {window.window.definition for window in query.windows if isinstance(window.window, FactsWindow)}
    for one in query.definitions:
        if one.key not in read:
            yield one.line, one.column, f"no pattern reads the facts {one.name}: write CURRENT {one.name} {{…}}"


def _conditions_that_never_hold(parts: Sequence[object]) -> Iterator[tuple[int, str]]:
    """FILTER and HAVING over variables that nothing binds where they stand, or of which they ask what no IRI and no
    blank node is. What is in EXISTS sees others, too; a service may have an order of its own of such terms.
    """
    asked = {id(node) for one in parts if isinstance(one, Exists) for node in nodes(one.pattern)}
    remote = {id(node) for one in parts if isinstance(one, Service) for node in nodes(one.pattern)}
    scopes: dict[int, frozenset[Variable]] = {}

    def scope(pattern: Pattern) -> frozenset[Variable]:
        while isinstance(pattern, Filter):
            pattern = pattern.pattern
        if id(pattern) not in scopes:
            scopes[id(pattern)] = in_scope(pattern)
        return scopes[id(pattern)]

    for node in parts:
        match node:
            case Filter(inner, condition):
                binding: tuple[Pattern, ...] = (inner,)
            case LeftJoin(left, right, condition) if condition is not None:
                binding = (right, left)
            case _:
                continue
        if id(node) in asked:
            continue
        missing = {one for one in _needed(condition) if not one.name.startswith("_:")}
        for part in binding:
            missing = missing and missing - scope(part)
        for variable in missing:
            written = (one.place for one in nodes(condition) if one == variable and isinstance(one, Variable))
            place = min(place for place in written if place is not None)
            yield place, f"?{variable.name} is never bound here, so that this condition never holds"
        others = _NO_VARIABLES if id(node) in remote else _no_resources(condition)
        resources = _NO_VARIABLES.union(*map(resources_of, binding)) if others else _NO_VARIABLES
        for variable in others:
            if variable in resources and variable.place is not None:
                known = f"?{variable.name} is an IRI or a blank node here"
                yield variable.place, f"{known}, so that this condition never holds"


def _needed(condition: Expression) -> frozenset[Variable]:
    """The variables without which a condition is not true: an error, or false."""
    match condition:
        case Call("&&", (one, other)):
            return _needed(one) | _needed(other)
        case Call("||", (one, other)):
            return _needed(one) & _needed(other)
        case Call("BOUND", (Variable() as variable,)):
            return frozenset({variable})
        case Call("!", (negated,)):
            return _strict(negated)
    return _strict(condition)


def _strict(expression: Expression) -> frozenset[Variable]:
    """The variables without which an expression is an error (SPARQL 1.1 Query section 17.2)."""
    match expression:
        case Variable():
            return frozenset({expression})
        case Exists() | Call("BOUND") | Call("BNODE"):
            return _NO_VARIABLES
        case Call("&&" | "||", (one, other)):
            return _strict(one) & _strict(other)
        case Call("COALESCE", arguments):
            return frozenset.intersection(*map(_strict, arguments)) if arguments else _NO_VARIABLES
        case Call("IF", (condition, one, other)):
            return _strict(condition) | (_strict(one) & _strict(other))
        case Call("IN" | "NOT IN", (value, *_)):
            return _strict(value)
        case Call(name, arguments) if name != TIMESTAMP or len(arguments) == 1:
            return _NO_VARIABLES.union(*map(_strict, arguments))
    return _NO_VARIABLES


def _no_resources(condition: Expression) -> frozenset[Variable]:
    """The variables that are neither an IRI nor a blank node wherever a condition is true, each as it stands first in
    what says so: neither of these is less than anything, or equals a literal (SPARQL 1.1 Query section 17.3).
    """
    match condition:
        case Call("&&", (one, other)):
            return _no_resources(one) | _no_resources(other)
        case Call("||", (one, other)):
            also = _no_resources(other)
            return frozenset(variable for variable in _no_resources(one) if variable in also)
        case Call("<" | ">", sides):
            return frozenset(side for side in sides if isinstance(side, Variable))
        case Call("=" | "<=" | ">=" | "IN", (Variable() as variable, *others)) if _are_literals(others):
            return frozenset({variable})
        case Call("=" | "<=" | ">=", (other, Variable() as variable)) if _are_literals([other]):
            return frozenset({variable})
    return _NO_VARIABLES


def _are_literals(expressions: Sequence[Expression]) -> bool:
    return all(isinstance(one, Constant) and one.text.startswith('"') for one in expressions)
