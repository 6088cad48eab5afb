"""Rejected messages as requests to the log of the stream that keeps them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence

import pyarrow as pa

from protocol.messages.body_type import parse_content_type
from protocol.messages.rejected import Rejected, rejected_document
from protocol.streams import StreamSettings
from protocol.time import Instant
from spark_backend.ingest.bodies import read_documents
from spark_backend.ingest.columns import element_columns
from spark_backend.log.appending.request_keys import RequestKey

_SETTINGS = StreamSettings("urn:rejected")
"""Of a stream of arrival time; no IRI of the message is relative to this one."""

_N_TRIPLES = parse_content_type("application/n-triples", has_context=False)


def rejected_elements(rejected: Sequence[Rejected], now: Instant) -> pa.RecordBatch:
    """An element for each of them (one at least), as columns of REQUEST; ``now``: when they were rejected."""
    documents = [rejected_document(one, now) for one in rejected]
    statements = read_documents(documents, _N_TRIPLES, _SETTINGS.iri)
    return element_columns(statements, settings=_SETTINGS, blank_scope=uuid.uuid4().hex)


def rejected_key(key: bytes) -> RequestKey:
    """How a message with a key is kept. That alone says which message it is: a repeat may tell another reason."""
    digest = hashlib.blake2b(key, digest_size=16).digest()
    return RequestKey(digest, digest)
