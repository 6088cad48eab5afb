"""Statistics of a stream are those of some of its triples, and counted again when there are twice as many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_backend.compiler.statistics import Occurrences
from spark_backend.streams.statistics import StreamStatistics
from tests.spark_backend.stepped_backend import SteppedBackend

EX = "http://ex/"
P, Q = f"<{EX}p>", f"<{EX}q>"


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    backend = SteppedBackend(tmp_path)
    for name in ("s", "other"):
        backend.event_stream(name, EX + name)
    yield backend
    backend.close()


@pytest.fixture
def statistics(stepped: SteppedBackend) -> StreamStatistics:
    return StreamStatistics(stepped.backend._layout.streams)


def log(stepped: SteppedBackend, name: str) -> str:
    return stepped.backend._streams.log_of(name)


def test_a_stream_of_which_nothing_is_known_has_none(stepped: SteppedBackend, statistics: StreamStatistics) -> None:
    assert statistics.of([log(stepped, "s")]) is None
    assert statistics.of(["gone"]) is None
    assert statistics.of([]) is None


def test_triples_subjects_and_objects_are_counted_by_predicate(
    stepped: SteppedBackend, statistics: StreamStatistics
) -> None:
    stepped.post("s", f"<{EX}a> {P} 1, 2 ; {Q} 1 . <{EX}b> {P} 1 .", 1)
    stepped.post("other", f"<{EX}a> {P} 7 .", 1)
    found = statistics.of([log(stepped, "s"), log(stepped, "other"), log(stepped, "s")])
    assert found is not None
    assert found.triples == 5
    assert found.predicates == {P: Occurrences(4, 3, 3), Q: Occurrences(1, 1, 1)}


def test_they_are_counted_again_once_there_are_twice_the_elements(
    stepped: SteppedBackend, statistics: StreamStatistics
) -> None:
    def triples() -> int:
        found = statistics.of([log(stepped, "s")])
        assert found is not None
        return found.triples

    for t in (1, 2):
        stepped.post("s", f"<{EX}a> {P} {t} .", t)
    assert triples() == 2
    stepped.post("s", f"<{EX}a> {P} 3 .", 3)
    assert triples() == 2
    stepped.post("s", f"<{EX}a> {P} 4 .", 4)
    assert triples() == 4


def test_of_a_long_log_a_sample_is_looked_at(stepped: SteppedBackend, statistics: StreamStatistics) -> None:
    for t in range(100):
        stepped.post("s", " ".join(f"<{EX}a{n}> {P} {t} ." for n in range(100)), t)
    found = statistics.of([log(stepped, "s")])
    assert found is not None
    assert 1000 <= found.triples <= 4096
