"""``doctor``, ``backup`` and ``restore`` over a data directory whose backend takes batches when it is told to."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from endpoint import create_app
from endpoint.cli.commands import main
from endpoint.graphs.directory import restoring
from endpoint.graphs.store import GraphStore
from endpoint.resources.backup import archive
from endpoint.settings import Settings
from protocol.streams import StreamElement
from spark_backend.log.format.segment import segment_path
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.served import served
from tests.spark_backend.stepped_backend import SteppedBackend

COUNT = "SELECT (COUNT(*) AS ?n) FROM STREAM <http://ex/s> [RANGE 10s] WHERE { ?s ?p ?o }"
PUBLISHED = (
    "REGISTER STREAM out AS CONSTRUCT { ?s <http://ex/q> ?o } FROM STREAM <http://ex/s> [RANGE 10s] WHERE { ?s ?p ?o }"
)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def findings(result: Result) -> dict[str, str]:
    """What was found, by place."""
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert result.exit_code == (1 if lines else 0), result.output
    return {line["place"]: line["what"] for line in lines}


def make(directory: Path) -> SteppedBackend:
    stepped = SteppedBackend(directory)
    stepped.event_stream("s", "http://ex/s")
    stepped.register("count", COUNT)
    stepped.register("out", PUBLISHED)
    for second in range(0, 60, 5):
        stepped.post("s", f"[] <http://ex/p> {second} .", second * 1000)
    stepped.run()
    return stepped


@pytest.fixture(name="data")
def data_directory(tmp_path: Path) -> Path:
    make(tmp_path / "data").close()
    store = GraphStore(tmp_path / "data" / "store")
    store.update("INSERT DATA { <http://ex/a> <http://ex/p> 1 }")
    store.close()
    return tmp_path / "data"


@contextmanager
def serving(body: bytes) -> Iterator[str]:
    """The address of a server that answers each GET with this."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nobody reads it."""

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def replayed(stepped: SteppedBackend) -> dict[tuple[str, int], bytes]:
    return {
        (name, instant): data
        for name in ("count", "out")
        for instant, data in stepped.replayed(name).items()
    }  # fmt: skip


def test_a_whole_directory_has_nothing_wrong(data: Path) -> None:
    assert not findings(run("doctor", "--data", data))
    SteppedBackend(data / "new").close()
    (data / "new" / "store").mkdir()
    assert not findings(run("doctor", "--data", data / "new")), "in which no stream was ever made"
    assert run("doctor", "--data", data / "nowhere").exit_code == 1


