"""The tests of ``test_graph_store.py``, asked of the Flask extension under a WSGI server."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.test_graph_store import *  # noqa: F403
from tests.endpoint.wsgi_server import client_of_flask


@pytest.fixture
def client(backend: FakeBackend) -> Iterator[httpx.Client]:
    with client_of_flask(backend, url="http://ex", base_url="http://ex") as client:
        backend.calls.clear()
        yield client
