from __future__ import annotations

from dataclasses import replace

import pytest

from endpoint.app import create_app
from endpoint.settings import Settings
from protocol.errors import ProtocolError, Unavailable
from protocol.streams import StreamSettings
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


def test_metrics_count_requests_and_streams(client: TestClient, backend: FakeBackend) -> None:
    backend.create_stream('a"b\\', StreamSettings("http://ex/s"))
    backend.append('a"b\\', b"<a> <b> <c> .\n", "application/n-triples", 2001)
    client.get("/nowhere")
    response = client.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = response.text.splitlines()
    assert 'sparql_streams_requests_total{method="GET",status="404"} 1.0' in lines
    assert 'sparql_streams_stream_elements_total{stream="a\\"b\\\\"} 1.0' in lines
    assert 'sparql_streams_stream_watermark_seconds{stream="a\\"b\\\\"} 2.0' in lines
    assert "sparql_streams_streams 1.0" in lines
    assert "sparql_streams_ready 1.0" in lines
    assert "# TYPE sparql_streams_stream_elements_total counter" in lines
    assert "# HELP sparql_streams_stream_elements_total Elements appended." in lines
    assert "# TYPE sparql_streams_stream_bytes gauge" in lines


def _kinds(error: type[ProtocolError]) -> set[type[ProtocolError]]:
    return {error}.union(*map(_kinds, error.__subclasses__()))


def test_all_that_may_be_refused_is_counted_from_the_start(client: TestClient) -> None:
    lines = client.get("/metrics").text.splitlines()
    reasons = {one.refusal for one in _kinds(ProtocolError) if one.refusal}
    assert {"closure", "storage_damaged"} <= reasons
    for reason in reasons | {"connections", "malformed_request", "slow_request"}:
        assert f'sparql_streams_refused_total{{reason="{reason}"}} 0.0' in lines


def test_what_has_no_value_yet_has_no_sample(client: TestClient, backend: FakeBackend) -> None:
    backend.create_stream("s", StreamSettings("http://ex/s"))
    lines = client.get("/metrics").text.splitlines()
    assert 'sparql_streams_stream_elements_total{stream="s"} 0.0' in lines
    assert not [line for line in lines if line.startswith("sparql_streams_stream_watermark_seconds{")]


@pytest.mark.parametrize("asked", ["streams", "queries"])
def test_while_the_backend_cannot_be_built_there_are_those_of_the_server_alone(
    asked: str, client: TestClient, backend: FakeBackend
) -> None:
    backend.create_stream("s", StreamSettings("http://ex/s"))
    backend.state = "failed"
    backend.failures[asked] = Unavailable("the backend is not running: it could not be built, and is tried again")
    response = client.get("/metrics")
    assert response.status_code == 200
    lines = response.text.splitlines()
    assert "sparql_streams_ready 0.0" in lines
    assert "sparql_streams_store_full 0.0" in lines
    assert not [line for line in lines if "sparql_streams_stream" in line or "sparql_streams_quer" in line]


def test_partitions_have_watermarks_of_their_own_where_there_are_several(
    client: TestClient, backend: FakeBackend
) -> None:
    for name, partitions in (("s", {"0": 2000, "1": None, "t/0": 500}), ("one", {"t/0": 500})):
        backend.create_stream(name, StreamSettings(f"http://ex/{name}"))
        backend._streams[name] = replace(backend._streams[name], partitions=partitions)
    lines = client.get("/metrics").text.splitlines()
    assert [line for line in lines if line.startswith("sparql_streams_stream_partition_watermark_seconds{")] == [
        'sparql_streams_stream_partition_watermark_seconds{partition="0",stream="s"} 2.0',
        'sparql_streams_stream_partition_watermark_seconds{partition="t/0",stream="s"} 0.5',
    ]


def test_what_was_rejected_is_counted_by_stream_and_reason(client: TestClient, backend: FakeBackend) -> None:
    backend.create_stream("s", StreamSettings("http://ex/s"))
    backend._streams["s"] = replace(backend._streams["s"], rejected=3, rejected_by={"ahead": 2})
    lines = client.get("/metrics").text.splitlines()
    assert 'sparql_streams_stream_rejected_total{reason="ahead",stream="s"} 2.0' in lines
    assert 'sparql_streams_stream_rejected_total{reason="no_time",stream="s"} 0.0' in lines
    assert client.get("/streams/s").json()["rejected"] == 3


def test_applications_in_one_process_have_metrics_of_their_own(client: TestClient, backend: FakeBackend) -> None:
    client.get("/nowhere")
    with TestClient(create_app(Settings(threads=2), backend=FakeBackend())) as other:
        assert 'status="404"' not in other.get("/metrics").text


def test_every_metric_says_what_it_is_once(client: TestClient) -> None:
    lines = client.get("/metrics").text.splitlines()
    helped = [line.split()[2] for line in lines if line.startswith("# HELP")]
    typed = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert helped == typed
    assert len(set(helped)) == len(helped)
    assert {line.partition("{")[0].split()[0] for line in lines if not line.startswith("#")} <= set(helped)
