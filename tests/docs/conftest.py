"""The endpoint that pages and examples are tried with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.server_process import ServerProcess


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One for all that do with an endpoint as it is started without options."""
    with ServerProcess(tmp_path_factory.mktemp("docs") / "data") as running:
        running.wait_for_spark()
        yield running


@pytest.fixture
def emptied(server: ServerProcess) -> ServerProcess:
    """The server without queries, streams and graphs."""
    server.empty()
    return server
