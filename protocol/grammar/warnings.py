"""What is known of a query that will never answer, or not as its words ask (docs/language.md, "Warnings")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from protocol.language.algebra import Constant, Graph, Pattern, Query, Variable, nodes
from protocol.language.model import ContinuousQuery
from protocol.language.unmet_needs import unmet_needs
from protocol.sparql.source import Source
from protocol.windows.spec import NON_EMPTY, CountWindow, FactsWindow, LandmarkWindow, TimeWindow


def warnings(query: ContinuousQuery, source: Source, conditions: Sequence[Pattern]) -> tuple[str, ...]:
    """A sentence each, with line and column, in the order of the text. Only what is certain of the query's words is
    said: whatever the streams and the store have. ``conditions``: the patterns of windows' WHERE.
    """
    parts = list(nodes(query.expression.pattern))
    graphs = [node for node in parts if isinstance(node, Graph)]
    found = [*_graphs_that_are_not_there(query, graphs), *unmet_needs(query.expression, parts)]
    # A window's WHERE, what begins facts and what ends them are matched by themselves: none sees what another binds.
    for pattern in (*conditions, *(part for one in query.definitions for part in (one.since, one.till))):
        found += unmet_needs(Query(pattern, ()), list(nodes(pattern)))
    told = [(*source.place(offset), detail) for offset, detail in dict.fromkeys(found)]
    told += [*_windows_that_are_not_read(query, graphs), *_facts_that_are_not_read(query)]
    told += _windows_that_always_report(query)
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


def _windows_that_always_report(query: ContinuousQuery) -> Iterator[tuple[int, int, str]]:
    """Windows with nothing in their report that says when, of kinds that hold their content for longer than an instant.

    Definition 23 means every instant by that, which nobody wants who thinks of elements that come.
    """
    for window in query.windows:
        spec = window.window
        lasting = isinstance(spec, CountWindow | LandmarkWindow) or (isinstance(spec, TimeWindow) and spec.width > 1)
        if lasting and spec.report == NON_EMPTY:
            right = "write REPORT ON_CONTENT_CHANGE, or ON_WINDOW_CLOSE or PERIODIC beside it"
            asked = "NON_EMPTY_CONTENT alone asks for an answer at every millisecond at which the window holds anything"
            yield window.line, window.column, f"{asked}: {right}"
