"""A query over small streams, through the real log, clock, compiler and evaluator: its answers by instant."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from protocol.evaluations import Failed
from spark_backend.statics.graphs import Quad
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

EX = "http://ex/"
PREFIXES = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
Element = tuple[str, int, str]
"""A stream's name, a time in milliseconds, triples in Turtle; the stream's IRI is the name in EX."""


def iri(name: str) -> str:
    return f"<{EX}{name}>"


def quad(subject: str, predicate: str, object: str, graph: str = "") -> Quad:
    """A triple of the store, of local names; an object in quotes is a literal."""
    written = object if object.startswith('"') else iri(object)
    return (iri(graph) if graph else "", iri(subject), iri(predicate), written)


def documents(
    directory: Path, query: str, elements: Iterable[Element], upto: int, static: Sequence[Quad] = ()
) -> dict[int, bytes]:
    """The documents of all evaluations up to a time that every stream's watermark reaches at last."""
    arrived = list(elements)
    stepped = SteppedBackend(directory, Graphs(static))
    try:
        for name in dict.fromkeys(name for name, _, _ in arrived):
            stepped.event_stream(name, EX + name)
        stepped.register("q", PREFIXES + query)
        for name, at, triples in arrived:
            stepped.post(name, PREFIXES + triples, at)
        for name in dict.fromkeys(name for name, _, _ in arrived):
            stepped.backend.advance(name, upto)
        stepped.run()
        assert not [notice for notice in stepped.notices if isinstance(notice, Failed)]
        return stepped.answers("q")
    finally:
        stepped.close()


def rows(document: bytes) -> Counter[tuple[str | None, ...]]:
    """The solutions as a multiset: a value for each variable, IRIs of EX by their local names, None where unbound."""
    parsed: dict[str, Any] = json.loads(document)
    return Counter(
        tuple(binding[name]["value"].removeprefix(EX) if name in binding else None for name in parsed["head"]["vars"])
        for binding in parsed["results"]["bindings"]
    )


def answers(
    directory: Path, query: str, elements: Iterable[Element], upto: int, static: Sequence[Quad] = ()
) -> dict[int, Counter[tuple[str | None, ...]]]:
    """The solutions of each evaluation."""
    return {at: rows(document) for at, document in documents(directory, query, elements, upto, static).items()}


def solutions(*rows: tuple[str | None, ...]) -> Counter[tuple[str | None, ...]]:
    return Counter(rows)


def second(number: int) -> str:
    """A time of the first minute, as an answer shows it."""
    return f"1970-01-01T00:00:{number:02d}Z"
