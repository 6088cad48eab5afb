"""The columns of a stream log and of an append request, and the bounds of its times.

A row is a triple of an element, or an *empty* element: one row whose terms are all null, which only
moves time (docs/model.md, "Elements and streams"). Terms are canonical N-Triples; ``g`` is null for the default graph;
``k`` (kind) and ``n`` (number) are facets of the object term.
"""

from __future__ import annotations

import pyarrow as pa

from protocol.time import Instant

EARLIEST: Instant = -(2**61)
LATEST: Instant = 2**61
"""The times an element may have. They leave room for lateness on one side, and for ``END`` on the other."""

_DISTINCT = pa.dictionary(pa.int32(), pa.string())


def _terms(type: pa.DataType) -> list[pa.Field]:
    return [*(pa.field(name, type) for name in "gspo"), pa.field("k", pa.uint8()), pa.field("n", pa.float64())]


REQUEST = pa.schema([pa.field("element", pa.int32()), pa.field("time", pa.int64()), *_terms(_DISTINCT)])
"""``element``: ordinal of the message in the request, from 0, rising by at most 1. ``time``: ms, null in a stream whose
elements the server stamps.
"""

_TIMES = [pa.field("time", pa.int64()), pa.field("seen", pa.int64()), pa.field("element", pa.int64())]

LOG = pa.schema([*_TIMES, *_terms(pa.string())])
"""``seen``: the stream's watermark when the element arrived. ``element``: its number in the stream, from 0."""

STORED = pa.schema([*_TIMES, *_terms(_DISTINCT)])
"""LOG as it is written: most terms of a stream repeat, so a request's rows refer to its distinct terms."""

TERMS = tuple(field.name for field in _terms(_DISTINCT))
