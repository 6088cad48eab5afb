"""What comes late to a stream is in the stream beside it, once and in its order, whatever a crash has cut short."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import Unavailable
from protocol.streams import StreamSettings, TimeKind
from spark_backend.log.format.manifest import MANIFEST, decode_manifest
from spark_backend.log.format.segment import segment_path
from spark_backend.log.writer import StreamLog
from spark_backend.streams.streams import Streams
from tests.spark_backend.streams.opened_streams import elements, opened

SETTINGS = StreamSettings("http://ex/s", TimeKind.EVENT, allowed_lateness=2)
NDJSON = "application/x-ndjson"


def _line(number: int, time: int) -> str:
    return (
        f'{{"@id": "http://ex/{number}", "http://ex/p": [1, {{"http://ex/q": 2}}], '
        f'"http://www.w3.org/ns/sosa/resultTime": {time}}}'
    )


def _late(root: Path, streams: Streams) -> list[str]:
    return [data for _, data in elements(root, streams, "s/late")]


def _expected(root: Path, streams: Streams, lateness: int = 2) -> list[str]:
    """The late elements of the stream itself, by the definition of its watermark."""
    expected: list[str] = []
    watermark: int | None = None
    for time, data in elements(root, streams, "s"):
        if watermark is not None and time <= watermark:
            expected.append(data)
        watermark = max(time - lateness - 1, time - lateness - 1 if watermark is None else watermark)
    return expected


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=6), min_size=1, max_size=6), st.data())
@settings(max_examples=25, deadline=None)
def test_late_elements_are_there_once_in_their_order_across_restarts(
    times: list[list[int]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as directory:
        root, number = Path(directory), 0
        for batch in times:
            with opened(root, lambda: 99) as streams:
                streams.create("s", SETTINGS)
                body = "\n".join(_line(number + place, time) for place, time in enumerate(batch))
                number += len(batch)
                if data.draw(st.booleans()):
                    streams._logs["s"].append(
                        streams._reading(streams._logs.entry("s"), None, 0)(body.encode(), NDJSON)
                    )
                else:
                    streams.append("s", body.encode(), NDJSON, None)
                    assert _late(root, streams) == _expected(root, streams)
        with opened(root, lambda: 99) as streams:
            expected = _expected(root, streams)
            assert _late(root, streams) == expected
            assert streams.describe("s").late == streams.describe("s/late").elements == len(expected)


def test_what_could_not_be_kept_comes_with_the_next_late_element(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = StreamLog.append

    def failing(log: StreamLog, *told: object, **also: object) -> object:
        if ".late." in log._directory.name:
            raise Unavailable("the disk is full")
        return append(log, *told, **also)  # type: ignore[arg-type]

    with opened(tmp_path, lambda: 99) as streams:
        streams.create("s", SETTINGS)
        with monkeypatch.context() as patched:
            patched.setattr(StreamLog, "append", failing)
            assert streams.append("s", f"{_line(1, 9)}\n{_line(2, 1)}".encode(), NDJSON, None).elements == 2
        assert streams.describe("s/late").elements == 0
        streams.append("s", _line(3, 2).encode(), NDJSON, None)
        assert _late(tmp_path, streams) == _expected(tmp_path, streams)
        assert streams.describe("s/late").elements == 2
        streams.end("s")
        assert streams.describe("s/late").ended


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_what_could_not_be_kept_before_the_stream_ended_is_kept_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool, restarted: bool
) -> None:
    append, make = StreamLog.append, StreamLog.open

    def failing(log: StreamLog, *told: object, **also: object) -> object:
        if ".late." in log._directory.name:
            raise Unavailable("the disk is full")
        return append(log, *told, **also)  # type: ignore[arg-type]

    def not_made(directory: Path, *told: object) -> StreamLog:
        if ".late." in directory.name:
            raise OSError("the disk is full")
        return make(directory, *told)  # type: ignore[arg-type]

    with opened(tmp_path, lambda: 99) as streams:
        streams.create("s", SETTINGS)
        streams.append("s", f"{_line(1, 9)}\n{_line(2, 1 if is_there else 9)}".encode(), NDJSON, None)
        with monkeypatch.context() as patched:
            patched.setattr(StreamLog, "append", failing)
            patched.setattr(StreamLog, "open", not_made)
            streams._logs["s"].append(streams._reading(streams._logs.entry("s"), None, 0)(_line(3, 2).encode(), NDJSON))
            streams.end("s")
            assert not streams.describe("s/late").ended or not is_there
        if not restarted:
            streams.tick()
            assert _late(tmp_path, streams) == _expected(tmp_path, streams)
    with opened(tmp_path, lambda: 99) as streams:
        assert _late(tmp_path, streams) == _expected(tmp_path, streams)
        assert streams.describe("s/late").elements == 1 + is_there
        assert streams.describe("s/late").ended


@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.long)])
def test_a_crash_at_every_byte_between_the_logs_leaves_each_late_element_once(tmp_path: Path, step: int) -> None:
    data, before, after = (tmp_path / name for name in ("data", "before", "after"))
    with opened(data, lambda: 99) as streams:
        streams.create("s", SETTINGS)
        streams.append("s", f"{_line(1, 9)}\n{_line(2, 1)}".encode(), NDJSON, None)
        body = f"{_line(3, 2)}\n{_line(4, 3)}".encode()
        streams._logs["s"].append(streams._reading(streams._logs.entry("s"), None, 0)(body, NDJSON))
        shutil.copytree(data, before)
        streams._sides.copy_late("s", streams._logs["s"])
        shutil.copytree(data, after)
    (name,) = (one.name for one in (after / "streams").iterdir() if ".late." in one.name)
    old, new = (_committed(state / "streams" / name) for state in (before, after))
    assert len(old) < len(new)
    for length in range(len(old), len(new) + 1, step):
        torn = tmp_path / "torn"
        shutil.copytree(before, torn)
        segment_path(torn / "streams" / name, 1).write_bytes(new[:length])
        with opened(torn, lambda: 100) as streams:
            assert _late(torn, streams) == _expected(torn, streams)
            assert streams.describe("s/late").elements == 3
        shutil.rmtree(torn)


def _committed(log: Path) -> bytes:
    manifest = decode_manifest((log / MANIFEST).read_bytes())
    assert manifest is not None
    return segment_path(log, 1).read_bytes()[: manifest.committed]
