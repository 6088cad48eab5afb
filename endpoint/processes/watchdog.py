"""Notices processes of the endpoint's own that are frozen, for whoever has them to end them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, Protocol, TypeVar

from protocol.processes.standstill import SAID_AFTER, Standstill, standstill_text

logger = logging.getLogger(__name__)

FROZEN_SECONDS = 10.0
"""A process that has been stopped (SIGSTOP) for so long is ended, and another takes its place."""


class Watched(Hashable, Protocol):
    """A process that is looked at. Equal to itself only."""

    @property
    def pid(self) -> int:
        """Its number."""

    @property
    def frozen(self) -> bool:
        """Whether it is stopped (SIGSTOP)."""


One = TypeVar("One", bound=Watched)


class Watchdog(Generic[One]):
    """Tells which processes of one kind have been frozen for ``frozen_after`` seconds.

    ``said`` is who stands still, for a person, from three tenths of that time on; None while nobody does.
    """

    def __init__(self, kind: str, frozen_after: float, clock: Callable[[], float] = time.monotonic) -> None:
        """``kind`` is what the processes are, for a person."""
        self._kind = kind
        self._frozen_after = frozen_after
        self._standstill: Standstill[One] = Standstill(clock)
        self.said: str | None = None

    def look(self, processes: Iterable[One]) -> list[One]:
        """Look once, which is to be done every ``LOOK_SECONDS``. Those that are to be ended now."""
        frozen = self._standstill.look([one for one in processes if one.frozen])
        names = {one: f"{self._kind} (process {one.pid})" for one in frozen}
        said = {names[one]: seconds for one, seconds in frozen.items() if seconds >= SAID_AFTER * self._frozen_after}
        self.said = standstill_text(said)
        too_long = [one for one, seconds in frozen.items() if seconds >= self._frozen_after]
        for one in too_long:
            logger.error("%s has stood still for %.0f s: it is ended and replaced", names[one], frozen[one])
        return too_long
