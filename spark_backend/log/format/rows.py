"""The rows of a frame as bytes: two Arrow messages, the distinct terms and the rows with indices into them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.log.format.columns import LOG, STORED

_NAMES = ("g", "s", "p", "o")
_TERMS = pa.schema([pa.field("term", pa.string())])
_INDICES = pa.schema([pa.field(field.name, pa.int32()) if field.name in _NAMES else field for field in STORED])


def encode_rows(rows: pa.RecordBatch) -> list[pa.Buffer]:
    """The parts of the rows (columns of STORED), to be written one behind the other."""
    terms, indices, before = [], {}, 0
    for name in _NAMES:
        column = rows[name]
        terms.append(column.dictionary)
        indices[name] = pc.add(column.indices, pa.scalar(before, pa.int32())) if before else column.indices
        before += len(column.dictionary)
    distinct = pa.RecordBatch.from_arrays([pa.concat_arrays(terms)], schema=_TERMS)
    columns = [indices.get(field.name, column) for field, column in zip(STORED, rows.columns, strict=True)]
    return [distinct.serialize(), pa.RecordBatch.from_arrays(columns, schema=_INDICES).serialize()]


def decode_rows(payload: pa.Buffer) -> pa.RecordBatch:
    """The rows in the columns of STORED, over the bytes of the payload."""
    source = pa.BufferReader(payload)
    terms = pa.ipc.read_record_batch(pa.ipc.read_message(source), _TERMS)["term"]
    rows = pa.ipc.read_record_batch(pa.ipc.read_message(source), _INDICES)
    columns = [
        pa.DictionaryArray.from_arrays(column, terms) if name in _NAMES else column
        for name, column in zip(STORED.names, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=STORED)


def text_bytes(rows: pa.RecordBatch) -> int:
    """How many bytes the terms of all rows have, each at every place it has."""
    total = 0
    for name in _NAMES:
        column = rows[name]
        lengths = pc.binary_length(column.dictionary).to_numpy()
        indices = column.indices.drop_null() if column.null_count else column.indices
        total += int(np.sum(lengths[indices.to_numpy()], dtype=np.int64))
    return total


def write_out(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows in the columns of LOG, every term in its place."""
    columns = [
        pc.dictionary_decode(column) if name in _NAMES else column
        for name, column in zip(STORED.names, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LOG)
