"""Rejected messages as requests to the log of the stream that keeps them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence

import pyarrow as pa

from protocol.messages.rejected import Rejected, rejected_document
from protocol.streams import StreamSettings
from protocol.time import Instant
from spark_backend.ingest.columns import one_request, read_elements
from spark_backend.log.appending.request_keys import RequestKey

_SETTINGS = StreamSettings("urn:rejected")
"""Of a stream of arrival time; no IRI of the message is relative to this one."""


def rejected_elements(rejected: Sequence[Rejected], now: Instant) -> pa.RecordBatch:
    """An element for each of them (one at least)."""
    return one_request([rejected_element(one, now) for one in rejected])


def rejected_element(rejected: Rejected, now: Instant) -> pa.RecordBatch:
    """The element of the message (columns of REQUEST); ``now``: when it was rejected."""
    document = rejected_document(rejected, now)
    return read_elements(document, "application/n-triples", settings=_SETTINGS, at=None, blank_scope=uuid.uuid4().hex)


def rejected_key(key: bytes) -> RequestKey:
    """How a message with a key is kept. That alone says which message it is: a repeat may tell another reason."""
    digest = hashlib.blake2b(key, digest_size=16).digest()
    return RequestKey(digest, digest)
