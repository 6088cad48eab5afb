from __future__ import annotations

from pathlib import Path

import pytest

from protocol.windows.spec import Report, Strategy, StreamWindow, TimeWindow
from protocol.windows.timeline import Timeline
from spark_backend.log.writer import StreamLog
from spark_backend.streams.timelines import Timelines
from tests.spark_backend.log.log_oracle import event_stream, request, triple

CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))
CHANGES = StreamWindow("s", TimeWindow(10, 10, -10, CHANGE), "w", declared=True)


def append(log: StreamLog, *times: int) -> None:
    for time in times:
        log.append(request((time, [triple(str(time))])))


def test_what_retention_takes_from_a_log_leaves_its_timeline_while_it_is_read(tmp_path: Path) -> None:
    log = StreamLog.open(tmp_path / "s", event_stream(retention=100), lambda: 0, segment_bytes=1)
    timelines = Timelines(tmp_path)
    timelines.follow([], [CHANGES])
    append(log, 10, 20, 110)
    timelines.refresh()
    assert timelines.instants([CHANGES], None, 1000, None) == [10, 20, 110]
    append(log, 112, 250)
    timelines.refresh()
    assert timelines.instants([CHANGES], None, 1000, None) == [250]
    anew = Timelines(tmp_path)
    anew.follow([], [CHANGES])
    assert anew.instants([CHANGES], None, 1000, None) == [250]
    log.close()


@pytest.mark.parametrize("opened", [True, False])
def test_elements_whose_taking_was_interrupted_are_taken_later(
    opened: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = StreamLog.open(tmp_path / "s", event_stream(), lambda: 0)
    timelines = Timelines(tmp_path)
    if opened:
        timelines.follow([], [CHANGES])
    append(log, 10, 20)

    def interrupted(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(Timeline, "extend", interrupted)
        with pytest.raises(MemoryError):
            timelines.refresh() if opened else timelines.follow([], [CHANGES])
    timelines.refresh()
    assert timelines.instants([CHANGES], None, 1000, None) == [10, 20]
    log.close()
