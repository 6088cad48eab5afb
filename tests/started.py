"""Programs that tests start and stop, or ``with`` them."""

from __future__ import annotations

import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Self


class Started(ABC):
    """What is started, and stopped at the end of its ``with``."""

    @abstractmethod
    def start(self) -> object: ...

    @abstractmethod
    def stop(self) -> None: ...

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class Broker(Started):
    """A broker in a process of its own, which listens on a port of this machine. ``directory`` is made, and has its
    log.
    """

    def __init__(self, directory: Path, port: int) -> None:
        self.port = port
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir()

    def _run(self, command: Sequence[str], patience: float) -> None:
        """Returns when it takes connections."""
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._directory)
        deadline = time.monotonic() + patience
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.kill()
                    raise AssertionError((self._directory / "log").read_text()[-4000:]) from None
                time.sleep(0.02)

    def kill(self) -> None:
        """As a crash would; does nothing the second time."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
