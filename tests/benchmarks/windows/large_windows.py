"""(f) One large window: the compiled plan against SQL by hand on the same table, and against pyoxigraph.

Against SQL by hand it is the statement alone, and reading its rows; against pyoxigraph the whole evaluation, from
the log to the answer, against loading the window's N-Triples, asking and reading the solutions. Times are medians.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyoxigraph

from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.windows.site import WindowSite
from tests.benchmarks.windows.straight_line import picture, slope
from tests.benchmarks.windows.workload import QUESTIONS, STAR, Question, n_triples

_TRIPLES = 1_000_000
_SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000)
_OF_SPARK = 5_000_000
_BY_HAND, _PYOXIGRAPH, _SLOPE = 2.0, 10.0, 1.15


def measure(*, quick: bool, plot: Path) -> list[Figure]:
    """``plot``: where the picture of cost against size is written, an SVG."""
    triples = 200_000 if quick else _TRIPLES
    rounds = 2 if quick else 3
    with TemporaryDirectory() as directory:
        site = WindowSite(Path(directory), triples)
        figures = [figure for question in QUESTIONS for figure in _by_hand(site, question, rounds)]
        figures += _against_pyoxigraph(site, triples, rounds)
        site.close()
    figures += _against_size(tuple(size for size in _SIZES if size <= triples) if quick else _SIZES, rounds, plot)
    return figures + _in_spark(500_000 if quick else _OF_SPARK)


def _by_hand(site: WindowSite, question: Question, rounds: int) -> list[Figure]:
    ours = _times(rounds, partial(site.rows, question))
    theirs = _times(rounds, partial(site.rows_by_hand, question))
    if len(site.rows(question)) != len(site.rows_by_hand(question)):
        raise RuntimeError(f"{question.name}: the SQL by hand has another number of rows")
    value, baseline = median_of(ours), median_of(theirs)
    title = f"{question.name}, the plan alone"
    details: dict[str, Any] = {"seconds": ours, "seconds_baseline": theirs, "triples": site.triples}
    return [
        Figure("f", title, value, "s", value / baseline, _BY_HAND, False, baseline, "SQL by hand", details),
    ]


def _against_pyoxigraph(site: WindowSite, triples: int, rounds: int) -> list[Figure]:
    text = n_triples(triples)
    loads = _times(1 if rounds < 3 else 2, partial(_loaded, text), warm=False)
    store = _loaded(text)
    figures = []
    for question in QUESTIONS:
        ours = _times(rounds, partial(site.solutions, question))
        theirs = _times(1, partial(_solutions, store, question), warm=False)
        if len(site.solutions(question)) != len(_solutions(store, question)):
            raise RuntimeError(f"{question.name}: pyoxigraph has another number of solutions")
        value, baseline = median_of(ours), median_of(loads) + median_of(theirs)
        details = {"seconds": ours, "load": loads, "query": theirs, "triples": triples}
        figures.append(
            Figure(
                "f",
                f"{question.name}, log to answer",
                baseline / value,
                "x as fast",
                baseline / value,
                _PYOXIGRAPH,
                details=details,
            )
        )
    return figures


def _loaded(text: bytes) -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.bulk_load(text, format=pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def _solutions(store: pyoxigraph.Store, question: Question) -> list[tuple[str, ...]]:
    answer = store.query(question.over_graph())
    assert isinstance(answer, pyoxigraph.QuerySolutions)
    return [tuple(map(str, solution)) for solution in answer]


def _against_size(sizes: tuple[int, ...], rounds: int, plot: Path) -> list[Figure]:
    costs: dict[str, list[tuple[float, float]]] = {question.name: [] for question in QUESTIONS}
    for size in sizes:
        with TemporaryDirectory() as directory:
            site = WindowSite(Path(directory), size)
            for question in QUESTIONS:
                seconds = _times(rounds if size <= _TRIPLES else 1, partial(site.solutions, question))
                costs[question.name].append((float(size), median_of(seconds)))
            site.close()
    plot.parent.mkdir(parents=True, exist_ok=True)
    title = "An evaluation in DuckDB, from the log to the answer"
    plot.write_text(picture(title, "triples in the window", "seconds", costs), encoding="utf-8")
    figures = []
    for name, points in costs.items():
        steepness = slope(points)
        target = _SLOPE if name == STAR.name else None
        told = f"{name}, slope of cost over {sizes[0]:,} to {sizes[-1]:,}"
        figures.append(Figure("f", told, steepness, "", steepness, target, False, details={"points": points}))
    print(f"    cost against size is drawn in {plot}", flush=True)
    return figures


def _in_spark(triples: int) -> list[Figure]:
    """The star join in Spark SQL on two cores, beside DuckDB."""
    with TemporaryDirectory() as directory:
        site = WindowSite(Path(directory), triples)
        here = _times(1, partial(site.solutions, STAR))
        wanted = site.solutions(STAR)
        with site.spark("local[2]") as answered:
            began = time.perf_counter()
            solutions = answered(STAR)
            there = time.perf_counter() - began
        site.close()
    if solutions != wanted:
        raise RuntimeError("Spark SQL answers otherwise than DuckDB")
    return [
        Figure(
            "f",
            f"{STAR.name}, {triples:,} triples in Spark SQL",
            there,
            "s",
            there / median_of(here),
            at_least=False,
            baseline=median_of(here),
            baseline_name="DuckDB",
        )
    ]


def _times(rounds: int, work: Callable[[], object], *, warm: bool = True) -> list[float]:
    """Seconds of each round, after one that is not counted. What a round made is gone before the next."""
    seconds = []
    if warm:
        work()
    for _ in range(rounds):
        gc.collect()
        began = time.perf_counter()
        made = work()
        seconds.append(time.perf_counter() - began)
        del made
    return seconds
