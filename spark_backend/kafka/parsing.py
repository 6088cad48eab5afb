"""What tasks do with what they have read of topics: it is parsed there, and left in files for the server."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from protocol.sources import SourceMessage, bounded_message
from protocol.streams import StreamSettings

if TYPE_CHECKING:
    import pyarrow as pa

PART_SCHEMA = "topic string, partition long, first long, next long, count long, size long, file string"
"""One row: the messages of a partition from one number to before another, so many, of so many bytes; in a file."""

_PART_BYTES = 8 * 1024 * 1024
"""A part has no message after so many bytes: what is made of it is in memory at once."""

_CONTENT_TYPE = "content-type"


@dataclass(frozen=True)
class Parsing:
    """What tasks are told. ``largest``: the most bytes that a message may have. ``origin``: what it came from, before
    its topic. ``directory``: where files go. ``identities``: by topic, what tells it from others that had its name.
    """

    settings: StreamSettings
    content_type: str | None
    largest: int
    origin: str
    directory: str
    identities: Mapping[str, bytes]


def in_tasks(settings: StreamSettings) -> bool:
    """Whether tasks parse the messages of such a stream. What is judged by the server's clock or by its graphs, the
    server parses: it has them, and knows what it has rejected before.
    """
    return settings.max_ahead is None and settings.shape is None


class Record(NamedTuple):
    """A message as Kafka has it; one without a value says nothing (it takes back what had its key before)."""

    topic: str
    partition: int
    offset: int
    value: bytes | None
    headers: Sequence[dict[str, Any]] | None


def parsed(parsing: Parsing, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow``: record batches with the columns of Record in, of PART_SCHEMA out."""
    import pyarrow as pa

    for batch in batches:
        records = map(Record, *(batch[name].to_pylist() for name in Record._fields))
        for (topic, partition), of_one in groupby(records, key=itemgetter(0, 1)):
            for part in _parts(of_one):
                messages = [_message(parsing, record) for record in part if record.value is not None]
                file = _write(parsing, messages)
                size = sum(len(message.body) for message in messages)
                columns = (topic, partition, part[0].offset, part[-1].offset + 1, len(messages), size, file)
                names = [column.split()[0] for column in PART_SCHEMA.split(", ")]
                yield pa.RecordBatch.from_pydict(dict(zip(names, ([value] for value in columns), strict=True)))


def _parts(records: Iterator[Record]) -> Iterator[list[Record]]:
    part: list[Record] = []
    size = 0
    for record in records:
        part.append(record)
        size += len(record.value or b"")
        if size >= _PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _message(parsing: Parsing, record: Record) -> SourceMessage:
    said = next((one["value"] for one in record.headers or () if one["key"].lower() == _CONTENT_TYPE), None)
    content_type = parsing.content_type if said is None else said.decode("utf-8", "replace")
    body = record.value
    assert body is not None, "it says something"
    # In a topic that is made anew its place is another message's, and so it is where a broker has lost what was last.
    place = f"{record.topic}/{record.partition}/{record.offset}".encode()
    digest = hashlib.blake2b(body, digest_size=8).digest()
    key = b"%b %b %b" % (place, parsing.identities[record.topic], digest)
    origin = f"{parsing.origin}/{record.topic}"
    return bounded_message(body, len(body), parsing.largest, content_type, origin, key)


def _write(parsing: Parsing, messages: Sequence[SourceMessage]) -> str:
    from spark_backend.ingest.parsed_file import write_parsed, write_unparsed
    from spark_backend.ingest.source_messages import read_messages

    path = Path(parsing.directory) / uuid.uuid4().hex
    if in_tasks(parsing.settings):
        write_parsed(path, *read_messages(messages, parsing.settings))
    else:
        write_unparsed(path, messages)
    return str(path)
