"""100,000 triples of observations, and one-shot queries over them."""

from __future__ import annotations

import random

from tests.benchmarks import workload

OBSERVATIONS = 20_000
TRIPLES = 5 * OBSERVATIONS
CELLS = 1_000_000
_PREFIX = "PREFIX sosa: <http://www.w3.org/ns/sosa/> "

QUERIES = {
    "count": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "star join": _PREFIX
    + "SELECT ?o ?s ?v ?t { ?o a sosa:Observation ; sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v ; "
    "sosa:observedProperty <http://example.org/p/3> ; sosa:resultTime ?t }",
    "aggregate": _PREFIX
    + "SELECT ?s (AVG(?v) AS ?average) { ?o sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v } GROUP BY ?s",
    "order with limit": _PREFIX + "SELECT ?o ?v { ?o sosa:hasSimpleResult ?v } ORDER BY DESC(?v) ?o LIMIT 10",
    "1,000,000 cells": _PREFIX
    + "SELECT ?o ?s ?p ?v ?n { ?o sosa:madeBySensor ?s ; sosa:observedProperty ?p ; sosa:hasSimpleResult ?v "
    f"VALUES ?n {{ {' '.join(map(str, range(CELLS // 5 // OBSERVATIONS)))} }} }}",
}
ASK = "ASK { <http://example.org/o/7> ?p ?o }"
"""As small a query as there is: what it takes is the way there and back."""


def triples() -> bytes:
    """N-Triples; the same every time."""
    chance = random.Random(5)
    return "".join(_observation(number, chance) for number in range(OBSERVATIONS)).encode()


def _observation(number: int, chance: random.Random) -> str:
    subject = f"<http://example.org/o/{number}>"
    time = f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    return (
        workload.observation(subject, chance) + f"{subject} <http://www.w3.org/ns/sosa/resultTime> "
        f'"{time}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    )
