"""The operators of an evaluation, measured by Spark's tasks."""

from __future__ import annotations

import pytest

from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server]


def test_the_plan_has_the_operators_of_an_evaluation(server: ServerProcess) -> None:
    server.event_stream("measured", "http://ex/measured")
    server.register(
        "measured", "SELECT ?s FROM STREAM <http://ex/measured> [RANGE 10s STEP 10s] WHERE { ?s <urn:p> 7 }"
    )
    server.post("measured", "<urn:s> <urn:p> 7 , 8 .", 5000)
    server.watermark("measured", 10_000)
    server.wait(lambda: server.client.get("/queries/measured").json()["evaluated"] == "1970-01-01T00:00:10Z")
    answer = server.client.get("/queries/measured/plan", params={"measured": "true"})
    assert answer.status_code == 200, answer.text
    heading = "\nOperators (of an evaluation at 1970-01-01T00:00:10Z: tables of windows "
    _, _, operators = answer.text.split("\nStatic", 1)[0].partition(heading)
    lines = operators.splitlines()
    assert "   # 1 row" in lines[1]
    assert any("TABLE_SCAN" in line and "main.window_" in line for line in lines)
    assert server.client.get("/queries/measured").json()["evaluations"] == 1
