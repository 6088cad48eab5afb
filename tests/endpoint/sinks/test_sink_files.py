from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from endpoint.sinks.sink_files import KeptSink, Position, SinkFiles
from protocol.sinks.settings import SinkSettings, SinkType
from protocol.time import BEFORE_ALL
from tests.endpoint.open_files import no_directory_opened

SINK = KeptSink("q", "a", SinkSettings(SinkType.WEBHOOK, "http://e/", "json", headers=(("Authorization", "x"),)), "d")


def moved(file: Path, *instants: int) -> None:
    position = Position(file)
    for instant in instants:
        position.move(instant)
    position.close()


@pytest.mark.parametrize("instants", [(5,), (5, 6), (5, 6, 7), (BEFORE_ALL,), (-62_135_596_800_000, -1)])
def test_a_position_is_the_last_one_written(tmp_path: Path, instants: tuple[int, ...]) -> None:
    moved(tmp_path / "p", *instants)
    position = Position(tmp_path / "p")
    assert position.instant == instants[-1]
    position.close()


def test_a_write_that_was_cut_off_leaves_the_one_before(tmp_path: Path) -> None:
    moved(tmp_path / "p", 5, 6, 7)  # the last one is in the first slot
    whole = (tmp_path / "p").read_bytes()
    for cut in range(1, 32):
        (tmp_path / "p").write_bytes(whole[:cut] + b"\0" * (32 - cut) + whole[32:])
        position = Position(tmp_path / "p")
        assert position.instant == 6
        position.close()


def test_a_position_that_is_moved_back_stays_there(tmp_path: Path) -> None:
    moved(tmp_path / "p", 5, 6, 7)
    position = Position(tmp_path / "p")
    position.begin(2)
    position.close()
    position = Position(tmp_path / "p")
    assert position.instant == 2
    position.close()


def test_where_a_position_begins_nothing_was_delivered_yet(tmp_path: Path) -> None:
    position = Position(tmp_path / "p")
    for instant, delivered in ((2, False), (3, True), (4, True), (3, False)):
        if delivered:
            position.move(instant)
        else:
            position.begin(instant)
        again = Position(tmp_path / "p")
        assert (again.instant, again.delivered) == (position.instant, position.delivered) == (instant, delivered)
        again.close()
    position.close()


def test_a_position_that_could_not_be_synced_is_not_taken_for_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    position = Position(tmp_path / "p")
    position.move(5)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output"):
            position.sync()
    assert position.unsynced
    position.close()


def test_sinks_are_kept_and_copied(tmp_path: Path) -> None:
    files = SinkFiles(tmp_path)
    assert files.kept() == []
    files.write(SINK, 5)
    assert files.kept() == [SINK]
    assert (files.directory / "q" / "a.json").stat().st_mode & 0o077 == 0
    (tmp_path / "copy").mkdir()
    files.backup(tmp_path / "copy")
    files.remove("q", "a")
    assert files.kept() == []
    copy = SinkFiles(tmp_path / "copy")
    assert copy.kept() == [SINK]
    position = copy.position("q", "a")
    assert position.instant == 5
    position.close()


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_sink_that_cannot_be_written_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    real, broken = getattr(os, failing), [True]

    def once(*arguments: object) -> None:
        if broken:
            broken.pop()
            raise OSError(errno.EIO, "Input/output error")
        real(*arguments)

    files = SinkFiles(tmp_path)
    files.write(SINK, 5)
    before = sorted((files.directory / "q").iterdir())
    monkeypatch.setattr(os, failing, once)
    with pytest.raises(OSError, match="Input/output"):
        files.write(replace(SINK, digest="another"), 2)
    assert files.kept() == [SINK]
    assert sorted((files.directory / "q").iterdir()) == before
    position = files.position("q", "a")
    assert position.instant == 5
    position.close()


def test_a_sink_that_is_removed_while_it_is_copied_is_not_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SinkFiles(tmp_path)
    files.write(SINK, 5)
    real = shutil.copy2

    def copy(source: Path, target: Path) -> object:
        copied = real(source, target)
        files.remove("q", "a")
        return copied

    monkeypatch.setattr(shutil, "copy2", copy)
    files.backup(tmp_path / "copy")
    assert SinkFiles(tmp_path / "copy").kept() == []


def test_a_sink_that_is_made_while_others_are_copied_is_copied_whole_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SinkFiles(tmp_path)
    files.write(SINK, 5)
    real = shutil.copy2

    def copy(source: Path, target: Path) -> object:
        files.write(replace(SINK, name="b"), 7)
        return real(source, target)

    monkeypatch.setattr(shutil, "copy2", copy)
    files.backup(tmp_path / "copy")
    copied = SinkFiles(tmp_path / "copy")
    for sink in copied.kept():
        position = copied.position(sink.query, sink.name)
        assert position.instant is not None
        position.close()


class ClosedMeanwhile(Position):
    """Is closed by who ends its sink while it is brought to the disk."""

    def __setattr__(self, name: str, value: object) -> None:
        synced = name == "unsynced" and not value and hasattr(self, name)
        super().__setattr__(name, value)
        if synced:
            self.close()


def test_a_position_that_is_closed_while_it_is_synced_is_an_error_of_the_disk_at_most(tmp_path: Path) -> None:
    position = ClosedMeanwhile(tmp_path / "a.position")
    with suppress(OSError):
        position.sync()


def test_a_file_that_is_no_sink_is_named(tmp_path: Path) -> None:
    files = SinkFiles(tmp_path)
    files.write(SINK, 5)
    (files.directory / "q" / "a.json").write_text("{}")
    with pytest.raises(ValueError, match=r"q/a\.json cannot be read"):
        files.kept()


@pytest.mark.parametrize("there", [True, False])
def test_a_sink_for_which_too_many_files_are_open_is_as_it_was(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SinkFiles(tmp_path)
    if there:
        files.write(SINK, 5)
    before = files.kept()
    with no_directory_opened(monkeypatch):
        with pytest.raises(OSError, match="Too many open files"):
            files.write(replace(SINK, digest="another"), 7)
        assert files.kept() == before
        if there:
            with pytest.raises(OSError, match="Too many open files"):
                files.remove("q", "a")
            with pytest.raises(OSError, match="Too many open files"):
                files.remove_all("q")
            assert files.kept() == before
            position = files.position("q", "a")
            assert position.instant == 5
            position.close()
    files.remove("q", "a")
    assert files.kept() == []
