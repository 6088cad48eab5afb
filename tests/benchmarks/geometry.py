"""(p) Positions against polygons: an evaluation of a window that says in which of the places each sensor is.

Places are a thousand polygons of thirty corners in the store, and positions ten thousand a second, each a WKT literal.
A query joins both by ``geof:sfContains`` and is evaluated each second. Beside it stands a loop that asks pyoxigraph the
same of the same window: as it looks at each pair, it is asked of a hundredth of the positions, and its time is told
times a hundred.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyoxigraph as ox

from protocol.functions.geosparql import GEO, GEOF
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.streams import StreamSettings, TimeKind
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.layout import Layout
from spark_backend.log.format.columns import REQUEST
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.statics.tables import StaticTables
from tests.benchmarks.figures import Figure, median_of
from tests.spark_backend.compiler.one_shot import Graphs

_POSITIONS, _PLACES, _CORNERS, _SAMPLE = 10_000, 1_000, 30, 100
_SECOND = 1000
_WKT = f"{GEO}wktLiteral"
_WHERE = "?place <http://ex/area> ?area FILTER(geof:sfContains(?area, ?point))"
_QUERY = f"""PREFIX geof: <{GEOF}>
SELECT ?sensor ?place FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 1s]
WHERE {{ WINDOW <http://ex/w> {{ ?sensor <http://ex/at> ?point }} {_WHERE} }}"""
_LOOP = f"PREFIX geof: <{GEOF}> SELECT ?sensor ?place WHERE {{ ?sensor <http://ex/at> ?point . {_WHERE} }}"


def _places(source: random.Random) -> str:
    """Turtle: polygons about points of a square of ten degrees, which overlap here and there."""
    lines = []
    for number in range(_PLACES):
        x, y, width = source.random() * 10, source.random() * 10, source.uniform(0.05, 0.25)
        corners = [
            f"{x + width * math.cos(turn):.6f} {y + width * math.sin(turn):.6f}"
            for turn in (2 * math.pi * corner / _CORNERS for corner in range(_CORNERS))
        ]
        ring = ",".join([*corners, corners[0]])
        lines.append(f'<http://ex/place{number}> <http://ex/area> "POLYGON(({ring}))"^^<{_WKT}> .')
    return "\n".join(lines)


def _positions(source: random.Random) -> list[tuple[str, str]]:
    return [
        (f"<http://ex/sensor{number}>", f'"POINT({source.random() * 10:.6f} {source.random() * 10:.6f})"^^<{_WKT}>')
        for number in range(_POSITIONS)
    ]


def _batch(positions: Sequence[tuple[str, str]], second: int) -> pa.RecordBatch:
    count = len(positions)
    columns = {
        "element": list(range(count)),
        "time": [second * _SECOND - 500] * count,
        "g": [None] * count,
        "s": [sensor for sensor, _ in positions],
        "p": ["<http://ex/at>"] * count,
        "o": [point for _, point in positions],
        "k": [10] * count,
        "n": [None] * count,
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in REQUEST], schema=REQUEST)


def measure(*, quick: bool) -> list[Figure]:
    """Raises RuntimeError where the answers are not the loop's."""
    source = random.Random(1)
    places = _places(source)
    seconds = [_positions(source) for _ in range(3 if quick else 8)]
    with TemporaryDirectory() as directory:
        costs, answers = _evaluated(Path(directory), places, seconds)
    store = ox.Store()
    store.load(places.encode(), format=ox.RdfFormat.TURTLE)
    some = seconds[-1][:_SAMPLE]
    began = time.process_time()
    lines = "\n".join(f"{sensor} <http://ex/at> {point} ." for sensor, point in some)
    store.load(lines.encode(), format=ox.RdfFormat.N_TRIPLES)
    found = store.query(_LOOP)
    assert isinstance(found, ox.QuerySolutions)
    pairs = {(str(solution["sensor"]), str(solution["place"])) for solution in found}
    loop = (time.process_time() - began) * _POSITIONS / _SAMPLE
    sensors = {sensor for sensor, _ in some}
    if pairs != {pair for pair in answers if pair[0] in sensors}:
        raise RuntimeError("the loop with pyoxigraph finds other pairs")
    cost = median_of(costs[1:])
    told = f"{_POSITIONS:,} positions in {_PLACES:,} polygons"
    details = {"seconds": costs, "pairs": len(answers)}
    return [
        Figure("p", f"{told}, processor time", cost, "s", cost / loop, None, False, loop, "pyoxigraph", details),
        Figure("p", f"{told}, positions by one core", _POSITIONS / cost, "a second", _POSITIONS / cost, _POSITIONS),
    ]


def _evaluated(
    root: Path, places: str, seconds: Sequence[Sequence[tuple[str, str]]]
) -> tuple[list[float], set[tuple[str, str]]]:
    """Processor time of each evaluation, and the pairs that the last one finds."""
    layout = Layout(root)
    layout.make()
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, retention=10**9)
    log = StreamLog.open(layout.streams / "s", settings, lambda: 0)
    query = parse(_QUERY)
    assert isinstance(query, ContinuousQuery)
    statics = StaticTables(layout.statics, Graphs({None: places}))
    plan = compile_query(query, present=lambda pattern: statics.file(pattern) is not None)
    files = {pattern.table: file for pattern in plan.statics if (file := statics.file(pattern)) is not None}
    windows = tuple(replace(window, stream="s") for window in query.windows)
    prepared = Registry(layout.queries).write_prepared("q", PreparedQuery(plan, windows, files))
    evaluator = Evaluator(root)
    costs = []
    solutions: Sequence[bytes | str] = ()
    for second, positions in enumerate(seconds, 1):
        log.append(_batch(positions, second))
        evaluator.refresh()
        began = time.process_time()
        ((_, answer),) = evaluator.evaluate([("q", prepared, [second * _SECOND])])
        costs.append(time.process_time() - began)
        if answer.error is not None:
            raise RuntimeError(str(answer.error))
        solutions = answer.solutions
    log.close()
    documents = [json.loads(solution) for solution in solutions]
    pairs = {(f"<{one['sensor']['value']}>", f"<{one['place']['value']}>") for one in documents}
    return costs, pairs
