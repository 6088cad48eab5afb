"""Notices processes of Spark's that stand still, and ends them: who waits for one that ended goes on, anew.

What a frozen process holds is lost to nobody: an answer is a function of the log, and is computed again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from protocol.processes.standstill import LOOK_SECONDS, SAID_AFTER, Standstill, standstill_text

log = logging.getLogger(__name__)

SILENT_SECONDS = 60.0
"""After so long, a process that runs and gives no sign of life is ended. Collecting garbage, the JVM is silent for
seconds; what takes the source of instants milliseconds may take it seconds where very much is due."""


class Watched(Hashable, Protocol):
    """A process that is looked at. Equal to itself as it is found again."""

    @property
    def name(self) -> str:
        """What it is, for a person."""

    @property
    def frozen(self) -> bool:
        """Whether it is stopped."""

    @property
    def signs(self) -> int | None:
        """How many signs of life it has given; None for one that owes none now."""

    def kill(self) -> None:
        """End it, at once."""


class Watchdog:
    """Looks every second, in a thread of its own that waits for nothing else.

    ``processes`` gives those that there are; one that is stopped (SIGSTOP) is ended after ``frozen_after`` seconds.
    ``said`` is who stands still, for a person; None while nobody does.
    """

    def __init__(
        self,
        processes: Callable[[], Sequence[Watched]],
        frozen_after: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._processes = processes
        self._frozen_after = frozen_after
        self._frozen: Standstill[Watched] = Standstill(clock)
        self._silent: Standstill[Watched] = Standstill(clock)
        self._signs: dict[Watched, int | None] = {}
        self._stopping = threading.Event()
        self.said: str | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, name="spark-watchdog", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def look(self) -> None:
        """Look once, and end who has stood still for too long."""
        processes = self._processes()
        frozen = [one for one in processes if one.frozen]
        before, self._signs = self._signs, {one: one.signs for one in processes}
        silent = [one for one, signs in self._signs.items() if signs is not None and before.get(one) == signs]
        said: dict[str, float] = {}
        for standstill, still, limit in (
            (self._frozen, frozen, self._frozen_after),
            (self._silent, silent, SILENT_SECONDS),
        ):
            seconds = standstill.look(still)
            for one in still:
                if seconds[one] < SAID_AFTER * limit:
                    continue
                # Nobody can tell what it was when it has ended.
                name = one.name
                said[name] = max(said.get(name, 0.0), seconds[one])
                if seconds[one] >= limit:
                    log.error("%s has stood still for %.0f s: it is ended and started anew", name, seconds[one])
                    one.kill()
        self.said = standstill_text(said)

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception:
                log.exception("the processes of Spark could not be looked at")
