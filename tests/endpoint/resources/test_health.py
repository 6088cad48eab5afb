from __future__ import annotations

import pytest

from protocol.streams import StreamSettings
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


def test_metrics_count_requests_and_streams(client: TestClient, backend: FakeBackend) -> None:
    backend.create_stream('a"b\\', StreamSettings("http://ex/s"))
    backend.append('a"b\\', b"<a> <b> <c> .\n", "application/n-triples", 2001)
    client.get("/nowhere")
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = response.text.splitlines()
    assert 'sparql_streams_requests_total{method="GET",status="404"} 1' in lines
    assert 'sparql_streams_stream_elements_total{stream="a\\"b\\\\"} 1' in lines
    assert 'sparql_streams_stream_watermark_seconds{stream="a\\"b\\\\"} 2.0' in lines
    assert "sparql_streams_streams 1" in lines
    assert "sparql_streams_ready 1" in lines


def test_every_metric_says_what_it_is_once(client: TestClient) -> None:
    lines = client.get("/metrics").text.splitlines()
    helped = [line.split()[2] for line in lines if line.startswith("# HELP")]
    typed = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert helped == typed
    assert len(set(helped)) == len(helped)
    assert {line.partition("{")[0].split()[0] for line in lines if not line.startswith("#")} <= set(helped)
