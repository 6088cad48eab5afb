"""(i) What an instant costs over windows that slide by a second, against how wide they are, at a fixed rate.

In processor time of an evaluator in this process, without Spark: the instants come one by one, each with a second of
new observations. The monotone query is a join of three with a FILTER that is true of one observation in ten thousand,
so that an answer is short however wide its window; the other has an average of each sensor.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.streams import StreamSettings, TimeKind
from protocol.terms import facets
from protocol.windows.spec import StreamWindow, TimeWindow
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.layout import Layout
from spark_backend.log.format.columns import REQUEST
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry
from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.windows.straight_line import picture

RANGES = (10, 100, 1_000)
"""Seconds."""
_OBSERVATIONS = 250
"""A second, of four triples each."""
_GROWTH = 1.5
_SOSA = "http://www.w3.org/ns/sosa/"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_WINDOW = "http://example.org/w"
_PATTERN = "?o a sosa:Observation ; sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v"
QUERIES = {
    "join of three and FILTER": f"SELECT ?o ?s ?v {{ GRAPH <{_WINDOW}> {{ {_PATTERN} FILTER(?v >= 9999) }} }}",
    "average by sensor": f"SELECT ?s (AVG(?v) AS ?a) {{ GRAPH <{_WINDOW}> {{ {_PATTERN} }} }} GROUP BY ?s",
}


def measure(*, quick: bool, plot: Path) -> list[Figure]:
    """``plot``: where the picture of cost against range is written, an SVG."""
    ranges = RANGES[:2] if quick else RANGES
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in QUERIES}
    with tempfile.TemporaryDirectory() as directory:
        for (name, seconds), cost in milliseconds(Path(directory), ranges, 5 if quick else 15).items():
            costs[name].append((float(seconds), cost))
    plot.parent.mkdir(parents=True, exist_ok=True)
    title = f"An instant of a window that slides by a second, {4 * _OBSERVATIONS:,} triples a second"
    plot.write_text(picture(title, "seconds in the window", "ms of processor time", costs), encoding="utf-8")
    print(f"    cost against range is drawn in {plot}", flush=True)
    monotone = next(iter(QUERIES))
    return [
        Figure(
            "i",
            f"{name}: an instant of RANGE {ranges[-1]:,}s",
            points[-1][1],
            "ms",
            points[-1][1] / points[0][1],
            _GROWTH if name == monotone else None,
            False,
            points[0][1],
            f"RANGE {ranges[0]}s",
            {"points": points},
        )
        for name, points in costs.items()
    ]


def milliseconds(root: Path, ranges: Sequence[int], instants: int) -> dict[tuple[str, int], float]:
    """The median of an instant, by query and range."""
    layout = Layout(root)
    layout.make()
    settings = StreamSettings("http://example.org/stream", TimeKind.EVENT, allowed_lateness=0, retention=10**7)
    log = StreamLog.open(layout.streams / "s", settings, lambda: 0)
    first = max(ranges)
    for second in range(first):
        log.append(_second(second))
    registry = Registry(layout.queries)
    prepared = {
        (name, seconds): registry.write_prepared(f"q{place}-{seconds}", _prepared(text, seconds, first * 1000))
        for place, (name, text) in enumerate(QUERIES.items())
        for seconds in ranges
    }
    evaluators = {which: Evaluator(root) for which in prepared}
    found: dict[tuple[str, int], list[float]] = {which: [] for which in prepared}
    for second in range(first, first + instants + 2):
        log.append(_second(second))
        for which, evaluator in evaluators.items():
            began = time.process_time()
            evaluator.refresh()
            ((_, answer),) = evaluator.evaluate([("q", prepared[which], [second * 1000])])
            if answer.error is not None:
                raise RuntimeError(f"{which}: {answer.error}")
            found[which].append((time.process_time() - began) * 1000)
    log.close()
    return {which: median_of(some[2:]) for which, some in found.items()}  # without those that make what is kept


def _prepared(text: str, seconds: int, start: int) -> PreparedQuery:
    window = StreamWindow("s", TimeWindow(seconds * 1000, 1000, 0), _WINDOW, True)
    text = f"PREFIX sosa: <{_SOSA}> {text}"
    query = ContinuousQuery(text, read_query(text), Form.SELECT, R2S.RSTREAM, (window,))
    return PreparedQuery(compile_query(query, present=lambda _: False), (window,), {}, start)


def _second(second: int) -> pa.RecordBatch:
    """The observations of (second, second + 1]."""
    numbers = range(second * _OBSERVATIONS, (second + 1) * _OBSERVATIONS)
    rows = [
        (number - numbers[0], second * 1000 + 1 + (number - numbers[0]) * 1000 // _OBSERVATIONS, s, p, o)
        for number in numbers
        for s in [f"<http://example.org/o/{number}>"]
        for p, o in (
            (_TYPE, f"<{_SOSA}Observation>"),
            (f"<{_SOSA}madeBySensor>", f"<http://example.org/s/{number % 100}>"),
            (f"<{_SOSA}hasSimpleResult>", f'"{number * 7 % 10_000}"^^<{_XSD}integer>'),
            (f"<{_SOSA}observedProperty>", f"<http://example.org/p/{number % 10}>"),
        )
    ]
    element, times, subjects, predicates, objects = map(list, zip(*rows, strict=True))
    kinds, values = zip(*map(facets, objects), strict=True)
    columns = {
        "element": element,
        "time": times,
        "g": [None] * len(rows),
        "s": subjects,
        "p": predicates,
        "o": objects,
        "k": list(kinds),
        "n": list(values),
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in REQUEST], schema=REQUEST)
