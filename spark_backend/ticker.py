"""What is done again and again, as time goes by."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

log = logging.getLogger(__name__)


_SHARE = 4
"""A chore is not begun again before so many times as long as it took have passed: of thousands of streams each look
takes a while, and whoever asks something needs the processor, too."""
_LONGEST_REST = 0.5
"""Seconds; a disk that hung for a moment is no reason to wait for long."""


class Chore(NamedTuple):
    """``work`` is done every so many seconds, less often where it takes long; ``failure`` says in the log that it could
    not be.
    """

    every: float
    work: Callable[[], None]
    failure: str


class Ticker:
    """Does its chores in a thread of its own, in their order, until it is stopped.

    One that fails hinders no other, and is tried again at its next time.
    """

    def __init__(
        self,
        chores: Sequence[Chore],
        tick: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        name: str = "watermarks",
    ) -> None:
        """``tick``: the seconds between two looks at which chores it is time for. ``name``: of the thread."""
        self._chores = chores
        self._tick = tick
        self._clock = clock
        self._name = name
        self._next = [float("-inf")] * len(chores)
        self._failing: set[str] = set()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def look(self) -> None:
        """Do what it is time for."""
        for number, (every, work, failure) in enumerate(self._chores):
            began = self._clock()
            if began >= self._next[number]:
                self._try(work, failure)
                rest = min(_SHARE * (self._clock() - began), _LONGEST_REST)
                self._next[number] = began + max(every, rest)

    def _run(self) -> None:
        while not self._stopping.wait(self._tick):
            self.look()

    def _try(self, work: Callable[[], None], failure: str) -> None:
        """That it cannot be done is logged once."""
        try:
            work()
        except BaseException:  # a panic in Oxigraph, which reads the graphs, is no Exception
            if failure not in self._failing:
                self._failing.add(failure)
                log.exception("%s; it is tried again until it can be", failure)
        else:
            self._failing.discard(failure)
