"""Streams that are made or dropped, all of each or nothing."""

from __future__ import annotations

import shutil
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from protocol.errors import Unavailable
from protocol.streams import StreamSettings
from protocol.time import BEFORE_ALL
from spark_backend.ingest.columns import read_elements
from spark_backend.log.format.manifest import ManifestWriter
from spark_backend.log.format.segment import remove_segments
from spark_backend.log.recovery import has_elements
from spark_backend.log.writer import StreamLog
from spark_backend.streams.catalogue import Catalogue
from spark_backend.streams.known_logs import KnownLogs


def test_a_stream_that_takes_the_name_of_one_that_is_gone_is_told_from_it(tmp_path: Path) -> None:
    def opened() -> KnownLogs:
        return KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), tmp_path / "streams", lambda: 0)

    def made(logs: KnownLogs, name: str) -> int:
        logs.create(name, StreamSettings(f"http://e/{name}"))
        return logs.entry(name).incarnation

    logs = opened()
    assert [made(logs, name) for name in ("a", "b", "c")] == [0, 0, 0]
    logs.drop(["a", "b"])
    first = [made(logs, "a"), made(logs, "b")]
    assert min(first) > 0
    logs.drop(["a"])
    logs.close()
    logs = opened()
    assert logs.entry("b").incarnation == first[1]
    assert made(logs, "a") > first[0]
    logs.close()


@pytest.mark.parametrize("error", [OSError("the disk is full"), UnicodeError("not to be written")])
def test_what_cannot_be_written_down_changes_nothing(tmp_path: Path, error: Exception) -> None:
    catalogue = Catalogue.open(tmp_path / "catalogue.json")
    logs = KnownLogs(catalogue, tmp_path / "streams", lambda: 0)
    logs.create("kept", StreamSettings("http://e/kept"))
    with patch.object(catalogue, "save", side_effect=error):
        for change in (lambda: logs.create("new", StreamSettings("http://e/new")), lambda: logs.drop(["kept"])):
            with pytest.raises(type(error)):
                change()
    assert [entry.name for entry, _ in logs] == ["kept"]
    assert list(catalogue.streams) == ["kept"]
    assert catalogue.deleted == 0
    assert [path.name for path in (tmp_path / "streams").iterdir()] == [logs.entry("kept").log]
    logs.create("new", StreamSettings("http://e/new"))
    logs.close()


def test_a_log_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    logs = KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), tmp_path / "streams", lambda: 0)
    with patch.object(ManifestWriter, "publish", side_effect=OSError("the disk is full")):
        for _ in range(2):
            with pytest.raises(OSError, match="the disk is full"):
                logs.create("new", StreamSettings("http://e/new"))
    assert list((tmp_path / "streams").iterdir()) == []
    logs.create("new", StreamSettings("http://e/new"))
    logs.close()


@pytest.mark.parametrize("deleted", ["not even said by the log", "nothing", "the segments"])
def test_a_deletion_that_a_crash_has_cut_short_is_finished_at_the_next_start(tmp_path: Path, deleted: str) -> None:
    root = tmp_path / "streams"
    logs = KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), root, lambda: 0)
    for name in ("gone", "kept"):
        logs.create(name, StreamSettings(f"http://e/{name}"))
    body, settings = b"<http://e/s> <http://e/p> 1 .", logs.entry("gone").settings
    logs["gone"].append(read_elements(body, "text/turtle", settings=settings, at=None, blank_scope="a"))
    with patch.object(StreamLog, "drop") if deleted == "not even said by the log" else nullcontext():
        logs.drop(["gone"])
    assert has_elements(root / "gone.1")
    if deleted == "the segments":
        remove_segments(root / "gone.1")
    (root / "of-another-catalogue").mkdir()
    logs.close()
    logs = KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), root, lambda: 0)
    assert sorted(path.name for path in root.iterdir()) == ["kept.2", "of-another-catalogue"]
    logs.close()


@pytest.mark.parametrize("moment", [(StreamLog, "open"), (ManifestWriter, "publish"), (Catalogue, "save")])
def test_what_a_crash_has_left_of_a_stream_that_was_being_made_is_deleted_at_the_next_start(
    tmp_path: Path, moment: tuple[type, str]
) -> None:
    def opened(data: Path) -> KnownLogs:
        return KnownLogs(Catalogue.open(data / "catalogue.json"), data / "streams", lambda: 0)

    def killed(*given: Any, **named: Any) -> None:
        if moment[1] == "open":
            (here / "streams" / "new.3").mkdir()
        shutil.copytree(here, there)
        raise KeyboardInterrupt

    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    logs = opened(here)
    for name in ("kept", "empty"):
        logs.create(name, StreamSettings(f"http://e/{name}"))
    with patch.object(*moment, side_effect=killed), pytest.raises(KeyboardInterrupt):
        logs.create("new", StreamSettings("http://e/new"))
    logs.close()
    assert (there / "streams" / "new.3").exists()
    with_elements = there / "streams" / "of-a-lost-catalogue.17"
    body, settings = b"<http://e/s> <http://e/p> 1 .", StreamSettings("http://e/lost")
    with closing(StreamLog.open(with_elements, settings, lambda: 0)) as log:
        log.append(read_elements(body, "text/turtle", settings=settings, at=None, blank_scope="a"))
    logs = opened(there)
    assert {path.name for path in (there / "streams").iterdir()} == {"kept.1", "empty.2", with_elements.name}
    logs.create("new", StreamSettings("http://e/new"))
    logs.close()
    # Where the catalogue is lost, any of them may be one that it knew.
    for name in ("catalogue.json", "catalogue.copy.json"):
        (there / name).unlink()
    opened(there).close()
    assert len(list((there / "streams").iterdir())) == 4


