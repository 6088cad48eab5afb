"""The timestamped-graph convention: a named graph g, and g prov:generatedAtTime t in the default graph.

One element per such graph (docs/http.md, "The time of an element"), in the order of their times, equal times in
document order. The triple that carries the time is no data (docs/model.md, "Elements and streams"); all others are: a
triple of the default graph about g joins g's element, and whatever else the message holds joins the earliest of
its elements, so that it is there once, and from the first of them on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.ingest.terms.quads import Quads

GENERATED_AT_TIME = "http://www.w3.org/ns/prov#generatedAtTime"

_NO_TIME = pa.scalar(0, pa.int64())
_NO_GRAPH = pa.scalar(-1, pa.int32())

_Integers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class GraphTimestamps:
    """The triples that carry the timestamps of named graphs of their messages, in document order: columns.

    ``row``: where it is; ``graph``: the graph's index in the dictionary of ``g``; ``k``, ``n``: its object's facets.
    """

    row: pa.UInt64Array
    message: pa.Int32Array
    graph: pa.Int32Array
    k: pa.UInt8Array
    n: pa.DoubleArray

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class GraphTimes:
    """The times (ms) of named graphs, each once, in document order of what says them; ``graph`` as above."""

    message: _Integers
    graph: _Integers
    time: _Integers


def find_graph_timestamps(
    quads: Quads, message: pa.Int32Array, k: pa.UInt8Array, n: pa.DoubleArray
) -> GraphTimestamps | None:
    """The triples of the convention; None if there are none. ``k``, ``n``: the facets of the objects."""
    predicate = pc.index(quads.p.dictionary, pa.scalar(f"<{GENERATED_AT_TIME}>", pa.string())).as_py()
    if predicate < 0 or quads.g.null_count == len(quads):
        return None
    carries = pc.and_(pc.is_null(quads.g), pc.equal(quads.p.indices, pa.scalar(predicate, pa.int32())))
    about = _graphs_described(quads)
    rows = pc.indices_nonzero(pc.and_(carries, pc.is_valid(about)))
    if len(rows) == 0:
        return None
    found = GraphTimestamps(rows, *(column.take(rows) for column in (message, about, k, n)))
    named = pc.is_valid(quads.g)
    there = pa.array(_keys(quads, message.filter(named), quads.g.indices.filter(named)))
    in_message = pc.is_in(pa.array(_keys(quads, found.message, found.graph)), value_set=there)
    if not pc.all(in_message).as_py():
        columns = (found.row, found.message, found.graph, found.k, found.n)
        found = GraphTimestamps(*(column.filter(in_message) for column in columns))
    return found if len(found) else None


def _graphs_described(quads: Quads) -> pa.Int32Array:
    """For each row the graph that its subject is, an index in the dictionary of ``g``, or null."""
    return pc.index_in(quads.s.dictionary, value_set=quads.g.dictionary).take(quads.s.indices)


def _keys(quads: Quads, message: pa.Int32Array, graph: pa.Int32Array) -> _Integers:
    """A number for each pair of a message and a graph."""
    keys: _Integers = message.to_numpy().astype(np.int64) * len(quads.g.dictionary) + graph.to_numpy()
    return keys


def graph_times(quads: Quads, found: GraphTimestamps, instants: pa.Int64Array) -> GraphTimes | int:
    """The times of the graphs; or which of the timestamps is the first that is none, or a second one of its graph.

    ``instants``: those of the timestamps, null for what is none.
    """
    time = pc.fill_null(instants, _NO_TIME).to_numpy()
    wrong = instants.is_null().to_numpy(zero_copy_only=False)
    message, graph = found.message.to_numpy(), found.graph.to_numpy()
    if len(found) > 1:
        _, first, inverse = np.unique(_keys(quads, found.message, found.graph), return_index=True, return_inverse=True)
        wrong = wrong | (time != time[first][inverse])
        first.sort()
        message, graph, time = message[first], graph[first], time[first]
    return int(np.argmax(wrong)) if wrong.any() else GraphTimes(message, graph, time)


def divide_by_graphs(
    quads: Quads, message: pa.Int32Array, graphs: GraphTimes, times: pa.Int64Array
) -> tuple[pa.Int32Array, pa.Int64Array]:
    """The element of every row and the time of every element.

    ``times``: of each message; what counts is that of one that has no timestamped graph.
    """
    of_time, first, element_times = _elements(graphs, times)
    count = len(quads.g.dictionary)
    graph = pc.coalesce(quads.g.indices, _graphs_described(quads), _NO_GRAPH).to_numpy()
    wanted = np.where(graph < 0, -1, message.to_numpy().astype(np.int64) * count + graph)
    keys = graphs.message.astype(np.int64) * count + graphs.graph
    order = np.argsort(keys)
    known = keys[order]
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    element = np.where(known[at] == wanted, of_time[order][at], first[message.to_numpy()])
    return pa.array(element), pa.array(element_times)


def _elements(graphs: GraphTimes, times: pa.Int64Array) -> tuple[_Integers, _Integers, _Integers]:
    """The element of each graph, the first one of each message (int32), and the time of every element."""
    if len(times) == 1:
        # By far the most frequent where messages come one by one.
        order = np.argsort(graphs.time, kind="stable")
        element, first = np.empty(len(order), np.int32), np.zeros(1, np.int32)
        element[order] = np.arange(len(order), dtype=np.int32)
        return element, first, graphs.time[order]
    has_graph = np.zeros(len(times), np.bool_)
    has_graph[graphs.message] = True
    without = np.flatnonzero(~has_graph)
    owner = np.concatenate([graphs.message, without])
    time = np.concatenate([graphs.time, pc.fill_null(times, _NO_TIME).to_numpy()[without]])
    order = np.lexsort((time, owner))
    element = np.empty(len(order), np.int32)
    element[order] = np.arange(len(order), dtype=np.int32)
    first = np.searchsorted(owner[order], np.arange(len(times))).astype(np.int32)
    return element[: len(graphs.time)], first, time[order]
