from __future__ import annotations

import pytest

from endpoint.graphs.store import GraphStore
from endpoint.readers.pool import ReaderPool
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


def test_health_names_the_processes_of_the_endpoints_own_that_stand_still(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = client.get("/health").json()
    assert document["store"] == {"state": "ok", "detail": "the graphs can be changed"}
    assert document["readers"] == {"state": "ok", "detail": "queries are answered"}
    for part, kind in (("store", GraphStore), ("readers", ReaderPool)):
        monkeypatch.setattr(kind, "stalled", f"the {part}'s process stands still")
        response = client.get("/health")
        assert response.status_code == 200
        assert response.json()[part] == {"state": "stalled", "detail": f"the {part}'s process stands still"}


def test_a_process_lives_whatever_has_failed_beside_it(client: TestClient, backend: FakeBackend) -> None:
    backend.state = "failed"
    response = client.get("/health/live")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("state", ["starting", "running", "stalled", "failed"])
def test_readiness_says_which_part_is_not_ready_and_why(client: TestClient, backend: FakeBackend, state: str) -> None:
    backend.state, backend.detail = state, "because"
    running = state == "running"
    one_shot = {"ready": True, "detail": "queries are answered"}
    continuous = {"ready": running, "detail": "because"}
    for query, parts in (
        ("", {"oneShot": one_shot, "continuous": continuous}),
        ("?part=oneShot", {"oneShot": one_shot}),
        ("?part=continuous", {"continuous": continuous}),
    ):
        response = client.get(f"/health/ready{query}")
        ready = all(part["ready"] for part in parts.values())
        assert response.json() == {"ready": ready, "parts": parts}
        assert response.status_code == (200 if ready else 503)
        assert client.head(f"/health/ready{query}").status_code == response.status_code
    refused = client.get("/health/ready?part=all")
    assert refused.status_code == 400
    assert "oneShot, continuous" in refused.json()["detail"]
