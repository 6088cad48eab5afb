"""The timestamped-graph convention: a named graph g, and g prov:generatedAtTime t in the default graph.

One element per such graph (contract section 4), in the order of their times, equal times in document
order. The triple that carries the time is no data (contract section 1); all others are: a triple of
the default graph about g joins g's element, and whatever else the message holds joins the earliest of
its elements, so that it is there once, and from the first of them on.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import Instant
from spark_backend.ingest.quads import Quads

GENERATED_AT_TIME = "http://www.w3.org/ns/prov#generatedAtTime"


@dataclass(frozen=True)
class GraphTimestamp:
    """A triple that carries the timestamp of a named graph of its message: the row it is, its object's facets."""

    row: int
    message: int
    graph: str
    kind: int
    number: float | None


def find_graph_timestamps(
    quads: Quads, message: pa.Int32Array, k: pa.UInt8Array, n: pa.DoubleArray
) -> list[GraphTimestamp]:
    """The triples of the convention, in document order. ``k``, ``n``: the facets of the objects."""
    if quads.g.null_count == len(quads):
        return []
    carries = pc.and_(pc.is_null(quads.g), pc.equal(quads.p, pa.scalar(f"<{GENERATED_AT_TIME}>", pa.string())))
    rows = pc.indices_nonzero(carries)
    if len(rows) == 0:
        return []
    named = set(zip(message.to_pylist(), quads.g.to_pylist(), strict=True))
    columns = (column.take(rows).to_pylist() for column in (message, quads.s, k, n))
    return [
        GraphTimestamp(row, ordinal, graph, kind, number)
        for row, ordinal, graph, kind, number in zip(rows.to_pylist(), *columns, strict=True)
        if (ordinal, graph) in named
    ]


def divide_by_graphs(
    quads: Quads, message: pa.Int32Array, graph_times: dict[tuple[int, str], Instant], times: list[Instant | None]
) -> tuple[list[int], list[Instant]]:
    """The element of every row and the time of every element.

    ``graph_times``: the times of (message, graph), in document order. ``times``: those of the messages
    that have no timestamped graph.
    """
    of_message: dict[int, list[tuple[Instant, str]]] = {}
    for (ordinal, graph), time in graph_times.items():
        of_message.setdefault(ordinal, []).append((time, graph))
    element_times: list[Instant] = []
    first_element: list[int] = []
    of_graph: dict[tuple[int, str], int] = {}
    for ordinal, time_of_message in enumerate(times):
        first_element.append(len(element_times))
        for time, graph in sorted(of_message.get(ordinal, ()), key=lambda pair: pair[0]):
            of_graph[ordinal, graph] = len(element_times)
            element_times.append(time)
        if ordinal not in of_message:
            assert time_of_message is not None  # the caller refuses messages without a time
            element_times.append(time_of_message)
    elements = [
        of_graph.get((ordinal, subject if graph is None else graph), first_element[ordinal])
        for ordinal, graph, subject in zip(message.to_pylist(), quads.g.to_pylist(), quads.s.to_pylist(), strict=True)
    ]
    return elements, element_times
