"""A server whose Spark is a cluster: a master and two workers of one core, on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.standalone import StandaloneCluster, server_on
from tests.server.server_process import ServerProcess

LARGE = 60
"""Windows of more triples than this are evaluated by Spark SQL."""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path_factory.mktemp("cluster")) as running:
        for _ in range(2):
            running.add_worker()
        yield running


@pytest.fixture(scope="session")
def server(cluster: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with server_on(cluster, tmp_path_factory.mktemp("data"), SPARQL_STREAMS_SPARK_ABOVE=str(LARGE)) as running:
        running.wait_for_spark()
        yield running
