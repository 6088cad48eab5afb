"""A synthetic stream of 1,000 triples per second of event time, and queries over its 10,000-triple windows."""

from __future__ import annotations

import random
from functools import lru_cache

from protocol.time import Instant, format_instant

STREAM = "http://example.org/observations"
RANGE_SECONDS = 10
TRIPLES_PER_SECOND = 1_000
_TRIPLES = 4  # of one observation
_SENSORS, _PROPERTIES, _VALUES = 20, 10, 1_000
_SOSA = "http://www.w3.org/ns/sosa/"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_XSD = "http://www.w3.org/2001/XMLSchema#"

SELECTIVE = (
    "?o sosa:madeBySensor ?s ; sosa:observedProperty <http://example.org/p/{property}> ; sosa:hasSimpleResult ?v"
)
"""A tenth of the observations: what an index is good for."""
BROAD = "?o a sosa:Observation ; sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v"
"""All observations of the window."""


_DATASET = f"FROM NAMED WINDOW <http://example.org/w> ON <{STREAM}> [RANGE {RANGE_SECONDS}s STEP 1s] "
_WINDOW = "WINDOW <http://example.org/w>"
_AVERAGE = ("?s (AVG(?v) AS ?average)", "?v >= {number}", "GROUP BY ?s")


def continuous(pattern: str, number: int) -> str:
    """The query with this number; no two numbers give the same query."""
    result, condition, grouping = _AVERAGE
    return over_window(result, pattern, condition, grouping, number)


def one_shot(pattern: str, number: int) -> str:
    """The same over a graph that holds one window's content."""
    result, condition, grouping = _AVERAGE
    return _query(result, "", "", pattern, condition, grouping, number)


def over_window(result: str, pattern: str, condition: str, grouping: str, number: int) -> str:
    """A query of a window of the stream; ``number`` is a constant of its pattern and its condition."""
    return _query(result, _DATASET, _WINDOW, pattern, condition, grouping, number)


def _query(result: str, dataset: str, window: str, pattern: str, condition: str, grouping: str, number: int) -> str:
    wanted = pattern.format(property=number % _PROPERTIES)
    return (
        f"PREFIX sosa: <{_SOSA}> SELECT {result} {dataset}"
        f"WHERE {{ {window} {{ {wanted} FILTER({condition.format(number=number)}) }} }} {grouping}"
    ).rstrip()


def observation(subject: str, chance: random.Random) -> str:
    return (
        f"{subject} <{_TYPE}> <{_SOSA}Observation> .\n"
        f"{subject} <{_SOSA}madeBySensor> <http://example.org/s/{chance.randrange(_SENSORS)}> .\n"
        f"{subject} <{_SOSA}observedProperty> <http://example.org/p/{chance.randrange(_PROPERTIES)}> .\n"
        f'{subject} <{_SOSA}hasSimpleResult> "{chance.randrange(_VALUES)}"^^<{_XSD}integer> .\n'
    )


@lru_cache(maxsize=512)
def lines(second: int) -> tuple[tuple[Instant, str], ...]:
    """The observations of (second, second + 1]: each with its time and its triples as N-Triples, without the time."""
    chance = random.Random(second)
    count = TRIPLES_PER_SECOND // _TRIPLES
    observations = []
    for number in range(count):
        time = second * 1000 + 1 + number * 1000 // count
        subject = f"<http://example.org/o/{second}/{number}>"
        observations.append(
            (
                time,
                observation(subject, chance),
            )
        )
    return tuple(observations)


def body(second: int, part: int = 0, parts: int = 1) -> bytes:
    """The messages of a part of (second, second + 1]."""
    observations = lines(second)
    chosen = observations[len(observations) * part // parts : len(observations) * (part + 1) // parts]
    return "".join(f"# @message\n{_timestamped(time, triples)}" for time, triples in chosen).encode()


def _timestamped(time: Instant, triples: str) -> str:
    # The timestamped-graph convention: the triple that carries the time is not one of the window's triples.
    graph = f"<http://example.org/g/{time}>"
    stamped = triples.replace(" .\n", f" {graph} .\n")
    return (
        f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "{format_instant(time)}"^^<{_XSD}dateTime> .\n{stamped}'
    )
