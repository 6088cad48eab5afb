"""Damage anywhere in a log's files: what is left is read, what is lost is said, nothing is made up or removed."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from protocol.streams import StreamDamage, StreamElement, StreamGap, StreamItem
from protocol.windows.timeline import END
from spark_backend.log.follower import LogFollower
from spark_backend.log.format.manifest import MANIFEST, Manifest, decode_manifest
from spark_backend.log.format.segment import segment_numbers, segment_path
from spark_backend.log.reader import DamagedLog, LogReader
from spark_backend.log.recovery import is_of_another_log
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import Message, event_stream, request, rows, triple

REQUESTS: list[list[Message]] = [
    [(1, [triple("a")]), (3, [])],
    [(2, [triple("late")])],
    [(5, [triple("b"), triple("c")])],
    [(9, [triple("d")]), (11, [triple("e")])],
    [(12, [triple("f")])],
]
WINDOWS = [(after, upto) for after in (-1, 2, 4, 8, 10, 12) for upto in (2, 4, 8, 10, 12) if after < upto]


class Written(NamedTuple):
    """A closed log of three segments, and what it answers."""

    directory: Path
    elements: dict[int, bytes]
    windows: dict[tuple[int, int], list[tuple[object, ...]]]


@pytest.fixture(name="written")
def written_log(tmp_path: Path) -> Written:
    log = open_log(tmp_path / "whole")
    for place, messages in enumerate(REQUESTS):
        log.append(request(*messages))
        if place == 2:
            log.advance(6)
    assert len(list((tmp_path / "whole").glob("*.segment"))) == 3
    reader = LogReader(tmp_path / "whole")
    windows = {window: rows(reader.scan(*window)) for window in WINDOWS}
    elements = {one.number: one.data for one in follow(tmp_path / "whole")}
    assert len(elements) == log.describe().elements == 7
    log.close()
    return Written(tmp_path / "whole", elements, windows)


def open_log(directory: Path) -> StreamLog:
    return StreamLog.open(directory, event_stream(), lambda: 0, segment_bytes=3_000, known=directory.exists())


def follow(directory: Path) -> Iterator[StreamElement]:
    return (one for one in taken(directory) if isinstance(one, StreamElement))


def taken(directory: Path, after: int | None = -1) -> Iterator[StreamItem]:
    follower = LogFollower(directory, after)
    while some := follower.take():
        yield from some
    follower.close()


def check(written: Written, directory: Path, *, manifest: bool) -> bool:
    """What the damaged copy says is what was written, or that something is lost. Whether something is."""
    log = open_log(directory)
    counts = log.describe()
    reader = LogReader(directory)
    found = reader.check()
    lost = set(written.elements) - {one.number for one in follow(directory)}
    for one in follow(directory):
        assert one.data == written.elements[one.number]
    said = [damage.elements for damage in found]
    if manifest:
        # What was acknowledged stays counted, so that nothing is numbered or timed as something was before.
        assert counts.elements == len(written.elements)
        assert bool(lost) == any(count != 0 for count in said)
        assert None in said or sum(count or 0 for count in said) == len(lost)
    fresh = LogReader(directory)
    for window, expected in written.windows.items():
        try:
            assert rows(fresh.scan(*window)) == expected
        except DamagedLog:
            assert any(damage.reaches(*window) for damage in found)
        except AssertionError:
            # Without a manifest nobody knows what a segment's lost end had.
            if manifest or not max(lost) == 6:
                raise
    told = log.append(request((40, [triple("after")])))
    assert told.elements == 1
    log.close()
    log = open_log(directory)
    assert log.describe().elements == counts.elements + 1
    assert [row[0] for row in rows(LogReader(directory).scan(20, 50))] == [40]
    log.close()
    return bool(lost)


def copy(written: Written, name: str) -> Path:
    target = written.directory.with_name(name)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(written.directory, target)
    return target


def flips(written: Written, step: int) -> Iterator[tuple[Path, int]]:
    for path in sorted(written.directory.glob("*.segment")):
        for offset in range(0, path.stat().st_size, step):
            yield path, offset


def check_flips(written: Written, step: int) -> None:
    lost = 0
    for turn, (path, offset) in enumerate(flips(written, step)):
        directory = copy(written, "flipped")
        content = bytearray(path.read_bytes())
        content[offset] ^= 1 << turn % 8
        (directory / path.name).write_bytes(content)
        lost += check(written, directory, manifest=True)
        assert (directory / path.name).read_bytes()[: len(content)] == content, "what is damaged stays as it is"
    assert lost


def check_cuts(written: Written, step: int) -> None:
    for turn, (path, length) in enumerate(flips(written, step)):
        directory = copy(written, "cut")
        content = path.read_bytes()[:length]
        (directory / path.name).write_bytes(content)
        if turn % 5 == 0:
            (directory / MANIFEST).unlink()
        check(written, directory, manifest=turn % 5 != 0)
        kept = [(directory / path.name), *directory.glob(f"{path.name}.cut-*")]
        assert b"".join(one.read_bytes() for one in kept if one.exists()).startswith(content[:128])


def test_a_flipped_bit_is_never_a_wrong_answer_and_takes_its_frame_only(written: Written) -> None:
    check_flips(written, 97)


def test_a_segment_cut_anywhere_loses_its_end_only(written: Written) -> None:
    check_cuts(written, 131)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("offset", [0, 20, 127])
def test_a_flipped_bit_in_the_header_of_a_segment_loses_nothing_and_is_said(
    offset: int, number: int, written: Written
) -> None:
    directory = copy(written, "flipped")
    path = segment_path(directory, number)
    content = bytearray(path.read_bytes())
    content[offset] ^= 4
    path.write_bytes(content)
    places = [(one.segment, one.offset, one.elements) for one in LogReader(directory).check()]
    assert places == [(number, 0, 0)]
    log = open_log(directory)
    assert [(one.segment, one.offset, one.elements) for one in log.describe().damage] == [(number, 0, 0)]
    log.close()
    assert not check(written, directory, manifest=True)


def test_the_manifest_of_another_log_is_made_anew_and_takes_nothing(
    written: Written, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = open_log(tmp_path / "other")
    for time in range(20):
        other.append(request((time, [triple(f"o{time}")])))
    other.close()
    # One that retention has taken the beginning of, too: the segments before are not to be taken here.
    forgetful = StreamLog.open(
        tmp_path / "forgetful", dataclasses.replace(event_stream(), retention=10), lambda: 0, segment_bytes=1_000
    )
    for time in range(0, 200, 5):
        forgetful.append(request((time, [triple(f"o{time}")])))
    forgetful.close()
    assert min(segment_numbers(tmp_path / "forgetful")) > 3
    for name in ("other", "forgetful"):
        directory = copy(written, "swapped")
        segments = {path.name: path.read_bytes() for path in directory.glob("*.segment")}
        shutil.copy(tmp_path / name / MANIFEST, directory)
        assert is_of_another_log(directory, decoded(directory))
        assert "another log's" not in caplog.text
        assert not check(written, directory, manifest=True)
        assert "another log's" in caplog.text
        caplog.clear()
        assert {name: (directory / name).read_bytes()[: len(content)] for name, content in segments.items()} == segments
    assert not is_of_another_log(written.directory, decoded(written.directory))


def decoded(directory: Path) -> Manifest:
    manifest = decode_manifest((directory / MANIFEST).read_bytes())
    assert manifest is not None
    return manifest


@pytest.mark.long
def test_every_byte_flipped(written: Written) -> None:
    check_flips(written, 1)


@pytest.mark.long
def test_a_cut_at_every_byte(written: Written) -> None:
    check_cuts(written, 1)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_missing_segment_is_damage_and_the_others_stay(number: int, written: Written) -> None:
    directory = copy(written, "missing")
    segment_path(directory, number).unlink()
    before = sorted(path.name for path in directory.glob("*.segment"))
    assert check(written, directory, manifest=True)
    assert set(before) <= {path.name for path in directory.glob("*.segment")}
    log = open_log(directory)
    assert [damage.segment for damage in log.describe().damage] == [number]
    log.close()


@pytest.mark.parametrize("number", [1, 2])
def test_without_a_manifest_a_missing_segment_is_damage_as_well(number: int, written: Written) -> None:
    directory = copy(written, "missing")
    segment_path(directory, number).unlink()
    (directory / MANIFEST).unlink()
    log = open_log(directory)
    assert [damage.segment for damage in log.describe().damage] == [number]
    assert [path.name for path in sorted(directory.glob("*.segment"))] == [
        f"{other:010d}.segment" for other in (1, 2, 3) if other != number
    ]
    log.close()


@pytest.mark.parametrize("damage", ["missing", "empty", "flipped"])
def test_without_its_manifest_a_log_is_what_its_segments_have(damage: str, written: Written) -> None:
    directory = copy(written, "unmanifested")
    manifest = directory / MANIFEST
    if damage == "flipped":
        content = bytearray(manifest.read_bytes())
        content[40] ^= 16
        manifest.write_bytes(content)
    elif damage == "empty":
        manifest.write_bytes(b"")
    else:
        manifest.unlink()
    assert not check(written, directory, manifest=True)


def test_the_windows_of_what_is_lost_are_evaluated_and_say_so(written: Written) -> None:
    directory = copy(written, "timeline")
    path = segment_path(directory, 2)
    content = bytearray(path.read_bytes())
    content[300] ^= 1
    path.write_bytes(content)
    open_log(directory).close()
    reader, whole = LogReader(directory), LogReader(written.directory)
    left, all_of_it = reader.new_elements(), whole.new_elements()
    assert left is not None
    assert all_of_it is not None
    assert sum(left.triples.to_pylist()) == sum(all_of_it.triples.to_pylist())
    assert max(left.time.to_pylist()) == max(all_of_it.time.to_pylist())
    (damage,) = reader.damage
    assert damage.segment == 2
    assert {damage.earliest, damage.latest} <= set(left.time.to_pylist())
    with pytest.raises(DamagedLog, match=r"streams/timeline/0000000002\.segment at byte \d+"):
        reader.scan(damage.latest - 1, END)
    with pytest.raises(DamagedLog):
        reader.stretches(damage.latest - 1, END)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_segment_that_a_directory_has_replaced_is_told_where_it_was_and_the_rest_is_read(
    number: int, written: Written
) -> None:
    path = segment_path(written.directory, number)
    path.unlink()
    path.mkdir()
    found = list(taken(written.directory))
    (damage,) = (one for one in found if isinstance(one, StreamDamage))
    assert (damage.file, damage.what) == (f"streams/whole/{path.name}", "the file cannot be read (Is a directory)")
    assert damage.elements is not None
    before = [one.number for one in found[: found.index(damage)] if isinstance(one, StreamElement)]
    after = [one.number for one in found[found.index(damage) + 1 :] if isinstance(one, StreamElement)]
    lost = range(len(before), len(before) + damage.elements)
    assert [*before, *lost, *after] == list(written.elements)


def test_a_log_whose_files_were_lost_is_told_to_whoever_reads_it_from_its_beginning(written: Written) -> None:
    shutil.rmtree(written.directory)
    written.directory.mkdir()
    log = open_log(written.directory)
    for after in (-1, 3):
        (damage,) = taken(written.directory, after)
        assert isinstance(damage, StreamDamage)
        assert "all files of the log were lost" in damage.what
    assert not list(taken(written.directory, None))
    log.append(request((40, [triple("after")])))
    assert [type(one) for one in taken(written.directory)] == [StreamDamage, StreamElement]
    # Whoever goes on behind an element of the log that was lost gets all of this one, and is told.
    damage, gap, element = taken(written.directory, 5)
    assert isinstance(damage, StreamDamage)
    assert gap == StreamGap(39)
    assert isinstance(element, StreamElement)
    assert (element.number, element.time) == (0, 40)
    assert [type(one) for one in taken(written.directory, 0)] == [StreamDamage]
    log.close()
