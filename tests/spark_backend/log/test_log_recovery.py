from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from protocol.errors import Unavailable
from protocol.streams import StreamSettings
from protocol.windows.timeline import END
from spark_backend.log.counts import LogCounts
from spark_backend.log.format.frame import HEADER_BYTES, Gap, decode_header, walk
from spark_backend.log.format.manifest import MANIFEST, ManifestReader, encode_manifest
from spark_backend.log.format.segment import ActiveSegment, mapped, segment_numbers, segment_path
from spark_backend.log.reader import DamagedLog, LogReader
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import arrival_stream, event_stream, request, rows, triple

SEGMENT_BYTES = 10_000


class Committed(NamedTuple):
    """The length of the last segment, and what the log held then."""

    length: int
    counts: LogCounts
    rows: list[tuple[object, ...]]


def open_log(directory: Path, settings: StreamSettings | None = None) -> StreamLog:
    return StreamLog.open(directory, settings or event_stream(lateness=3), lambda: 0, segment_bytes=SEGMENT_BYTES)


def written(directory: Path) -> list[Committed]:
    """A log with some frames of every kind in its last segment, and all its states."""
    log = open_log(directory)
    reader = LogReader(directory)
    states: list[Committed] = []

    def note() -> None:
        reader.refresh()
        states.append(Committed(log._active.committed, log.describe(), rows(reader.scan(-1, END))))

    steps: list[Callable[[], object]] = [
        lambda: log.append(request((1, [triple("a")]), (9, [triple("b")]), (2, []))),
        lambda: log.advance(11),
        lambda: log.append(request((10, [triple("é")]), (20, [triple("c", 2.0)]))),
        log.end,
    ]
    note()
    for step in steps:
        step()
        note()
    log.close()
    return states


def check_goes_on(directory: Path, state: Committed, *, further: bool = True) -> None:
    """The log holds exactly the state, and what is appended from here on is kept."""
    log = open_log(directory)
    assert log.describe() == state.counts
    reader = LogReader(directory)
    assert rows(reader.scan(-1, END)) == state.rows
    if further and not state.counts.ended:
        log.append(request((30, [triple("after")])))
        expected = log.describe()
        log.close()
        log = open_log(directory)
        assert log.describe() == expected
        reader.refresh()
        assert len(reader.scan(-1, END)) == len(state.rows) + 1
    log.close()
    reader.close()


DAMAGES = ["cut", "changed", "changed, then zeros"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_torn_tail_is_cut_at_the_last_whole_frame_and_kept(damage: str, tmp_path: Path) -> None:
    check_torn_tails(tmp_path, damage, 19)


def fails(*_: object) -> NoReturn:
    raise OSError("no space left")


def test_a_torn_tail_is_kept_once_however_often_what_comes_after_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = written(tmp_path)[-1]
    path = segment_path(tmp_path, 1)
    with path.open("ab") as file:
        file.write(b"torn")
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fails)
        for _ in range(2):
            with pytest.raises(OSError, match="no space"):
                open_log(tmp_path)
        assert list(tmp_path.glob("*.cut-*")) == []
    with monkeypatch.context() as broken:
        broken.setattr(ActiveSegment, "reopen", fails)
        for _ in range(2):
            with pytest.raises(OSError, match="no space"):
                open_log(tmp_path)
    check_goes_on(tmp_path, state)
    assert [kept.read_bytes() for kept in tmp_path.glob("*.cut-*")] == [b"torn"]


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_tail_torn_at_every_byte(damage: str, tmp_path: Path) -> None:
    check_torn_tails(tmp_path, damage, 1)


