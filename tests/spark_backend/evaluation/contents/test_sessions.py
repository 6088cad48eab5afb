"""Sessions as they are read from a log, against the definition, and how far back that takes reading."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.time import Instant
from protocol.windows.spec import Partition, SessionWindow, TriplePart
from spark_backend.evaluation.contents.sessions import closing_sessions
from spark_backend.log.reader import LogReader
from tests.spark_backend.evaluation.evaluated_log import Element, Site

P = "<http://ex/p>"
BY_SUBJECT = Partition((TriplePart.SUBJECT,))

_subjects = st.sampled_from(["<http://ex/a>", "<http://ex/b>"])
_triples = st.frozensets(st.builds(lambda s, o: (s, P, f'"{o}"'), _subjects, st.integers(0, 3)), max_size=2).map(sorted)
_requests = st.lists(st.lists(st.tuples(st.integers(0, 40), _triples), min_size=1, max_size=5), max_size=6)
_instants = st.lists(st.integers(0, 60), min_size=1, max_size=6, unique=True).map(sorted)


Timed = tuple[Instant, str, str]
"""A time, a subject and an object."""


def found(reader: LogReader, window: SessionWindow, instants: Sequence[Instant]) -> list[list[Timed]]:
    rows, held = closing_sessions(reader, window, instants)
    told = list(zip(rows["time"].to_pylist(), rows["s"].to_pylist(), rows["o"].to_pylist(), strict=True))
    return [sorted(told[number] for number in numbers) for numbers in held]


def by_definition(reader: LogReader, window: SessionWindow, t: Instant) -> list[Timed]:
    rows = reader.scan(-100, 200, 1_000).to_pylist()
    there = [row for row in rows if row["time"] <= t and row["seen"] < t]
    content = []
    for key in {row["s"] if window.partition else None for row in there}:
        of_key = sorted((row for row in there if key in (None, row["s"])), key=lambda row: row["time"])
        session: list[Timed] = []
        for row in of_key:
            if session and row["time"] - session[-1][0] > window.gap:
                session = []
            session.append((row["time"], row["s"], row["o"]))
        if session[-1][0] + window.gap == t:
            content += session
    return sorted(content)


@given(_requests, st.integers(0, 20), st.integers(1, 15), st.booleans(), _instants, st.integers(-60, 0))
@settings(max_examples=80, deadline=None)
def test_sessions_are_those_of_the_definition(
    requests: list[list[Element]], lateness: int, gap: int, partitioned: bool, instants: list[int], base: int
) -> None:
    # Times may be before 1970, and around it.
    requests = [[(base + time, triples) for time, triples in request] for request in requests]
    instants = [base + t for t in instants]
    window = SessionWindow(gap, partition=BY_SUBJECT if partitioned else None)
    with tempfile.TemporaryDirectory() as directory:
        site = Site(Path(directory), lateness=lateness)
        for request in requests:
            site.append(request)
        reader = LogReader(site.layout.streams / "s")
        assert found(reader, window, instants) == [by_definition(reader, window, t) for t in instants]
        site.close()


@pytest.mark.parametrize("closes", [-2, -1, 0])
def test_a_session_closes_once_also_where_that_is_just_before_1970(tmp_path: Path, closes: int) -> None:
    site = Site(tmp_path, lateness=0)
    site.append([(closes - 5, [("<http://ex/a>", P, '"1"')])])
    reader = LogReader(site.layout.streams / "s")
    held = [[], [(closes - 5, "<http://ex/a>", '"1"')], []]
    assert found(reader, SessionWindow(5), [closes - 1, closes, closes + 1]) == held
    assert found(reader, SessionWindow(5), [closes - 2, closes - 1]) == [[], []]
    site.close()


def test_what_came_late_may_be_the_beginning(tmp_path: Path) -> None:
    site = Site(tmp_path, lateness=0)
    site.append([(5, [("<http://ex/a>", P, '"1"')])])
    site.append([(0, [("<http://ex/a>", P, '"2"')])])
    reader = LogReader(site.layout.streams / "s")
    assert found(reader, SessionWindow(5), [10]) == [[(0, "<http://ex/a>", '"2"'), (5, "<http://ex/a>", '"1"')]]
    site.close()


def test_a_long_session_is_read_from_its_beginning_and_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path)
    site.append(
        [(time, [("<http://ex/a>", P, f'"{time}"')]) for time in [*range(0, 5_000, 10), *range(6_000, 7_000, 10)]]
    )
    read: list[tuple[Instant, Instant]] = []
    scan = LogReader.scan

    def noted(self: LogReader, after: Instant, upto: Instant, at: Instant | None = None) -> object:
        read.append((after, upto))
        return scan(self, after, upto, at)

    monkeypatch.setattr(LogReader, "scan", noted)
    reader = LogReader(site.layout.streams / "s")
    (session,) = found(reader, SessionWindow(20), [7_010])
    assert [session[0][0], session[-1][0], len(session)] == [6_000, 6_990, 100]
    assert read[-1][0] > 4_990 - 1_024
    assert len(read) < 8
    site.close()
