"""SERVICE in continuous queries, through the real server: another endpoint that answers, fails, hangs and changes."""

from __future__ import annotations

import json

import pytest

from tests.server.other_endpoint import TIMEOUT, OtherEndpoint
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.slow]


def query(other: OtherEndpoint, silent: str = "") -> str:
    return f"""PREFIX : <http://ex/> SELECT ?s ?v ?r FROM NAMED WINDOW :w ON :served [RANGE 10s]
WHERE {{ WINDOW :w {{ ?s :t ?v }} SERVICE {silent} <{other.url}> {{ ?s :in ?r }} }} ORDER BY ?r"""


def answered(server: ServerProcess, name: str) -> int:
    """The instant of a query's last evaluation, in seconds."""
    text = server.client.get(f"/queries/{name}").json().get("evaluated")
    return -1 if text is None else int(text[14:16]) * 60 + int(text[17:19])


def step(server: ServerProcess, second: int) -> None:
    """An element before an instant, which it makes due."""
    server.post("served", f"<http://ex/a> <http://ex/t> {second} .", (second - 5) * 1000)
    server.watermark("served", second * 1000)


def test_a_service_is_asked_once_whatever_happens(server: ServerProcess, other: OtherEndpoint) -> None:
    server.event_stream("served", "http://ex/served")
    server.register("q", query(other))
    server.register("silent", query(other, "SILENT"))
    server.register(
        "light",
        "SELECT ?s ?v FROM NAMED WINDOW <http://ex/w> ON <http://ex/served> [RANGE 10s] "
        "WHERE { WINDOW <http://ex/w> { ?s <http://ex/t> ?v } }",
    )
    modes = ["answer", "fail", "half", "wrong", "drip", "hang", "answer"]
    for number, mode in enumerate(modes, 1):
        other.mode = mode
        second = 10 * number
        step(server, second)
        server.wait(lambda second=second: answered(server, "light") == second)
        assert mode != "hang" or answered(server, "q") < second, "it is still waiting, and nobody else"
        server.wait(lambda second=second: answered(server, "q") == answered(server, "silent") == second)
    other.mode = "answer"
    assert len(other.requests) == 2 * len(modes)
    assert other.requests[0].count("<http://ex/a>") == 1, "what is in the window is sent"
    plan = server.client.get("/queries/q/plan").text
    assert f"SERVICE <{other.url}>" in plan
    assert f"{TIMEOUT:g} s (--service-timeout)" in plan
    metrics = server.client.get("/metrics").text
    assert "sparql_streams_service_requests_total 14.0" in metrics
    assert "sparql_streams_service_failures_total 10.0" in metrics

    def data(name: str) -> list[str]:
        until = {"since": "beginning", "until": "1970-01-01T00:01:10Z"}
        events = server.events(f"/queries/{name}/results", params=until)
        return [event.data for event in events if event.event == "message"]

    first = {name: data(name) for name in ("q", "silent")}
    assert [len(json.loads(one)["results"]["bindings"]) for one in first["q"]] == [2, 2]
    assert [len(json.loads(one)["results"]["bindings"]) for one in first["silent"]] == [2, 1, 1, 1, 1, 1, 2]
    other.store.clear()
    assert {name: data(name) for name in first} == first
    # Between asking and answering: the answer is there, and nobody is there to take it.
    other.mode, other.requests = "hang", []
    other.release.clear()
    step(server, 80)
    server.wait(lambda: len(other.requests) == 2)
    server.kill()
    other.mode = "answer"
    other.release.set()
    server.start()
    server.wait_for_spark()
    server.wait(lambda: answered(server, "q") == answered(server, "silent") == 80)
    assert len(other.requests) == 4
    assert {name: data(name) for name in first} == first
    refused = server.client.put("/queries/no", content=query(other).replace("/sparql", "/../etc"))
    assert refused.status_code == 403
    for name in ("q", "silent", "light"):
        assert server.client.delete(f"/queries/{name}").status_code == 204
    assert not list((server.data / "services").iterdir())
