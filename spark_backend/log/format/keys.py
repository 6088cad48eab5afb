"""What the log keeps of a request with an idempotency key, beside its elements: enough to answer it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from protocol.time import Instant

_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary(16)),
        pa.field("body", pa.binary(16)),
        *(pa.field(name, pa.int64()) for name in ("at", "elements", "triples", "watermark")),
    ]
)


class KeyedRequest(NamedTuple):
    """A request that was stored under an idempotency key.

    ``key``, ``body``: digests of 16 bytes. ``at``: when it came, by the log's clock. ``watermark``: the stream's
    after it (BEFORE_ALL: none).
    """

    key: bytes
    body: bytes
    at: Instant
    elements: int
    triples: int
    watermark: Instant


def encode_keys(requests: Sequence[KeyedRequest]) -> list[pa.Buffer]:
    """The last part of a frame's payload; none without requests."""
    if not requests:
        return []
    columns = [pa.array(column, field.type) for column, field in zip(zip(*requests, strict=True), _SCHEMA, strict=True)]
    return [pa.RecordBatch.from_arrays(columns, schema=_SCHEMA).serialize()]


def decode_keys(payload: pa.Buffer) -> list[KeyedRequest]:
    """The keyed requests of a frame that has some, by its payload."""
    source = pa.BufferReader(payload)
    for _ in range(2):  # the rows' messages
        pa.ipc.read_message(source)
    batch = pa.ipc.read_record_batch(pa.ipc.read_message(source), _SCHEMA)
    return [KeyedRequest(*row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
