"""When facts report, as far as timelines know it: what elements hold says the rest (docs/model.md, "Facts")."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from protocol.windows.instants import evaluation_instants, next_instant, reported_by_time
from protocol.windows.spec import (
    DEFAULT_REPORT,
    FactsWindow,
    LandmarkWindow,
    Report,
    Strategy,
    StreamWindow,
    TimeWindow,
    WindowSpec,
    decided_by_content,
)
from protocol.windows.timeline import END, Timeline

ON_CHANGE = FactsWindow(report=Report(frozenset({Strategy.ON_CONTENT_CHANGE})), definition="d")
EVERY_10 = FactsWindow(report=Report(frozenset({Strategy.PERIODIC}), 10), definition="d")


def over(window: WindowSpec, stream: str = "a") -> StreamWindow:
    return StreamWindow(stream, window, "g", False)


def timeline(times: Sequence[int], said: int | None = None, *, ended: bool = True) -> Timeline:
    made = Timeline(counting=True)
    made.extend(times, [0] * len(times), [1] * len(times))
    for watermark in [*([] if said is None else [said]), *([END] if ended else [])]:
        made.advance(watermark)
    return made


@pytest.mark.parametrize("window", [ON_CHANGE, EVERY_10])
def test_an_evaluation_says_whether_facts_report(window: FactsWindow) -> None:
    assert decided_by_content(window)


def test_periodically_there_may_be_instants_up_to_the_first_one_after_the_last_element() -> None:
    windows = [over(EVERY_10)]
    for last, instants in ((38, [10, 20, 30, 40]), (40, [10, 20, 30, 40, 50])):
        timelines = {"a": timeline([5, last])}
        assert evaluation_instants(windows, timelines, None, END, limit=None) == instants
        assert next_instant(windows, timelines, instants[-1], END) is None


@pytest.mark.parametrize("ended", [True, False])
def test_what_a_watermark_had_reached_is_an_instant_whatever_facts_do(*, ended: bool) -> None:
    timelines = {"a": timeline([5, 38], 20, ended=ended)}
    assert [t for t in range(60) if reported_by_time([over(EVERY_10)], timelines, t)] == [0, 10, 20]
    assert not any(reported_by_time([over(ON_CHANGE)], timelines, t) for t in range(60))


def test_of_several_streams_the_one_that_came_furthest_decides_what_was_before_the_end() -> None:
    timelines = {"a": timeline([5], 7), "b": timeline([5, 38], 20)}
    assert reported_by_time([over(EVERY_10), over(EVERY_10, "b")], timelines, 20)
    assert not reported_by_time([over(EVERY_10), over(EVERY_10, "b")], timelines, 30)


def test_windows_beside_them_end_with_an_instant_of_theirs() -> None:
    """The window holds something up to 40, and is asked for every ten."""
    window = TimeWindow(10, 5, -10, Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.PERIODIC}), 10))
    windows, timelines = [over(EVERY_10), over(window)], {"a": timeline([5, 33], 12)}
    assert evaluation_instants(windows, timelines, None, END, limit=None) == [10, 20, 30, 40, 50]
    assert [t for t in range(1, 60) if reported_by_time(windows, timelines, t)] == [10, 20, 30, 40, 50]
    apart = TimeWindow(10, 10, -7, Report(frozenset({Strategy.PERIODIC}), 10))
    windows = [over(EVERY_10), over(apart)]
    assert evaluation_instants(windows, timelines, None, END, limit=None) == [10, 13, 20, 23, 30, 33, 40, 43]
    assert [t for t in range(5, 44) if reported_by_time(windows, timelines, t)] == [10, 13, 23, 33, 43]


def test_facts_that_report_on_change_ask_for_no_instant_after_the_last_element() -> None:
    windows = [over(ON_CHANGE), over(LandmarkWindow(0, 10, 0, DEFAULT_REPORT))]
    assert evaluation_instants(windows, {"a": timeline([5, 20])}, None, END, limit=None) == [5, 10, 20]
