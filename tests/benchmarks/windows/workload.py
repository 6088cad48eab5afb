"""One large window: observations and a tree, as columns of a log and as N-Triples, and queries over it.

A tenth of the triples are edges of a tree in which every node has ten children; the others are observations of
five triples each, of which one in five is faulty and the others are checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

_EX = "http://example.org/"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_SOSA = "http://www.w3.org/ns/sosa/"
_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
_IS_IRI, _IS_INTEGER = 11, 1  # protocol.terms.TermKind

SENSORS, PROPERTIES, VALUES, CHILDREN = 1_000, 10, 1_000, 10
TRIPLES_AN_OBSERVATION = 5
WINDOW = f"{_EX}w"
_AT_ONCE = 20_000


def observations(triples: int) -> int:
    return triples * 9 // 10 // TRIPLES_AN_OBSERVATION


def edges(triples: int) -> int:
    return triples // 10


def batches(triples: int) -> Iterator[list[tuple[str, str, str]]]:
    """The triples in lists, each list's from one observation or edge on."""
    chance = np.random.default_rng(7)
    for first in range(0, observations(triples), _AT_ONCE):
        count = min(_AT_ONCE, observations(triples) - first)
        sensors, values = chance.integers(SENSORS, size=count), chance.integers(VALUES, size=count)
        found = []
        for number, sensor, value in zip(range(first, first + count), sensors.tolist(), values.tolist(), strict=True):
            subject = f"<{_EX}o/{number}>"
            found += [
                (subject, _TYPE, f"<{_SOSA}Observation>"),
                (subject, f"<{_SOSA}madeBySensor>", f"<{_EX}s/{sensor}>"),
                (subject, f"<{_SOSA}observedProperty>", f"<{_EX}p/{number % PROPERTIES}>"),
                (subject, f"<{_SOSA}hasSimpleResult>", f'"{value}"^^<{_INTEGER}>'),
                (subject, f"<{_EX}{'checked' if number % 5 else 'faulty'}>", f"<{_EX}by/{number % 97}>"),
            ]
        yield found
    for first in range(1, edges(triples) + 1, _AT_ONCE):
        nodes = range(first, min(first + _AT_ONCE, edges(triples) + 1))
        yield [(f"<{_EX}n/{(node - 1) // CHILDREN}>", f"<{_EX}child>", f"<{_EX}n/{node}>") for node in nodes]


def columns(batch: list[tuple[str, str, str]]) -> dict[str, pa.Array]:
    """Columns g, s, p, o, k, n of a log (``spark_backend.log.format.columns``)."""
    subjects, predicates, objects = zip(*batch, strict=True)
    numbers = [float(o[1 : o.index('"', 1)]) if o[0] == '"' else None for o in objects]
    return {
        "g": pa.nulls(len(batch), pa.string()).dictionary_encode(),
        "s": pa.array(subjects, pa.string()).dictionary_encode(),
        "p": pa.array(predicates, pa.string()).dictionary_encode(),
        "o": pa.array(objects, pa.string()).dictionary_encode(),
        "k": pa.array([_IS_IRI if number is None else _IS_INTEGER for number in numbers], pa.uint8()),
        "n": pa.array(numbers, pa.float64()),
    }


def n_triples(triples: int) -> bytes:
    return "".join(f"{s} {p} {o} .\n" for batch in batches(triples) for s, p, o in batch).encode()


@dataclass(frozen=True)
class Question:
    """A query with a place for its window, and SQL that a person would write for it over a table ``{table}``."""

    name: str
    sparql: str
    sql: str

    def over_window(self) -> str:
        """The query as it is asked of windows, in standard SPARQL: WINDOW is GRAPH by then."""
        return _PREFIXES + self.sparql.format(begin=f"{{ GRAPH <{WINDOW}> {{", end="} }")

    def over_graph(self) -> str:
        return _PREFIXES + self.sparql.format(begin="{", end="}")


_PREFIXES = f"PREFIX sosa: <{_SOSA}> PREFIX : <{_EX}> "
STAR = Question(
    "star join, filter, average",
    "SELECT ?s (AVG(?v) AS ?average) {begin} ?o a sosa:Observation ; sosa:madeBySensor ?s ; "
    "sosa:hasSimpleResult ?v FILTER(?v >= 500) {end} GROUP BY ?s",
    f"SELECT s.o, avg(v.n) FROM {{table}} a, {{table}} s, {{table}} v "
    f"WHERE a.p = '{_TYPE}' AND a.o = '<{_SOSA}Observation>' "
    f"AND s.p = '<{_SOSA}madeBySensor>' AND s.s = a.s AND v.p = '<{_SOSA}hasSimpleResult>' AND v.s = a.s "
    f"AND v.k <= 4 AND v.n >= 500 GROUP BY s.o ORDER BY s.o",
)
QUESTIONS = (
    STAR,
    Question(
        "path + over a tree",
        "SELECT (COUNT(*) AS ?pairs) {begin} ?x :child+ ?y {end}",
        f"WITH RECURSIVE edge AS MATERIALIZED (SELECT s, o FROM {{table}} WHERE p = '<{_EX}child>'), "
        "reached AS (SELECT s, o FROM edge UNION SELECT r.s, e.o FROM reached r, edge e WHERE e.s = r.o) "
        "SELECT count(*) FROM reached",
    ),
    Question(
        "OPTIONAL, ORDER BY, LIMIT",
        "SELECT ?o ?v ?f {begin} ?o sosa:hasSimpleResult ?v OPTIONAL {{ ?o :faulty ?f }} {end} "
        "ORDER BY DESC(?v) ?o LIMIT 10",
        f"SELECT v.s, v.o, f.o FROM {{table}} v LEFT JOIN {{table}} f ON f.s = v.s AND f.p = '<{_EX}faulty>' "
        f"WHERE v.p = '<{_SOSA}hasSimpleResult>' ORDER BY v.n DESC, v.s, f.o LIMIT 10",
    ),
    Question(
        "MINUS",
        "SELECT ?o ?s {begin} ?o sosa:madeBySensor ?s MINUS {{ ?o :checked ?c }} {end}",
        f"SELECT m.s, m.o FROM {{table}} m WHERE m.p = '<{_SOSA}madeBySensor>' "
        f"AND NOT EXISTS (FROM {{table}} c WHERE c.s = m.s AND c.p = '<{_EX}checked>') ORDER BY m.s, m.o",
    ),
)
