"""``sparql-streams serve`` as a child process, and small clients of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from httpx_sse import ServerSentEvent

from endpoint.client.event_stream import events
from tests.free_port import free_port
from tests.started import Started

_PATIENCE = 300.0
"""A server is there within seconds; on a machine that does much else it takes minutes."""


class ServerProcess(Started):
    """A server on a free port over a data directory, with options; ``with`` it, or start and stop it.

    ``program`` is the command ``sparql-streams``, and ``directory`` where it is started: those of the checkout unless
    others are given. ``environment``: variables that it has besides.
    """

    def __init__(
        self,
        data: Path,
        *,
        options: Sequence[str] = (),
        program: Sequence[str] = (sys.executable, "-m", "endpoint.cli"),
        directory: Path = Path(__file__).parents[2],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        self._program, self._directory, self._options = program, directory, options
        self._environment = {**os.environ, **(environment or {})}
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=60)
        self._process: subprocess.Popen[bytes] | None = None

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.client.close()

    def start(self) -> float:
        """Start, and wait for the first answer of a one-shot query. Returns the seconds that took."""
        began = time.monotonic()
        command = [*self._program, "serve", "--port", str(self.port), "--data", str(self.data), *self._options]
        with open(self.data.with_name(self.data.name + ".log"), "ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self._directory, env=self._environment
            )
        while time.monotonic() - began < _PATIENCE:
            try:
                if self.client.get("/sparql", params={"query": "ASK {}"}).status_code == 200:
                    return time.monotonic() - began
            except httpx.TransportError:
                time.sleep(0.02)
        raise AssertionError("the server did not answer")

    @property
    def pid(self) -> int:
        """The number of the process that runs."""
        assert self._process is not None
        return self._process.pid

    def wait_for_spark(self) -> None:
        self.wait(lambda: self.client.get("/health").json()["backend"]["state"] == "running")

    @staticmethod
    def wait(condition: Any, patience: float = _PATIENCE, interval: float = 0.05) -> None:
        """Ask every so many seconds until the condition holds."""
        deadline = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(interval)

    def stop(self) -> None:
        """End it as an operator would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=60)
            self._process = None

    def kill(self) -> None:
        """End the server process as a crash would; what it had started ends by itself."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=30)
        self._process = None

    def empty(self) -> None:
        """Take away all queries, streams and graphs."""
        for kind in ("queries", "streams"):
            for one in self.client.get(f"/{kind}").json()[kind]:
                assert self.client.delete(f"/{kind}/{one['name']}").status_code == 204
        assert self.client.post("/sparql", data={"update": "CLEAR ALL"}).status_code == 204

    # --- what tests ask for ----------------------------------------------------------------

    def event_stream(self, name: str, iri: str, **settings: str) -> None:
        answer = self.client.put(f"/streams/{name}", json={"time": "event", "iri": iri, **settings})
        assert answer.status_code == 201, answer.text

    def post(self, name: str, body: bytes | str, at: str | int, content_type: str = "text/turtle") -> dict[str, Any]:
        answer = self.client.post(
            f"/streams/{name}", params={"at": str(at)}, content=body, headers={"Content-Type": content_type}
        )
        assert answer.status_code == 200, answer.text
        receipt: dict[str, Any] = answer.json()
        return receipt

    def watermark(self, name: str, value: str | int) -> None:
        answer = self.client.put(f"/streams/{name}/watermark", content=str(value))
        assert answer.status_code == 200, answer.text

    def register(self, name: str, query: str) -> None:
        answer = self.client.put(
            f"/queries/{name}", content=query, headers={"Content-Type": "application/sparql-query"}
        )  # fmt: skip
        assert answer.status_code == 201, answer.text

    def wait_for_listeners(self, query: str, count: int = 1) -> None:
        """Wait until so many listen to a query: they get what it answers from then on."""
        self.wait(lambda: self.client.get(f"/queries/{query}").json()["listeners"] == count)

    def events(
        self, path: str, params: dict[str, str] | None = None, last_event_id: str | None = None
    ) -> Iterator[ServerSentEvent]:
        """The events of a result stream, until it ends or the caller stops."""
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        with self.client.stream("GET", path, params=params, headers=headers, timeout=_PATIENCE) as response:
            assert response.status_code == 200, response.read()
            yield from events(response)

    def answers(self, path: str, **options: Any) -> list[dict[str, Any]]:
        """The documents of a result stream that ends."""
        return [event.json() for event in self.events(path, **options) if event.event == "message"]
