"""A real server process, asked over HTTP by real clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from tests.server.other_endpoint import TIMEOUT, OtherEndpoint
from tests.server.server_process import ServerProcess

SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="session")
def other() -> Iterator[OtherEndpoint]:
    """The endpoint that the server may ask."""
    running = OtherEndpoint()
    running.store.load(b"<http://ex/a> <http://ex/in> <http://ex/kitchen> , <http://ex/hall> .", ox.RdfFormat.TURTLE)
    yield running
    running.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, other: OtherEndpoint) -> Iterator[ServerProcess]:
    """One server for the tests that leave each other alone (names of their own). It ends with them: an idle Spark costs
    a tenth of a core.
    """
    options = ("--allow-fetch", other.url, "--service-timeout", f"{TIMEOUT:g}")
    with ServerProcess(tmp_path_factory.mktemp("data"), options=options) as running:
        running.wait_for_spark()
        yield running


@pytest.fixture(scope="session")
def csrbench() -> Path:
    """The weather recordings (docs/conformance.md, "Data of others")."""
    folder = SHARED / "data" / "csrbench"
    if not folder.is_dir():
        pytest.skip("the CSRBench recordings are not there (../shared/data/csrbench): the checkout's, not a fault")
    return folder
