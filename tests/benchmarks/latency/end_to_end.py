"""(t) From an MQTT message that closes a window to its answer at a webhook, against a POST and its event.

Both are measured in turn on one server, with the same query over a stream of their own.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from paho.mqtt.client import Client as MqttClient
from paho.mqtt.enums import CallbackAPIVersion

from protocol.formats.sse import resume_token
from tests.benchmarks.aarhus import NoData
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.latency.latency import averages, observations
from tests.benchmarks.listening import Listening, listening
from tests.benchmarks.server import MESSAGES, Client, running_server
from tests.mosquitto import MOSQUITTO, Mosquitto
from tests.served import served

_WARM_UP = 8
_TARGET = 1.3
_PATIENCE = 60.0


def measure(*, quick: bool) -> list[Figure]:
    if MOSQUITTO is None:
        raise NoData("mosquitto is not installed")
    rounds, windows = (2, 25) if quick else (5, 40)
    posted: list[float] = []
    published: list[float] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="sparql-streams-bench-") as directory:
            _measure(Path(directory), windows, posted, published)
    details = {"posted": posted, "published": published, "windows": len(posted)}
    figures = []
    for name, percent in (("median", 50), ("p99", 99)):
        value, beside = percentile(published, percent), percentile(posted, percent)
        title = f"MQTT message to webhook, {name}"
        figures.append(Figure("t", title, value, "s", value / beside, _TARGET, False, beside, "POST to event", details))
    return figures


def _measure(directory: Path, windows: int, posted: list[float], published: list[float]) -> None:
    with (
        Mosquitto(directory / "broker") as broker,
        _webhook() as hook,
        running_server(options=["--allow-fetch", broker.url, "--allow-fetch", hook.url]) as client,
    ):
        source = {"type": "mqtt", "url": broker.url, "topics": ["rooms"], "contentType": MESSAGES}
        client.create_stream("published", "http://example.org/published", source)
        client.create_stream("posted", "http://example.org/posted")
        for name in ("published", "posted"):
            client.register(name, averages(f"http://example.org/{name}"))
        client.create_sink("published", "hook", {"type": "webhook", "url": hook.url})
        client.wait_for_source("published")
        publisher = MqttClient(CallbackAPIVersion.VERSION2)
        publisher.connect("127.0.0.1", broker.port)
        publisher.loop_start()
        with listening(client, ["posted"]) as results:
            _in_turn(client, results, publisher, hook, windows, posted, published)
        publisher.disconnect()
        publisher.loop_stop()


def _in_turn(
    client: Client,
    results: Listening,
    publisher: MqttClient,
    hook: Hook,
    windows: int,
    posted: list[float],
    published: list[float],
) -> None:
    # Not in step with anything that polls.
    pause = random.Random(7)
    for second in range(windows + _WARM_UP + 1):
        body = observations(second)
        time.sleep(pause.uniform(0.3, 0.6))
        began = time.perf_counter()
        client.post("posted", body)
        by_post = _arrived(results, second) - began if second else 0.0
        time.sleep(pause.uniform(0.3, 0.6))
        began = time.perf_counter()
        publisher.publish("rooms", body, 1)
        by_message = hook.arrived(resume_token(second * 1000)) - began if second else 0.0
        if second > _WARM_UP:
            posted.append(by_post)
            published.append(by_message)


def _arrived(results: Listening, second: int) -> float:
    if not results.wait_for(lambda all_: bool(all_) and all_[-1].instant >= second * 1000, _PATIENCE):
        raise RuntimeError(f"no event within {_PATIENCE:g} s of closing the window at {second} s")
    return results.arrivals[-1].at


class Hook:
    """A webhook in a thread of this process, and when each answer came, in seconds of ``time.perf_counter``."""

    def __init__(self) -> None:
        self.url = ""
        self._changed = threading.Condition()
        self._arrivals: dict[str, float] = {}

    def note(self, identifier: str, at: float) -> None:
        with self._changed:
            self._arrivals.setdefault(identifier, at)
            self._changed.notify_all()

    def arrived(self, identifier: str) -> float:
        """When it came, which is waited for. Raises RuntimeError where it does not come."""
        with self._changed:
            if not self._changed.wait_for(lambda: identifier in self._arrivals, _PATIENCE):
                raise RuntimeError(f"no answer {identifier} at the webhook within {_PATIENCE:g} s")
            return self._arrivals[identifier]


@contextmanager
def _webhook() -> Iterator[Hook]:
    hook = Hook()

    class Receiver(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            at = time.perf_counter()
            self.rfile.read(int(self.headers["Content-Length"]))
            hook.note(self.headers["Idempotency-Key"], at)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Receiver)) as server:
        hook.url = f"http://127.0.0.1:{server.server_port}/"
        yield hook
