from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from spark_backend.spark.processes import Pulse, SparkProcess, end_left_over, find_jvm, in_session, kill, trace_option
from spark_backend.spark.watchdog import Watchdog

PROGRAM = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
input()
"""


@contextmanager
def like_a_jvm(scratch: Path) -> Iterator[tuple[psutil.Process, psutil.Process]]:
    """A process that leads a session and has Spark's option in its command line, and its child."""
    command = [sys.executable, "-c", PROGRAM, trace_option(scratch)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as started:
        assert started.stdout is not None
        leader, child = psutil.Process(started.pid), psutil.Process(int(started.stdout.readline()))
        try:
            yield leader, child
        finally:
            kill([leader, child])


def test_what_a_killed_server_left_behind_is_ended_though_it_is_frozen_and_no_other_server_s(tmp_path: Path) -> None:
    with like_a_jvm(tmp_path / "ours") as (leader, child), like_a_jvm(tmp_path / "others") as (other, _):
        child.send_signal(signal.SIGSTOP)
        leader.send_signal(signal.SIGSTOP)
        assert find_jvm(tmp_path / "ours") == leader
        end_left_over(tmp_path / "ours")
        assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in (leader, child))
        assert find_jvm(tmp_path / "others") == other
        end_left_over(tmp_path / "nobody's")
        assert other.is_running()


def test_a_process_with_the_number_of_one_that_was_seen_and_has_ended_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with like_a_jvm(tmp_path) as (leader, child):
        ended = psutil.Process(leader.pid)
        ended._ident = (leader.pid, 0.0)  # began when the machine did
        monkeypatch.setattr(psutil, "_pmap", {leader.pid: ended})  # what process_iter remembers
        assert find_jvm(tmp_path) == leader
        end_left_over(tmp_path)
        assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in (leader, child))


def test_who_has_started_a_process_is_told_how_it_has_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "input()", trace_option(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as started:
        leader = psutil.Process(started.pid)
        leader.send_signal(signal.SIGSTOP)
        SparkProcess(leader, leader).kill()
        assert started.poll() == -signal.SIGKILL


def test_the_script_that_starts_the_jvm_is_found(tmp_path: Path) -> None:
    options = f"spark.driver.extraJavaOptions=-XX:+UseSerialGC {trace_option(tmp_path / 'scratch')} -Dx=y"
    command = [sys.executable, "-c", "input()", "--conf", options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as started:
        leader = psutil.Process(started.pid)
        assert find_jvm(tmp_path / "scratch") == leader
        assert find_jvm(tmp_path / "scr") is None
        kill([leader])


def test_a_session_s_processes_are_found_when_its_leader_has_ended(tmp_path: Path) -> None:
    with like_a_jvm(tmp_path) as (leader, child):
        assert set(in_session(leader)) == {leader, child}
        leader.kill()
        leader.wait()
        assert in_session(leader) == [child]


SOURCE = """
import sys
from pathlib import Path
from spark_backend.spark.turns import Turns
turns = Turns(Path(sys.argv[1]))
print("none", flush=True)
for line in sys.stdin:
    with turns.turn():
        print("begun", flush=True)
        sys.stdin.readline()
    print("none", flush=True)
"""


def test_a_source_that_is_in_the_middle_of_one_answer_for_long_is_ended_and_one_that_answers_often_is_not(
    tmp_path: Path,
) -> None:
    turns = tmp_path / "source.turns"
    command = [sys.executable, "-c", SOURCE, str(turns)]
    now = 0.0
    with (
        like_a_jvm(tmp_path) as (leader, worker),
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as started,
    ):
        source = psutil.Process(started.pid)
        processes = [SparkProcess(one, leader, turns=turns) for one in (source, worker)]
        watchdog = Watchdog(lambda: processes, 10, clock=lambda: now)

        def said() -> str:
            assert started.stdout is not None
            return started.stdout.readline().strip()

        def look() -> None:
            nonlocal now
            now += 1
            watchdog.look()

        def go_on() -> str:
            assert started.stdin is not None
            started.stdin.write("\n")
            return said()

        assert said() == "none"
        for _ in range(200):
            look()
        for _ in range(50):
            assert go_on() == "begun"
            look()
            look()
            assert go_on() == "none"
            look()
        assert go_on() == "begun"
        for _ in range(30):
            look()
        assert f"(process {source.pid}) has stood still for" in (watchdog.said or "")
        assert source.is_running()
        for _ in range(40):
            look()
        assert started.poll() == -signal.SIGKILL
        assert worker.is_running()


def test_the_jvm_alone_is_asked_for_signs_of_life_and_its_end_is_that_of_all(tmp_path: Path) -> None:
    asked = threading.Semaphore(0)
    with like_a_jvm(tmp_path) as (leader, child):
        pulse = Pulse(asked.acquire, pause=0)
        ours, theirs = SparkProcess(leader, leader, pulse), SparkProcess(child, leader, pulse)
        assert (ours.signs, theirs.signs) == (0, None)
        asked.release()
        deadline = time.monotonic() + 10
        while ours.signs != 1:
            assert time.monotonic() < deadline
        assert ours.name == f"Spark's JVM (process {leader.pid})"
        ours.kill()
        assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in (leader, child))


def test_a_process_that_is_stopped_is_frozen_until_it_goes_on(tmp_path: Path) -> None:
    with like_a_jvm(tmp_path) as (leader, child):
        worker = SparkProcess(child, leader)
        seen = [worker.frozen]
        for signal_sent, expected in ((signal.SIGSTOP, True), (signal.SIGCONT, False)):
            child.send_signal(signal_sent)
            deadline = time.monotonic() + 10
            while worker.frozen is not expected:
                assert time.monotonic() < deadline
            seen.append(worker.frozen)
        assert seen == [False, True, False]
