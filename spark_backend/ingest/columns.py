"""A request body becomes one record batch of timestamped elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.errors import InvalidMessage, MessageAhead, MessageWithoutTime, ProtocolError
from protocol.formats.long_tokens import LONG_TOKEN, LONGEST_TOKEN
from protocol.messages.body_type import parse_content_type
from protocol.shapes.shapes_graph import ShapesGraph
from protocol.streams import StreamSettings, TimeKind
from protocol.terms import NESTED_TOO_DEEPLY, TOO_DEEP, TRIPLE_BEGIN
from protocol.time import (
    FIRST_INSTANT,
    LAST_INSTANT,
    Instant,
    Milliseconds,
    format_duration,
    format_instant,
)
from spark_backend.ingest.bodies import read_statements
from spark_backend.ingest.messages.blank_nodes import scope_blank_nodes
from spark_backend.ingest.messages.names import name_blank_nodes
from spark_backend.ingest.messages.shapes import require_conforming
from spark_backend.ingest.messages.timestamped_graphs import (
    GraphTimes,
    GraphTimestamps,
    divide_by_graphs,
    find_graph_timestamps,
    graph_times,
)
from spark_backend.ingest.messages.timestamps import Candidates, instants_of, no_time, not_a_time, path_times
from spark_backend.ingest.parsing.documents import IN_PROCESS, Parser
from spark_backend.ingest.statements import Statements
from spark_backend.ingest.terms.distinct import combine, repeated_rows
from spark_backend.ingest.terms.facets import facet_columns
from spark_backend.ingest.terms.quads import Quads
from spark_backend.log.appending.equal_messages import told_apart
from spark_backend.log.format.columns import REQUEST


def read_elements(
    body: bytes,
    content_type: str,
    *,
    settings: StreamSettings,
    at: Instant | None,
    blank_scope: str | None = None,
    now: Instant | None = None,
    parser: Parser = IN_PROCESS,
    shapes: ShapesGraph | None = None,
) -> pa.RecordBatch:
    """The elements of a request body as a batch of ``REQUEST``.

    In an arrival stream every message is an element, without a time. In an event stream with ``at`` every message is
    an element at that time; else a message is an element for each of its timestamped graphs,
    or one at the time its timestamp path gives. A message is a dataset: a quad in it twice is one row.
    Blank nodes of an event stream are named by their messages; in an arrival stream, whose messages have no time
    yet, by ``blank_scope`` (ASCII letters and digits), which must be another for every request. ``now`` is the server's
    clock, to which an event stream may bind its elements (``StreamSettings.max_ahead``); None: it is not asked.
    ``shapes``: what each message has to conform to.

    Raises UnsupportedMediaType (415) for a format streams do not take, and InvalidMessage (400) for the
    first message that is wrong, saying which and where; there is no partial result.
    """
    if at is not None:
        check_at(at, settings)
    context = None if settings.context is None else settings.context.document
    body_type = parse_content_type(content_type, has_context=context is not None)
    statements = read_statements(body, body_type, settings.iri, parser, context)
    return element_columns(statements, settings=settings, at=at, blank_scope=blank_scope, now=now, shapes=shapes)


def element_columns(
    statements: Statements,
    *,
    settings: StreamSettings,
    at: Instant | None = None,
    blank_scope: str | None = None,
    now: Instant | None = None,
    shapes: ShapesGraph | None = None,
) -> pa.RecordBatch:
    """The elements of messages whose statements are known: see ``read_elements``."""
    if settings.time is TimeKind.ARRIVAL and not (blank_scope and blank_scope.isascii() and blank_scope.isalnum()):
        raise ValueError("blank_scope must be of ASCII letters and digits")
    rows = _Rows.of(statements, blank_scope if settings.time is TimeKind.ARRIVAL else None)
    if settings.time is TimeKind.ARRIVAL or at is not None:
        found = rows.graph_timestamps
        carriers = None if found is None else found.row.filter(rows.instants(found).is_valid())
        elements, messages = rows.message, len(statements.counts)
        times = pa.nulls(messages, pa.int64()) if at is None else pa.array(np.full(messages, at, np.int64))
    else:
        carriers, elements, times = _event_elements(statements, rows, settings.timestamp_path)
    if settings.time is TimeKind.EVENT and settings.max_ahead is not None and now is not None:
        ahead = _ahead(times, now, settings.max_ahead)
        if ahead is not None and at is not None:
            raise MessageAhead(f"at={format_instant(at)}: {ahead[1]}")
        if ahead is not None:
            row = pc.index(elements, pa.scalar(ahead[0], pa.int32())).as_py()
            message = rows.message[row].as_py() if row >= 0 else min(ahead[0], len(statements.counts) - 1)
            raise statements.invalid(message, ahead[1], MessageAhead)
    if shapes is not None:
        require_conforming(statements, shapes)
    return _batch(rows, elements, carriers, times, settings)


def _ahead(times: pa.Int64Array, now: Instant, most: Milliseconds) -> tuple[int, str] | None:
    """The first element that is too far ahead of the clock, and what to say of it."""
    element = pc.index(pc.greater(times, now + most), True).as_py()
    if element < 0:
        return None
    time, bound = format_instant(times[element].as_py()), format_duration(most)
    return element, (
        f"its time, {time}, is more than {bound} (the stream's maxAhead) ahead of the server's clock, "
        f"which says {format_instant(now)}"
    )


def check_at(at: Instant, settings: StreamSettings) -> None:
    """Raises InvalidMessage for a time that a request to this stream cannot give."""
    if settings.time is TimeKind.ARRIVAL:
        raise InvalidMessage(
            "the parameter 'at' is for event streams; this stream takes its time from the server's clock"
        )
    if not FIRST_INSTANT <= at <= LAST_INSTANT:
        raise InvalidMessage(not_a_time(f"at={at}"))


def check_watermark(watermark: Instant, settings: StreamSettings, now: Instant) -> None:
    """Raises ProtocolError for a time that nobody can say of this stream: that of arrival is the server's affair, and
    beyond ``max_ahead`` of the clock all that comes would be late.
    """
    if settings.time is TimeKind.ARRIVAL:
        raise ProtocolError(
            "a watermark is for event streams; this stream takes its time from the server's clock: of it only the end "
            "can be said"
        )
    if settings.max_ahead is not None and watermark > now + settings.max_ahead:
        raise ProtocolError(
            f"{format_instant(watermark)} is more than {format_duration(settings.max_ahead)} (the stream's maxAhead) "
            f"ahead of the server's clock, which says {format_instant(now)}"
        )


@dataclass(frozen=True)
class _Rows:
    """The statements as columns: the message of each, its terms, the object's facets."""

    message: pa.Int32Array
    quads: Quads
    k: pa.UInt8Array
    n: pa.DoubleArray
    graph_timestamps: GraphTimestamps | None

    @classmethod
    def of(cls, statements: Statements, blank_scope: str | None) -> _Rows:
        message = _ordinals(statements.counts)
        quads = statements.quads
        long = _row_of_long_term(quads)
        if long is not None:
            raise statements.invalid(message[long].as_py(), LONG_TOKEN)
        deep = _row_of_deep_term(quads)
        if deep is not None:  # in RDF/XML; of other formats it is said where in the document
            raise statements.invalid(message[deep].as_py(), NESTED_TOO_DEEPLY)
        if blank_scope is not None:
            quads = scope_blank_nodes(quads, message, blank_scope)
        k, n = (column.take(quads.o.indices) for column in facet_columns(quads.o.dictionary))
        found = find_graph_timestamps(quads, message, k, n)
        return cls(message, quads, k, n, found)

    def instants(self, found: GraphTimestamps) -> pa.Int64Array:
        """The timestamps, null for what is none."""
        return instants_of(found.row, found.k, found.n, self.object_of)

    def object_of(self, row: int) -> str:
        return str(self.quads.o[row])


