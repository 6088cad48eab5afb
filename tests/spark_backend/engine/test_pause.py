"""One of two streams pauses for an hour of event time and goes on: no window is lost, and the work is that of the data.

docs/model.md, "Windows": every window closes, in order, however far time jumps. Work is counted, not timed: questions
to timelines and rows read from the logs, for the evaluations there are to be and not for the milliseconds between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from protocol.windows.timeline import Timeline
from spark_backend.log.reader import LogReader
from tests.spark_backend.stepped_backend import SteppedBackend

SECOND, HOUR = 1_000, 3_600_000
BEFORE = range(SECOND, 61 * SECOND, SECOND)
AFTER = range(HOUR + 60 * SECOND, HOUR + 120 * SECOND, SECOND)
A = [*BEFORE, *AFTER]
"""One element a second for a minute, an hour of nothing, and another minute."""
B = list(range(10 * SECOND, HOUR + 130 * SECOND, 10 * SECOND))
"""One every ten seconds all the time."""
QUESTIONS = ("latest", "non_empty", "next_entry", "previous_entry", "next_change")


class Work:
    """``asked``: questions to timelines; ``rows``: read from logs; since the last ``clear``."""

    def __init__(self) -> None:
        self.asked = self.rows = 0

    def clear(self) -> None:
        self.asked = self.rows = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    done = Work()

    def counted(question: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*arguments: Any) -> Any:
            done.asked += 1
            return question(*arguments)

        return ask

    for name in QUESTIONS:
        monkeypatch.setattr(Timeline, name, counted(getattr(Timeline, name)))
    scan = LogReader.scan

    def scanned(reader: LogReader, after: int, upto: int, at: int | None = None) -> pa.Table:
        table = scan(reader, after, upto, at)
        done.rows += table.num_rows
        return table

    monkeypatch.setattr(LogReader, "scan", scanned)
    return done


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    backend = SteppedBackend(tmp_path)
    backend.event_stream("a", "http://ex/a")
    backend.event_stream("b", "http://ex/b")
    yield backend
    backend.close()


def send(stepped: SteppedBackend, name: str, times: list[int]) -> None:
    body = "# @message\n".join(
        f'<http://ex/{name}{time}> <http://www.w3.org/ns/sosa/resultTime> "{time}"'
        "^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
        for time in times
    )
    stepped.backend.append(name, body.encode(), "application/n-triples; messages=rdfm", None)


def query(a: str, b: str) -> str:
    return (
        f"SELECT ?w (COUNT(*) AS ?n) FROM NAMED WINDOW <w:a> ON <http://ex/a> [{a}] "
        f"FROM NAMED WINDOW <w:b> ON <http://ex/b> [{b}] WHERE {{ WINDOW ?w {{ ?s ?p ?o }} }} GROUP BY ?w"
    )


def counts(document: bytes) -> dict[str, int]:
    bindings = json.loads(document)["results"]["bindings"]
    return {binding["w"]["value"]: int(binding["n"]["value"]) for binding in bindings}


def content(times: list[int], t: int, width: int, step: int) -> int:
    """How many elements the present window has at t: of those that close at multiples of the step, the next to."""
    close = -(-t // step) * step
    return sum(close - width < time <= t for time in times)


def closes(times: list[int], width: int, step: int) -> set[int]:
    """When windows that have content close."""
    return {c for c in range(step, times[-1] + width + step, step) if content(times, c, width, step)}


@dataclass(frozen=True)
class Case:
    """Width and step of the windows over the two streams, what is written behind them, and the instants by hand."""

    a: tuple[int, int]
    b: tuple[int, int]
    report_a: str
    report_b: str
    instants: set[int]

    @property
    def query(self) -> str:
        windows = [
            f"FROM NAMED WINDOW <w:{name}> ON <http://ex/{name}> [RANGE {width}ms STEP {step}ms {report}]"
            for name, (width, step), report in (("a", self.a, self.report_a), ("b", self.b, self.report_b))
        ]
        return f"SELECT ?w (COUNT(*) AS ?n) {' '.join(windows)} WHERE {{ WINDOW ?w {{ ?s ?p ?o }} }} GROUP BY ?w"


_A, _B = (10_000, 1_000), (20_000, 10_000)
_USUAL = "REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT"
_CHANGE = "REPORT ON_CONTENT_CHANGE"
CASES = {
    "both decide": Case(_A, _B, "", "", closes(A, *_A) | closes(B, *_B)),
    "the paused one decides": Case(_A, _B, _USUAL, "", closes(A, *_A)),
    "the other one decides": Case(_A, _B, "", _USUAL, closes(B, *_B)),
    "continuous, on content change": Case((10_000, 1), (20_000, 1), _CHANGE, _CHANGE, {*A, *B}),
    "each millisecond with content": Case(
        (3, 1), (2, 1), "", "", {t + i for t in A for i in range(3)} | {t + i for t in B for i in range(2)}
    ),
    "periodic, with content": Case(_A, _B, "REPORT PERIODIC 1s NON_EMPTY_CONTENT", "", closes(A, *_A)),
    "the empty ones, too": Case(_A, _B, "REPORT ON_WINDOW_CLOSE", "", set(range(1_000, B[-1] + 11_001, 1_000))),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_no_window_is_lost_and_work_is_that_of_the_data(stepped: SteppedBackend, work: Work, case: Case) -> None:
    stepped.register("q", case.query)
    send(stepped, "b", B[:6])
    send(stepped, "a", list(BEFORE))
    stepped.run()
    before = set(stepped.answers("q"))
    assert before == {t for t in case.instants if t < BEFORE[-1]}
    work.clear()
    requests = range(6, len(B), 40)
    for begin in requests:
        send(stepped, "b", B[begin : begin + 40])
        stepped.run()
    assert set(stepped.answers("q")) == before, "evaluated while a stream is awaited"
    assert work.asked <= 10 * len(requests), "the pause is being waited for, not looked through"
    assert work.rows == 0
    work.clear()
    send(stepped, "a", list(AFTER))
    stepped.run()
    for name in "ab":
        stepped.backend.end_stream(name)
    stepped.run()
    told = stepped.answers("q")
    assert list(told) == sorted(case.instants)
    for instant, document in told.items():
        wanted = {"w:a": content(A, instant, *case.a), "w:b": content(B, instant, *case.b)}
        assert counts(document) == {name: count for name, count in wanted.items() if count}, instant
    evaluations = len(told) - len(before)
    assert work.asked <= 3 * (evaluations + len(A) + len(B))
    # A batch reads what its windows span, once.
    assert work.rows <= len(A) + len(B) + 40 * len(stepped.pipeline.batches)
