"""Requests that wait for other servers hold up none that do not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from endpoint import create_app
from endpoint.settings import Settings
from protocol.formats.allow_list import AllowList
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend

_UPDATE = {"Content-Type": "application/sparql-update"}


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections and says nothing, until it is closed."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield server


@pytest.mark.parametrize(("waiting", "many"), [("LOAD", 2), ("a context", 41)])
def test_who_waits_for_another_server_holds_up_nobody_else(silent: socket.socket, waiting: str, many: int) -> None:
    """There are more of them than threads that requests share: of one kind one here, of the other 40."""
    address = f"http://127.0.0.1:{silent.getsockname()[1]}"
    app = create_app(Settings(threads=1, allow_fetch=AllowList.of([address])), backend=FakeBackend())
    with TestClient(app) as client, ThreadPoolExecutor(many) as others:

        def wait(number: int) -> int:
            if waiting == "LOAD":
                return int(client.post("/sparql", content=f"LOAD <{address}/{number}>", headers=_UPDATE).status_code)
            return int(client.put(f"/streams/s{number}", json={"context": f"{address}/{number}"}).status_code)

        answers = [others.submit(wait, number) for number in range(many)]
        connection, _ = silent.accept()  # one of them waits
        update = "PREFIX load: <http://ex/> INSERT DATA { load:a load:b 'LOAD' }"
        assert client.post("/sparql", content=update, headers=_UPDATE).status_code == 204
        assert client.put("/graphs?graph=http://ex/g", content="").status_code in (201, 415)
        assert client.put("/streams/t", json={}).status_code == 201
        assert client.get("/streams").status_code == 200
        assert not any(answer.done() for answer in answers)
        connection.close()
        silent.close()
        assert {answer.result() for answer in answers} == {502}
