"""(m) Many queries of many shapes over one stream: whether they keep up with windows of 10,000 triples each second.

200 queries are of 40 shapes, five each, that differ in constants; 1,000 are of five shapes.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import product

from tests.benchmarks import workload
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.server import running_server
from tests.benchmarks.standing.standing import lags, passed

_PATTERNS = (
    workload.SELECTIVE,
    workload.BROAD,
    "?o sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v",
    "?o a sosa:Observation ; sosa:madeBySensor ?s ; sosa:observedProperty ?p ; sosa:hasSimpleResult ?v",
)
_COMPARISONS = (">=", "<")
_RESULTS = (
    ("?s (AVG(?v) AS ?r)", "GROUP BY ?s"),
    ("?s (COUNT(?o) AS ?r)", "GROUP BY ?s"),
    ("?s (MAX(?v) AS ?r)", "GROUP BY ?s"),
    ("(SUM(?v) AS ?r)", ""),
    ("DISTINCT ?s", ""),
)
SHAPES = tuple(product(_RESULTS, _PATTERNS, _COMPARISONS))
"""The forty; the first five of them, by what they give, are :data:`FIVE`."""
FIVE = tuple(shape for shape in SHAPES if shape[1:] == (workload.SELECTIVE, ">="))


def query(shape: tuple[tuple[str, str], str, str], number: int) -> str:
    """The query of a shape with this number, a constant of it."""
    (result, grouping), pattern, comparison = shape
    return workload.over_window(result, pattern, f"?v {comparison} {{number}}", grouping, number)


def measure(*, quick: bool) -> list[Figure]:
    seconds = 12 if quick else 30
    figures = []
    with running_server() as client:
        client.create_stream("observations", workload.STREAM)
        second = 0
        for name, shapes, each in (("200 queries of 40 shapes", SHAPES, 5), ("1,000 queries of 5 shapes", FIVE, 200)):
            queries = {
                f"q{place}-{number}": query(shape, 10 * place + number)
                for place, shape in enumerate(shapes)
                for number in range(each)
            }
            found = lags(client, queries, second, seconds)
            second += passed(seconds)
            print(f"    {name}: {found.told()}", flush=True)
            pace, details = found.pace, asdict(found)
            figures.append(Figure("m", f"{name}: pace", pace, "x real time", pace, 1.0, details=details))
            for told, value in (
                ("lag at the end", found.instants[-1] if found.instants else math.inf),
                ("p99 of the answers' lags", percentile(found.answers, 99) if found.answers else math.inf),
            ):
                figures.append(Figure("m", f"{name}: {told}", value, "s", value))
    return figures
