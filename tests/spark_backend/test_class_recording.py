"""Spark's classes recorded, and Spark started with them."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from endpoint.cli import main
from spark_backend import class_recording
from spark_backend.spark.launch import class_archive
from spark_backend.spark.launch.session import start_session, stop_session

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "share" / "sparql-streams"
    monkeypatch.setattr(class_archive, "DIRECTORY", directory)
    monkeypatch.setattr(class_recording, "DIRECTORY", directory)
    return directory


def files_in_memory(directory: Path) -> set[str]:
    """The files that the Java process of a session over this directory has mapped."""
    session = start_session(master="local[1]", directory=directory)
    try:
        assert session.range(5).count() == 5
        (java,) = (one for one in psutil.Process().children() if "java" in one.name())
        return {one.path for one in java.memory_maps()}
    finally:
        stop_session(session)


# pyspark leaves the pipe to a Java open that has ended before it was there.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not say which files a process has mapped")
def test_spark_starts_with_the_classes_that_were_recorded(
    shared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where Java writes why it ended
    result = CliRunner().invoke(main, ["prepare"])
    assert result.exit_code == 0, result.output
    (archive,) = shared.glob("*.jsa")
    assert result.output == f"Spark's classes are in {archive}\n"
    assert sorted(one.name for one in shared.iterdir()) == sorted([archive.name, "home"])
    assert str(archive) in files_in_memory(tmp_path)
    whole = archive.read_bytes()
    archive.chmod(0o600)
    # What is no archive at all is left aside, and with one that is cut off Java ends.
    archive.write_bytes(b"no archive")
    assert str(archive) not in files_in_memory(tmp_path)
    archive.write_bytes(whole[:10_000_000])
    assert str(archive) not in files_in_memory(tmp_path)
    assert "which is removed" in caplog.text
    assert not archive.exists()


def test_what_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(class_recording, "DIRECTORY", tmp_path / "file" / "sparql-streams")
    result = CliRunner().invoke(main, ["prepare"])
    assert result.exit_code == 1
    assert "Error: the archive of Spark's classes cannot be written: [Errno 20]" in result.output
