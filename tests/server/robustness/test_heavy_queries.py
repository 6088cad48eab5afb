"""Heavy queries beside light ones, through the real server: the light ones go on, the heavy ones end within budgets."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from protocol.time import format_instant
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.slow]

DATA, CLOCK = "http://ex/data", "http://ex/clock"
SECONDS = 0.8
LIGHT = f"""SELECT (COUNT(*) AS ?n) ?k FROM NAMED WINDOW <http://ex/w> ON <{CLOCK}> [RANGE 2s STEP 1s]
WHERE {{ WINDOW <http://ex/w> {{ ?s <http://ex/tick> ?v }} BIND({{}} AS ?k) }} GROUP BY ?k"""
_TWICE = "?a <http://ex/p> ?b . ?c <http://ex/p> ?d"
_CONCATENATED = "BIND(CONCAT(STR(?a), STR(?c)) AS ?x)"
HEAVY = {
    "cross-join": ("(COUNT(*) AS ?n) (MAX(?x) AS ?m)", _TWICE, _CONCATENATED, ""),
    "three-joins": ("(COUNT(*) AS ?n)", f"{_TWICE} . ?e <http://ex/p> ?f", "FILTER(?b < ?d && ?d < ?f)", ""),
    "regex": ("(COUNT(*) AS ?n)", _TWICE, "FILTER(REGEX(CONCAT(STR(?a), STR(?c)), '^(([a-z:/0-9])+)+!$'))", ""),
    "group-concat": ("(GROUP_CONCAT(CONCAT(STR(?a), STR(?d))) AS ?all)", _TWICE, "", ""),
    "closure": ("(COUNT(*) AS ?n)", "?a <http://ex/next>+ ?b", "", ""),
    "reflexive-closure": ("(MAX(CONCAT(STR(?a), STR(?b))) AS ?n)", "?a <http://ex/next>* ?b", "", ""),
    "everything": ("*", _TWICE, "", ""),
    "sorted": ("*", _TWICE, "", "ORDER BY " + " ".join(f"(CONCAT(STR(?a), '{n}', STR(?d)))" for n in range(100))),
    "distinct": ("DISTINCT ?x", _TWICE, _CONCATENATED, "ORDER BY ?x LIMIT 10"),
    "compared": ("(COUNT(*) AS ?n)", _TWICE, "FILTER(CONTAINS(STR(?b), STR(?d)))", ""),
}
"""What is selected, the pattern in the window, what follows it, the modifiers."""


def _heavy(name: str) -> str:
    select, pattern, then, order = HEAVY[name]
    return f"""SELECT {select} FROM NAMED WINDOW <http://ex/w> ON <{DATA}> [RANGE 1h STEP 10s]
WHERE {{ WINDOW <http://ex/w> {{ {pattern} }} {then} }} {order}"""


def _server(data: Path, *options: str) -> ServerProcess:
    return ServerProcess(data, options=("--evaluation-seconds", str(SECONDS), "--evaluation-memory", "256MB", *options))


def _fill(server: ServerProcess, triples: int, chain: int) -> None:
    lines = [f'<http://ex/s/{n}> <http://ex/p> "{n}" .' for n in range(triples)]
    lines += [f"<http://ex/c/{n}> <http://ex/next> <http://ex/c/{n + 1}> ." for n in range(chain)]
    server.post("data", "\n".join(lines), format_instant(1000), "application/n-triples")
    server.watermark("data", format_instant(11_000))


class Light:
    """Light queries over a stream of ticks, and how long each tick's answers took."""

    def __init__(self, server: ServerProcess, count: int) -> None:
        self._server = server
        self._second = 1
        server.event_stream("clock", CLOCK)
        self.names = [f"light-{n}" for n in range(count)]
        for n, name in enumerate(self.names):
            server.register(name, LIGHT.replace("{}", str(n)))
        self._tick()

    def _tick(self) -> None:
        self._server.post(
            "clock", f'<http://ex/t> <http://ex/tick> "{self._second}" .', format_instant(self._second * 1000 + 1)
        )
        self._second += 1

    def latencies(self, ticks: int) -> list[float]:
        """Seconds from each tick to the last answer that it makes due."""
        arrived: dict[str, set[str]] = {}
        changed = threading.Condition()
        stop = threading.Event()

        def listen(name: str) -> None:
            for event in self._server.events(f"/queries/{name}/results"):
                if event.event == "message":
                    with changed:
                        arrived.setdefault(event.json()["evaluation"]["time"], set()).add(name)
                        changed.notify_all()
                if stop.is_set():
                    return

        threads = [threading.Thread(target=listen, args=(name,), daemon=True) for name in self.names]
        for thread in threads:
            thread.start()
        self._wait_for_listeners(1)
        measured = []
        for _ in range(ticks):
            instant = format_instant(self._second * 1000)
            began = time.monotonic()
            self._tick()
            with changed:
                there = changed.wait_for(lambda at=instant: len(arrived.get(at, ())) == len(self.names), 60)  # type: ignore[misc]
            assert there, f"a light query has no answer at {instant}"
            measured.append(time.monotonic() - began)
        stop.set()
        self._tick()
        self._wait_for_listeners(0)
        return measured

    def _wait_for_listeners(self, count: int) -> None:
        for name in self.names:
            self._server.wait_for_listeners(name, count)


@contextmanager
def _nothing_left(server: ServerProcess) -> Iterator[None]:
    """After the block, in which the server is stopped, nothing of it is there."""
    processes = psutil.Process(server.pid).children(recursive=True)
    assert processes
    yield
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not alive
    assert not list((server.data / "spark").glob("spill.*"))


def test_heavy_queries_are_stopped_and_fail_alone_and_light_ones_have_their_answers(tmp_path: Path) -> None:
    with _server(tmp_path / "data") as server:
        server.wait_for_spark()
        server.event_stream("data", DATA)
        light = Light(server, 3)
        light.latencies(3)
        for name in ("cross-join", "regex"):
            server.register(name, _heavy(name))
        _fill(server, 3000, 10)
        light.latencies(5)
        for watermark in (21_000, 31_000):
            server.watermark("data", format_instant(watermark))
        for name in ("cross-join", "regex"):
            server.wait(lambda of=name: server.client.get(f"/queries/{of}").json()["state"] == "failed", 60)
            document = server.client.get(f"/queries/{name}").json()
            assert document["lane"] == "own"
            assert "stopped after 0.8 s" in document["lastError"]
        assert 'sparql_streams_queries{state="failed"} 2' in server.client.get("/metrics").text
        events = list(server.events("/queries/regex/results", {"since": "beginning"}))
        assert events[-1].event == "end"
        busy = _started_again(server)
        assert server.client.delete("/queries/regex").status_code == 204
        # It is a second, and longer where the machine has other tests to run.
        _, alive = psutil.wait_procs(busy, timeout=5)
        assert not alive
        with _nothing_left(server):
            server.stop()


def _started_again(server: ServerProcess) -> list[psutil.Process]:
    """What is at work for the query after it was put again, which starts it again: from here on."""
    busy: list[psutil.Process] = []
    before: dict[psutil.Process, float] = {}

    def is_busy_or_over() -> bool:
        busy[:] = _busy(server, before)
        return bool(busy) or server.client.get("/queries/regex").json()["state"] == "failed"

    # A busy machine may give its evaluations nothing in their seconds, so that it fails before it was seen at work.
    for second in range(61, 600, 30):
        again = server.client.put(
            "/queries/regex", content=_heavy("regex"), headers={"Content-Type": "application/sparql-query"}
        )
        assert again.json()["state"] == "running"
        server.watermark("data", format_instant(second * 1000))
        server.wait(is_busy_or_over, interval=0.02)
        if busy:
            return busy
    raise AssertionError("it was never at work")


def _busy(server: ServerProcess, before: dict[psutil.Process, float]) -> list[psutil.Process]:
    """The processes of lanes of their own (which are nice to the others) that are at work.

    They have used processor time since they were first seen, which ``before`` keeps.
    """
    busy = []
    for child in psutil.Process(server.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # ended since it was listed
            used = sum(child.cpu_times()[:2])
            if child.nice() > 0 and used - before.setdefault(child, used) > SECONDS / 4:
                busy.append(child)
    return busy


@pytest.mark.long
def test_beside_ten_heavy_queries_light_ones_are_as_quick_as_alone(tmp_path: Path) -> None:
    with _server(tmp_path / "data", "--evaluation-seconds", "10") as server:
        server.wait_for_spark()
        server.event_stream("data", DATA)
        light = Light(server, 10)
        light.latencies(20)
        alone = light.latencies(100)
        _fill(server, 20_000, 5000)
        for name in HEAVY:
            server.register(name, _heavy(name))
        for instant in range(2, 60):
            server.watermark("data", format_instant(instant * 10_000 + 1000))
        beside = light.latencies(200)
        for name in HEAVY:
            server.wait(lambda of=name: server.client.get(f"/queries/{of}").json()["evaluated"] is not None, 300)
            assert server.client.delete(f"/queries/{name}").status_code == 204
        # Before and after: the machine may have had other work meanwhile.
        alone += light.latencies(100)
        print(f"\nalone: {_told(alone)}\nbeside: {_told(beside)}")
        with _nothing_left(server):
            server.stop()
        assert _p99(beside) <= 2 * _p99(alone)


def _p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]


def _told(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):.3f} s, p99 {_p99(seconds):.3f} s, longest {max(seconds):.3f} s"
