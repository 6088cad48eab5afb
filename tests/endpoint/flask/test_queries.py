"""The tests of ``test_queries.py``, asked of the Flask extension under a WSGI server."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.flask.wsgi_server import client_of_flask
from tests.endpoint.resources.queries.test_queries import *  # noqa: F403 - all of its tests, asked of the application below


@pytest.fixture
def client(backend: FakeBackend) -> Iterator[httpx.Client]:
    with client_of_flask(backend) as client:
        yield client