def _row_of_long_term(quads: Quads) -> int | None:
    """A statement with a term that is longer than what whoever reads the stream can read, as it is stored."""
    for column in quads.columns:
        row = _first_row(column, pc.greater(pc.binary_length(column.dictionary), LONGEST_TOKEN))
        if row is not None:
            return row
    return None


def _row_of_deep_term(quads: Quads) -> int | None:
    """A statement with a triple term that is nested more deeply than it is read."""
    terms = quads.o.dictionary
    if not pc.any(pc.starts_with(terms, TRIPLE_BEGIN)).as_py():  # which is seen in a tenth of the time
        return None
    return _first_row(quads.o, pc.match_substring_regex(terms, TOO_DEEP.pattern))


def _first_row(column: pa.DictionaryArray, chosen: pa.BooleanArray) -> int | None:
    """The first row whose term, of the distinct ones, is chosen."""
    if pc.any(chosen).as_py() and (row := pc.index(chosen.take(column.indices), True).as_py()) >= 0:
        return int(row)
    return None


def _ordinals(counts: Sequence[int]) -> pa.Int32Array:
    """The ordinal of the message of each statement."""
    if len(counts) == 1:
        return pa.repeat(pa.scalar(0, pa.int32()), counts[0])
    return pa.array(np.repeat(np.arange(len(counts), dtype=np.int32), counts))


