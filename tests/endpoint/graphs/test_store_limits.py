"""What a store does when an update takes too long, its process ends, or there is no room for it."""

from __future__ import annotations

import errno
import gc
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from endpoint.graphs.change import Change
from endpoint.graphs.store import GraphStore, UpdateTimeout
from endpoint.graphs.writer_process import UpdateMemoryExceeded, WriterEnded
from endpoint.processes.frames import Connection, Frame, Kind, frame
from endpoint.processes.relayed_error import RelayedError
from protocol.errors import StorageFull, Unavailable
from tests.endpoint.live.live_side import Clock
from tests.endpoint.readers.asking import numbers, there

RUNAWAY = """
INSERT { <http://ex/a> <http://ex/b> ?n } WHERE { SELECT (COUNT(*) AS ?n) {
  ?a <http://ex/n> ?x . ?b <http://ex/n> ?y . ?c <http://ex/n> ?z . ?d <http://ex/n> ?w
  FILTER(?x + ?y + ?z + ?w < 0) } }
"""
HUGE = """
INSERT { ?a ?x ?b } WHERE { ?a <http://ex/n> ?n . ?b <http://ex/n> ?m . ?c <http://ex/n> ?o
  BIND(IRI(CONCAT("http://ex/", STR(?c))) AS ?x) }
"""
"""64 million triples."""
LIMIT = 64 * 2**20
SMALL = "INSERT DATA { <http://ex/s> <http://ex/p> 1 }"


