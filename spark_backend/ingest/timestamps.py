"""The time of an element, as its message tells it (docs/http.md, "The time of an element")."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from protocol.terms import XSD, TermKind
from protocol.time import FIRST_INSTANT, LAST_INSTANT, Instant, format_instant, parse_instant

TIME_KINDS = frozenset({TermKind.INTEGER, TermKind.DATE_TIME_ZONED, TermKind.DATE_TIME_LOCAL})
EXAMPLE = f'"2026-01-31T12:00:00Z"^^<{XSD}dateTime>'
_FEW = 32
"""Below so many messages, one by one is faster than by columns."""


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


def instant_of(row: int, kind: int, number: float | None, object_of: Callable[[int], str]) -> Instant | None:
    """The instant a row's object stands for: an xsd:dateTime (no zone means UTC) or an integer of milliseconds.

    ``kind`` and ``number`` are its facets; ``object_of`` the row tells what they leave out, fractions finer
    than microseconds. Fractions of a millisecond are cut off. None if the object is no such literal, or
    outside the years 1 to 9999.
    """
    if kind not in TIME_KINDS:
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


def single_times(candidates: Candidates, messages: int) -> pa.Int64Array | None:
    """The time of each message where all have just one candidate and facets tell its time; else None."""
    if messages < _FEW or len(candidates.message) != messages or candidates.n.null_count:
        return None
    if not np.array_equal(candidates.message.to_numpy(), np.arange(messages)):
        return None
    times = np.floor(candidates.n.to_numpy())
    is_time = np.isin(candidates.k.to_numpy(), list(TIME_KINDS))
    if not np.all(is_time & (times >= FIRST_INSTANT) & (times <= LAST_INSTANT)):
        return None
    return pa.array(times.astype(np.int64))


def path_times(
    candidates: Candidates, messages: int, object_of: Callable[[int], str]
) -> tuple[list[Instant | None], dict[int, str]]:
    """The time of each message by its timestamp path, and for messages without one an object that is none.

    ``object_of`` a row is its object. What counts is the first predicate of the path that a message has,
    and of its objects the first that is a time.
    """
    times: list[Instant | None] = [None] * messages
    ranks = [-1] * messages
    wrong: dict[int, str] = {}
    columns = (candidates.message, candidates.row, candidates.rank, candidates.k, candidates.n)
    for message, row, rank, kind, number in zip(*(column.to_pylist() for column in columns), strict=True):
        best = ranks[message]
        if best == -1 or rank < best:
            ranks[message] = rank
            times[message] = None
            wrong.pop(message, None)
        elif rank > best or times[message] is not None:
            continue
        instant = instant_of(row, kind, number, object_of)
        if instant is None:
            wrong.setdefault(message, object_of(row))
        else:
            times[message] = instant
            wrong.pop(message, None)
    return times, wrong


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
    advice = "give the request a time with the parameter 'at'"
    if path and not empty:
        advice = f"add a triple such as <…> <{path[0]}> {EXAMPLE}, or {advice}"
    return f"{problem} (the stream looks for {', '.join(f'<{iri}>' for iri in path) or 'timestamped graphs'}): {advice}"