def check_torn_tails(tmp_path: Path, damage: str, step: int) -> None:
    states = written(tmp_path / "log")
    path = segment_path(tmp_path / "log", 1)
    whole = path.read_bytes()
    assert len(whole) == states[-1].length
    manifests = [manifest_of(path.parent, state) for state in states]
    for offset in range(states[1].length, len(whole), step):
        for kept in path.parent.glob("*.cut-*"):
            kept.unlink()
        last = [place for place, state in enumerate(states) if state.length <= offset][-1]
        expected = states[last]
        # What was being written is what came after the last answer.
        torn = whole[: states[last + 1].length]
        if damage == "cut":
            data = torn[:offset]
        else:
            data = torn[:offset] + bytes([torn[offset] ^ 0xFF]) + torn[offset + 1 :]
            if damage == "changed, then zeros":
                data = torn[:offset] + bytes([torn[offset] ^ 0xFF]) + bytes(3000)
        path.write_bytes(data)
        # As after a crash of the process (the manifest survives) and of the machine (it need not).
        (path.parent / MANIFEST).write_bytes(manifests[last] if offset % 2 else b"")
        if is_padding(torn, states[last].length, offset) and damage != "cut":
            continue  # what the frame holds is whole
        check_goes_on(tmp_path / "log", expected, further=offset % 4 < 2)
        cut = b"".join(kept.read_bytes() for kept in path.parent.glob("*.cut-*"))
        assert cut == (data[expected.length :] if any(data[expected.length :]) else b"")


def manifest_of(directory: Path, state: Committed) -> bytes:
    """The manifest as it was when the log was in this state."""
    last = ManifestReader(directory).poll()
    assert last is not None
    with mapped(segment_path(directory, 1)) as data:
        totals = [one[1].after for one in walk(data, 0, state.length) if not isinstance(one, Gap)][-1]
    return encode_manifest(last._replace(committed=state.length, bytes=state.length, totals=totals))


def is_padding(data: bytes, start: int, offset: int) -> bool:
    """Whether the byte at an offset is one of those that fill up the frame at ``start``."""
    header = decode_header(data, start)
    assert header is not None
    return offset >= start + HEADER_BYTES + header.length


def test_a_segment_that_has_lost_its_end_is_left_as_it_is_and_the_log_goes_on_in_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    states = written(tmp_path / "log")[:-1]
    path = segment_path(tmp_path / "log", 1)
    manifest = manifest_of(path.parent, states[-1])
    whole = path.read_bytes()
    for length in range(states[2].length, states[3].length, 64):
        for other in path.parent.iterdir():
            other.unlink()
        (path.parent / MANIFEST).write_bytes(manifest)
        path.write_bytes(whole[:length])
        reader = LogReader(path.parent)
        log = open_log(path.parent)
        assert path.read_bytes() == whole[:length]
        assert f"log/{path.name} at byte {states[2].length}" in caplog.text
        counts = log.describe()
        (damage,) = counts.damage
        assert (damage.elements, damage.triples, damage.latest) == (2, 2, 20)
        # What was acknowledged is counted, and its times are known.
        assert counts._replace(damage=[], bytes=0) == states[3].counts._replace(bytes=0)
        with pytest.raises(Unavailable, match="open it again"):
            reader.refresh()
        log.append(request((30, [triple("after")])))
        log.close()
        log = open_log(path.parent)
        assert log.describe().elements == states[3].counts.elements + 1
        reader = LogReader(path.parent)
        assert [row[0] for row in rows(reader.scan(20, 30))] == [30]
        with pytest.raises(DamagedLog, match=f"log/{path.name} at byte {states[2].length}"):
            reader.scan(9, 12)
        log.close()


def test_a_clean_restart_tells_readers_nothing_is_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open_log(tmp_path / "log").close()
    reader = LogReader(tmp_path / "log")
    log = open_log(tmp_path / "log")
    log.append(request((1, [triple("a")])))
    assert reader.refresh()
    assert reader.scan(0, 9).num_rows == 1
    assert not caplog.records
    log.close()


@pytest.mark.parametrize("content", [b"", b"\0" * 65536, b"SLF1" + b"\1" * 60])
def test_a_segment_that_was_just_being_begun_is_taken_away(content: bytes, tmp_path: Path) -> None:
    state = written(tmp_path / "log")[-2]
    path = segment_path(tmp_path / "log", 1)
    path.write_bytes(path.read_bytes()[: state.length])
    (tmp_path / "log" / MANIFEST).unlink()
    segment_path(tmp_path / "log", 2).write_bytes(content)
    check_goes_on(tmp_path / "log", state)
    assert segment_numbers(tmp_path / "log") == [1]


