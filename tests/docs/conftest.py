"""The endpoint that pages and examples are tried with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.free_port import free_port
from tests.server.server_process import ServerProcess


@pytest.fixture(scope="session")
def outside() -> dict[str, str]:
    """Where examples have what is outside of their endpoint, and where it is here."""
    return {
        "mqtt://localhost:1883": f"mqtt://localhost:{free_port()}",
        "kafka://localhost:9092": f"kafka://localhost:{free_port()}",
        "http://127.0.0.1:9000/": f"http://127.0.0.1:{free_port()}/",
    }


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, outside: dict[str, str]) -> Iterator[ServerProcess]:
    """One for all that do with an endpoint that is started without options, or may use what is outside."""
    options = [word for address in outside.values() for word in ("--allow-fetch", address)]
    with ServerProcess(tmp_path_factory.mktemp("docs") / "data", options=options) as running:
        running.wait_for_spark()
        yield running


@pytest.fixture
def emptied(server: ServerProcess) -> ServerProcess:
    """The server without queries, streams and graphs."""
    server.empty()
    return server
