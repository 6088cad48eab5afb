"""The source whose rate is measured posts what it says."""

from __future__ import annotations

import pyoxigraph

from protocol.time import parse_instant
from tests.benchmarks.sliding.rates import Source

_TIME = pyoxigraph.NamedNode("http://www.w3.org/ns/sosa/resultTime")


def test_a_second_has_its_rate_of_observations_each_at_its_time() -> None:
    body = b"".join(body for _, _, body in Source(30).seconds(range(61, 62)))
    quads = list(pyoxigraph.parse(body, format=pyoxigraph.RdfFormat.N_TRIPLES))
    times = [parse_instant(str(quad.object.value)) for quad in quads if quad.predicate == _TIME]
    assert len(quads) == 120
    assert len({quad.subject for quad in quads}) == 30
    assert times == sorted(times)
    assert 61_000 < times[0] <= times[-1] <= 62_000
