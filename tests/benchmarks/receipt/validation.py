"""(v) Receipt of messages that a shape of ten constraints has validated, over HTTP, against receipt without a shape.

Observations in the words of SOSA, five triples each, a message each; all conform. From the POST of a body to its 200:
validated, in the log and synced.
"""

from __future__ import annotations

import time

from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.receipt.receipt import workloads
from tests.benchmarks.server import Client, running_server

_TARGET = 10_000
"""Messages a second."""
_FORMATS = ("N-Triples, many", "Turtle, many", "JSON-LD, many")

SHAPE = """PREFIX sh: <http://www.w3.org/ns/shacl#>
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX : <http://example.org/>
:Observation sh:targetClass sosa:Observation ; sh:nodeKind sh:IRI ;
  sh:property [ sh:path sosa:madeBySensor ; sh:minCount 1 ; sh:pattern "^http://example.org/s[0-9]+$" ] ;
  sh:property [ sh:path sosa:observedProperty ; sh:maxCount 1 ;
    sh:in ( :p0 :p1 :p2 :p3 :p4 :p5 :p6 :p7 :p8 :p9 ) ] ;
  sh:property [ sh:path sosa:hasSimpleResult ; sh:datatype xsd:decimal ; sh:minInclusive -20 ; sh:maxInclusive 40 ] ;
  sh:property [ sh:path sosa:resultTime ; sh:minCount 1 ; sh:datatype xsd:dateTime ] ."""


def measure(*, quick: bool) -> list[Figure]:
    messages, rounds = (2_000, 3) if quick else (10_000, 5)
    figures = []
    with running_server() as client:
        for workload in workloads(messages):
            if workload.name in _FORMATS:
                names = {"plain": None, "validated": SHAPE}
                for name, shape in names.items():
                    client.create_stream(name, f"http://example.org/{name}", shape=shape)
                rates: dict[str, list[float]] = {name: [] for name in names}
                for round_ in range(-1, rounds):
                    for name in names:
                        rate = messages / _seconds(client, name, workload.body, workload.content_type)
                        # The first is to warm up.
                        if round_ >= 0:
                            rates[name].append(rate)
                for name in names:
                    client.delete_stream(name)
                validated, plain = median_of(rates["validated"]), median_of(rates["plain"])
                label = f"validated receipt of {workload.name}"
                details = {"messages": messages, "rates": rates}
                figures.append(Figure("v", label, validated, "messages/s", validated, _TARGET, details=details))
                ratio = validated / plain
                label = f"{label}, against none"
                figures.append(
                    Figure("v", label, validated, "messages/s", ratio, baseline=plain, baseline_name="plain")
                )
    return figures


def _seconds(client: Client, stream: str, body: bytes, content_type: str) -> float:
    began = time.perf_counter()
    client.post(stream, body, content_type)
    return time.perf_counter() - began
