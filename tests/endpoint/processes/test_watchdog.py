from __future__ import annotations

from dataclasses import dataclass

from endpoint.processes.watchdog import Watchdog


@dataclass(eq=False)
class Process:
    pid: int
    frozen: bool = False


class Watch:
    """A watchdog that looks once a second of a clock that is given."""

    def __init__(self, *processes: Process) -> None:
        self._now = 0.0
        self._processes = processes
        self._watchdog: Watchdog[Process] = Watchdog("a reader", 10, lambda: self._now)

    def look(self, seconds: float = 1) -> tuple[str | None, list[Process]]:
        self._now += seconds
        too_long = self._watchdog.look(self._processes)
        return self._watchdog.said, too_long


def test_one_that_is_stopped_is_said_after_three_tenths_of_its_time_and_ended_at_its_end_and_no_other_is() -> None:
    frozen = Process(7, frozen=True)
    watch = Watch(Process(6), frozen)
    told = [watch.look() for _ in range(11)]
    # The first look begins to count.
    assert [said for said, _ in told] == [None] * 3 + [
        f"a reader (process 7) has stood still for {seconds} s" for seconds in range(3, 11)
    ]
    assert [too_long for _, too_long in told] == [[]] * 10 + [[frozen]]


def test_one_that_wakes_in_time_is_left_alone_and_nothing_said_of_it_any_more() -> None:
    frozen = Process(7)
    watch = Watch(frozen)
    for second in range(100):
        frozen.frozen = second % 10 != 0
        said, too_long = watch.look()
        assert not too_long
        assert (said is not None) is (second % 10 > 3)


def test_a_machine_that_was_suspended_is_no_reason_to_end_anything() -> None:
    watch = Watch(Process(7, frozen=True), Process(8, frozen=True))
    watch.look()
    assert watch.look(3600) == (None, [])
    said, _ = watch.look()
    assert said == "a reader (process 7) has stood still for 3 s; a reader (process 8) has stood still for 3 s"
