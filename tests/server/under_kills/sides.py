"""Two sides of a transport, both ended at random times and begun again."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol

import httpx

from tests.mosquitto import Mosquitto
from tests.server.server_process import ServerProcess
from tests.server.under_kills.messages import MESSAGES

KILLS = 5
PATIENCE = 1800.0
AWAY_SECONDS = 60.0 * min(1, MESSAGES / 100_000)
_ROOT = Path(__file__).resolve().parents[3]


class Side(Protocol):
    def start(self) -> object: ...

    def kill(self) -> None: ...


class Program:
    """A module of this folder in a process of its own, while ``with`` it."""

    def __init__(self, module: str, *arguments: object) -> None:
        self._command = [sys.executable, "-m", f"tests.server.under_kills.{module}", *map(str, arguments)]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Program:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, cwd=_ROOT)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def ended(self) -> bool:
        """Whether it came to its end by itself."""
        assert self._process is not None
        code = self._process.poll()
        assert code in (None, 0), f"it failed: {code}"
        return code == 0


class WrittenBroker:
    """A broker that writes down what it has before it ends: mosquitto forgets some of it when it is killed."""

    def __init__(self, broker: Mosquitto) -> None:
        self._broker = broker

    def start(self) -> None:
        self._broker.start()

    def kill(self) -> None:
        self._broker.stop()


def end_both(server: ServerProcess, other: Side, reached: Callable[[], int], total: int, seed: int) -> None:
    """Kill both and start them again, five times, at random points on the way to ``total``; once the other side stays
    away for a minute.
    """
    chance = random.Random(seed)
    began = time.monotonic()
    for kill in range(KILLS):
        threshold = int((kill + chance.random()) / KILLS * total)
        server.wait(lambda threshold=threshold: reached() >= threshold, PATIENCE, 0.05)
        print(f"{reached()} after {time.monotonic() - began:.0f} s: both are killed", flush=True)
        sides: list[Side] = chance.sample([server, other], 2)
        for one in sides:
            one.kill()
            time.sleep(chance.random())
        if kill == KILLS // 2:
            server.start()
            time.sleep(AWAY_SECONDS)
            other.start()
            continue
        for one in chance.sample(sides, 2):
            one.start()
            time.sleep(chance.random())


class StoredElements:
    """How many elements a stream has: never fewer than were seen before."""

    def __init__(self, server: ServerProcess, stream: str) -> None:
        self._server, self._stream = server, stream
        self._most = 0

    def __call__(self) -> int:
        answer = self._server.client.get(f"/streams/{self._stream}")
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:  # else the backend is not there yet
            found: int = answer.json()["elements"]
            assert found >= self._most, f"{self._most - found} elements were lost"
            self._most = found
        return self._most
