"""What a task does with records, called as a function."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from protocol.streams import StreamSettings, TimeKind
from spark_backend.ingest.parsed_file import Parsed, ParsedFile, read_unparsed
from spark_backend.kafka import parsing as module
from spark_backend.kafka.parsing import Parsing, Record, parsed

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture
def parsing(tmp_path: Path) -> Parsing:
    settings = StreamSettings("http://ex/s", TimeKind.ARRIVAL)
    return Parsing(settings, "text/turtle", 1000, "kafka://h:9092", str(tmp_path), {"t": b"T1"})


def key(place: str, body: bytes, identity: str = "T1") -> bytes:
    return f"{place} {identity} ".encode() + hashlib.blake2b(body, digest_size=8).digest()


def record(partition: int, offset: int, value: bytes | None, content_type: str | None = None) -> Record:
    headers = None if content_type is None else [{"key": "Content-Type", "value": content_type.encode()}]
    return Record("t", partition, offset, value, headers)


def batch(records: list[Record]) -> pa.RecordBatch:
    """The records as a task gets them."""
    types = [pa.string(), pa.int32(), pa.int64(), pa.binary(), _HEADERS]
    columns = [pa.array(column, type) for column, type in zip(zip(*records, strict=True), types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, list(Record._fields))


def run(parsing: Parsing, *batches: list[Record]) -> list[tuple[dict[str, Any], Parsed]]:
    """The rows that come out, each with what is in its file."""

    rows = [row for made in parsed(parsing, iter(map(batch, batches))) for row in made.to_pylist()]
    return [(row, ParsedFile(row["count"], row["size"], Path(row.pop("file"))).read()) for row in rows]


def statement(number: int) -> bytes:
    return b"<http://ex/s> <http://ex/n> %d ." % number


def objects(found: Parsed) -> list[str]:
    return [text.split('"')[1] for text in found.batch["o"].to_pylist()]


def test_each_partition_is_a_part_in_its_order(parsing: Parsing) -> None:
    records = [record(0, 3, statement(1)), record(0, 5, statement(2)), record(1, 0, statement(3))]
    (first, found), (second, other) = run(parsing, records)
    assert first == {"topic": "t", "partition": 0, "first": 3, "next": 6, "count": 2, "size": 2 * len(statement(1))}
    assert (second["partition"], second["first"], second["next"]) == (1, 0, 1)
    assert (objects(found), objects(other)) == (["1", "2"], ["3"])
    assert found.batch["element"].to_pylist() == [0, 1]


def test_a_header_says_what_a_message_is(parsing: Parsing) -> None:
    document = b'{"@id": "http://ex/s", "http://ex/n": "json"}'
    ((_, found),) = run(parsing, [record(0, 0, document, "application/ld+json"), record(0, 1, statement(1))])
    assert (objects(found), found.rejected) == (["json", "1"], [])
    ((_, found),) = run(replace(parsing, content_type=None), [record(0, 0, statement(1))])
    assert "say the source's contentType" in found.rejected[0].reason


def test_a_wrong_message_is_told_with_where_it_was(parsing: Parsing) -> None:
    ((row, found),) = run(parsing, [record(2, 7, b"no RDF"), record(2, 8, statement(1))])
    assert (row["count"], row["next"], objects(found)) == (2, 9, ["1"])
    (wrong,) = found.rejected
    assert (wrong.body, wrong.source, wrong.key) == (b"no RDF", "kafka://h:9092/t", key("t/2/7", b"no RDF"))


def test_of_a_value_of_several_messages_the_wrong_one_alone_is_rejected(parsing: Parsing) -> None:
    value = b'VERSION "1.2-messages"\n' + b"\nMESSAGE\n".join([statement(1), b"oops .", statement(2), b"no ."])
    ((row, found),) = run(parsing, [record(0, 0, statement(0)), record(0, 1, value), record(0, 2, statement(3))])
    assert (row["count"], objects(found)) == (3, ["0", "1", "2", "3"])
    assert found.batch["element"].to_pylist() == [0, 1, 2, 3]
    assert [(one.body.strip(), one.key, one.number) for one in found.rejected] == [
        (b"oops .", key("t/0/1", value), 1),
        (b"no .", key("t/0/1", value), 3),
    ]
    lines = b'{"@id": "http://ex/s", "http://ex/n": "1"}\n{"@id":\n{"@id": "http://ex/s", "http://ex/n": "2"}'
    ((_, found),) = run(parsing, [record(0, 0, lines, "application/x-ndjson")])
    assert (objects(found), [one.body for one in found.rejected]) == (["1", "2"], [b'{"@id":'])


def test_of_a_message_that_is_too_long_the_beginning_is_rejected(parsing: Parsing) -> None:
    long = b"# " + b"x" * 1000 + b"\n" + statement(1)
    ((row, found),) = run(parsing, [record(0, 0, long), record(0, 1, statement(2))])
    assert (row["count"], objects(found)) == (2, ["2"])
    (wrong,) = found.rejected
    assert (wrong.body, wrong.key) == (long, key("t/0/0", long))  # what is kept is longer than that
    assert wrong.reason.startswith(f"the message has {len(long)} bytes, and --max-request-bytes is 1000")


def test_what_the_server_judges_by_its_clock_is_left_as_it_is(parsing: Parsing) -> None:
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, max_ahead=1000)
    table = batch([record(0, 0, statement(1)), record(0, 1, b"no RDF")])
    (row,) = [row for made in parsed(replace(parsing, settings=settings), iter([table])) for row in made.to_pylist()]
    assert [one.body for one in read_unparsed(Path(row["file"]))] == [statement(1), b"no RDF"]


def test_what_has_the_place_of_another_message_is_not_taken_for_it(parsing: Parsing) -> None:
    """The topic was made anew, or its broker has lost what was last: what was rejected there is not what comes now."""
    known = set()
    for one in (parsing, replace(parsing, identities={"t": b"T2"})):
        for body in (b"no RDF", b"nor this"):
            ((_, found),) = run(one, [record(0, 7, body)])
            known |= {wrong.key for wrong in found.rejected}
    assert len(known) == 4


def test_a_message_without_a_value_is_passed_over(parsing: Parsing) -> None:
    ((row, found),) = run(parsing, [record(0, 0, None)])
    assert (row["count"], row["next"], found.batch.num_rows, found.rejected) == (0, 1, 0, [])


def test_a_part_has_only_so_many_bytes(parsing: Parsing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PART_BYTES", 2 * len(statement(1)))
    rows = run(parsing, [record(0, number, statement(number)) for number in range(5)])
    assert [(row["first"], row["next"]) for row, _ in rows] == [(0, 2), (2, 4), (4, 5)]
    assert [objects(found) for _, found in rows] == [["0", "1"], ["2", "3"], ["4"]]
