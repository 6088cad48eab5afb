"""The database's own logs: where their records end, also in the file of a former log, and what of that is damage."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pyoxigraph as ox
import pytest

from endpoint.graphs.committed import NOTE, CommittedFiles, lost, noted_version, unnoted
from endpoint.graphs.opening import _held, _set_aside, left_out
from endpoint.graphs.store import GraphStore

BLOCK = 32_768


def insert(store: GraphStore, name: str, text: str = "1") -> None:
    store.update(f"INSERT DATA {{ <urn:{name}> <urn:p> '{text}' }}")


def written_over(directory: Path, former: str) -> GraphStore:
    """A store with four triples, which writes its log over a former one with these texts."""
    store = GraphStore(directory)
    for number in range(3):
        insert(store, f"{number}", former)
    len(list(store.oxigraph))
    insert(store, "3")
    assert store._writer is not None
    store._writer.flush()
    return store


def kill(store: GraphStore) -> None:
    assert store.writer is not None
    os.kill(store.writer, signal.SIGKILL)
    store.close()


def copied(store: GraphStore, directory: Path, copy: Path) -> None:
    """The files as they are after a crash."""
    assert store.writer is not None
    os.kill(store.writer, signal.SIGSTOP)
    # The signal has been sent, but threads that compact run on until it has reached all. It may be a child of another
    # process, which cannot be waited for.
    threads = [psutil.Process(thread.id) for thread in psutil.Process(store.writer).threads()]
    while any(thread.status() != psutil.STATUS_STOPPED for thread in threads):
        pass
    shutil.copytree(directory, copy)
    os.kill(store.writer, signal.SIGCONT)


def note(directory: Path) -> Any:
    return json.loads((directory / NOTE).read_bytes().partition(b"\n")[0][9:])


def ends(directory: Path) -> dict[str, int]:
    """Where the records of the logs end, as noted."""
    return {name: size for name, size in note(directory)["files"].items() if name.endswith(".log")}


def newest(directory: Path) -> Path:
    return directory / max(ends(directory))


def dropped(directory: Path) -> list[str]:
    """What RocksDB says that it has left out."""
    lines = (line for file in directory.glob("LOG*") for line in file.read_text(errors="replace").splitlines())
    return [line for line in lines if ": dropping " in line]


def test_an_orderly_stop_after_a_read_loses_nothing_and_says_so(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    insert(store, "a")
    assert len(list(store.oxigraph)) == 1
    insert(store, "b")
    store.close()
    store = GraphStore(tmp_path / "store")
    assert dropped(tmp_path / "store")
    assert (store.warnings, len(store.quads())) == ([], 2)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("former", ["1", "x" * 5_000, "x" * 20_000, "x" * 100_000, "\\u0001" * 20_000])
@pytest.mark.parametrize("end", [GraphStore.close, kill])
def test_what_is_left_of_a_former_log_is_no_damage(former: str, end: Any, tmp_path: Path) -> None:
    store = written_over(tmp_path / "store", former)
    insert(store, "4")
    if end is kill:
        log = newest(tmp_path / "store")
        assert 0 < ends(tmp_path / "store")[log.name] < log.stat().st_size
    end(store)
    assert left_out(tmp_path / "store") == []
    store = GraphStore(tmp_path / "store")
    assert dropped(tmp_path / "store")
    assert (store.warnings, len(store.quads())) == ([], 5)
    # A writer opens it as well.
    insert(store, "5")
    assert (store.warnings, len(store.quads())) == ([], 6)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("former", ["1", "x" * 20_000])
def test_a_flipped_bit_in_a_log_written_over_is_damage(former: str, tmp_path: Path) -> None:
    store = written_over(tmp_path / "store", former)
    for number in range(4, 10):
        insert(store, f"{number}")
    copied(store, tmp_path / "store", tmp_path / "damaged")
    store.close()
    log = newest(tmp_path / "damaged")
    content = bytearray(log.read_bytes())
    content[ends(tmp_path / "damaged")[log.name] // 2] ^= 4
    log.write_bytes(content)
    said = left_out(tmp_path / "damaged")
    assert said[0] == f"{log.name} is not what it was"
    assert f"{log.name}: dropping" in said[1]
    damaged = GraphStore(tmp_path / "damaged")
    assert 4 <= len(damaged.quads()) < 10
    assert f"{log.name} is not what it was" in damaged.warnings[0]
    assert (tmp_path / "damaged.damaged-1" / log.name).read_bytes() == content
    damaged.close()


def test_a_change_that_is_not_noted_is_there_and_has_another_version(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    store = written_over(directory, "1")
    insert(store, "4")
    version, former = store.version, (directory / NOTE).read_bytes()
    assert noted_version(directory) == version
    size = newest(directory).stat().st_size
    insert(store, "5")
    # The file has not grown by it.
    assert newest(directory).stat().st_size == size
    kill(store)
    # As if killed between the commit and its note.
    (directory / NOTE).write_bytes(former)
    assert unnoted(directory) == {newest(directory).name}
    store = GraphStore(directory)
    assert dropped(directory)
    assert (store.warnings, len(store.quads())) == ([], 6)
    assert store.version > version
    store.close()


def test_without_a_note_what_is_left_out_is_said(tmp_path: Path) -> None:
    store = written_over(tmp_path / "store", "1")
    insert(store, "4")
    kill(store)
    (tmp_path / "store" / NOTE).unlink()
    assert unnoted(tmp_path / "store") is None
    store = GraphStore(tmp_path / "store")
    assert "dropping" in store.warnings[0]
    assert len(store.quads()) == 5
    store.close()


@pytest.mark.parametrize("set_by", [-3600, 3600])
def test_what_is_left_out_is_said_once_however_the_clock_is_set(set_by: int, tmp_path: Path) -> None:
    directory = tmp_path / "store"

    def set_clock() -> None:
        """As if the clock had been set by so many seconds since what there is was written."""
        for path in (*tmp_path.iterdir(), *directory.iterdir()):
            changed = path.stat().st_mtime - set_by
            os.utime(path, (changed, changed))

    store = written_over(directory, "1")
    insert(store, "4")
    kill(store)
    (directory / NOTE).unlink()
    # A start that is killed as soon as the store is open.
    before = _set_aside(directory)
    assert before is not None
    set_clock()
    ox.Store(str(directory))
    for number, said in enumerate((1, 0, 0)):
        store = GraphStore(directory)
        assert ["dropping" in warning for warning in store.warnings] == [True] * said
        assert len(store.quads()) == 5
        insert(store, f"{number}")
        store.close()
        set_clock()


def test_what_a_doctor_that_was_killed_has_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "store"
    GraphStore(directory).close()

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    for look in (left_out, lambda directory: GraphStore(directory).close()):
        with monkeypatch.context() as patch:
            # Nothing is removed where it ends.
            patch.setattr("tempfile._shutil.rmtree", lambda *arguments, **options: None)
            patch.setattr("endpoint.graphs.opening._opened", killed)
            with pytest.raises(KeyboardInterrupt):
                left_out(directory)
        (left,) = (path for path in tmp_path.iterdir() if path != directory)
        with _held(left):  # as if it still looked
            look(directory)
        assert left.exists()
        look(directory)
        assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_the_records_of_a_log_end_where_each_change_has_left_it(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    store = written_over(directory, "x" * 100_000)
    former = 0
    for number, length in enumerate([1, 10_000, 30_000, 1, 100_000, 1, 3_000_000, 1]):
        insert(store, f"{number}", "y" * length)
        log = newest(directory)
        # Headers, and what the database says with each triple.
        assert length < ends(directory)[log.name] - former < length + length // 100 + 500
        former = ends(directory)[log.name]
        again = tmp_path / f"{number}"
        again.mkdir()
        shutil.copy(log, again)
        CommittedFiles(again).sync(1)
        assert note(again)["files"] == {log.name: former}
        assert note(again)["checksums"] == {log.name: note(directory)["checksums"][log.name]}
    assert former == newest(directory).stat().st_size
    store.close()


def log_of(number: int, lengths: Sequence[int], *, plain: bool = False) -> bytes:
    """A log with records of these lengths, as RocksDB writes them."""
    log = b""
    header = 7 if plain else 11
    for length in lengths:
        begun = False
        while True:
            if (room := -len(log) % BLOCK or BLOCK) < header:
                log += bytes(room)
                room = BLOCK
            piece = min(length, room - header)
            length -= piece
            kind = (3 if length else 4) if begun else (2 if length else 1)
            log += b"\1\2\3\4" + piece.to_bytes(2, "little") + bytes([kind if plain else kind + 4])
            log += (b"" if plain else number.to_bytes(4, "little")) + b"z" * piece
            begun = True
            if not length:
                break
    return log


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("room", [*range(14), 20, 40])
def test_records_end_at_any_place_of_a_block(room: int, plain: bool, tmp_path: Path) -> None:
    lengths = [100, BLOCK - 100 - 2 * (7 if plain else 11) - room, 10, 3 * BLOCK, 0, 10]
    name = tmp_path / "000300.log"
    name.touch()
    committed = CommittedFiles(tmp_path)
    for number in range(len(lengths) + 1):
        content = log_of(300, lengths[:number], plain=plain)
        # A log of plain records is never written over another.
        name.write_bytes(content if plain else content + log_of(299, lengths)[len(content) :])
        committed.sync(number)
        assert note(tmp_path)["files"] == {name.name: len(content)}
        (tmp_path / "again").mkdir()
        shutil.copy(name, tmp_path / "again")
        CommittedFiles(tmp_path / "again").sync(number)
        assert note(tmp_path / "again") == note(tmp_path)
        shutil.rmtree(tmp_path / "again")
        assert (lost(tmp_path), unnoted(tmp_path)) == ({}, set())


def test_a_change_of_which_only_the_beginning_was_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "000012.log").write_bytes(log_of(12, [100]))
    CommittedFiles(tmp_path).sync(1)
    for length in (200, 2 * BLOCK):
        (tmp_path / "000012.log").write_bytes(log_of(12, [100, 3 * BLOCK])[:length])
        assert (unnoted(tmp_path), noted_version(tmp_path)) == (set(), 1)
    (tmp_path / "000012.log").write_bytes(log_of(12, [100, 3 * BLOCK]))
    assert (unnoted(tmp_path), noted_version(tmp_path)) == ({"000012.log"}, None)


def test_what_is_written_over_a_former_log_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "000012.log"
    log.write_bytes(log_of(7, [100] * 10))
    committed = CommittedFiles(tmp_path)
    committed.sync(1)
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    committed.sync(1)
    assert synced == []
    written = log_of(12, [50])
    with log.open("r+b") as file:
        file.write(written)
    committed.sync(2)
    assert synced == [log.stat().st_ino]
    # RocksDB does so when it begins another.
    os.truncate(log, len(written))
    assert (lost(tmp_path), noted_version(tmp_path)) == ({}, 2)
    with log.open("r+b") as file:
        file.write(written[:-1] + b"?")
    assert lost(tmp_path) == {"000012.log": "000012.log is not what it was"}
    os.truncate(log, 5)
    assert lost(tmp_path) == {"000012.log": f"000012.log has 5 bytes and had {len(written)}"}


def test_a_note_of_an_older_version_is_understood(tmp_path: Path) -> None:
    log = tmp_path / "000012.log"
    log.write_bytes(log_of(12, [100]))
    # As it was made before there were checksums.
    (tmp_path / NOTE).write_bytes(b'f9c42793 {"files": {"000012.log": 111}, "version": 5}\n')
    assert (noted_version(tmp_path), lost(tmp_path), unnoted(tmp_path)) == (5, {}, None)
    os.truncate(log, 100)
    assert lost(tmp_path) == {"000012.log": "000012.log has 100 bytes and had 111"}
