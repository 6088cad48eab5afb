"""What is posted, and by hand what every query has to answer: sums over slices of one sequence of numbers.

Element k is of the time 100 k + 50 ms and says ``<ek> :room <r(k mod ROOMS)> ; :value k``. An evaluation is due at
every whole second, and nothing lies on a window's edge.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

ROOMS = 5
A_SECOND = 10
"""Elements in a second of the stream's time."""
EX = "http://ex/"

Content = frozenset[tuple[str | int, ...]]
"""An answer without order: its solutions or triples."""

SLIDING = f"""PREFIX : <{EX}>
SELECT ?room (COUNT(*) AS ?n) (SUM(?v) AS ?sum) FROM NAMED WINDOW :w ON :elements [RANGE 10s STEP 1s]
WHERE {{ WINDOW :w {{ ?e :room ?room ; :value ?v }} }} GROUP BY ?room"""

ENTERED = f"""PREFIX : <{EX}>
SELECT ISTREAM ?v FROM STREAM :elements [RANGE 3s STEP 1s] WHERE {{ ?e :value ?v FILTER(?v / 7 = FLOOR(?v / 7)) }}"""

SUMS = f"""REGISTER STREAM sums AS PREFIX : <{EX}>
CONSTRUCT {{ ?room :sum ?sum }} FROM STREAM :elements [RANGE 1s]
WHERE {{ {{ SELECT ?room (SUM(?v) AS ?sum) WHERE {{ ?e :room ?room ; :value ?v }} GROUP BY ?room }} }}"""

TOTAL = f"""PREFIX : <{EX}>
SELECT (SUM(?sum) AS ?total) (COUNT(*) AS ?n) FROM STREAM <streams/sums> [RANGE 5s STEP 1s]
WHERE {{ ?room :sum ?sum }}"""
"""Reads what SUMS publishes."""

QUERIES = {"sliding": SLIDING, "entered": ENTERED, "sums": SUMS, "total": TOTAL}


def message(second: int) -> str:
    """The elements of a second of the stream's time, as one body (``text/turtle; messages=rdfm``)."""
    return "\n# @message\n".join(
        f"<{EX}e{k}> <{EX}room> <{EX}r{k % ROOMS}> ; <{EX}value> {k} ; <http://www.w3.org/ns/sosa/resultTime> "
        f'"1970-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{k % A_SECOND}50Z"'
        "^^<http://www.w3.org/2001/XMLSchema#dateTime> ."
        for k in range(A_SECOND * second, A_SECOND * (second + 1))
    )


def expected(query: str, second: int) -> Content:
    """The answer at a whole second."""

    def sums(first: int) -> Iterable[tuple[str, int, int]]:
        values = range(A_SECOND * max(first, 0), A_SECOND * second)
        for room in range(ROOMS):
            own = [k for k in values if k % ROOMS == room]
            yield f"{EX}r{room}", len(own), sum(own)

    match query:
        case "sliding":
            return frozenset(sums(second - 10))
        case "entered":
            return frozenset((k,) for k in range(A_SECOND * (second - 1), A_SECOND * second) if k % 7 == 0)
        case "sums":
            return frozenset((room, total) for room, _, total in sums(second - 1))
        case "total":
            return frozenset({(sum(total for _, _, total in sums(second - 5)), ROOMS * min(second, 5))})
    raise ValueError(query)


def content(document: dict[str, Any]) -> Content:
    """The solutions of a document in the format of the SPARQL 1.1 Query Results JSON, whole numbers as such."""
    rows = []
    for binding in document["results"]["bindings"]:
        terms = (binding[name] for name in document["head"]["vars"])
        rows.append(tuple(int(t["value"]) if t["type"] == "literal" else t["value"] for t in terms))
    assert len(rows) == len(set(rows)), "a solution is there twice"
    return frozenset(rows)


def triples(data: str) -> Content:
    """The triples of SUMS in an event's data (N-Triples)."""
    rows = []
    for line in data.splitlines():
        subject, _, rest = line.split(" ", 2)
        rows.append((subject.strip("<>"), int(rest.split('"')[1])))
    assert len(rows) == len(set(rows)), "a triple is there twice"
    return frozenset(rows)
