"""How long an instant takes of a SEQ of three over a million occurrences.

Orders of 100 shops are placed, paid and sent: each element is one triple, and each third one ends a match.
``python -m tests.benchmarks.windows.event_patterns [OCCURRENCES]``.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.streams import StreamSettings, TimeKind
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.layout import Layout
from spark_backend.log.format.columns import REQUEST
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry

_SHOPS, _AT_ONCE, _INSTANTS = 100, 50_000, 30
_QUERY = """PREFIX : <http://ex/>
SELECT ?shop ?order (getDURATION() AS ?time)
WHERE { STREAM :s WINDOW { ?shop :placed ?order } SEQ { ?shop :paid ?order } SEQ { ?shop :sent ?order } }"""


def _rows(first: int, count: int) -> pa.RecordBatch:
    """Elements by number, one a millisecond: of each shop in turn, the three steps of an order one after the other."""
    numbers = range(first, first + count)
    orders = [(number % _SHOPS) + _SHOPS * (number // (3 * _SHOPS)) for number in numbers]
    steps = [("placed", "paid", "sent")[number // _SHOPS % 3] for number in numbers]
    columns = {
        "element": list(range(count)),
        "time": list(numbers),
        "g": [None] * count,
        "s": [f"<http://ex/shop{number % _SHOPS}>" for number in numbers],
        "p": [f"<http://ex/{step}>" for step in steps],
        "o": [f"<http://ex/order{order}>" for order in orders],
        "k": [11] * count,
        "n": [None] * count,
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in REQUEST], schema=REQUEST)


def _milliseconds(root: Path, occurrences: int, window: str) -> Iterator[float]:
    layout = Layout(root)
    layout.make()
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, retention=10**9)
    log = StreamLog.open(layout.streams / "s", settings, lambda: 0)
    for first in range(0, occurrences, _AT_ONCE):
        log.append(_rows(first, _AT_ONCE))
    query = parse(_QUERY.replace("WINDOW", window))
    assert isinstance(query, ContinuousQuery)
    windows = tuple(replace(member, stream="s") for member in query.windows)
    prepared = PreparedQuery(compile_query(query, present=lambda _: False), windows, {}, occurrences - 10)
    name = Registry(layout.queries).write_prepared("q", prepared)
    evaluator = Evaluator(root)
    for instant in range(occurrences, occurrences + _INSTANTS):
        log.append(_rows(instant, 1))
        evaluator.refresh()
        began = time.perf_counter()
        ((_, answer),) = evaluator.evaluate([("q", name, [instant])])
        if answer.error is not None:
            raise RuntimeError(answer.error)
        if instant > occurrences:  # at the first, the table is made
            yield (time.perf_counter() - began) * 1000
    log.close()


def main() -> None:
    occurrences = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for window in ("", "[RANGE 100s]", "[RANGE 10s]"):
        with tempfile.TemporaryDirectory() as directory:
            found = list(_milliseconds(Path(directory), occurrences, window))
        median, most = statistics.median(found), max(found)
        sys.stdout.write(
            f"{occurrences} occurrences, {window or 'no window'}: {median:.1f} ms, at most {most:.1f} ms\n"
        )


if __name__ == "__main__":
    main()