def test_an_update_that_takes_too_long_is_stopped_and_nothing_of_its_request_is_done(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store", update_seconds=2.0)
    store.update(numbers())
    before = (store.version, set(store.quads()))
    with pytest.raises(UpdateTimeout, match="--update-timeout"):
        store.update(f"{SMALL} ; {RUNAWAY}")
    assert (store.version, set(store.quads())) == before
    store.update(SMALL)
    assert len(set(store.quads())) == len(before[1]) + 1
    store.close()


@pytest.mark.parametrize(
    "text", ["", "PREFIX ex: <http://ex/>", f"{SMALL} ;", f"{SMALL} ; # done", f"{SMALL} # done", "CLEAR ALL"]
)
def test_an_update_may_end_as_the_grammar_lets_it(text: str) -> None:
    store = GraphStore()
    store.update(text)
    assert len(set(store.quads())) == ("INSERT" in text)


@pytest.mark.parametrize("text", ["WITH <http://ex/g>", "DELETE { ?s ?p ?o }", "INSERT DATA {", "DELETE WHERE"])
def test_what_lacks_its_end_is_not_completed_by_what_the_writer_adds(text: str) -> None:
    store = GraphStore()
    store.update(SMALL)
    with pytest.raises(RelayedError, match="the end of the update"):
        store.update(text)
    assert len(set(store.quads())) == 1


def test_a_client_may_give_an_update_less_time_and_not_more(tmp_path: Path) -> None:
    with closing(GraphStore(tmp_path / "store")) as filled:
        filled.update(numbers())
    with closing(GraphStore(tmp_path / "store", update_seconds=0.3)) as store:
        for asked, limit in ((0.1, 0.1), (60.0, 0.3)):
            with pytest.raises(UpdateTimeout, match=f"after {limit:g} s"):
                store.change(store.prepared(RUNAWAY, seconds=asked))
        assert len(set(store.quads())) == 400


@pytest.mark.parametrize("template", ["there", "late", "killed"])
def test_an_update_whose_writer_is_killed_has_changed_nothing_and_may_be_sent_again(
    template: str, tmp_path: Path
) -> None:
    store = GraphStore(tmp_path / "store")
    store.update(numbers())
    writer = psutil.Process(pid_of_writer(store))
    parent = writer.parent()
    assert parent is not None
    version = store.version
    with running_away(store) as failed:
        if template == "late":
            # On a machine that is busy it sees only later how a process has ended.
            parent.suspend()
            threading.Timer(0.3, parent.resume).start()
        if template == "killed":
            parent.kill()
        writer.kill()
    assert isinstance(failed[0], Unavailable)
    assert re.search("from outside.*nothing was changed; send it again", str(failed[0]))
    assert ("SIGKILL" in str(failed[0])) is (template != "killed")
    assert len(set(store.quads())) == 400
    assert store.version == version
    store.update(SMALL)
    assert len(set(store.quads())) == 401
    store.close()
    assert store.writer is None


def test_an_update_is_not_committed_where_the_server_is_gone_before_it_has_said_so(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    ours, theirs = zip(*(socket.socketpair() for _ in range(3)), strict=True)
    descriptors = [one.fileno() for one in theirs]
    # Not as a child of the template's, which ends with the server at about the same time.
    program = (
        "import socket, sys; from endpoint.graphs.writer import main; "
        "main(*(socket.socket(fileno=int(one)) for one in sys.argv[2:]), sys.argv[1], None, 1)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(directory), *map(str, descriptors)], pass_fds=descriptors
    ) as writer:
        for one in theirs:
            one.close()
        changes = Connection(ours[0])
        assert changes.receive(60).kind is Kind.READY
        changes.send(frame(Kind.QUESTION, Change(SMALL).encoded()))
        assert changes.receive(60).kind is Kind.EVALUATED
        for one in ours:
            one.close()
        writer.wait(60)
    with closing(GraphStore(directory)) as store:
        assert store.quads() == []


def test_an_update_that_crashes_its_writer_is_not_to_be_sent_again(tmp_path: Path) -> None:
    with closing(GraphStore(tmp_path / "store")) as store:
        store.update(numbers())
        with running_away(store) as failed:
            os.kill(pid_of_writer(store), signal.SIGSEGV)
        assert isinstance(failed[0], WriterEnded)
        assert (failed[0].status, "SIGSEGV" in failed[0].detail) == (500, True)
        assert len(set(store.quads())) == 400


def test_a_writer_that_is_stopped_is_said_ended_and_replaced_and_nothing_was_changed(tmp_path: Path) -> None:
    clock = Clock()
    with closing(GraphStore(tmp_path / "store", frozen_after=10, clock=clock)) as store:
        store.update(numbers())
        writer, version = pid_of_writer(store), store.version

        def look(seconds: int) -> str | None:
            for _ in range(seconds):
                clock.now += 1
                store.look()
            return store.stalled

        with running_away(store) as failed:
            # That an update takes long is no standstill.
            look(30)
            stop(writer)
            said = [look(3), look(1)]
            assert said == [None, f"the process that changes the graphs (process {writer}) has stood still for 3 s"]
            look(6)
            assert not failed
            look(1)
        assert isinstance(failed[0], Unavailable)
        assert "stood still and is replaced: nothing was changed; send it again" in failed[0].detail
        assert not there(writer)
        assert look(1) is None
        assert (store.version, len(set(store.quads()))) == (version, 400)
        store.update(SMALL)
        assert len(set(store.quads())) == 401
        # Nobody waits for this one, nor is anybody told.
        writer = pid_of_writer(store)
        stop(writer)
        look(11)
        assert store.writer is None
        assert not there(writer)
        store.update("INSERT DATA { <http://ex/s> <http://ex/p> 2 }")
        assert len(set(store.quads())) == 402


def test_an_update_whose_writer_stands_still_has_not_taken_too_long(tmp_path: Path) -> None:
    # The limit is also that of the last update, which has to start a process and may not fail on a busy machine.
    with closing(GraphStore(tmp_path / "store", update_seconds=2)) as store:
        store.update(SMALL)
        stop(pid_of_writer(store))
        with pytest.raises(Unavailable, match="stood still and is replaced: nothing was changed"):
            store.update(numbers())
        store.update(numbers())
        assert len(set(store.quads())) == 401


def test_the_end_of_a_store_does_not_wait_for_a_writer_that_stands_still(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    store.update(numbers())
    stop(pid_of_writer(store))
    store.close()
    with closing(GraphStore(tmp_path / "store")) as store:
        assert len(set(store.quads())) == 400


def test_an_update_is_not_told_that_the_writer_ended_before_it(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    store.update(numbers())
    writer = psutil.Process(pid_of_writer(store))
    writer.kill()
    psutil.wait_procs([writer])
    store.update(SMALL)
    assert len(set(store.quads())) == 401
    store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold a process to RLIMIT_DATA")
@pytest.mark.parametrize("used", [False, True])
def test_an_update_that_needs_more_memory_is_stopped_and_nothing_of_its_request_is_done(
    used: bool, tmp_path: Path
) -> None:
    with closing(GraphStore(tmp_path / "store")) as store:
        store.update(numbers())
    with closing(GraphStore(tmp_path / "store", update_memory=LIMIT)) as store:
        if used:
            store.update("CREATE GRAPH <http://ex/g>")
        before = (store.version, set(store.quads()))
        with pytest.raises(UpdateMemoryExceeded, match=r"64 MiB of memory.*--update-memory") as raised:
            store.update(f"{SMALL} ; {HUGE}")
        assert (raised.value.status, raised.value.problem()["limit"]) == (422, LIMIT)
        assert (store.version, set(store.quads())) == before
        store.update(SMALL)
        assert len(set(store.quads())) == 401


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold a process to RLIMIT_DATA")
def test_what_updates_before_have_left_in_memory_is_no_fault_of_the_next(tmp_path: Path) -> None:
    with closing(GraphStore(tmp_path / "store", update_memory=LIMIT)) as store:
        writers = set()
        for block in range(10):
            store.change(Change(_large(4 * 2**20, f"{block}-")))
            writers.add(store.writer)
        assert len(writers) > 1
        last = store.writer
        assert len(set(store.quads())) == 10 * (4 * 2**20 // 1000)
        assert store.writer == last  # what is read is not held to what an update may take


def test_reads_and_snapshots_do_not_wait_for_an_update(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store", update_seconds=60)
    store.update(numbers())
    writer = pid_of_writer(store)
    with running_away(store) as failed:
        store.backup(tmp_path / "snapshot")
        assert len(set(store.quads())) == 400
        assert not failed
        # Nor does the end of the store.
        store.close()
    assert "the endpoint is being stopped, nothing was changed" in str(failed[0])
    assert not there(writer)


def test_a_full_disk_changes_nothing_is_said_and_ends(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    store.update(SMALL)
    before = (store.version, set(store.quads()))
    writer = pid_of_writer(store)
    with files_of_at_most(4 * 2**20, writer):
        with pytest.raises(StorageFull, match="nothing was changed"):
            store.change(Change(_large(6 * 2**20)))
        assert not there(writer)
        assert (store.version, set(store.quads())) == before
        store.backup(tmp_path / "snapshot")
        with pytest.raises(StorageFull):
            store.update(SMALL)
        assert not store.recover()
        assert "File too large" in (store.full or "")
    assert store.recover()
    assert store.full is None
    store.update("INSERT DATA { <http://ex/s> <http://ex/p> 2 }")
    assert store.version > before[0]
    assert len(set(store.quads())) == 2
    store.close()
    assert len(set(GraphStore(tmp_path / "store").quads())) == 2


def test_a_snapshot_that_cannot_be_made_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    GraphStore(tmp_path / "store").close()
    links = [os.link]

    def full(*given: Path) -> None:
        if not links:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        links.pop()(*given)

    with closing(GraphStore(tmp_path / "store")) as store:
        monkeypatch.setattr("os.link", full)
        with pytest.raises(OSError, match="No space"):
            store.backup(tmp_path / "snapshot")
        assert not (tmp_path / "snapshot").exists()


@pytest.mark.parametrize("what", ["removed", "emptied", "replaced"])
def test_a_store_whose_directory_is_lost_is_changed_no_more_and_says_so(what: str, tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    store.update(SMALL)  # little: RocksDB has nothing to compact while its files are removed
    writer, version = pid_of_writer(store), store.version
    if what == "replaced":
        GraphStore(tmp_path / "another").close()  # whole, before RocksDB may write a file of the first one's into it
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    if what == "replaced":
        (tmp_path / "another").rename(tmp_path / "store")
    if what == "emptied":
        (tmp_path / "elsewhere").rename(tmp_path / "store")
        for file in (tmp_path / "store").iterdir():
            file.unlink(missing_ok=True)
    before = sorted((tmp_path / "store").glob("*"))
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"removed or replaced while the server runs.*backup"):
            store.update("INSERT DATA { <http://ex/s> <http://ex/p> 2 }")
    assert "restore them from a backup" in (store.lost or "")
    assert not there(writer)
    assert store.version == version
    store.close()
    # But for what RocksDB may have been writing at that moment, in a thread of its own.
    found = sorted((tmp_path / "store").glob("*"))
    assert [path for path in found if path.suffix != ".sst" or path in before] == before


def test_a_store_that_is_watched_says_that_it_is_lost_without_being_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endpoint.graphs.store.LOOK_SECONDS", 0.01)
    store = GraphStore(tmp_path / "store")
    store.watch()
    shutil.rmtree(tmp_path / "store")
    until(lambda: store.lost is not None)
    store.close()


def test_a_store_goes_on_when_there_is_room_whatever_else_was_wrong_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endpoint.graphs.store._RETRY_SECONDS", 0.01)
    failures = iter([OSError(errno.EIO, "Input/output error"), OSError(errno.EMFILE, "Too many open files")])

    def require_room(directory: Path) -> None:
        if (failure := next(failures, None)) is not None:
            raise failure

    monkeypatch.setattr("endpoint.graphs.store.require_room", require_room)
    store = GraphStore(tmp_path / "store")
    store._be_full(StorageFull("no room"))
    until(lambda: store.full is None)
    assert next(failures, None) is None
    store.update(SMALL)
    store.close()


def test_a_writer_is_looked_at_also_after_that_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endpoint.graphs.store.LOOK_SECONDS", 0.01)
    looks: list[None] = []

    def look() -> None:
        looks.append(None)
        raise RuntimeError("no process can be looked at")

    store = GraphStore(tmp_path / "store")
    monkeypatch.setattr(store, "look", look)
    store.watch()
    until(lambda: len(looks) > 2)
    store.close()


def test_what_is_left_of_an_answer_is_not_taken_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GraphStore(tmp_path / "store")
    store.update(numbers())
    store.update("INSERT DATA { GRAPH <http://ex/g> { <http://ex/s> <http://ex/p> 1 } }")
    receive = Connection.receive
    failures = iter([None, MemoryError()])

    def receiving(connection: Connection, *given: float | None) -> Frame:
        if (failure := next(failures, None)) is not None:
            raise failure
        return receive(connection, *given)

    before = set(store.quads())
    with monkeypatch.context() as patched:
        patched.setattr(Connection, "receive", receiving)
        with pytest.raises(MemoryError):
            store.quads()
    assert set(store.quads()) == before
    assert store.named_graphs() == ["http://ex/g"]
    store.close()


def test_a_start_without_room_ends_with_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    GraphStore(tmp_path / "store").close()
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=3 * 2**20))
    with pytest.raises(
        StorageFull, match=rf"the disk of {tmp_path}/store has 3.0 MiB left, and a start needs 16.\d MiB"
    ):
        GraphStore(tmp_path / "store")
    monkeypatch.undo()
    GraphStore(tmp_path / "store").close()


def test_what_was_changed_before_the_disk_was_full_can_be_read(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    store.update(numbers())
    writer = pid_of_writer(store)
    with files_of_at_most(4 * 2**20, writer), pytest.raises(StorageFull):
        store.change(Change(_large(6 * 2**20)))
    # No snapshot was made of it before.
    assert len(set(store.quads())) == 400
    store.close()


def test_a_store_that_is_forgotten_leaves_no_process() -> None:
    store = GraphStore()
    store.update(SMALL)
    writer = pid_of_writer(store)
    del store
    gc.collect()
    assert not there(writer)


def until(condition: Callable[[], bool]) -> None:
    """Wait for a thread of the store's, but not for ever."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline


def _large(size: int, block: str = "") -> str:
    triples = (f'<http://ex/{block}{n}> <http://ex/p> "{"x" * 1000}" .' for n in range(size // 1000))
    return f"INSERT DATA {{ {' '.join(triples)} }}"


@contextmanager
def running_away(store: GraphStore) -> Iterator[list[BaseException]]:
    """An update that its writer is at work on; what it raises. It is awaited at the end."""
    failed: list[BaseException] = []

    def change() -> None:
        try:
            store.update(RUNAWAY)
        except BaseException as error:
            failed.append(error)

    writer = psutil.Process(pid_of_writer(store))
    before = writer.cpu_times().user
    running = threading.Thread(target=change)
    running.start()
    while writer.cpu_times().user < before + 0.05:
        running.join(0.01)
    yield failed
    running.join()


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        time.sleep(0.001)


def pid_of_writer(store: GraphStore) -> int:
    assert store.writer is not None
    return store.writer


@contextmanager
def files_of_at_most(size: int, process: int) -> Iterator[None]:
    """As if the disk were full, without being root: this process, and one that it started, write no longer files."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    limited = (size, before[1])
    resource.prlimit(process, resource.RLIMIT_FSIZE, limited)
    resource.setrlimit(resource.RLIMIT_FSIZE, limited)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
