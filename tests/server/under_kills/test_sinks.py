"""A hundred thousand answers to each sink, while both sides are killed: none is lost, all come in order."""

from __future__ import annotations

import hashlib
import itertools
import json
import statistics
import time
from pathlib import Path

import pytest

from endpoint.sinks.json_lines_file import JsonLinesFile
from endpoint.sinks.mqtt import MqttPublisher
from protocol.formats.sse import resume_token
from tests.free_port import free_port
from tests.mosquitto import Mosquitto, needs_mosquitto
from tests.server.server_process import ServerProcess
from tests.server.under_kills.answers import ANSWERS, LAST, check_each_in_order, fed, messages, stand
from tests.server.under_kills.notes import Notes
from tests.server.under_kills.sides import KILLS, PATIENCE, Program, WrittenBroker, end_both

pytestmark = [pytest.mark.server, pytest.mark.spark, pytest.mark.long]


def test_a_webhook(tmp_path: Path) -> None:
    port, notes = free_port(), Notes(tmp_path / "taken")
    url = f"http://127.0.0.1:{port}/"
    with (
        Program("webhook", port, tmp_path / "taken") as receiver,
        ServerProcess(tmp_path / "data", options=["--allow-fetch", url]) as server,
    ):
        stand(server, {"hook": {"type": "webhook", "url": url}})
        began = time.monotonic()
        with fed(server):
            end_both(server, receiver, notes.count, ANSWERS, seed=13)
            server.wait(lambda: notes.last() == LAST, PATIENCE, 1)
        print(f"{ANSWERS} answers in {time.monotonic() - began:.0f} s")
    check_each_in_order(notes.all(), 2 * KILLS)


@needs_mosquitto
def test_a_broker(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "taken")
    with (
        Mosquitto(tmp_path / "broker") as broker,
        Program("subscriber", broker.port, tmp_path / "taken"),
        ServerProcess(tmp_path / "data", options=["--allow-fetch", broker.url]) as server,
    ):
        stand(server, {"topic": {"type": "mqtt", "url": broker.url, "topic": "answers"}})
        began = time.monotonic()
        with fed(server):
            end_both(server, WrittenBroker(broker), notes.count, ANSWERS, seed=17)
            server.wait(lambda: notes.last() == LAST, PATIENCE, 1)
        print(f"{ANSWERS} answers in {time.monotonic() - began:.0f} s")
    # The broker, too, delivers again what it has no word of.
    check_each_in_order(notes.all(), 4 * MqttPublisher.at_once * KILLS)


class MovedAway:
    """The other side of a file: somebody who moves it away."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers = itertools.count()

    def kill(self) -> None:
        if self._path.exists():
            self._path.rename(self._path.with_name(f"moved-{next(self._numbers)}"))

    def start(self) -> None:
        """Nobody is needed for a file."""

    def lines(self) -> list[bytes]:
        """Those of all files; what a crash has left of a line in a file that was moved then is none."""
        return [line for text in self._texts() for line in text.splitlines(keepends=True) if line.endswith(b"\n")]

    def count(self) -> int:
        return sum(text.count(b"\n") for text in self._texts())

    def _texts(self) -> list[bytes]:
        folder = self._path.parent
        return [file.read_bytes() for file in [*sorted(folder.glob("moved-*")), *folder.glob(self._path.name)]]


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out" / "answers.jsonl"
    path.parent.mkdir()
    other = MovedAway(path)
    with ServerProcess(tmp_path / "data", options=["--allow-fetch", path.parent.as_uri()]) as server:
        stand(server, {"file": {"type": "file", "url": path.as_uri()}})
        began = time.monotonic()
        with fed(server):
            end_both(server, other, other.count, ANSWERS, seed=19)
            server.wait(lambda: any(LAST in line.decode() for line in other.lines()[-1:]), PATIENCE, 1)
        print(f"{ANSWERS} answers in {time.monotonic() - began:.0f} s")
    taken = [(json.loads(line)["id"], hashlib.sha256(line).hexdigest()) for line in other.lines()]
    check_each_in_order(taken, 2 * JsonLinesFile.at_once * KILLS)


def test_a_webhook_that_is_away_for_a_minute_delays_nobody(tmp_path: Path) -> None:
    ports = {name: free_port() for name in ("well", "ill")}
    urls = {name: f"http://127.0.0.1:{port}/" for name, port in ports.items()}
    notes = {name: Notes(tmp_path / name) for name in urls}
    allowed = [word for url in urls.values() for word in ("--allow-fetch", url)]
    with (
        Program("webhook", ports["well"], tmp_path / "well"),
        Program("webhook", ports["ill"], tmp_path / "ill") as ill,
        ServerProcess(tmp_path / "data", options=allowed) as server,
    ):
        stand(server, {name: {"type": "webhook", "url": url} for name, url in urls.items()})
        server.wait_for_spark()
        seconds = itertools.count(1)

        def latency() -> float:
            """From the message that ends a second to that second's answer at the webhook that is well."""
            second, began = next(seconds), time.monotonic()
            body = messages(second, second + 1)
            kind = {"Content-Type": "application/n-triples; messages=rdfm"}
            assert server.client.post("/streams/s", content=body, headers=kind).status_code == 200
            server.wait(lambda: notes["well"].last() == resume_token(second * 1000), PATIENCE, 0.005)
            return time.monotonic() - began

        before = [latency() for _ in range(40)]
        ill.kill()
        away: list[float] = []
        began = time.monotonic()
        while time.monotonic() - began < 60:
            away.append(latency())
        assert server.client.get("/queries/q/sinks/ill").json()["state"] == "failing"
        ill.start()
        server.wait(lambda: notes["ill"].last() == notes["well"].last(), PATIENCE, 0.1)
    print(f"{statistics.median(before[10:]):.3f} s, {statistics.median(away):.3f} s while the other one was away")
    assert statistics.median(away) < 1.5 * statistics.median(before[10:])
    assert notes["ill"].all() == notes["well"].all()
