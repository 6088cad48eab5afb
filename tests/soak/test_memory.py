"""The soak's measure of growth: it tells what grows by a few MiB a minute from what only goes up and down."""

from __future__ import annotations

import pytest

from tests.soak.memory import STEADY, Samples, growth, limit


def samples(kind: str, processes: int, a_minute: float, *, seconds: int = 300, swing: float = 3.0) -> Samples:
    """Processes looked at every five seconds that grow so many MiB a minute while they go up and down."""
    return {
        (kind, number): [
            (float(second), 120 + a_minute * second / 60 + swing * ((second // 5 + number) % 7 - 3) / 3)
            for second in range(0, seconds, 5)
        ]
        for number in range(processes)
    }


@pytest.mark.parametrize(("a_minute", "grows"), [(0.0, False), (0.5, False), (1.8, True), (3.2, True)])
def test_a_steady_growth_is_told_from_what_goes_up_and_down(a_minute: float, grows: bool) -> None:
    (found,) = growth(samples("evaluator", 3, a_minute), 150, 300)
    assert found.processes == 3
    assert found.slope == pytest.approx(a_minute, abs=0.3)
    assert (found.slope > STEADY) == grows


def test_processes_that_did_not_live_throughout_tell_nothing() -> None:
    early = samples("worker", 2, 5.0, seconds=200)
    late = {("worker", 9): [(float(second), 50.0) for second in range(250, 300, 5)]}
    assert growth(early | late, 150, 300) == []


def test_a_process_that_is_warm_may_grow_by_less() -> None:
    assert limit("evaluator", 150) > limit("evaluator", 900) == STEADY
    assert limit("jvm", 1800) > STEADY
