"""The examples that ask an endpoint do what their pages say. All have the one that the commands of other pages have."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from protocol.time import parse_instant
from tests.docs.examples.example_run import Example, needs
from tests.docs.examples.monitoring import data_sources, expressions, panels
from tests.endpoint.sources.kafka.broker import KafkaBroker, write_scripts
from tests.free_port import free_port
from tests.mosquitto import MOSQUITTO, needs_mosquitto
from tests.server.server_process import ServerProcess

PATIENCE = 250.0
_SERVE = re.compile(r"sparql-streams serve(?: --data \S+)?( --allow-fetch (\S+))? &\n")


def example_of(name: str, server: ServerProcess, given: Mapping[str, str] | None = None) -> Example:
    """The example with this endpoint in place of one that it starts."""
    (serve,) = _SERVE.finditer(Example(name).commands)
    return Example(name, {"localhost:8000": f"127.0.0.1:{server.port}", serve[0]: "", **(given or {})})


def outside_of(name: str, outside: Mapping[str, str]) -> tuple[int, dict[str, str]]:
    """The port of what the example's endpoint may use, and what to give the example for it."""
    (serve,) = _SERVE.finditer(Example(name).commands)
    port = urlsplit(outside[serve[2]]).port
    assert port is not None
    return port, {str(urlsplit(serve[2]).port): str(port)}


@needs("node")
@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_node(emptied: ServerProcess, tmp_path: Path) -> None:
    example = example_of("node", emptied)
    example.run(tmp_path, PATIENCE)
    promised = re.findall(r"`(.*?)`", example.promised(r"(?s)It has printed (.*?)\. End"))
    assert (tmp_path / "rows.txt").read_text("utf-8").splitlines() == promised


@needs("chromium")
@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_browser(emptied: ServerProcess, tmp_path: Path) -> None:
    example = example_of("browser", emptied, {"9000": str(free_port())})
    example.run(tmp_path, PATIENCE)
    cells = Cells()
    cells.feed((tmp_path / "shown.html").read_text("utf-8"))
    assert cells.texts == ["http://example.org/kitchen", example.promised(r"has a row with `(.*?)`")]


class Cells(HTMLParser):
    """The texts of a page's cells."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "td"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = False


@needs_mosquitto
@needs("mosquitto_pub")
@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_mqtt(emptied: ServerProcess, outside: dict[str, str], tmp_path: Path) -> None:
    assert MOSQUITTO is not None
    _, given = outside_of("mqtt", outside)
    example = example_of("mqtt", emptied, given)
    example.run(tmp_path, PATIENCE, {"PATH": f"{os.environ['PATH']}:{Path(MOSQUITTO).parent}"})
    assert (tmp_path / "answer.csv").read_text("utf-8").split() == [example.promised(r"The answer is `(.*?)`")]


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_webhook(emptied: ServerProcess, outside: dict[str, str], tmp_path: Path) -> None:
    _, given = outside_of("webhook", outside)
    example = example_of("webhook", emptied, given)
    example.run(tmp_path, PATIENCE)
    assert (tmp_path / "alerts.txt").read_text("utf-8") == example.promised(r"has printed `(.*?)`") + "\n"


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_kafka(emptied: ServerProcess, outside: dict[str, str], tmp_path: Path) -> None:
    port, given = outside_of("kafka", outside)
    example = example_of("kafka", emptied, given)
    scripts = write_scripts(tmp_path / "scripts")
    folder = tmp_path / "example"
    folder.mkdir()
    with KafkaBroker(tmp_path / "broker", port=port):
        example.run(folder, PATIENCE, {"PATH": f"{scripts}:{os.environ['PATH']}"})
    assert (folder / "answer.txt").read_text("utf-8").strip() == example.promised(r"The answer is `(.*?)`")


@needs("prometheus")
@needs("promtool")
@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_prometheus(emptied: ServerProcess, tmp_path: Path) -> None:
    example = example_of("prometheus", emptied, {"localhost:9090": f"127.0.0.1:{free_port()}"})
    example.run(tmp_path, PATIENCE)
    alerts = json.loads((tmp_path / "alerts.json").read_text("utf-8"))["data"]["alerts"]
    name = example.promised("so that `(.*?)` fires")
    (alert,) = [alert for alert in alerts if alert["labels"]["alertname"] == name]
    assert (alert["state"], alert["labels"]["stream"]) == ("firing", "rooms")


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_grafana(emptied: ServerProcess, tmp_path: Path) -> None:
    """What the dashboard makes Grafana ask has the columns that it makes its panels of."""
    example_of("grafana", emptied).run(tmp_path, PATIENCE)
    health = data_sources()["sparql-streams"]["jsonData"]["customHealthCheckUrl"]
    assert emptied.client.get(health).status_code == 200
    chart, table = panels("rooms")
    times, rooms, degrees = frame(emptied.client, chart)
    assert times == sorted(times)  # the data source makes series by room of rows in this order, and of no others
    assert dict(zip(rooms, degrees, strict=True)) == {"kitchen": 21.5, "hall": 18.0}
    assert frame(emptied.client, table) == [["http://example.org/hall", "http://example.org/kitchen"], [2.0, 1.0]]


READERS: dict[str, Callable[[str], Any]] = {"timestamp": parse_instant, "number": float, "string": str}


def frame(client: httpx.Client, panel: dict[str, Any]) -> list[list[Any]]:
    """A panel's columns, fetched and read as the data source Infinity does it with its backend parser."""
    (target,) = panel["targets"]
    assert (target["type"], target["source"], target["parser"]) == ("csv", "url", "backend")
    options = target["url_options"]
    answer = client.request(
        options["method"],
        target["url"],
        params=[(one["key"], one["value"]) for one in options["params"]] or None,
        headers={"Accept": "text/csv; charset=utf-8", "Accept-Encoding": "gzip"},
    )
    assert answer.status_code == 200, answer.text
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert rows
    columns = [(column["selector"], READERS[column["type"]]) for column in target["columns"]]
    return [[read(row[name]) for row in rows] for name, read in columns]


METRIC = re.compile(r"sparql_streams_\w+")


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_every_metric_that_is_asked_for_is_there(emptied: ServerProcess) -> None:
    typed = re.findall(r"^# TYPE (\S+)", emptied.client.get("/metrics").text, re.MULTILINE)
    asked = {name for expression in expressions() for name in METRIC.findall(expression)}
    assert len(asked) > 10
    assert asked <= set(typed)
