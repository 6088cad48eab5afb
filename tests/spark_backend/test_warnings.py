"""What the backend warns of by itself: here of a clock that was set back."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.streams import StreamSettings, TimeKind
from tests.spark_backend.stepped_backend import SteppedBackend

HOUR = 3_600_000


@pytest.mark.parametrize("restarted", [False, True])
def test_health_says_which_streams_stand_still_while_the_clock_catches_up(tmp_path: Path, restarted: bool) -> None:
    stepped = SteppedBackend(tmp_path, clock=2 * HOUR)
    for name, time in (("a", TimeKind.ARRIVAL), ("ended", TimeKind.ARRIVAL), ("e", TimeKind.EVENT)):
        stepped.backend.create_stream(name, StreamSettings(f"http://ex/{name}", time))
        at = 4 * HOUR if time is TimeKind.EVENT else None
        stepped.backend.append(name, b"<http://ex/a> a <http://ex/T> .", "text/turtle", at)
    stepped.backend.end_stream("ended")
    stepped.backend._streams.tick()
    if restarted:
        stepped.close()
        stepped = SteppedBackend(tmp_path, clock=2 * HOUR)
    for set_by, seconds in ((0, None), (-HOUR, 3600), (-11_000, 11), (-9_000, None)):
        stepped.set_by = set_by
        stepped.backend._warnings.look()
        told = stepped.backend.health().warnings
        if seconds is None:
            assert not told
        else:
            (warning,) = told
            assert "clock was set back" in warning
            assert f": 1, for longest a for {seconds} s" in warning
    stepped.close()