def _event_elements(
    statements: Statements, rows: _Rows, path: Sequence[str]
) -> tuple[pa.UInt64Array | None, pa.Int32Array, pa.Int64Array]:
    """The rows that only carry a timestamp, the element of every row, and the time of every element."""
    found, messages = rows.graph_timestamps, len(statements.counts)
    graphs = None if found is None else _graph_times(statements, rows, found)
    times, wrong = path_times(_candidates(rows, path), messages, rows.object_of)
    if times.null_count:
        times = _with_those_of_empty(times, statements.counts, graphs)
        timeless = times.is_null().to_numpy(zero_copy_only=False)
        if graphs is not None:
            timeless[graphs.message] = False
        if timeless.any():
            message = int(np.argmax(timeless))
            empty = statements.counts[message] == 0
            problem = not_a_time(rows.object_of(wrong[message])) if message in wrong else no_time(path, empty)
            raise statements.invalid(message, problem, MessageWithoutTime)
    if found is None or graphs is None:
        return None, rows.message, times
    return found.row, *divide_by_graphs(rows.quads, rows.message, graphs, times)


def _with_those_of_empty(times: pa.Int64Array, counts: Sequence[int], graphs: GraphTimes | None) -> pa.Int64Array:
    """The times of messages, where an empty one has that of the message before it, if there is one."""
    empty = np.asarray(counts) == 0
    if not empty.any():
        return times
    there = times.is_valid().to_numpy(zero_copy_only=False)
    known = pc.fill_null(times, FIRST_INSTANT).to_numpy().copy()
    if graphs is not None:
        known[graphs.message] = FIRST_INSTANT
        np.maximum.at(known, graphs.message, graphs.time)
    timed = there.copy() if graphs is None else there | np.isin(np.arange(len(counts)), graphs.message)
    before = np.maximum.accumulate(np.where(timed, np.arange(len(counts)), -1))
    taken = empty & (before >= 0)
    return pa.array(np.where(taken, known[before], known), mask=~(there | taken))


def _graph_times(statements: Statements, rows: _Rows, found: GraphTimestamps) -> GraphTimes:
    graphs = graph_times(rows.quads, found, instants := rows.instants(found))
    if isinstance(graphs, GraphTimes):
        return graphs
    graph = rows.quads.g.dictionary[found.graph[graphs].as_py()]
    if instants[graphs].is_valid:
        problem = f"graph {graph} has two timestamps; give it one"
    else:
        problem = f"the timestamp of graph {graph}: {not_a_time(rows.object_of(found.row[graphs].as_py()))}"
    raise statements.invalid(found.message[graphs].as_py(), problem, MessageWithoutTime)