def test_a_log_that_was_just_being_created_is_created(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    segment_path(tmp_path / "log", 1).write_bytes(b"\0" * 10)
    log = open_log(tmp_path / "log")
    assert log.append(request((1, [triple("a")]))).triples == 1
    log.close()


def test_a_deletion_cut_short_leaves_nothing_behind(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    log.append(request((1, [triple("a")])))
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    with log._lock:
        log._publish(dropped=True)
    shutil.copy(tmp_path / "log" / MANIFEST, tmp_path / "copy" / MANIFEST)
    log.drop()
    log = open_log(tmp_path / "copy")
    assert log.describe().elements == 0
    assert LogReader(tmp_path / "copy").elements == 0
    log.close()


def test_an_arrival_stream_stays_monotone_when_the_manifest_is_lost(tmp_path: Path) -> None:
    log = StreamLog.open(tmp_path / "log", arrival_stream(), lambda: 1000)
    log.append(request((None, [triple("a")])))
    log.close()
    (tmp_path / "log" / MANIFEST).unlink()
    log = open_log(tmp_path / "log", arrival_stream())
    assert log.describe().watermark == 999
    log.append(request((None, [triple("b")])))
    assert log.describe().last == 1000
    log.close()


def sealed_and_active(directory: Path) -> tuple[Path, LogCounts]:
    """A closed log of two segments: the first of them, and what the log holds."""
    log = StreamLog.open(directory, event_stream(), lambda: 0, segment_bytes=1)
    for time in (1, 2):
        log.append(request((time, [triple(str(time))])))
    counts = log.describe()
    log.close()
    assert segment_numbers(directory) == [1, 2]
    return segment_path(directory, 1), counts


def test_space_reserved_behind_a_sealed_segment_that_is_back_after_a_crash_is_given_back(tmp_path: Path) -> None:
    sealed, counts = sealed_and_active(tmp_path / "log")
    size = sealed.stat().st_size
    os.truncate(sealed, size + 1_000_000)
    log = StreamLog.open(tmp_path / "log", event_stream(), lambda: 0, segment_bytes=1)
    assert log.describe() == counts
    assert sealed.stat().st_size == size
    assert [row[0] for row in rows(LogReader(tmp_path / "log").scan(-1, END))] == [1, 2]
    log.close()


def test_damage_within_a_sealed_segment_is_not_taken_for_reserved_space(tmp_path: Path) -> None:
    sealed, _ = sealed_and_active(tmp_path / "log")
    data = bytearray(sealed.read_bytes())
    data[HEADER_BYTES] ^= 0xFF  # the magic of the second frame
    sealed.write_bytes(data)
    log = StreamLog.open(tmp_path / "log", event_stream(), lambda: 0, segment_bytes=1)
    assert sealed.stat().st_size == len(data)
    with pytest.raises(DamagedLog, match=r"0000000001\.segment at byte 128"):
        LogReader(tmp_path / "log").scan(-1, END)
    log.close()


def test_a_log_that_was_there_and_has_no_files_is_said_at_every_start_and_in_copies(tmp_path: Path) -> None:
    for start in range(2):
        log = StreamLog.open(tmp_path / "log", event_stream(), lambda: 0, known=True)
        (damage,) = log.describe().damage
        assert (damage.what, damage.elements) == ("all files of the log were lost: it began anew", None)
        assert LogReader(tmp_path / "log").check() == [damage]
        log.append(request((start, [triple("a")])))
        log.copy_to(tmp_path / f"copy-{start}")
        log.close()
        assert LogReader(tmp_path / f"copy-{start}").check() == [damage]
    new = StreamLog.open(tmp_path / "new", event_stream(), lambda: 0)
    assert not new.describe().damage
    new.close()


@pytest.mark.parametrize("manifest", [False, True])
def test_what_is_cut_off_was_not_acknowledged_as_far_as_is_known(
    manifest: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = open_log(tmp_path / "log")
    log.append(request((1, [triple("a")])))
    log.append(request((2, [triple("b")])))
    log.close()
    path = segment_path(tmp_path / "log", 1)
    if manifest:
        with path.open("ab") as file:
            file.write(b"torn")
    else:
        os.truncate(path, path.stat().st_size - 1)
        (tmp_path / "log" / MANIFEST).unlink()
    open_log(tmp_path / "log").close()
    said = "was not acknowledged" if manifest else "may not have been acknowledged"
    assert said in caplog.messages[-1]
