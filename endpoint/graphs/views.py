"""The store as this process reads it: snapshots that it has open."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox

from endpoint.processes.forks import only_here


class _View:
    """A snapshot that is open; its directory goes with it."""

    def __init__(self, version: int, directory: Path) -> None:
        self.version = version
        self.oxigraph = ox.Store.read_only(str(directory))
        weakref.finalize(self, only_here(shutil.rmtree), directory.parent, ignore_errors=True)


class Views:
    """The latest snapshot, made when it is asked for, and the one before, which somebody may be reading.

    Thread-safe.
    """

    def __init__(self, directory: Path, backup: Callable[[Path], int]) -> None:
        """``directory``: where they lie; what an earlier process has left there goes. ``backup`` makes a snapshot in a
        directory that is not there yet, and gives its version.
        """
        self._directory = directory
        self._backup = backup
        self._changing = threading.Lock()
        self._latest: _View | None = None
        self._former: _View | None = None
        shutil.rmtree(directory, ignore_errors=True)

    def latest(self, version: Callable[[], int]) -> ox.Store:
        """The store at this version or a later one, to be read only. Raises what ``backup`` raises."""
        with self._changing:
            if self._latest is None or self._latest.version < version():
                self._directory.mkdir(exist_ok=True)
                directory = Path(tempfile.mkdtemp(dir=self._directory)) / "view"
                self._former, self._latest = self._latest, _View(self._backup(directory), directory)
            return self._latest.oxigraph

    def close(self) -> None:
        """Remove them: whoever still reads one has its files open."""
        with self._changing:
            self._latest = self._former = None
        shutil.rmtree(self._directory, ignore_errors=True)
