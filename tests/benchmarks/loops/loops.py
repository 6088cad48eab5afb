"""The loops a Python user would write today: a store per window, loaded and asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import pyoxigraph
import sparq

from protocol.time import Instant
from tests.benchmarks import workload

Loop = Callable[[Sequence[str]], list[bytes]]
"""Queries to answers (SPARQL JSON) over the windows of the loop: all queries of the first instant first."""


def pyoxigraph_loop(instants: Sequence[Instant], seconds: int) -> Loop:
    """Every message is parsed once, when it comes; then a store per window, its triples, and the queries."""
    texts = {second: _text(second).encode() for second in range(seconds)}

    def run(queries: Sequence[str]) -> list[bytes]:
        answers = []
        parsed: dict[int, list[pyoxigraph.Quad]] = {}
        for instant in instants:
            for second in _seconds(instant):
                if second not in parsed:
                    parsed[second] = list(pyoxigraph.parse(texts[second], format=pyoxigraph.RdfFormat.N_TRIPLES))
                    parsed.pop(second - workload.RANGE_SECONDS - 1, None)
            store = pyoxigraph.Store()
            store.bulk_extend(chain.from_iterable(parsed[second] for second in _seconds(instant)))
            for query in queries:
                solutions = store.query(query)
                assert isinstance(solutions, pyoxigraph.QuerySolutions)
                answers.append(solutions.serialize(format=pyoxigraph.QueryResultsFormat.JSON) or b"")
        return answers

    return run


def sparq_loop(instants: Sequence[Instant], seconds: int) -> Loop:
    """Its graphs are made from text: what remains is a graph per window, and the queries."""
    texts = {second: _text(second) for second in range(seconds)}

    def run(queries: Sequence[str]) -> list[bytes]:
        answers = []
        for instant in instants:
            graph = sparq.Graph.load("".join(texts[second] for second in _seconds(instant)), "ntriples")
            answers += [graph.query_json(query).encode() for query in queries]
        return answers

    return run


def _seconds(instant: Instant) -> range:
    return range(max(0, instant // 1000 - workload.RANGE_SECONDS), instant // 1000)


def _text(second: int) -> str:
    return "".join(triples for _, triples in workload.lines(second))
