"""The server that is fuzzed, a process of its own: ``python -m tests.fuzz.served none|engine DIRECTORY``.

``none`` evaluates no streams (the fake backend); ``engine`` is the real log, compiler and evaluator, which a thread
steps instead of Spark. Ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from starlette.applications import Starlette

from endpoint import create_app
from endpoint.backend import Backend
from endpoint.graphs.store import GraphStore
from endpoint.hosts import with_own_names
from endpoint.server.server import Server
from endpoint.server.sockets import listen, with_port
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.formats.allow_list import AllowList
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget, Lane
from spark_backend.engine import SparkBackend
from spark_backend.evaluation.step import Due
from spark_backend.layout import Layout
from spark_backend.site import SiteChoice
from spark_backend.spark.pipeline import Receive
from tests.endpoint.fake_backend import FakeBackend
from tests.spark_backend.stepped_backend import SteppedPipeline

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
BASE_URL = "http://fuzz.example"
READERS = 2
_MEMORY = 2**28
"""Bytes of an evaluation: what a hard query may take is not to look like growth."""
_PATIENCE = 60.0
_NOWHERE = AllowList.of([*(f"{scheme}://127.0.0.1:1" for scheme in ("http", "ws", "mqtt", "mqtts")), "file:///nowhere"])
"""Addresses that requests may name, where nothing is."""


@dataclass(frozen=True)
class Served:
    port: int
    process: psutil.Process
    log: Path


@contextmanager
def served(backend: str, directory: Path) -> Iterator[Served]:
    """A running server over the directory, which is to be empty."""
    log = directory / "server.log"
    command = [sys.executable, "-m", "tests.fuzz.served", backend, str(directory / "data")]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=ROOT) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text()
            yield Served(int(line), psutil.Process(process.pid), log)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


class _SelfStepping(SteppedPipeline):
    """Takes batches by itself, one after another, as Spark would."""

    def __init__(self, layout: Layout, master: str, receive: Receive, sites: SiteChoice, budget: Budget) -> None:
        super().__init__(layout, master, receive, sites, budget)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="steps", daemon=True)
        self._evaluating = threading.Lock()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    def _evaluated(self, due: Sequence[Due], lane: Lane) -> list[tuple[str, Answer]]:
        # The one evaluator is of this process; Spark's tasks have one each.
        with self._evaluating:
            return super()._evaluated(due, lane)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                more = self.step()
            except Exception:
                logger.exception("a batch failed")
                more = False
            if not more:
                time.sleep(0.01)


class _Graphs:
    """The application's store, which is made when the application starts."""

    def __init__(self) -> None:
        self.app: Starlette | None = None

    @property
    def _store(self) -> GraphStore:
        assert self.app is not None
        return services_of(self.app).store

    @property
    def version(self) -> int:
        return self._store.version

    @property
    def settled_version(self) -> int:
        return self._store.settled_version

    def touched(self, since: int, graphs: Collection[str] | None, predicate: str | None) -> bool:
        return self._store.touched(since, graphs, predicate)

    def named_graphs(self) -> list[str]:
        return self._store.named_graphs()

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> list[tuple[str, str, str, str]]:
        return self._store.quads(subject, predicate, object, graphs)

    def n_quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> list[bytes]:
        return self._store.n_quads(subject, predicate, object, graphs)


def _application(kind: str, data: Path, settings: Settings) -> Starlette:
    graphs = _Graphs()
    backend: Backend = FakeBackend()
    if kind == "engine":
        backend = SparkBackend(
            data / "engine",
            graphs,
            base_iri=settings.base_url,
            budget=Budget(memory=_MEMORY),
            make_pipeline=_SelfStepping,
        )
    graphs.app = app = create_app(settings, backend=backend, answer_timeout=0.3)
    return app


def main() -> None:
    """Serve, print the port, and end with the input."""
    kind, data = sys.argv[1], Path(sys.argv[2])
    data.mkdir(parents=True)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    sockets = listen("127.0.0.1", 0)
    settings = with_own_names(with_port(
        Settings(
            port=0, data=data, base_url=BASE_URL, threads=4, readers=READERS, query_timeout=2, query_memory=_MEMORY,
            max_request_bytes=2**20, max_result_bytes=2**22, max_live_queries=20, max_listeners=50,
            allow_fetch=_NOWHERE,
        ),
        sockets,
    ))  # fmt: skip
    server = Server(_application(kind, data, settings), settings)

    def end_with_input() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()
    print(sockets[0].getsockname()[1], flush=True)
    asyncio.run(server.serve_until_stopped(sockets))


if __name__ == "__main__":
    main()
