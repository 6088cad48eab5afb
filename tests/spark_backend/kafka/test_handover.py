"""Parts go from the thread that has a batch of them to the one that stores them, each once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol.kafka import KafkaFailed
from spark_backend.ingest.parsed_file import ParsedFile
from spark_backend.kafka.feed import Handover, Part


def part(directory: Path, partition: int, first: int, next: int) -> Part:
    path = directory / f"{partition}-{first}"
    path.touch()
    return Part("t", partition, first, next, ParsedFile(next - first, 1, path))


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_batch_is_over_when_all_its_parts_are_stored(tmp_path: Path) -> None:
    handover = Handover({"t/0": 5, "t/1": 0}, {"t": b"id", "t/0": b"5", "t/1": b"0"})
    parts = [part(tmp_path, 1, 0, 2), part(tmp_path, 0, 7, 9), part(tmp_path, 0, 5, 7)]
    giving = in_thread(lambda: handover.give(parts))
    taken = []
    for _ in range(3):
        batch = handover.take(30)
        assert batch is not None
        assert handover.take(0) == batch  # until it is stored
        assert giving.is_alive()
        taken.append(dict(batch.positions))
        handover.stored()
    giving.join(30)
    assert not giving.is_alive()
    # What was not known before comes with the first.
    assert taken == [{"t": b"id", "t/0": b"7", "t/1": b"0"}, {"t/0": b"9"}, {"t/1": b"2"}]
    assert list(tmp_path.iterdir()) == []
    assert handover.take(0) is None


def test_what_was_stored_before_is_dropped(tmp_path: Path) -> None:
    handover = Handover({"t/0": 5}, {})
    handover.give([part(tmp_path, 0, 0, 5)])
    assert handover.take(0) is None
    assert list(tmp_path.iterdir()) == []


def test_messages_of_which_some_were_stored_are_not_stored_twice(tmp_path: Path) -> None:
    with pytest.raises(KafkaFailed, match="t/0: messages came from 4 on, not from 5"):
        Handover({"t/0": 5}, {}).give([part(tmp_path, 0, 4, 6)])


def test_whoever_gives_waits_no_more_once_nobody_takes(tmp_path: Path) -> None:
    handover = Handover({}, {})
    giving = in_thread(lambda: handover.give([part(tmp_path, 0, 0, 1)]))
    assert handover.take(30) is not None
    handover.close()
    giving.join(30)
    assert not giving.is_alive()
