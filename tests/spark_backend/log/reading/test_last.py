"""How far back the last triples and elements of a log reach, against looking at all of it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.time import BEFORE_ALL
from protocol.windows.spec import Unit
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import event_stream, request, triple

elements = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    elements,
    st.integers(0, 10),
    st.integers(1, 6),
    st.sampled_from(Unit),
    st.integers(0, 35),
    st.sampled_from([200, 10**6]),
)
def test_the_last_ones_are_in_a_scan_from_there_on(
    elements: list[tuple[int, int]], lateness: int, count: int, unit: Unit, upto: int, segment: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        log = StreamLog.open(Path(directory) / "s", event_stream(lateness), lambda: 0, segment_bytes=segment)
        seen, watermark = [], BEFORE_ALL
        for time, triples in elements:
            log.append(request((time, [triple(str(n)) for n in range(triples)])))
            seen.append(watermark)
            watermark = max(watermark, time - lateness - 1)
        reader = LogReader(Path(directory) / "s")
        there = sorted(
            time
            for (time, triples), met in zip(elements, seen, strict=True)
            for _ in range(triples if unit is Unit.TRIPLES else min(triples, 1))
            if time <= upto and met < upto
        )
        found = reader.last_from(count, upto, unit)
        assert found == (there[-count] - 1 if len(there) >= count else BEFORE_ALL)
        reader.close()
        log.close()
