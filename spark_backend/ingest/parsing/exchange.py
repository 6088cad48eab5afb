"""What the server and a process that parses say to each other.

A question is two messages, an ``Asked`` and the documents one behind the other; an answer is an ``Answered`` and the
statements of all documents as an Arrow stream, or a ``WrongDocument`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import pyarrow as pa

from protocol.formats.media_types import RdfSyntax
from spark_backend.ingest.parsing.documents import Names
from spark_backend.ingest.terms.quads import Quads

_TERMS = pa.dictionary(pa.int32(), pa.string())
_COLUMNS = pa.schema([pa.field(name, _TERMS) for name in "gspo"])


class Asked(NamedTuple):
    """``lengths``: bytes of each document. ``format`` None: one document in Jelly.

    A process that needs more than ``seconds`` of processor time ends by SIGPROF.
    """

    format: RdfSyntax | None
    base: str
    lengths: Sequence[int]
    seconds: float


class Answered(NamedTuple):
    """``counts``: statements of each document; ``end``: what the last one has declared at its end."""

    counts: Sequence[int]
    end: Names


def divided(text: bytes, lengths: Sequence[int]) -> list[bytes]:
    """The texts of these lengths that stand one behind the other."""
    return [text[begin:end] for begin, end in pairwise([0, *accumulate(lengths)])]


def encode_quads(quads: Quads) -> pa.Buffer:
    """The statements as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _COLUMNS) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays(list(quads.columns), schema=_COLUMNS))
    return sink.getvalue()


def decode_quads(stream: bytes) -> Quads:
    """The statements of an Arrow stream, over its bytes."""
    with pa.ipc.open_stream(stream) as batches:
        return Quads(*batches.read_next_batch().columns)
