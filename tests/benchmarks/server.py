"""A server process of its own, with temporary data, and a small client for it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from protocol.time import Instant, format_instant
from tests.free_port import free_port

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 120.0
STOP_SECONDS = 60.0
MESSAGES = "application/n-triples; messages=rdfm"
QUADS = "application/n-quads; messages=rdfm"


class Client:
    """What a benchmark asks of the server; every answer that is not a success raises."""

    def __init__(self, port: int) -> None:
        self.host, self.port = "127.0.0.1", port
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300.0)

    def close(self) -> None:
        self._http.close()

    def create_stream(self, name: str, iri: str, source: dict[str, Any] | None = None, **settings: Any) -> None:
        """One of event time; ``settings``: further members of the body of the request."""
        if source is not None:
            settings["source"] = source
        self._sent("PUT", f"/streams/{name}", json={"iri": iri, "time": "event", **settings})

    def wait_for_source(self, name: str) -> None:
        """Until the source of the stream is read."""
        deadline = time.monotonic() + READY_SECONDS
        while self._http.get(f"/streams/{name}").json()["sourceState"]["state"] != "running":
            if time.monotonic() > deadline:
                raise RuntimeError(f"the source of {name} is not read")
            time.sleep(0.1)

    def create_sink(self, query: str, name: str, settings: dict[str, Any]) -> None:
        self._sent("PUT", f"/queries/{query}/sinks/{name}", json=settings)

    def delete_stream(self, name: str) -> None:
        self._sent("DELETE", f"/streams/{name}")

    def post(self, stream: str, body: bytes, content_type: str = MESSAGES, *, at: Instant | None = None) -> None:
        """Append messages (``at``: one element at this time); returns once they are durable."""
        options = {} if at is None else {"params": {"at": str(at)}}
        self._sent("POST", f"/streams/{stream}", content=body, headers={"Content-Type": content_type}, **options)

    def advance(self, stream: str, watermark: Instant) -> None:
        """Say that nothing up to ``watermark`` is still coming."""
        self._sent("PUT", f"/streams/{stream}/watermark", content=format_instant(watermark).encode())

    def end(self, stream: str) -> None:
        self._sent("PUT", f"/streams/{stream}/watermark", content=b"end")

    def register(self, name: str, query: str, *, since: str | None = None) -> None:
        self._sent(
            "PUT",
            f"/queries/{name}",
            params={} if since is None else {"since": since},
            content=query.encode(),
            headers={"Content-Type": "application/sparql-query"},
        )

    def remove(self, name: str) -> None:
        self._sent("DELETE", f"/queries/{name}")

    def ready(self) -> bool:
        try:
            return bool(self._http.get("/health").json()["ready"])
        except httpx.TransportError:
            return False

    def _sent(self, method: str, path: str, **options: Any) -> None:
        response = self._http.request(method, path, **options)
        if response.is_error:
            raise RuntimeError(f"{method} {path}: {response.status_code} {response.text[:500]}")


@contextlib.contextmanager
def running_server(checkout: Path = ROOT, options: Sequence[str] = ()) -> Iterator[Client]:
    """``sparql-streams serve`` on a free port, ready to evaluate; ended, with all its processes, at the end.

    It runs the sources of ``checkout``, which may be those of another commit, with this interpreter and what is
    installed beside it, and with these further options.
    """
    port = free_port()
    command = [str(Path(sys.executable).with_name("sparql-streams")), "serve", "--port", str(port), *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARQL_STREAMS_")}
    environment["PYTHONPATH"] = str(checkout)
    with tempfile.TemporaryDirectory(prefix="sparql-streams-bench-") as directory:
        log = Path(directory) / "server.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "--data", str(Path(directory) / "data")],
                stdout=output,
                stderr=output,
                env=environment,
                # Where `python -m` of Spark's finds no other sources.
                cwd=directory,
                start_new_session=True,
            )
        client = Client(port)
        try:
            _wait_until_ready(client, process, log)
            yield client
        except Exception as error:
            error.add_note(f"the server's log ends with:\n{log.read_text(errors='replace')[-2000:]}")
            raise
        finally:
            client.close()
            _stop(process)


def _wait_until_ready(client: Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not client.ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not become ready:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # Spark's process ends when its standard input closes
        process.wait()
