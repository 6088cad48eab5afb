"""What a source hands over is either stored or rejected, once, wherever a crash has cut short the logs it is in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from protocol.errors import Unavailable
from protocol.sources import SourceBatch, SourceMessage
from protocol.streams import StreamSettings, TimeKind
from spark_backend.log.format.manifest import MANIFEST, decode_manifest
from spark_backend.log.format.segment import segment_path
from spark_backend.log.writer import StreamLog
from spark_backend.streams.streams import Streams
from tests.spark_backend.streams.opened_streams import elements, opened

SETTINGS = StreamSettings("http://ex/s", TimeKind.EVENT, max_ahead=1_000)
JSON = "application/ld+json"
BODIES = [
    '{"@id": "http://ex/1", "http://www.w3.org/ns/sosa/resultTime": 1500}',
    '{"@id":',
    '{"@id": "http://ex/3", "http://www.w3.org/ns/sosa/resultTime": 2001}',  # ahead of its time
    '{"@id": "http://ex/4", "http://ex/p": 1}',
    '{"@id": "http://ex/5", "http://www.w3.org/ns/sosa/resultTime": 500}',  # late
    '{"@id": "http://ex/6", "http://www.w3.org/ns/sosa/resultTime": 1600}',
]
BATCH = SourceBatch(
    [SourceMessage(body.encode(), JSON, "mqtt://broker/t", str(number).encode()) for number, body in enumerate(BODIES)],
    {"x": b"6"},
)
LATER = 60_000


def _states(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Copies of a data directory before the batch, and after it is in the log of rejected messages, in the stream's,
    and in that of late elements.
    """
    data, append, append_all = root / "data", StreamLog.append, StreamLog.append_all
    states = [root / "0"]

    def copied() -> None:
        states.append(root / str(len(states)))
        shutil.copytree(data, states[-1])

    def appended(log: StreamLog, *told: object, **also: object) -> object:
        receipt = append(log, *told, **also)  # type: ignore[arg-type]
        copied()
        return receipt

    def all_appended(log: StreamLog, *told: object) -> object:
        receipts = append_all(log, *told)  # type: ignore[arg-type]
        copied()
        return receipts

    with opened(data, lambda: 1_000) as streams:
        streams.create("s", SETTINGS)
        # The logs beside it are there.
        before = [SourceMessage(body.encode(), JSON, "mqtt://broker/t", b"before " + body.encode()) for body in BODIES]
        streams.receive("s", SourceBatch(before, {"x": b"0"}))
        shutil.copytree(data, states[0])
        with monkeypatch.context() as patched:
            patched.setattr(StreamLog, "append", appended)
            patched.setattr(StreamLog, "append_all", all_appended)
            streams.receive("s", BATCH)
    return states


def _come_again(root: Path) -> tuple[list[str], list[str], list[str]]:
    """What is stored, rejected and late once the batch has come again, as it does where its position was not stored."""
    with opened(root, lambda: LATER) as streams:
        before = streams.describe("s").rejected
        if streams.positions("s") != BATCH.positions:
            receipt = streams.receive("s", BATCH)
            assert receipt.elements + receipt.rejected == len(BODIES)
        described = streams.describe("s")
        found = _found(root, streams)
        assert [described.elements, described.rejected, described.late] == [len(one) for one in found]
        assert sum(described.rejected_by.values()) == described.rejected - before, "by reason since the start"
        return found


def _found(root: Path, streams: Streams) -> tuple[list[str], list[str], list[str]]:
    stored, rejected, late = (
        [data for _, data in elements(root, streams, name)] for name in ("s", "s/rejected", "s/late")
    )
    return stored, rejected, late


def test_of_messages_that_came_in_one_those_stay_rejected_that_were_and_the_others_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [*BODIES[:4], BODIES[5]]
    value = SourceMessage("\n".join(lines).encode(), "application/x-ndjson", "kafka://broker/t", b"t/0/1")
    batch = SourceBatch([value], {"t/0": b"2"})

    def fail(*_: object, **__: object) -> None:
        raise Unavailable("the machine has lost its power")

    with opened(tmp_path, lambda: 1_000) as streams:
        streams.create("s", SETTINGS)
        with monkeypatch.context() as patched:
            patched.setattr(StreamLog, "append", fail)
            with pytest.raises(Unavailable):
                streams.receive("s", batch)
    with opened(tmp_path, lambda: LATER) as streams:
        receipt = streams.receive("s", batch)
        assert (receipt.elements, receipt.rejected) == (2, 3)
        assert len(elements(tmp_path, streams, "s")) == 2
        rejected = [data for _, data in elements(tmp_path, streams, "s/rejected")]
        assert [sum(text in one for one in rejected) for text in ("is more than PT1S", "http://ex/p")] == [1, 1]
        assert len(rejected) == 3


def _late(stored: list[str]) -> int:
    """How many are late, by the definition of the watermark."""
    times = [int(one.partition('resultTime> "')[2].partition('"')[0]) for one in stored]
    return sum(time <= max(times[:place], default=0) - 1 for place, time in enumerate(times))


def _committed(log: Path) -> bytes:
    manifest = decode_manifest((log / MANIFEST).read_bytes())
    assert manifest is not None
    return segment_path(log, 1).read_bytes()[: manifest.committed]


@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.long)])
def test_a_batch_cut_short_at_every_byte_and_received_again_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    states = _states(tmp_path, monkeypatch)
    for start, end, log in zip(states, states[1:], (".rejected.", "s.1", ".late."), strict=False):
        (name,) = (one.name for one in (end / "streams").iterdir() if log in one.name)
        old, new = (_committed(state / "streams" / name) for state in (start, end))
        assert len(old) < len(new)
        for length in range(len(old), len(new) + 1, step):
            torn = tmp_path / "torn"
            shutil.copytree(start, torn)
            segment_path(torn / "streams" / name, 1).write_bytes(new[:length])
            stored, rejected, late = _come_again(torn)
            again = [sum(f"http://ex/{number}>" in one for one in stored) for number in (1, 3, 5, 6)]
            ahead = sum("is more than PT1S" in one for one in rejected)
            if log != ".rejected." or length == len(new):
                assert ahead == 2, "what was rejected stays so"
            assert again == [2, 2 - ahead, 2, 2], "it is judged by the clock of today only if it was not rejected"
            assert len(rejected) == 4 + ahead
            assert len(late) == _late(stored)
            shutil.rmtree(torn)
