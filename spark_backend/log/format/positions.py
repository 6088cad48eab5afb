"""Positions in a frame: how far what fills the stream from elsewhere was read, stored with what was read.

A position is whatever bytes its reader understands, under a name (of a file, or of a session). A frame has those that
it changes; the first frame of a segment has all, so that they outlive the segments that retention takes.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

Positions = Mapping[str, bytes]
"""By name. An empty position takes the name away."""

_SCHEMA = pa.schema([pa.field("name", pa.string()), pa.field("position", pa.binary())])


def encode_positions(positions: Positions) -> list[pa.Buffer]:
    """The last part of a frame's payload; none without positions."""
    if not positions:
        return []
    columns = [pa.array(list(positions), pa.string()), pa.array(list(positions.values()), pa.binary())]
    return [pa.RecordBatch.from_arrays(columns, schema=_SCHEMA).serialize()]


def decode_positions(payload: pa.Buffer, parts_before: int) -> dict[str, bytes]:
    """The positions of a frame that has some, by its payload; ``parts_before``: how many Arrow messages come first."""
    source = pa.BufferReader(payload)
    for _ in range(parts_before):
        pa.ipc.read_message(source)
    batch = pa.ipc.read_record_batch(pa.ipc.read_message(source), _SCHEMA)
    return dict(zip(batch["name"].to_pylist(), batch["position"].to_pylist(), strict=True))


def merged(before: Positions, changed: Positions) -> dict[str, bytes]:
    """The positions after a change."""
    return {name: position for name, position in {**before, **changed}.items() if position}
