"""Equal messages told apart: how many messages that say the same at the same time a log has had.

Two of them that have blank nodes are two messages with different blank nodes (docs/model.md, "Elements and streams"). A
request names its nodes by content and time and counts equal messages from 0 (``ingest.messages.names``); the log, which
alone takes requests one after the other, adds those it has already. So names depend on neither batching nor order, and
are the same again after a restart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import TRIPLE_BEGIN, blank_nodes, is_triple, rename_blank_nodes
from protocol.time import BEFORE_ALL, Instant
from spark_backend.log.format.request import AppendRequest
from spark_backend.log.format.rows import text_bytes

HELD = 65_536
"""So many messages are counted in memory at most; of those with earlier times, the log itself is asked."""

_PREFIX = "_:m"
_DIGEST = 32
_SCOPE_BEGIN, _SCOPE_END = len(_PREFIX), len(_PREFIX) + _DIGEST
_LABEL = re.compile(rf"{_PREFIX}([0-9a-f]{{{_DIGEST}}})k(\d+)b")
_COLUMNS = ("g", "s", "o")

Lookup = Callable[[str, Instant], int]
"""How many messages of a digest (32 hexadecimal digits) with blank nodes at an instant are in the log's files."""


def scope_name(digest: str, before: int) -> str:
    """How the labels of a message's blank nodes begin; their number follows."""
    return f"{_PREFIX}{digest}k{before}"


def triple_terms_with_blank_nodes(terms: pa.StringArray) -> pa.BooleanArray:
    """Which of the terms are triple terms that have blank nodes within, or text that looks so."""
    triples = pc.starts_with(terms, TRIPLE_BEGIN)
    # Few streams have any, and to look through all texts takes ten times as long.
    return pc.and_(triples, pc.match_substring(terms, "_:")) if pc.any(triples).as_py() else triples


def _labels(terms: pa.StringArray) -> tuple[pa.UInt64Array, pa.StringArray]:
    """The blank nodes of messages that terms are, or have within, each with the place of its term."""
    places = pc.indices_nonzero(pc.starts_with(terms, _PREFIX))
    labels = terms.take(places)
    within = [
        (place, label)
        for place in pc.indices_nonzero(triple_terms_with_blank_nodes(terms)).to_pylist()
        for label in blank_nodes(terms[place].as_py())
        if label.startswith(_PREFIX)
    ]
    if not within:
        return places, labels
    more, labels_within = (list(column) for column in zip(*within, strict=True))
    return pa.concat_arrays([places, pa.array(more, pa.uint64())]), pa.concat_arrays(
        [labels, pa.array(labels_within, pa.string())]
    )


def count_messages(terms: pa.StringArray, counts: dict[str, int]) -> None:
    """Note in ``counts``, by digest, how many equal messages have blank nodes among the terms."""
    for label in _labels(terms)[1].to_pylist():
        digest, count = _message_of(label[: label.rindex("b")])
        if count > counts.get(digest, 0):
            counts[digest] = count


class EqualMessages:
    """The counts of a log's messages with blank nodes. Used by who writes the log, one request after the other.

    ``last``: the greatest time in the log. All at instants after ``_from`` are in memory, the rest is looked up.
    """

    def __init__(self, last: Instant, lookup: Lookup) -> None:
        self._lookup = lookup
        self._from = last
        self._at: dict[Instant, dict[str, int]] = {}
        self._instants: list[Instant] = []
        self._count = 0
        self._pending: dict[str, int] = {}

    def tell_apart(self, request: AppendRequest) -> AppendRequest:
        """The request, its messages that the log has equal ones of counted on from these."""
        messages = {} if request.times is None else _messages(request.rows)
        if not messages:
            return request
        before: dict[str, int] = {}
        for digest, (instant, count) in messages.items():
            known = self._known(digest, instant)
            if known:
                before[digest] = known
            self._note(digest, instant, known + count)
        if not before:
            return request
        rows = _rename(request.rows, before)
        return replace(request, rows=rows, text=text_bytes(rows))

    def note_stored(self, watermark: Instant) -> None:
        """What was told apart is in the log. What is at or before the watermark hardly comes again."""
        self._pending.clear()
        while self._instants and (self._instants[0] <= watermark or self._count > HELD):
            instant = heappop(self._instants)
            self._count -= len(self._at.pop(instant))
            self._from = max(self._from, instant)
        self._from = max(self._from, watermark)

    def lost(self, last: Instant) -> None:
        """What was told apart did not get into the log, whose greatest time is ``last``."""
        self._pending.clear()
        self._at.clear()
        self._instants.clear()
        self._count = 0
        self._from = max(self._from, last)

    def _known(self, digest: str, instant: Instant) -> int:
        if instant > self._from:
            return self._at.get(instant, {}).get(digest, 0)
        return self._pending[digest] if digest in self._pending else self._lookup(digest, instant)

    def _note(self, digest: str, instant: Instant, count: int) -> None:
        if instant <= self._from:
            self._pending[digest] = count
            return
        if instant not in self._at:
            self._at[instant] = {}
            heappush(self._instants, instant)
        self._count += digest not in self._at[instant]
        self._at[instant][digest] = count


