"""Rejected messages as requests to the log of the stream that keeps them."""

from __future__ import annotations

import hashlib
import uuid

import pyarrow as pa

from protocol.messages.rejected import Rejected, rejected_document
from protocol.streams import StreamSettings
from protocol.time import Instant
from spark_backend.ingest.columns import read_elements
from spark_backend.log.request_keys import RequestKey

_SETTINGS = StreamSettings("urn:rejected")
"""Of a stream of arrival time; no IRI of the message is relative to this one."""


def rejected_request(rejected: Rejected, now: Instant) -> tuple[pa.RecordBatch, RequestKey | None]:
    """One element for the log, and its key."""
    document = rejected_document(rejected, now)
    batch = read_elements(document, "application/n-triples", settings=_SETTINGS, at=None, blank_scope=uuid.uuid4().hex)
    if rejected.key is None:
        return batch, None
    # The key alone says which message it is: a repeat may tell another reason.
    digest = hashlib.blake2b(rejected.key, digest_size=16).digest()
    return batch, RequestKey(digest, digest)
