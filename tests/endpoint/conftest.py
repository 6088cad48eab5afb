"""The application over a fake backend that has one stream, ``s``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from endpoint import create_app
from endpoint.settings import Settings
from protocol.streams import StreamSettings
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM


@pytest.fixture
def backend() -> FakeBackend:
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings(STREAM))
    return backend


@pytest.fixture
def client(backend: FakeBackend) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(threads=2), backend=backend)) as client:
        yield client
