from __future__ import annotations

import pytest

from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.mark.parametrize(
    ("state", "status", "ready"), [("starting", 200, False), ("running", 200, True), ("failed", 503, False)]
)
def test_health_tells_liveness_and_readiness(
    client: TestClient, backend: FakeBackend, state: str, status: int, ready: bool
) -> None:
    backend.state, backend.detail = state, "because"
    response = client.get("/health")
    assert response.status_code == status
    assert response.json()["ready"] is ready
    assert response.json()["backend"] == {"state": state, "detail": "because"}
