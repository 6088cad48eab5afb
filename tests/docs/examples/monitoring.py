"""The files of the examples for Grafana and Prometheus, read."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.docs.examples.example_run import EXAMPLES

ALERTS = EXAMPLES / "prometheus" / "alerts.yml"
_PROVISIONING = EXAMPLES / "grafana" / "provisioning"


def panels(dashboard: str) -> list[dict[str, Any]]:
    """The panels of a dashboard."""
    text = (_PROVISIONING / "dashboards" / f"{dashboard}.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)["panels"]
    return found


def data_sources() -> dict[str, dict[str, Any]]:
    """The data sources of dashboards, by their uid."""
    text = (_PROVISIONING / "datasources" / "sparql-streams.yaml").read_text("utf-8")
    return {one["uid"]: one for one in yaml.safe_load(text)["datasources"]}


def alerts() -> dict[str, str]:
    """The alerts' expressions, by their names."""
    (group,) = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def expressions() -> list[str]:
    """All PromQL, of alerts and of panels."""
    return [*alerts().values(), *(target["expr"] for panel in panels("endpoint") for target in panel["targets"])]
