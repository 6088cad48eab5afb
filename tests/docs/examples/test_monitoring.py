"""What the examples for Grafana and Prometheus ask is right by itself, and an alert fires where it should."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.examples.example_run import needs, run_commands
from tests.docs.examples.monitoring import ALERTS, alerts, data_sources, expressions, panels


@pytest.mark.parametrize("dashboard", ["rooms", "endpoint"])
def test_panels_ask_data_sources_that_are_there_and_lie_beside_each_other(dashboard: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels(dashboard):
        for one in (panel, *panel["targets"]):
            assert data_sources()[one["datasource"]["uid"]]["type"] == one["datasource"]["type"]
        at = panel["gridPos"]
        place = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not place & taken
        assert all(x < 24 for x, _ in place)
        taken |= place


@needs("promtool")
def test_what_the_dashboard_asks_is_promql(tmp_path: Path) -> None:
    rules = [
        {"record": f"expression:{number}", "expr": expression.replace("$__rate_interval", "1m")}
        for number, expression in enumerate(expressions())
    ]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": rules}]}), "utf-8")
    run_commands("promtool check rules rules.yml", tmp_path, 60)


RISING = "0+0x4 1+0x20"
AMISS = {
    "EndpointDown": ('up{job="sparql-streams"}', "1+0x4 0+0x20", "1+0x24"),
    "NotEvaluating": ("sparql_streams_ready", "1+0x4 0+0x20", "1 0 0 1+0x20"),
    "QueryLags": ('sparql_streams_query_overdue_seconds{query="q"}', "0+0x4 1+10x20", "29+0x24"),
    "QueryFailed": ('sparql_streams_queries{state="failed"}', RISING, "0+0x24"),
    "SourceFails": ('sparql_streams_source_state{stream="s", state="failing"}', RISING, "0 0 1 0+0x20"),
    "SinkFails": ('sparql_streams_sink_failing{query="q", sink="s"}', RISING, "0 0 1 0+0x20"),
    "ElementsLate": ('sparql_streams_stream_late_total{stream="s"}', RISING, "7+0x24"),
    "MessagesRejected": ('sparql_streams_stream_rejected_total{stream="s", reason="shape"}', RISING, "7+0x24"),
}
"""By alert: a series, values of it that are amiss (one each half minute), and others that are not."""


@needs("promtool")
@pytest.mark.parametrize("alert", alerts())
def test_an_alert_fires_where_it_should_and_nowhere_else(alert: str, tmp_path: Path) -> None:
    shutil.copy(ALERTS, tmp_path)
    series, amiss, right = AMISS[alert]
    groups: list[dict[str, Any]] = []
    for values, count in ((amiss, 1), (right, 0)):
        fired = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)'
        expected = [{"labels": "{}", "value": count}]
        groups.append(
            {
                "interval": "30s",
                "input_series": [{"series": series, "values": values}],
                "promql_expr_test": [{"expr": fired, "eval_time": "6m", "exp_samples": expected}],
            }
        )
    tests = {"rule_files": ["alerts.yml"], "evaluation_interval": "30s", "tests": groups}
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(tests), "utf-8")
    run_commands("promtool test rules tests.yml", tmp_path, 60)