def _candidates(rows: _Rows, path: Sequence[str]) -> Candidates:
    """The statements whose predicate is in the timestamp path."""
    ranks = {f"<{iri}>": rank for rank, iri in reversed(list(enumerate(path)))}
    rank_of = pa.array([ranks.get(predicate) for predicate in rows.quads.p.dictionary.to_pylist()], pa.int32())
    rank = rank_of.take(rows.quads.p.indices)
    at = pc.indices_nonzero(pc.is_valid(rank))
    message, of_path, k, n = (column.take(at) for column in (rows.message, rank, rows.k, rows.n))
    return Candidates(message, at, of_path, k, n)


def _batch(
    rows: _Rows,
    elements: pa.Int32Array,
    carriers: pa.UInt64Array | None,
    times: pa.Int64Array,
    settings: StreamSettings,
) -> pa.RecordBatch:
    """The columns without what only carries a time and without repetitions, in the order of elements."""
    quads, message, k, n = rows.quads, rows.message, rows.k, rows.n
    if carriers is not None:
        # Before repetitions are: the same triple may be data in another message of the element.
        rest = np.ones(len(elements), np.bool_)
        rest[carriers.to_numpy()] = False
        mask = pa.array(rest)
        quads = quads.filter(mask)
        message, elements, k, n = (column.filter(mask) for column in (message, elements, k, n))
    if settings.time is TimeKind.EVENT:
        quads = name_blank_nodes(quads, message, elements, times, settings.iri)
    columns = [elements, quads.g, quads.s, quads.p, quads.o, k, n]
    batch = pa.RecordBatch.from_arrays(columns, ["element", "g", "s", "p", "o", "k", "n"])
    codes = combine([quads.p, quads.o, quads.s, quads.g])
    repeated = repeated_rows(codes, batch.column("element"), len(times))
    if repeated is not None:
        batch = batch.filter(pa.array(~repeated))
    batch = _with_empty_elements(batch, len(times))
    element = batch.column("element")
    time = times.take(element)
    return pa.RecordBatch.from_arrays([element, time, *batch.columns[1:]], schema=REQUEST)


def _with_empty_elements(batch: pa.RecordBatch, elements: int) -> pa.RecordBatch:
    """The batch in the order of its elements, with a row of nulls for each that has no triple."""
    present = batch.column("element")
    if _counts_up(present, elements):
        return batch
    missing = sorted(set(range(elements)).difference(present.to_pylist()))
    if missing:
        empty = [
            pa.array(missing, pa.int32()),
            *(pa.nulls(len(missing), field.type) for field in list(batch.schema)[1:]),
        ]
        batch = pa.concat_batches([batch, pa.RecordBatch.from_arrays(empty, schema=batch.schema)])
    return batch.take(pc.sort_indices(batch.column("element")))


def _counts_up(ordinals: pa.Int32Array, count: int) -> bool:
    """Whether all of 0 to ``count`` - 1 are there, in order."""
    if len(ordinals) == 0 or ordinals[0].as_py() != 0 or ordinals[-1].as_py() != count - 1:
        return count == 0
    steps = pc.min_max(pc.pairwise_diff(ordinals, 1)).as_py()
    return len(ordinals) == 1 or (steps["min"] >= 0 and steps["max"] <= 1)


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches of ``REQUEST`` as one, its elements counted on, and equal messages told apart as within one."""
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return pa.RecordBatch.from_pylist([], REQUEST)
    counted, before = [], 0
    for batch in told_apart(batches):
        ordinals = batch["element"].to_numpy()
        counted.append(batch.set_column(0, REQUEST.field(0), pa.array(ordinals + np.int32(before), pa.int32())))
        before += int(ordinals[-1]) + 1 if len(ordinals) else 0
    return pa.concat_batches(counted)
