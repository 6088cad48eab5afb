"""The timestamped-graph convention: a named graph g, and g prov:generatedAtTime t in the default graph.

One element per such graph (docs/http.md, "The time of an element"), in the order of their times, equal times in
document order. The triple that carries the time is no data (docs/model.md, "Elements and streams"); all others are: a
triple of the default graph about g joins g's element, and whatever else the message holds joins the earliest of
its elements, so that it is there once, and from the first of them on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import Instant
from spark_backend.ingest.quads import Quads

GENERATED_AT_TIME = "http://www.w3.org/ns/prov#generatedAtTime"


@dataclass(frozen=True)
class GraphTimestamp:
    """A triple that carries the timestamp of a named graph of its message.

    ``row``: where it is; ``graph``: the graph's index in the dictionary of ``g``; ``kind``, ``number``: its
    object's facets.
    """

    row: int
    message: int
    graph: int
    kind: int
    number: float | None


def find_graph_timestamps(
    quads: Quads, message: pa.Int32Array, k: pa.UInt8Array, n: pa.DoubleArray
) -> list[GraphTimestamp]:
    """The triples of the convention, in document order. ``k``, ``n``: the facets of the objects."""
    predicate = pc.index(quads.p.dictionary, pa.scalar(f"<{GENERATED_AT_TIME}>", pa.string())).as_py()
    if predicate < 0 or quads.g.null_count == len(quads):
        return []
    carries = pc.and_(pc.is_null(quads.g), pc.equal(quads.p.indices, pa.scalar(predicate, pa.int32())))
    rows = pc.indices_nonzero(carries)
    if len(rows) == 0:
        return []
    graphs = len(quads.g.dictionary)
    named = pc.is_valid(quads.g)
    keys = message.filter(named).to_numpy().astype(np.int64) * graphs + quads.g.indices.filter(named).to_numpy()
    about = _graphs_described(quads).take(rows)
    columns = (column.to_pylist() for column in (rows, message.take(rows), about, k.take(rows), n.take(rows)))
    there = set(keys.tolist())
    return [
        GraphTimestamp(row, ordinal, graph, kind, number)
        for row, ordinal, graph, kind, number in zip(*columns, strict=True)
        if graph is not None and ordinal * graphs + graph in there
    ]


def _graphs_described(quads: Quads) -> pa.Int32Array:
    """For each row the graph that its subject is, an index in the dictionary of ``g``, or null."""
    return pc.index_in(quads.s.dictionary, value_set=quads.g.dictionary).take(quads.s.indices)


def divide_by_graphs(
    quads: Quads, message: pa.Int32Array, graph_times: dict[tuple[int, int], Instant], times: list[Instant | None]
) -> tuple[pa.Int32Array, list[Instant]]:
    """The element of every row and the time of every element.

    ``graph_times``: the times of (message, graph), in document order. ``times``: those of the messages
    that have no timestamped graph.
    """
    of_message: dict[int, list[tuple[Instant, int]]] = {}
    for (ordinal, graph), time in graph_times.items():
        of_message.setdefault(ordinal, []).append((time, graph))
    graphs = len(quads.g.dictionary)
    element_times: list[Instant] = []
    first_elements: list[int] = []
    keys: list[int] = []
    elements: list[int] = []
    for ordinal, time_of_message in enumerate(times):
        first_elements.append(len(element_times))
        for time, graph in sorted(of_message.get(ordinal, ()), key=lambda pair: pair[0]):
            keys.append(ordinal * graphs + graph)
            elements.append(len(element_times))
            element_times.append(time)
        if ordinal not in of_message:
            assert time_of_message is not None  # the caller refuses messages without a time
            element_times.append(time_of_message)
    graph = pc.coalesce(quads.g.indices, _graphs_described(quads), pa.scalar(-1, pa.int32())).to_numpy()
    wanted = np.where(graph < 0, -1, message.to_numpy().astype(np.int64) * graphs + graph)
    order = np.argsort(keys)
    known = np.array(keys, np.int64)[order]
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    of_graph = np.array(elements, np.int32)[order][at]
    of_first = np.array(first_elements, np.int32)[message.to_numpy()]
    return pa.array(np.where(known[at] == wanted, of_graph, of_first)), element_times