def test_a_log_that_cannot_be_deleted_keeps_no_other_from_being_deleted(tmp_path: Path) -> None:
    root = tmp_path / "streams"
    logs = KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), root, lambda: 0)
    for name in ("a", "b"):
        logs.create(name, StreamSettings(f"http://e/{name}"))
    gone = logs.drop(["a", "b"])
    with patch.object(gone[0], "delete", side_effect=OSError(16, "Device or resource busy")):
        logs.delete(gone)
    assert [path.name for path in root.iterdir()] == ["a.1"]
    logs = KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), root, lambda: 0)
    assert list(root.iterdir()) == []


EMFILE = OSError(24, "Too many open files")


def unreadable(tmp_path: Path) -> KnownLogs:
    """Logs of which the only one could not be opened."""
    catalogue, settings = tmp_path / "catalogue.json", StreamSettings("http://e/s")
    logs = KnownLogs(Catalogue.open(catalogue), tmp_path / "streams", lambda: 0)
    body = b"<http://e/s> <http://e/p> 1 ."
    logs.create("s", settings).append(read_elements(body, "text/turtle", settings=settings, at=None, blank_scope="a"))
    logs.close()
    with patch.object(StreamLog, "open", side_effect=EMFILE):
        return KnownLogs(Catalogue.open(catalogue), tmp_path / "streams", lambda: 0)


def test_a_log_that_could_not_be_opened_for_a_moment_is_opened_after_all(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs = unreadable(tmp_path)
    (found,) = logs.unreadable()
    with patch.object(StreamLog, "open", side_effect=EMFILE):
        assert not any(logs.open_again(*found, BEFORE_ALL) for _ in range(3))
    assert len([one for one in caplog.records if "Too many open files" in one.message]) == 1, "it is said once"
    assert logs.open_again(*found, BEFORE_ALL)
    assert logs.unreadable() == []
    assert logs["s"].describe().elements == 1
    logs.close()


def test_a_log_that_is_opened_late_stays_behind_no_evaluation(tmp_path: Path) -> None:
    logs = unreadable(tmp_path)
    (found,) = logs.unreadable()
    with patch.object(StreamLog, "advance", side_effect=Unavailable("the disk is gone")):
        assert not logs.open_again(*found, 5_000)
    assert logs.open_again(*found, 5_000)
    assert logs["s"].describe().watermark == 5_000
    logs.close()


def test_a_log_whose_files_are_away_is_not_begun_anew_under_a_server(tmp_path: Path) -> None:
    logs = unreadable(tmp_path)
    (found,) = logs.unreadable()
    path = tmp_path / "streams" / found[0].log
    away = path.rename(tmp_path / "away")
    assert not logs.open_again(*found, BEFORE_ALL)
    assert not path.exists()
    away.rename(path)
    assert logs.open_again(*found, BEFORE_ALL)
    assert logs["s"].describe().elements == 1
    logs.close()


@pytest.mark.parametrize("meanwhile", ["deleted", "closed"])
def test_a_log_that_is_opened_too_late_is_let_go(meanwhile: str, tmp_path: Path) -> None:
    logs = unreadable(tmp_path)
    (found,) = logs.unreadable()
    opened = StreamLog.open

    def slowly(*given: Any, **named: Any) -> StreamLog:
        log = opened(*given, **named)
        logs.delete(logs.drop(["s"])) if meanwhile == "deleted" else logs.close()
        return log

    with patch.object(StreamLog, "open", slowly):
        assert not logs.open_again(*found, BEFORE_ALL)
    again = KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), tmp_path / "streams", lambda: 0)
    assert [entry.name for entry, _ in again] == ([] if meanwhile == "deleted" else ["s"])
    assert again.unreadable() == [], "it is not locked any more"
    assert len(list((tmp_path / "streams").iterdir())) == len(list(again))
    again.close()


def test_a_log_that_cannot_be_closed_keeps_no_other_open(tmp_path: Path) -> None:
    logs = KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), tmp_path / "streams", lambda: 0)
    opened = [logs.create(name, StreamSettings(f"http://e/{name}")) for name in ("a", "b", "c")]
    assert isinstance(opened[1], StreamLog)
    failing = patch.object(opened[1]._active, "trim", side_effect=OSError(5, "Input/output error"))
    with failing, pytest.raises(OSError, match="Input/output error"):
        logs.close()
    again = [StreamLog.open(path, StreamSettings("http://e/a"), lambda: 0) for path in (tmp_path / "streams").iterdir()]
    assert len(again) == 3, "none is locked any more"
    for log in again:
        log.close()
