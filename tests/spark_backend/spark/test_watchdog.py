from __future__ import annotations

from dataclasses import dataclass

import pytest

from spark_backend.spark.watchdog import SILENT_SECONDS, Watchdog


@dataclass(eq=False)
class Process:
    name: str
    frozen: bool = False
    signs: int | None = None
    killed: int = 0

    def kill(self) -> None:
        self.killed += 1


class Watch:
    """A watchdog over processes that are said, which looks once a second of a clock that is given."""

    def __init__(self, *processes: Process) -> None:
        self.now = 0.0
        self.watchdog = Watchdog(lambda: processes, 10, clock=lambda: self.now)

    def look(self, seconds: float = 1) -> str | None:
        self.now += seconds
        self.watchdog.look()
        return self.watchdog.said


def test_a_process_that_is_stopped_is_said_and_then_ended_and_no_other_is() -> None:
    frozen, other = Process("a worker", frozen=True), Process("the JVM", signs=0)
    watch = Watch(other, frozen)
    said = []
    while not frozen.killed:
        other.signs = (other.signs or 0) + 1
        said.append(watch.look())
    assert (frozen.killed, other.killed) == (1, 0)
    # The first look begins to count.
    assert said[:4] == [None, None, None, "a worker has stood still for 3 s"]
    assert len(said) == 1 + 10


def test_a_process_that_wakes_in_time_is_left_alone() -> None:
    frozen = Process("a worker", frozen=True)
    watch = Watch(frozen)
    for second in range(100):
        frozen.frozen = second % 10 != 0
        watch.look()
    frozen.frozen = False
    assert watch.look() is None
    assert not frozen.killed


def test_a_machine_that_was_suspended_or_a_server_that_was_stopped_is_no_reason_to_end_anything() -> None:
    frozen, busy = Process("a worker", frozen=True), Process("the JVM", signs=7)
    watch = Watch(frozen, busy)
    watch.look()
    watch.look(3600)
    assert not frozen.killed
    assert not busy.killed


@pytest.mark.parametrize("pause", [1, 5, 30])
def test_a_jvm_that_answers_now_and_then_is_busy_and_one_that_does_not_is_ended(pause: int) -> None:
    jvm = Process("the JVM", signs=0)
    watch = Watch(jvm)
    for second in range(300):
        jvm.signs = second // pause
        watch.look()
    killed = [jvm.killed]
    for _ in range(int(SILENT_SECONDS) + 2):
        watch.look()
        killed.append(jvm.killed)
    assert killed[0] == 0
    assert killed[-1] > 0


def test_who_gives_no_signs_is_asked_for_none() -> None:
    worker = Process("a worker")
    watch = Watch(worker)
    for _ in range(200):
        assert watch.look() is None
    assert not worker.killed
