"""That a source is to end: who waits is told, and what is under way is broken off."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopping:
    """Thread-safe; it is stopped for good."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._lock = threading.Lock()
        self._under_way: list[Callable[[], None]] = []

    def is_set(self) -> bool:
        """Whether it is to end."""
        return self._told.is_set()

    def set(self) -> None:
        """Have it end."""
        with self._lock:
            self._told.set()
            for break_off in self._under_way:
                break_off()

    def wait(self, seconds: float) -> bool:
        """Wait for so long, or until it is to end; whether it is."""
        return self._told.wait(seconds)

    @contextmanager
    def breaking(self, break_off: Callable[[], None]) -> Iterator[None]:
        """While ``with`` it, ``break_off`` is called when it is to end, or is already. It waits for nothing."""
        with self._lock:
            self._under_way.append(break_off)
            if self._told.is_set():
                break_off()
        try:
            yield
        finally:
            with self._lock:
                self._under_way.remove(break_off)
