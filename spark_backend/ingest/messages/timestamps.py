"""The time of an element, as its message tells it (docs/http.md, "The time of an element")."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import XSD, TermKind
from protocol.time import FIRST_INSTANT, LAST_INSTANT, Instant, format_instant, parse_instant

_TIME_KINDS = (TermKind.INTEGER, TermKind.DATE_TIME_ZONED, TermKind.DATE_TIME_LOCAL)
EXAMPLE = f'"2026-01-31T12:00:00Z"^^<{XSD}dateTime>'
FEW = 32
"""Below so many, one by one is faster than by columns."""

ObjectOf = Callable[[int], str]
"""The object of a row."""


@dataclass(frozen=True)
class Candidates:
    """The rows that may carry their message's time, in document order: columns of one length.

    ``rank``: of the row's predicate in the timestamp path; ``k``, ``n``: the facets of its object.
    """

    message: pa.Int32Array
    row: pa.UInt64Array
    rank: pa.Int32Array
    k: pa.UInt8Array
    n: pa.DoubleArray


def instants_of(rows: pa.UInt64Array, k: pa.UInt8Array, n: pa.DoubleArray, object_of: ObjectOf) -> pa.Int64Array:
    """The instants that the objects of these rows stand for, null for one that stands for none.

    An instant is said as an xsd:dateTime (no zone means UTC) or an integer of milliseconds. ``k`` and ``n`` are the
    objects' facets; ``object_of`` a row tells what they leave out, fractions finer than microseconds. Fractions of a
    millisecond are cut off. What is outside the years 1 to 9999 is no instant.
    """
    if len(rows) < FEW:
        columns = (column.to_pylist() for column in (rows, k, n))
        few = [_instant(row, kind, number, object_of) for row, kind, number in zip(*columns, strict=True)]
        return pa.array(few, pa.int64())
    kinds, times = k.to_numpy(), np.floor(n.to_numpy(zero_copy_only=False))  # NaN where there is no number
    of_kind = np.logical_or.reduce([kinds == kind for kind in _TIME_KINDS])
    there = of_kind & (times >= FIRST_INSTANT) & (times <= LAST_INSTANT)
    values = np.where(there, times, 0).astype(np.int64)
    for at in np.flatnonzero(of_kind & np.isnan(times)).tolist():
        instant = _instant(rows[at].as_py(), kinds[at], None, object_of)
        values[at], there[at] = instant or 0, instant is not None
    return pa.array(values, mask=~there)


def _instant(row: int, kind: int, number: float | None, object_of: ObjectOf) -> Instant | None:
    if kind not in _TIME_KINDS:
        return None
    if number is None:
        if kind == TermKind.INTEGER:
            return None
        try:
            instant = parse_instant(object_of(row)[1:].partition('"')[0])
        except ValueError:
            return None
    else:
        instant = math.floor(number)
    return instant if FIRST_INSTANT <= instant <= LAST_INSTANT else None


def path_times(candidates: Candidates, messages: int, object_of: ObjectOf) -> tuple[pa.Int64Array, dict[int, int]]:
    """The time of each message by its timestamp path, and for messages without one a row whose object is none.

    What counts is the first predicate of the path that a message has, and of its objects the first that is a time.
    """
    instants = instants_of(candidates.row, candidates.k, candidates.n, object_of)
    if messages < FEW:
        return _times_of_few(candidates, messages, instants)
    message = candidates.message.to_numpy()
    if instants.null_count == 0 and np.array_equal(message, np.arange(messages)):
        return instants, {}
    times, there = np.zeros(messages, np.int64), np.zeros(messages, np.bool_)
    if not len(message):
        return pa.array(times, mask=~there), {}
    rank, is_time = candidates.rank.to_numpy(), instants.is_valid().to_numpy(zero_copy_only=False)
    # Candidates of one message stand together.
    begins = np.flatnonzero(np.diff(message, prepend=-1))
    best = np.repeat(np.minimum.reduceat(rank, begins), np.diff(begins, append=len(message))) == rank
    places = np.arange(len(message))
    chosen = np.minimum.reduceat(np.where(best & is_time, places, len(places)), begins)
    timed = chosen < len(places)
    times[message[begins[timed]]] = pc.fill_null(instants, 0).to_numpy()[chosen[timed]]
    there[message[begins[timed]]] = True
    first = np.minimum.reduceat(np.where(best, places, len(places)), begins)[~timed]
    wrong = dict(zip(message[first].tolist(), candidates.row.to_numpy()[first].tolist(), strict=True))
    return pa.array(times, mask=~there), wrong


def _times_of_few(
    candidates: Candidates, messages: int, instants: pa.Int64Array
) -> tuple[pa.Int64Array, dict[int, int]]:
    times: list[Instant | None] = [None] * messages
    ranks = [-1] * messages
    wrong: dict[int, int] = {}
    columns = (column.to_pylist() for column in (candidates.message, candidates.row, candidates.rank, instants))
    for message, row, rank, instant in zip(*columns, strict=True):
        best = ranks[message]
        if best == -1 or rank < best:
            ranks[message], times[message] = rank, None
            wrong.pop(message, None)
        elif rank > best or times[message] is not None:
            continue
        if instant is None:
            wrong.setdefault(message, row)
        else:
            times[message] = instant
            wrong.pop(message, None)
    return pa.array(times, pa.int64()), wrong


def not_a_time(term: str) -> str:
    """What to say of an object that should be a time."""
    shown = term if len(term) <= 120 else term[:117] + "..."
    return (
        f"{shown} is not a time: write an xsd:dateTime such as {EXAMPLE}, or an integer of milliseconds since 1970, "
        f"between {format_instant(FIRST_INSTANT)} and {format_instant(LAST_INSTANT)}"
    )


def no_time(path: Sequence[str], empty: bool) -> str:
    """What to say of a message without a time."""
    problem = "the message is empty, so it has no timestamp" if empty else "no timestamp found"
    advice = "give it one (in a request the parameter 'at' does)"
    if path and not empty:
        advice = f"add a triple such as <…> <{path[0]}> {EXAMPLE}, or {advice}"
    return f"{problem} (the stream looks for {', '.join(f'<{iri}>' for iri in path) or 'timestamped graphs'}): {advice}"
