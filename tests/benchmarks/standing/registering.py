"""What a query costs until it is a plan: one of a shape that is not known yet, and one of a known shape.

In processor time, beside rdflib's reading of the same query in standard SPARQL: its grammar, and its algebra.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rdflib.plugins.sparql import prepareQuery

from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.plan import compile_query
from tests.benchmarks import workload
from tests.benchmarks.figures import Figure, median_of

_TIMES = 200
_TIMES_QUICK = 20


def measure(*, quick: bool = False) -> list[Figure]:
    """The medians."""
    times = _TIMES_QUICK if quick else _TIMES
    _planned(_query(0, "known"))  # what is loaded once is no cost of a query
    new = median_of([_milliseconds(_planned, _query(number, f"v{number}")) for number in range(times)])
    known = median_of([_milliseconds(_planned, _query(number, "known")) for number in range(times)])
    read = median_of([_milliseconds(prepareQuery, _standard(number)) for number in range(times)])
    return [
        Figure("h", name, value, "ms", value / read, 1.0, at_least=False, baseline=read, baseline_name="rdflib")
        for name, value in (("a query of a new shape", new), ("a query of a known shape", known))
    ]


def _query(number: int, variable: str) -> str:
    """No two variables have the same shape, no two numbers the same query."""
    return workload.continuous(workload.SELECTIVE, number).replace("?v", f"?{variable}")


def _standard(number: int) -> str:
    return workload.one_shot(workload.SELECTIVE, number)


def _planned(text: str) -> None:
    query = parse(text)
    assert isinstance(query, ContinuousQuery)
    compile_query(query)


def _milliseconds(work: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    work(text)
    return (time.process_time() - began) * 1000
