"""Processes that are forked from a template: started, ended, and what becomes of them when it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from endpoint.processes import child
from endpoint.processes.child import ChildProcess

PROGRAM = "tests.endpoint.processes.programs"
Start = Callable[..., tuple[ChildProcess, socket.socket]]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[tuple[ChildProcess, socket.socket]] = []

    def start(*arguments: str, program: str = PROGRAM) -> tuple[ChildProcess, socket.socket]:
        ours, theirs = socket.socketpair()
        ours.settimeout(20)
        with theirs:
            started.append((ChildProcess(program, "sparql-test", [theirs], *arguments), ours))
        return started[-1]

    yield start
    for process, ours in started:
        process.kill()
        process.wait(20)
        ours.close()
        assert not process.alive


@pytest.fixture
def template(start: Start) -> psutil.Process:
    """The template that the next one is forked from, if it is still there then."""
    process, _ = start("sleep")
    parent = psutil.Process(process.pid).parent()
    assert parent is not None
    assert parent.name() == "sparql-template"
    return parent


def answers(ours: socket.socket) -> bool:
    ours.sendall(b"hello")
    return ours.recv(100) == b"hello"


def test_it_answers_and_ends_with_its_first_connection(start: Start) -> None:
    process, ours = start("echo")
    assert answers(ours)
    process.wait(0.01)
    assert process.alive
    assert psutil.Process(process.pid).name() == "sparql-test"
    ours.close()
    process.wait(20)
    assert process.exit_code == 0
    assert process.how_it_ended(5) == "ended with code 0"


@pytest.mark.parametrize(
    ("arguments", "program", "code", "how"),
    [
        (["abort"], PROGRAM, -signal.SIGABRT, "was ended by SIGABRT"),
        (["fail", "because"], PROGRAM, 1, "ended with code 1"),
        ([], "tests.endpoint.processes.nowhere", 1, "ended with code 1"),
    ],
)
def test_how_it_ended_is_said(start: Start, arguments: list[str], program: str, code: int, how: str) -> None:
    process, _ = start(*arguments, program=program)
    process.wait(20)
    assert (process.exit_code, process.how_it_ended(5)) == (code, how)
    assert not process.ended_from_outside


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGTERM])
def test_that_others_ended_it_is_known_also_when_the_template_says_so_late(
    start: Start, template: psutil.Process, which: signal.Signals
) -> None:
    process, ours = start("sleep")
    template.suspend()
    later = threading.Timer(0.3, template.resume)
    later.start()
    os.kill(process.pid, which)
    assert ours.recv(1) == b""
    assert process.how_it_ended(5) == f"was ended by {which.name}"
    assert process.ended_from_outside
    later.join()


def test_it_is_killed_whatever_it_does(start: Start) -> None:
    process, ours = start("sleep")
    process.wait(0.01)
    assert process.alive
    process.kill()
    process.wait(20)
    assert process.exit_code == -signal.SIGKILL
    assert ours.recv(1) == b""
    # It is no zombie, and another kill hits nobody.
    assert not psutil.pid_exists(process.pid)
    process.kill()


def test_one_that_stands_still_is_seen_and_ended(start: Start) -> None:
    process, _ = start("stop")
    while not process.stopped:
        assert process.alive
    process.kill()
    process.wait(20)
    assert process.exit_code == -signal.SIGKILL


def test_it_begins_where_the_server_is_now(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for directory in (tmp_path, tmp_path.parent):
        monkeypatch.chdir(directory)
        assert start("directory")[1].recv(1000).decode() == str(directory)


def test_two_of_one_template_draw_different_numbers(start: Start) -> None:
    first, second = (start("chance")[1].recv(1000).split() for _ in range(2))
    assert len(first) == len(second) == 3
    assert not set(first) & set(second)


def test_the_template_has_one_thread_and_all_that_its_children_need(template: psutil.Process) -> None:
    assert template.num_threads() == 1
    files = {mapped.path for mapped in template.memory_maps()}
    assert any("pyoxigraph" in path for path in files)


def test_children_outlive_the_template_and_others_come_from_a_new_one(start: Start, template: psutil.Process) -> None:
    process, ours = start("echo")
    template.kill()
    assert answers(ours)
    other, to_other = start("echo")
    assert answers(to_other)
    assert psutil.Process(other.pid).parent() != template
    assert process.alive
    assert answers(ours)
    process.kill()
    process.wait(20)
    # Who would have known how is gone.
    assert process.exit_code is None
    assert process.how_it_ended(5) == "ended"
    assert process.ended_from_outside


def test_a_template_that_stands_still_is_replaced(
    start: Start, template: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "_FORK_SECONDS", 0.2)
    template.suspend()
    _, ours = start("echo")
    assert answers(ours)
    assert not template.is_running()


def test_it_has_no_descriptors_of_others(start: Start) -> None:
    (_, one), (second, other) = start("echo"), start("echo")
    assert answers(one)
    assert answers(other)
    if sys.platform != "linux":
        pytest.skip("this system has no /proc: the system's, not a fault")
    held = [link.readlink() for link in Path(f"/proc/{second.pid}/fd").iterdir()]
    assert len([one for one in held if str(one).startswith(("socket:", "pipe:"))]) == 1


def test_a_fork_of_the_server_has_a_template_of_its_own_and_ends_nobody_elses() -> None:
    script = f"""
import os, socket
from endpoint.processes.child import ChildProcess

def answers():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = ChildProcess("{PROGRAM}", "sparql-test", [theirs], "echo")
        theirs.close()
        ours.sendall(b"x")
        said = ours.recv(1)
        ours.close()
        process.wait()
        return said == b"x"

assert answers()
if (pid := os.fork()) == 0:
    raise SystemExit(0 if answers() else 3)
assert os.waitpid(pid, 0)[1] == 0
assert answers()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
