"""The columns of a stream log and of an append request, and the bounds of its times.

A row is a triple of an element, or an *empty* element: one row whose terms are all null, which only
moves time (contract section 1). Terms are canonical N-Triples; ``g`` is null for the default graph;
``k`` (kind) and ``n`` (number) are facets of the object term.
"""

from __future__ import annotations

import pyarrow as pa

from protocol.time import Instant
from protocol.windows.timeline import END

__all__ = ["EARLIEST", "END", "LATEST", "LOG", "NO_WATERMARK", "REQUEST", "TERMS"]

NO_WATERMARK: Instant = -(2**62)
"""The watermark of a stream that has none yet: below every time."""

EARLIEST: Instant = -(2**61)
LATEST: Instant = 2**61
"""The times an element may have. They leave room for lateness on one side and END on the other."""

_TERMS = [
    pa.field("g", pa.string()),
    pa.field("s", pa.string()),
    pa.field("p", pa.string()),
    pa.field("o", pa.string()),
    pa.field("k", pa.uint8()),
    pa.field("n", pa.float64()),
]

REQUEST = pa.schema([pa.field("element", pa.int32()), pa.field("time", pa.int64()), *_TERMS])
"""``element``: ordinal of the message in the request, from 0, rising by at most 1. ``time``: ms."""

LOG = pa.schema([pa.field("time", pa.int64()), pa.field("seen", pa.int64()), pa.field("element", pa.int64()), *_TERMS])
"""``seen``: the stream's watermark when the element arrived. ``element``: its number in the stream, from 0."""

TERMS = tuple(field.name for field in _TERMS)
