"""A small directory of the suite through an application in this process; and the prose of the older tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.engines.endpoints import Endpoint
from conformance.engines.http import HttpEngine
from conformance.known import read_known
from conformance.run import run, select
from tests.endpoint.running_server import running_server

SUITE = Path(__file__).parents[4] / "shared" / "w3c" / "sparql"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SUITE.is_dir(), reason="the W3C suite is not beside the checkout"),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[HttpEngine]:
    with running_server() as server:
        engine = HttpEngine(Endpoint(server.url))
        yield engine
        engine.close()


@pytest.mark.parametrize(
    "directory",
    ["sparql11/protocol", "sparql11/graph-store-protocol", "sparql11/http-rdf-update", "sparql11/json-res",
     "sparql11/service-description", "sparql10/dataset", "sparql11/delete-data"],
)  # fmt: skip
def test_a_directory_of_the_suite_goes_as_is_known(engine: HttpEngine, directory: str) -> None:
    judged = list(run(select(SUITE, [directory]), engine, read_known()))
    assert judged
    assert [(one.outcome.test.iri, one.outcome.error) for one in judged if one.bad] == []
