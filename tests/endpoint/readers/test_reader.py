"""The program of a reader, started and spoken to as the server does, or left behind by it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from endpoint.graphs.store import GraphStore
from endpoint.processes.child import ChildProcess
from endpoint.processes.frames import Frame, FrameDecoder, Kind
from endpoint.readers.exchange import Asked, QueryQuestion, Release
from endpoint.readers.process import PROGRAM
from tests.endpoint.readers.asking import LONG, RUNAWAY, numbers


class Child:
    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(20)
        with theirs:
            self.process = ChildProcess(PROGRAM, "sparql-reader", [theirs])
        self.decoder = FrameDecoder()

    def ask(self, snapshot: Path, text: str | None, seconds: float = 60) -> None:
        question = Release() if text is None else QueryQuestion(text, "text/csv")
        self.socket.sendall(Asked(question, str(snapshot), seconds, 2**30).encoded())

    def receive(self) -> Frame:
        while (received := self.decoder.next()) is None:
            data = self.socket.recv(10**6)
            assert data, "the reader has ended"
            self.decoder.feed(data)
        return received

    def end(self) -> None:
        self.socket.close()
        self.process.kill()
        self.process.wait(20)


@pytest.fixture
def child() -> Iterator[Child]:
    child = Child()
    assert child.receive().kind is Kind.READY
    yield child
    child.end()


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    store = GraphStore(tmp_path / "store")
    store.update(numbers())
    store.backup(tmp_path / "snapshot")
    store.close()
    return tmp_path / "snapshot"


@pytest.mark.parametrize("text", [None, RUNAWAY, LONG])
def test_it_ends_with_the_server_whatever_it_is_doing(child: Child, snapshot: Path, text: str | None) -> None:
    if text is not None:
        child.ask(snapshot, text)
    child.socket.close()
    child.process.wait(10)
    assert child.process.exit_code == 0


def test_it_ends_at_its_processor_time_when_nobody_ends_it(
    child: Child, snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some ten seconds of grace come on top; less than nothing is left of them here.
    child.ask(snapshot, RUNAWAY, -9.5)
    child.process.wait(20)
    assert child.process.exit_code == -signal.SIGPROF


def test_the_files_of_a_snapshot_are_closed_when_it_is_released(child: Child, snapshot: Path) -> None:
    def held() -> bool:
        files = Path(f"/proc/{child.process.pid}/fd")
        if not files.is_dir():
            pytest.skip("this system has no /proc: the system's, not a fault")
        return any(str(snapshot) in str(one.readlink()) for one in files.iterdir() if one.is_symlink())

    child.ask(snapshot, "SELECT * { ?s ?p 1 }")
    assert [child.receive().kind for _ in range(2)] == [Kind.HEADER, Kind.LAST]
    assert held()
    child.ask(snapshot, None)
    assert child.receive().kind is Kind.LAST
    assert not held()


def test_a_snapshot_that_cannot_be_opened_fails_for_the_log_and_ends_it(child: Child, tmp_path: Path) -> None:
    child.ask(tmp_path / "none", "ASK {}")
    failed = child.receive()
    assert failed.kind is Kind.FAILED
    assert b"Traceback" in failed.content
    child.process.wait(10)
    assert child.process.exit_code == 0


def test_it_loads_no_more_than_it_needs() -> None:
    script = "import sys, endpoint.readers.reader; print(*{'pyspark', 'starlette', 'asyncio'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert ended.stdout.strip() == b""