@pytest.mark.parametrize("repair", [[], ["--repair"]])
def test_a_directory_that_has_nothing_of_an_endpoint_is_no_data_directory(
    repair: list[str], data: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for wrong in (tmp_path / "empty", data / "store", tmp_path):
        before = sorted(wrong.iterdir())
        refused = run("doctor", "--data", wrong, *repair)
        assert refused.exit_code == 1
        assert f"{wrong} is no data directory of an endpoint" in refused.output
        assert sorted(wrong.iterdir()) == before


def test_while_it_mends_no_server_gets_the_directory_and_it_gets_none_that_a_server_has(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def mend(root: Path) -> None:
        with pytest.raises(OSError, match="another server, or a doctor that repairs") as refused:
            GraphStore(root / "store")
        said.append(str(refused.value))

    monkeypatch.setattr("spark_backend.doctor.mend", mend)
    assert run("doctor", "--data", data, "--repair").exit_code == 0
    assert len(said) == 1
    store = GraphStore(data / "store")
    assert "a server is using" in run("doctor", "--data", data, "--repair").output
    assert len(said) == 1
    store.close()


def test_each_damage_is_named_and_what_can_be_mended_is(data: Path) -> None:
    log = data / "streams" / "s.1"
    path = segment_path(log, 1)
    content = bytearray(path.read_bytes())
    content[128 + 40] ^= 1
    path.write_bytes(content)
    (log / "manifest").write_bytes(b"x" * 128)
    (data / "catalogue.json").write_text((data / "catalogue.json").read_text().replace('"count"', '"c0unt"'))
    (data / "progress.json").write_text("{}")
    shutil.copytree(log, data / "streams" / "lost.9")
    before = {path.relative_to(data) for path in data.rglob("*")}
    found = findings(run("doctor", "--data", data))
    assert set(found) == {"catalogue.json", "progress.json", "streams/s.1/manifest", "streams/lost.9"}
    assert {path.relative_to(data) for path in data.rglob("*")} == before, "looking changes nothing"
    found = findings(run("doctor", "--repair", "--data", data))
    assert set(found) == {"streams/s.1/0000000001.segment:128", "streams/lost.9"}
    assert "elements lost: 1" in found["streams/s.1/0000000001.segment:128"]
    assert path.read_bytes() == content
    assert {"catalogue.json.damaged-1", "progress.json.damaged-1"} <= {one.name for one in data.iterdir()}
    stepped = SteppedBackend(data)
    assert stepped.backend.stream("s").elements == 12
    assert {query.name for query in stepped.backend.queries()} == {"count", "out"}
    stepped.close()


def test_of_manifests_that_were_swapped_one_is_made_anew_and_both_are_named(data: Path) -> None:
    stepped = SteppedBackend(data)
    stepped.event_stream("t", "http://ex/t")
    for second in range(3):
        stepped.post("t", "<http://ex/t> <http://ex/p> 1 .", second * 1000)
    stepped.close()
    (other,) = (data / "streams").glob("t.*")
    pair = [data / "streams" / "s.1" / "manifest", other / "manifest"]
    contents = [path.read_bytes() for path in pair]
    for path, content in zip(pair, reversed(contents), strict=True):
        path.write_bytes(content)
    found = findings(run("doctor", "--data", data))
    assert found.pop("streams/s.1/manifest") == "it is that of another log"
    assert [place.split("/")[1] for place in found] == [other.name]
    stepped = SteppedBackend(data)
    assert (stepped.backend.stream("s").elements, stepped.backend.stream("s").damage) == (12, ())
    assert "the manifest of the stream s " in " ".join(stepped.backend.health().warnings)
    # A log that is said to have had more is one that was cut off: what it has is read.
    assert [damage.elements for damage in stepped.backend.stream("t").damage] == [9]
    follower = stepped.backend.follow("t", -1)
    assert sum(isinstance(one, StreamElement) for one in follower.take()) == 3
    follower.close()
    stepped.close()
    assert {place.split("/")[1] for place in findings(run("doctor", "--data", data))} == {other.name}


def test_where_the_catalogue_and_its_copy_are_gone_both_are_named_and_the_logs_of_no_stream(data: Path) -> None:
    for name in ("catalogue.json", "catalogue.copy.json"):
        (data / name).unlink()
    expected = {
        "catalogue.json": "the file is missing, and so is its copy",
        "catalogue.copy.json": "the file is missing, and so is catalogue.json",
        **{f"streams/{log.name}": "this belongs to no stream" for log in (data / "streams").iterdir()},
    }
    assert len(expected) == 4
    assert findings(run("doctor", "--data", data)) == expected
    assert findings(run("doctor", "--repair", "--data", data)) == expected


def test_a_store_that_cannot_be_read_is_found(data: Path) -> None:
    (data / "store" / "CURRENT").unlink()
    assert any(place.startswith("store") for place in findings(run("doctor", "--data", data)))


def test_a_person_is_told_the_names_there_are_whatever_is_in_them(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endpoint.cli.doctor.for_a_person", lambda: True)
    monkeypatch.setenv("COLUMNS", "1000")
    directory = data.with_name("[b]")
    data.rename(directory)
    (directory / "store" / "CURRENT").write_bytes(b"MANIFEST-999999\n")
    result = run("doctor", "--data", directory)
    assert result.exit_code == 1
    assert str(directory / "store") in result.stdout


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_a_store_is_not_called_lost_where_nothing_can_be_written(
    data: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*arguments: Any, **options: Any) -> str:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    found = run("doctor", "--data", data)
    assert os.strerror(number) in findings(found)["store"]
    assert '"lost":false' in found.output
    assert "backup" not in found.output


def test_a_backup_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with serving(b"an archive") as url:
        told = run("backup", tmp_path / "none" / "x.tar", "--server", url)
    assert told.exit_code == 1
    assert "Error: " in told.output
    assert "x.tar cannot be written: No such file or directory" in told.output


def test_of_two_backups_into_one_file_the_second_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, left = tmp_path / "x.tar", tmp_path / ".x.tar.part"
    left.write_bytes(b"what one that was killed has left, which is longer")
    refused: list[Result] = []
    synced = os.fsync

    def meanwhile(descriptor: int) -> None:
        monkeypatch.setattr("os.fsync", synced)
        refused.append(run("backup", target, "--server", url))
        assert left.read_bytes() == b"an archive"

    monkeypatch.setattr("os.fsync", meanwhile)
    with serving(b"an archive") as url:
        made = run("backup", target, "--server", url)
        assert made.exit_code == 0, made.output
        again = run("backup", target, "--server", url)
    assert refused[0].exit_code == again.exit_code == 1
    assert "x.tar is just being written by another backup" in refused[0].output
    assert "x.tar exists already" in again.output
    assert target.read_bytes() == b"an archive"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("made", [True, False])
def test_a_backup_that_came_to_its_end_meanwhile_is_not_written_over(
    made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, partial = tmp_path / "x.tar", tmp_path / ".x.tar.part"

    def meanwhile(file: Any, operation: int) -> None:
        """Another one ends between the opening of the file and its lock."""
        if made:
            partial.rename(target)
            target.write_bytes(b"another archive")
        else:
            partial.unlink()

    monkeypatch.setattr("fcntl.flock", meanwhile)
    with serving(b"an archive") as url:
        refused = run("backup", target, "--server", url)
    assert "x.tar has just been written by another backup" in refused.output
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == (
        {"x.tar": b"another archive"} if made else {}
    )


def test_a_store_that_is_missing_is_found_and_not_made_by_repairing(data: Path) -> None:
    shutil.rmtree(data / "store")
    assert findings(run("doctor", "--data", data)) == {"store": "the directory is missing"}
    refused = run("doctor", "--data", data, "--repair")
    assert refused.exit_code == 1
    assert f"{data}/store, which had the graphs, is missing: restore it from a backup" in refused.output
    assert not (data / "store").exists()
    (data / "store").mkdir()
    assert not findings(run("doctor", "--data", data)), "it is empty on purpose"


@pytest.mark.parametrize("repair", [[], ["--repair"]])
def test_a_directory_of_a_later_version_is_not_looked_at(data: Path, repair: list[str]) -> None:
    (data / "format").write_text("99\n")
    (data / "catalogue.json").write_text("what a later version writes")
    refused = run("doctor", "--data", data, *repair)
    assert refused.exit_code == 1
    assert f"{data} was written by a later version of sparql-streams (its format is 99" in refused.output
    assert (data / "catalogue.json").read_text() == "what a later version writes"


def test_a_backup_of_a_later_version_is_not_restored(data: Path, tmp_path: Path) -> None:
    (data / "format").write_text("99\n")
    with tarfile.open(tmp_path / "packed.tar", "w") as tar:
        tar.add(data, ".")
    refused = run("restore", tmp_path / "packed.tar", "--data", tmp_path / "restored")
    assert (refused.exit_code, "by a later version of sparql-streams" in refused.output) == (1, True)
    assert list((tmp_path / "restored").iterdir()) == []


def test_beside_a_server_it_looks_and_does_not_repair(data: Path) -> None:
    stepped = SteppedBackend(data)
    store = GraphStore(data / "store")
    try:
        # A lock is another process's: this one would be let in.
        code = "from endpoint.cli.commands import main; main()"
        results = [
            subprocess.run(
                [sys.executable, "-c", code, "doctor", *more, "--data", str(data)],
                capture_output=True,
                text=True,
                check=False,
            )
            for more in ([], ["--repair"])
        ]
    finally:
        store.close()
        stepped.close()
    assert (results[0].returncode, results[0].stdout) == (0, "")
    assert "a server is using" in results[0].stderr
    assert results[1].returncode == 1
    assert "stop it first" in results[1].stderr


def test_a_backup_of_a_running_backend_gives_the_same_answers(data: Path, tmp_path: Path) -> None:
    stepped = SteppedBackend(data)
    (tmp_path / "copy" / "store").mkdir(parents=True)
    stepped.backend.backup(tmp_path / "copy")
    expected = replayed(stepped)
    # What comes later is not in it, nor does it change what is.
    for second in range(60, 90, 5):
        stepped.post("s", f"[] <http://ex/p> {second} .", second * 1000)
    stepped.run()
    tar = tmp_path / "backup.tar"
    tar.write_bytes(b"".join(archive(tmp_path / "copy")))
    assert run("restore", tar, "--data", tmp_path / "restored").exit_code == 0
    again = SteppedBackend(tmp_path / "restored")
    assert replayed(again) == expected
    assert again.backend.stream("s").elements == 12
    again.run()
    assert not again.answers("count"), "what was out is not given out again"
    assert not again.backend.health().warnings
    for second in range(60, 90, 5):
        again.post("s", f"[] <http://ex/p> {second} .", second * 1000)
    again.run()
    assert again.answers("count") == {at: data for at, data in stepped.answers("count").items() if at > 50_000}
    stepped.close()
    again.close()


def test_an_archive_that_was_cut_short_or_a_directory_that_is_full_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    stepped = make(tmp_path / "other")
    stepped.backend.backup(tmp_path / "copy")
    stepped.close()
    parts = b"".join(archive(tmp_path / "copy"))
    cut = tmp_path / "cut.tar"
    cut.write_bytes(parts[: len(parts) // 2])
    assert run("restore", cut, "--data", data).exit_code == 1
    assert run("restore", cut, "--data", tmp_path / "new").exit_code == 1
    cut.write_bytes(parts[:-1024])
    refused = run("restore", cut, "--data", tmp_path / "newer")
    assert refused.exit_code == 1
    assert "cut short" in refused.output


@pytest.mark.parametrize(
    ("packed", "lacking"),
    [
        ({".": "data"}, None),
        ({"data": "data"}, "store/ and streams/"),
        ({"store": "data/store"}, "streams/"),
        ({"streams": "data/streams", "catalogue.json": "data/catalogue.json"}, "store/"),
        ({"note.txt": "note.txt"}, "store/ and streams/"),
        ({"store": "note.txt", "streams": "note.txt"}, "store/ and streams/"),
        ({}, "store/ and streams/"),
    ],
)
def test_an_archive_that_lacks_what_a_backup_always_has_is_refused_and_leaves_nothing(
    packed: dict[str, str], lacking: str | None, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("no backup")
    with tarfile.open(tmp_path / "packed.tar", "w") as tar:
        for name, path in packed.items():
            tar.add(tmp_path / path, name)
    restored = run("restore", tmp_path / "packed.tar", "--data", tmp_path / "restored")
    if lacking is None:
        assert restored.exit_code == 0, restored.output
        assert (tmp_path / "restored" / "store").is_dir()
    else:
        assert restored.exit_code == 1
        assert f"packed.tar is no backup: it has no {lacking}, which a backup always has" in restored.output
        assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize("name", ["../climbed.txt", "/climbed.txt", "store/link"])
def test_what_climbs_out_of_the_directory_is_not_restored(tmp_path: Path, name: str) -> None:
    if name == "store/link":
        (tmp_path / "evil.txt").symlink_to("/etc/hostname")
    else:
        (tmp_path / "evil.txt").write_text("evil")
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        for there in ("store", "streams"):
            (tmp_path / there).mkdir()
            tar.add(tmp_path / there, there)
        evil = tar.gettarinfo(tmp_path / "evil.txt")
        evil.name = name
        with (tmp_path / "evil.txt").open("rb") as content:
            tar.addfile(evil, None if evil.issym() else content)
    refused = run("restore", tmp_path / "evil.tar", "--data", tmp_path / "deep" / "data")
    assert refused.exit_code == 1
    assert "cannot be restored" in refused.output
    assert not (tmp_path / "deep").exists()


def test_a_restore_that_fails_half_way_leaves_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(tmp_path / "packed.tar", "w") as tar:
        tar.add(data, ".")
    extract = tarfile.TarFile.extractall

    def on_a_full_disk(archive: tarfile.TarFile, path: Path, **options: Any) -> None:
        extract(archive, path, **options)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tarfile.TarFile, "extractall", on_a_full_disk)
    restored = tmp_path / "restored"
    refused = run("restore", tmp_path / "packed.tar", "--data", restored)
    assert (refused.exit_code, "No space left" in refused.output) == (1, True)
    assert list(restored.iterdir()) == []
    monkeypatch.undo()
    assert run("restore", tmp_path / "packed.tar", "--data", restored).exit_code == 0


KILLED = """
import os, sys, tarfile
from pathlib import Path
from endpoint.cli.commands import main

extract = tarfile.TarFile.extractall

def half(archive, path, **options):
    extract(archive, path, members=archive.getmembers()[:5], **options)
    os.kill(os.getpid(), ended_by)

tarfile.TarFile.extractall = half
ended_by = int(sys.argv.pop())
main()
"""


@pytest.mark.parametrize("signal", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_restore_has_left_that_was_killed_is_not_served_and_is_restored_again(
    signal: signal.Signals, data: Path, tmp_path: Path
) -> None:
    archived, restored = tmp_path / "packed.tar", tmp_path / "restored"
    with tarfile.open(archived, "w") as tar:
        tar.add(data, ".")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "restore", str(archived), "--data", str(restored), str(int(signal))], check=False
    )
    assert killed.returncode == -signal
    said = f"{restored} has a part of a backup alone, for its restore has not come to its end: restore it again"
    assert len(list(restored.iterdir())) > 1
    app = create_app(Settings(data=restored), backend=FakeBackend())
    with pytest.raises(ValueError, match=re.escape(said)), TestClient(app):
        pass
    assert said in run("doctor", "--data", restored).output
    again = run("restore", archived, "--data", restored)
    assert again.exit_code == 0, again.output
    assert not findings(run("doctor", "--data", restored))
    assert {path.name for path in restored.iterdir()} == {path.name for path in data.iterdir()}
    assert "is not empty" in run("restore", archived, "--data", restored).output


def test_what_is_restored_is_on_the_disk_before_it_is_taken_for_whole(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(tmp_path / "packed.tar", "w") as tar:
        tar.add(data, ".")
    restored, synced = tmp_path / "restored", list[bool]()
    monkeypatch.setattr("os.sync", lambda: synced.append((restored / "restoring").exists()))
    assert run("restore", tmp_path / "packed.tar", "--data", restored).exit_code == 0
    assert synced == [True]


def test_of_two_restores_into_one_directory_the_second_is_refused(data: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "packed.tar", "w") as tar:
        tar.add(data, ".")
    with restoring(tmp_path / "restored"):
        (tmp_path / "restored" / "store").mkdir()
        refused = run("restore", tmp_path / "packed.tar", "--data", tmp_path / "restored")
    assert (refused.exit_code, "is just being restored by somebody else" in refused.output) == (1, True)
    assert [path.name for path in (tmp_path / "restored").iterdir()] == ["store"]