def told_apart(requests: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The rows of requests that are to be one, equal messages counted on from those of the requests before."""
    before: Counter[str] = Counter()
    found = []
    for rows in requests:
        messages = {} if rows["time"].null_count else _messages(rows)  # without times they are named by their requests
        found.append(rows if before.keys().isdisjoint(messages) else _rename(rows, before))
        before.update({digest: count for digest, (_, count) in messages.items()})
    return found


def _messages(rows: pa.RecordBatch) -> dict[str, tuple[Instant, int]]:
    """By digest, the messages that have blank nodes among a request's rows: their greatest time, and how many are
    equal.
    """
    scopes, times = [], []
    for name in _COLUMNS:
        column = rows[name]
        places, labels = _labels(column.dictionary)
        if len(places):
            parts = pc.split_pattern(labels, "b", max_splits=1, reverse=True)
            scopes.append(pc.list_element(parts, 0))
            times.append(_latest(column, rows["time"])[places.to_numpy()])
    if not scopes:
        return {}
    encoded = pa.concat_arrays(scopes).dictionary_encode()
    latest = np.full(len(encoded.dictionary), BEFORE_ALL, np.int64)
    np.maximum.at(latest, encoded.indices.to_numpy(), np.concatenate(times))
    found: dict[str, tuple[Instant, int]] = {}
    for scope, time in zip(encoded.dictionary.to_pylist(), latest.tolist(), strict=True):
        if time != BEFORE_ALL:  # a dictionary may hold terms that no row has
            digest, count = _message_of(scope)
            before = found.get(digest)
            found[digest] = (time, count) if before is None else (max(before[0], time), max(before[1], count))
    return found


def _message_of(scope: str) -> tuple[str, int]:
    """The digest of a message by its name, and how many equal ones there are with it."""
    return scope[_SCOPE_BEGIN:_SCOPE_END], int(scope[_SCOPE_END + 1 :]) + 1


def _latest(column: pa.DictionaryArray, time: pa.Int64Array) -> npt.NDArray[np.int64]:
    """The greatest time of a row with each term of the dictionary; BEFORE_ALL for one that no row has."""
    latest = np.full(len(column.dictionary), BEFORE_ALL, np.int64)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    np.maximum.at(latest, column.indices.drop_null().to_numpy(), time.to_numpy()[there])
    return latest


def _rename(rows: pa.RecordBatch, before: Mapping[str, int]) -> pa.RecordBatch:
    """A request's rows with equal messages counted on from ``before``."""

    def rename(term: str) -> str:
        if is_triple(term):
            return rename_blank_nodes(term, rename)
        match = _LABEL.match(term)
        if match is None or match[1] not in before:
            return term
        return f"{scope_name(match[1], int(match[2]) + before[match[1]])}{term[match.end() - 1 :]}"

    for name in _COLUMNS:
        column = rows[name]
        terms = column.dictionary.to_pylist()
        changed = pa.array([rename(term) for term in terms], pa.string())
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, rows.schema.field(place), pa.DictionaryArray.from_arrays(column.indices, changed))
    return rows
