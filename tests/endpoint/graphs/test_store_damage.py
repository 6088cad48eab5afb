"""Every file of a store in turn deleted, cut, emptied, one bit flipped.

What is read is a state that the store had, and not the last one only where that is said and the files are kept.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from endpoint.graphs.committed import NOTE, CommittedFiles, lost
from endpoint.graphs.store import GraphStore
from endpoint.readers.exchange import QueryQuestion
from endpoint.readers.limits import QueryLimits
from endpoint.readers.pool import ReaderPool
from protocol.errors import StorageDamaged
from protocol.formats.media_types import SolutionsFormat

Quads = frozenset[tuple[str, ...]]
Damage = Callable[[Path], None]


class Killed(NamedTuple):
    """A store as it is after a crash: some of it in tables, the rest in the database's own log; all states it had."""

    directory: Path
    states: list[Quads]


def delete(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def shorten(file: Path) -> None:
    os.truncate(file, max(0, file.stat().st_size - 1))


def empty(file: Path) -> None:
    os.truncate(file, 0)


def flipped(share: float) -> Damage:
    def flip(file: Path) -> None:
        content = bytearray(file.read_bytes())
        if content:
            content[int(share * len(content))] ^= 4
            file.write_bytes(content)

    return flip


FLIPS = {f"flip-{share}": flipped(share) for share in (0.03, 0.2, 0.4, 0.6, 0.8, 0.97)}


@pytest.fixture(scope="module", name="killed")
def killed_store(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    tmp_path = tmp_path_factory.mktemp("killed")
    states: list[Quads] = [frozenset()]

    def change(store: GraphStore, number: int) -> None:
        text = " ".join(f"<http://ex/{number}.{one}> <http://ex/p> '{'x' * 200}' ." for one in range(10))
        former = f"<http://ex/{number - 1}.3> <http://ex/p> '{'x' * 200}'"
        store.update(f"DELETE DATA {{ {former} }}; INSERT DATA {{ {text} }}")
        states.append(frozenset(store.quads()))

    store = GraphStore(tmp_path / "store")
    for number in range(20):
        change(store, number)
    store.close()
    store = GraphStore(tmp_path / "store")
    for number in range(20, 26):
        change(store, number)
    assert store.writer is not None
    os.kill(store.writer, signal.SIGSTOP)
    shutil.copytree(tmp_path / "store", tmp_path / "killed")
    os.kill(store.writer, signal.SIGCONT)
    store.close()
    return Killed(tmp_path / "killed", states)


def files(directory: Path, pattern: str) -> Iterator[Path]:
    # What RocksDB says of itself is nobody's data.
    yield from (file for file in sorted(directory.glob(pattern)) if not file.name.startswith("LOG"))


def check(killed: Killed, tmp_path: Path, damage: Damage, pattern: str = "*") -> set[str]:
    """What came of it, for each of the files; at least one."""
    came: set[str] = set()
    for number, file in enumerate(files(killed.directory, pattern)):
        directory = tmp_path / f"{number}" / "store"
        shutil.copytree(killed.directory, directory)
        damage(directory / file.name)
        left = (directory / file.name).read_bytes() if (directory / file.name).exists() else None
        came.add(outcome(killed, directory, file.name, left))
        shutil.rmtree(directory.parent)
    assert came
    return came


def outcome(killed: Killed, directory: Path, name: str, left: bytes | None) -> str:
    try:
        store = GraphStore(directory)
    except OSError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert f"the store in {directory} cannot be opened: " in said, name
        # Nothing is made in its place either.
        with pytest.raises(OSError, match="cannot be opened"):
            GraphStore(directory)
        return "not opened"
    try:
        found = frozenset(store.quads())
    except StorageDamaged as error:
        said = error.detail
    finally:
        store.close()
    if said:
        assert said in store.warnings, name
        return "not read"
    assert found in killed.states, name
    kept = directory.with_name("store.damaged-1")
    if found != killed.states[-1]:
        assert "may be lost" in store.warnings[0], name
    if not store.warnings:
        assert [path.name for path in directory.parent.iterdir()] == ["store"]
        return "as it was"
    assert str(kept) in store.warnings[0]
    if left is not None:
        assert (kept / name).read_bytes() == left
    # It is said once: what is left has been accepted, and is whole.
    again = GraphStore(directory)
    assert (frozenset(again.quads()), again.warnings) == (found, [])
    again.close()
    return "said"


def test_a_store_that_is_whole_is_read_without_a_word(killed: Killed, tmp_path: Path) -> None:
    assert check(killed, tmp_path, lambda file: None, "CURRENT") == {"as it was"}


@pytest.mark.parametrize("damage", [delete, cut, shorten, empty, flipped(0.5)])
def test_what_a_log_has_lost_is_said_and_kept(damage: Damage, killed: Killed, tmp_path: Path) -> None:
    assert check(killed, tmp_path, damage, "*.log") == {"said"}


@pytest.mark.parametrize("damage", [delete, cut, shorten, flipped(0.5)])
def test_a_store_without_the_list_of_its_files_is_not_opened(damage: Damage, killed: Killed, tmp_path: Path) -> None:
    assert check(killed, tmp_path, damage, "MANIFEST-*") == {"not opened"}


@pytest.mark.parametrize("damage", [empty, flipped(0.5)])
def test_what_a_table_has_lost_is_no_answer(damage: Damage, killed: Killed, tmp_path: Path) -> None:
    assert check(killed, tmp_path, damage, "*.sst") <= {"not opened", "not read", "as it was"}


def test_a_damaged_note_says_nothing(killed: Killed, tmp_path: Path) -> None:
    assert check(killed, tmp_path, flipped(0.5), NOTE) == {"as it was"}


@pytest.mark.long
@pytest.mark.parametrize("name", ["delete", "cut", "shorten", "empty", *FLIPS])
def test_every_file_in_turn(name: str, killed: Killed, tmp_path: Path) -> None:
    check(killed, tmp_path, {"delete": delete, "cut": cut, "shorten": shorten, "empty": empty, **FLIPS}[name])


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["*.log", "MANIFEST-*"])
def test_what_grows_cut_off_anywhere(pattern: str, killed: Killed, tmp_path: Path) -> None:
    (file,) = (one for one in files(killed.directory, pattern) if one.stat().st_size)
    for length in range(0, file.stat().st_size, 97):
        came = check(killed, tmp_path, partial(os.truncate, length=length), file.name)
        assert came == ({"said"} if pattern == "*.log" else {"not opened"}), length


def test_a_query_that_meets_damage_is_told_and_so_is_health(killed: Killed, tmp_path: Path) -> None:
    directory = tmp_path / "store"
    shutil.copytree(killed.directory, directory)
    for table in directory.glob("*.sst"):
        if table.stat().st_size > 2000:
            flipped(0.3)(table)
    store = GraphStore(directory)
    question = QueryQuestion("SELECT ?o { ?s ?p ?o }", SolutionsFormat.JSON.value)

    async def ask() -> Any:
        pool = ReaderPool(store, tmp_path / "snapshots", 1, memory_quads=0)
        await pool.start()
        try:
            async with pool.answer(question, QueryLimits()) as answer:
                return [part async for part in answer.rest()]
        finally:
            await pool.stop()

    with pytest.raises(Exception, match=r"files of the graphs are damaged.*\.sst") as raised:
        asyncio.run(ask())
    assert raised.value.problem()["status"] == 500  # type: ignore[attr-defined]
    assert "files of the graphs are damaged" in store.warnings[0]
    store.close()


def test_what_is_synced_are_the_files_that_have_grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, manifest = tmp_path / "000007.log", tmp_path / "MANIFEST-000005"
    log.write_bytes(b"one")
    manifest.write_bytes(b"tables")
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    committed = CommittedFiles(tmp_path)
    committed.sync(1)
    assert set(synced) == {path.stat().st_ino for path in (log, manifest, tmp_path)}
    synced.clear()
    log.write_bytes(b"one two")
    committed.sync(1)
    assert synced == [log.stat().st_ino]
    assert lost(tmp_path) == {}
    # Its content is in a table by then; the number of the next one may have more digits.
    log.rename(tmp_path / "1000000.log")
    assert lost(tmp_path) == {}


def test_an_update_is_noted_before_it_is_done(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    store.update("INSERT DATA { <http://ex/s> <http://ex/p> 1 }")
    noted = (tmp_path / "store" / NOTE).read_bytes()
    (log,) = (file for file in (tmp_path / "store").glob("*.log") if file.stat().st_size)
    assert b'"%s": %d' % (log.name.encode(), log.stat().st_size) in noted
    store.close()
