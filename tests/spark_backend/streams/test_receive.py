"""What a source hands over is stored with its position, whatever else comes with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from protocol.errors import Conflict, Unavailable
from protocol.sources import SourceBatch, SourceMessage, SourceSettings, SourceType
from protocol.streams import StreamSettings, TimeKind
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog
from tests.spark_backend.stepped_backend import SteppedBackend

TURTLE, JSON, LINES = "text/turtle", "application/ld+json", "application/x-ndjson"


def message(place: int, content_type: str | None = TURTLE) -> SourceMessage:
    subject, time = f"http://ex/{place}", f"2026-01-01T00:00:{place:02d}Z"
    if content_type == TURTLE:
        body = f'<{subject}> <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^<http://www.w3.org/2001/XMLSchema#dateTime>.'
    else:
        value = f'{{"@value": "{time}", "@type": "http://www.w3.org/2001/XMLSchema#dateTime"}}'
        body = f'{{"@id": "{subject}", "http://www.w3.org/ns/prov#generatedAtTime": {value}}}'
    return SourceMessage(body.encode(), content_type, "file:///x", str(place).encode())


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    stepped = SteppedBackend(tmp_path)
    stepped.backend.create_stream(
        "s", StreamSettings("http://ex/s", TimeKind.EVENT, source=SourceSettings(SourceType.FILE, "file:///x"))
    )
    yield stepped
    stepped.close()


def subjects(data: Path) -> list[str]:
    (log,) = (path for path in (data / "streams").iterdir() if "rejected" not in path.name)
    table = LogReader(log).scan(-(2**60), 2**60)
    rows = sorted(zip(table["time"].to_pylist(), table["s"].to_pylist(), strict=True))
    return [subject.strip("<>").rpartition("/")[2] for _, subject in rows]


def test_messages_of_several_types_are_stored_in_their_order_with_the_position(
    stepped: SteppedBackend, tmp_path: Path
) -> None:
    types = [TURTLE, TURTLE, JSON, LINES, LINES, TURTLE, JSON, JSON]
    batch = SourceBatch([message(place, type) for place, type in enumerate(types)], {"x": b"8"})
    assert stepped.backend.receive("s", batch).elements == 8
    assert stepped.backend.stream("s").late == 0, "the order is theirs"
    assert subjects(tmp_path) == [str(place) for place in range(8)]
    assert stepped.backend.positions("s") == {"x": b"8"}
    stepped.close()
    again = SteppedBackend(tmp_path)
    assert again.backend.positions("s") == {"x": b"8"}
    assert again.backend.stream("s").settings.source == SourceSettings(SourceType.FILE, "file:///x")
    again.close()


def test_what_is_wrong_is_rejected_once_and_stops_nothing(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    untold = SourceMessage(b"x", None, "file:///x", b"untold")
    bad = [SourceMessage(b"not RDF", TURTLE, "file:///x", b"bad"), SourceMessage(b"", TURTLE, "file:///x", b"empty")]
    batch = SourceBatch([message(1), bad[0], message(2), bad[1], untold, message(3)], {"x": b"6"})

    def fail(*_: object, **__: object) -> None:
        raise Unavailable("the machine has lost its power")

    with monkeypatch.context() as patched:
        patched.setattr(StreamLog, "append", fail)
        with pytest.raises(Unavailable):
            stepped.backend.receive("s", batch)
    assert stepped.backend.positions("s") == {}
    receipt = stepped.backend.receive("s", batch)
    assert (receipt.elements, receipt.rejected) == (3, 3)
    assert stepped.backend.stream("s").elements == 3
    assert stepped.backend.stream("s/rejected").elements == 3


def test_what_is_refused_unread_is_rejected_with_its_reason(stepped: SteppedBackend, tmp_path: Path) -> None:
    refused = replace(message(2), refused="too long")
    receipt = stepped.backend.receive("s", SourceBatch([message(1), refused, message(3)], {"x": b"3"}))
    assert (receipt.elements, receipt.rejected) == (2, 1)
    (log,) = (path for path in (tmp_path / "streams").iterdir() if "rejected" in path.name)
    assert '"too long"' in LogReader(log).scan(-(2**60), 2**60)["o"].to_pylist()


def test_nothing_is_received_by_a_stream_that_has_ended(stepped: SteppedBackend) -> None:
    stepped.backend.end_stream("s")
    with pytest.raises(Conflict):
        stepped.backend.receive("s", SourceBatch([message(1)], {"x": b"1"}))
