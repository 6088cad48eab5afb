"""(r) Receipt by format: from the POST of a body to its 200, against the bare parser on the same bytes.

Observations in the words of SOSA, five triples each, as a program writes them. ``one``: a body is one element;
``many``: each observation is one. The parser's rate is that of one loop over ``pyoxigraph.parse`` in this process,
which keeps nothing; the server's are of requests that are in the log and synced. "In process" is without HTTP.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyoxigraph
from pyoxigraph import RdfFormat

from protocol.streams import StreamSettings, TimeKind
from protocol.time import Instant, format_instant, parse_duration
from spark_backend.layout import Layout
from spark_backend.streams.catalogue import Catalogue
from spark_backend.streams.streams import Streams
from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.server import Client, running_server

_CLIENTS = 4
_FIRST: Instant = 1_700_000_000_000
_SOSA, _XSD, _PROV = "http://www.w3.org/ns/sosa/", "http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/ns/prov#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_ITEMS = "http://example.org/"
_DELIMITER = "MESSAGE\n"
_NEVER_LATE = "PT1H"
_PREFIXES = f"@prefix sosa: <{_SOSA}> .\n@prefix xsd: <{_XSD}> .\n@prefix prov: <{_PROV}> .\n@prefix : <{_ITEMS}> .\n"
_CONTEXT = {
    "sosa": _SOSA,
    "madeBySensor": {"@id": f"{_SOSA}madeBySensor", "@type": "@id"},
    "observedProperty": {"@id": f"{_SOSA}observedProperty", "@type": "@id"},
    "hasSimpleResult": {"@id": f"{_SOSA}hasSimpleResult", "@type": f"{_XSD}decimal"},
    "resultTime": {"@id": f"{_SOSA}resultTime", "@type": f"{_XSD}dateTime"},
}


@dataclass(frozen=True)
class Workload:
    """A body of one format. ``documents``: what the parser is given, one after the other; ``target``: of its rate."""

    name: str
    content_type: str
    body: bytes
    format: RdfFormat
    documents: list[bytes]
    target: float

    def parse(self) -> int:
        """The statements that the bare parser finds."""
        return sum(1 for document in self.documents for _ in pyoxigraph.parse(document, self.format))


@dataclass(frozen=True)
class _Observation:
    number: int
    sensor: int
    property: int
    value: str
    time: str

    def lines(self, graph: str = "") -> str:
        item = f"<{_ITEMS}o{self.number}>"
        return (
            f"{item} <{_TYPE}> <{_SOSA}Observation>{graph} .\n"
            f"{item} <{_SOSA}madeBySensor> <{_ITEMS}s{self.sensor}>{graph} .\n"
            f"{item} <{_SOSA}observedProperty> <{_ITEMS}p{self.property}>{graph} .\n"
            f'{item} <{_SOSA}hasSimpleResult> "{self.value}"^^<{_XSD}decimal>{graph} .\n'
            f'{item} <{_SOSA}resultTime> "{self.time}"^^<{_XSD}dateTime>{graph} .\n'
        )

    def in_graph(self) -> str:
        graph = f"<{_ITEMS}g{self.number}>"
        return f'{graph} <{_PROV}generatedAtTime> "{self.time}"^^<{_XSD}dateTime> .\n{self.lines(f" {graph}")}'

    def turtle(self) -> str:
        return (
            f":o{self.number} a sosa:Observation ;\n\tsosa:madeBySensor :s{self.sensor} ;\n"
            f"\tsosa:observedProperty :p{self.property} ;\n\tsosa:hasSimpleResult {self.value} ;\n"
            f'\tsosa:resultTime "{self.time}"^^xsd:dateTime .\n'
        )

    def trig(self) -> str:
        graph = f":g{self.number}"
        return f'{graph} prov:generatedAtTime "{self.time}"^^xsd:dateTime .\n{graph} {{\n{self.turtle()}}}\n'

    def json(self) -> dict[str, str]:
        return {
            "@id": f"{_ITEMS}o{self.number}",
            "@type": "sosa:Observation",
            "madeBySensor": f"{_ITEMS}s{self.sensor}",
            "observedProperty": f"{_ITEMS}p{self.property}",
            "hasSimpleResult": self.value,
            "resultTime": self.time,
        }


def workloads(observations: int) -> list[Workload]:
    """Bodies of so many observations in every format that streams take, but for RDF/XML."""
    chance = random.Random(0)
    made = [
        _Observation(
            number,
            chance.randrange(100),
            chance.randrange(10),
            f"{chance.uniform(-20, 40):.3f}",
            format_instant(_FIRST + number * 10),
        )
        for number in range(observations)
    ]

    def text(name: str, content_type: str, format: RdfFormat, target: float, *parts: str) -> Workload:
        body = "".join(parts).encode()
        # The bare parser knows no messages: it is given the statements alone.
        return Workload(name, content_type, body, format, [body.replace(_DELIMITER.encode(), b"")], target)

    def marked(texts: list[str]) -> str:
        return _DELIMITER.join(texts)

    lines, quads = [one.lines() for one in made], [one.in_graph() for one in made]
    turtle, trig = [one.turtle() for one in made], [one.trig() for one in made]
    documents = [json.dumps({"@context": _CONTEXT, **one.json()}).encode() for one in made]
    graph = json.dumps({"@context": _CONTEXT, "@graph": [one.json() for one in made]})
    # Valid, and nothing that a program's canonical writing has.
    spaced = [one.replace(" .\n", "  .\r\n") for one in lines]
    several = "; version=1.2-messages"
    return [
        text("N-Triples, one", "application/n-triples", RdfFormat.N_TRIPLES, 1.0, *lines),
        text("N-Triples, many", f"application/n-triples{several}", RdfFormat.N_TRIPLES, 1.0, marked(lines)),
        text("N-Triples by hand, many", f"application/n-triples{several}", RdfFormat.N_TRIPLES, 1.0, marked(spaced)),
        text("N-Quads, one", "application/n-quads", RdfFormat.N_QUADS, 1.0, *quads),
        text("N-Quads, many", f"application/n-quads{several}", RdfFormat.N_QUADS, 1.0, marked(quads)),
        text("Turtle, one", "text/turtle", RdfFormat.TURTLE, 0.6, _PREFIXES, *turtle),
        text("Turtle, many", f"text/turtle{several}", RdfFormat.TURTLE, 0.6, _PREFIXES, marked(turtle)),
        text("TriG, one", "application/trig", RdfFormat.TRIG, 0.6, _PREFIXES, *trig),
        text("TriG, many", f"application/trig{several}", RdfFormat.TRIG, 0.6, _PREFIXES, marked(trig)),
        text("JSON-LD, one", "application/ld+json", RdfFormat.JSON_LD, 0.6, graph),
        Workload("JSON-LD, many", "application/x-ndjson", b"\n".join(documents), RdfFormat.JSON_LD, documents, 0.6),
    ]


def measure(*, quick: bool) -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory(prefix="sparql-streams-bench-") as directory, running_server() as client:
        layout = Layout(Path(directory))
        layout.make()
        streams = Streams(Catalogue.open(layout.catalogue), layout, "http://example.org", lambda: _FIRST)
        for workload in workloads(2_000 if quick else 10_000):
            figures += _measured(workload, client, streams, 3 if quick else 5)
        streams.close()
    return figures


def _measured(workload: Workload, client: Client, streams: Streams, rounds: int) -> list[Figure]:
    name = workload.name.replace(", ", "-").replace(" ", "-").lower()
    iri = f"{_ITEMS}{name}"
    # Each body is sent many times: what is late is stored once more, in the stream of what came late.
    client.create_stream(name, iri, allowedLateness=_NEVER_LATE)
    streams.create(name, StreamSettings(iri=iri, time=TimeKind.EVENT, allowed_lateness=parse_duration(_NEVER_LATE)))
    # A body that is one element is so at a time that the request says.
    at = None if workload.name.endswith("many") else _FIRST
    one = partial(client.post, name, workload.body, workload.content_type, at=at)
    posts: list[Callable[[], object]] = [partial(streams.append, name, workload.body, workload.content_type, at), one]
    rates: dict[str, list[float]] = {"bare": [], "in process": [], "one client": [], f"{_CLIENTS} clients": []}
    triples = workload.parse()
    with ThreadPoolExecutor(_CLIENTS) as clients:
        for round_ in range(-1, rounds):
            seconds = [_seconds(workload.parse), *map(_seconds, posts)]
            seconds.append(_seconds(lambda: [each.result() for each in [clients.submit(one) for _ in range(_CLIENTS)]]))
            # The first is to warm up.
            if round_ >= 0:
                for place, took in zip(rates, seconds, strict=True):
                    rates[place].append((_CLIENTS if place.endswith("clients") else 1) * triples / took)
    client.delete_stream(name)
    streams.drop(name)
    streams.delete_dropped()
    bare = median_of(rates.pop("bare"))
    details = {"triples": triples, "bytes": len(workload.body)}
    return [
        Figure(
            "r",
            f"receipt of {workload.name}, {place}",
            median_of(found),
            "triples/s",
            median_of(found) / bare,
            None if place == "in process" else workload.target,
            True,
            bare,
            "pyoxigraph.parse",
            details,
        )
        for place, found in rates.items()
    ]


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
