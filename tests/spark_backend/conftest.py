"""Backends without Spark that tests open."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from protocol.streams import StreamSettings
from spark_backend.log.writer import StreamLog
from tests.spark_backend.engine_side import EX
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., SteppedBackend]]:
    """Opens a backend over the same directory, again and again; a second closes the first."""
    there: list[SteppedBackend] = []

    def open_backend(graphs: Graphs | None = None, *, offset: bool = True) -> SteppedBackend:
        before = there[-1] if there else None
        if before is not None:
            before.close()
        backend = SteppedBackend(tmp_path, graphs or (None if before is None else before.graphs))
        if before is not None and offset:
            backend.pipeline.offset = json.loads(json.dumps(before.pipeline.offset))
        there.append(backend)
        return backend

    yield open_backend
    there[-1].close()


@pytest.fixture
def stepped(opened: Callable[..., SteppedBackend]) -> SteppedBackend:
    backend = opened()
    backend.event_stream("s", EX + "s")
    return backend


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new segment every few elements, so that old ones can go."""
    real = StreamLog.open

    def opened_small(
        directory: Path, settings: StreamSettings, clock: Callable[[], int], *, known: bool = False
    ) -> StreamLog:
        return real(directory, settings, clock, segment_bytes=4096, known=known)

    monkeypatch.setattr(StreamLog, "open", opened_small)
