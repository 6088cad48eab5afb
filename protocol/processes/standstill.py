"""For how long processes stand still, told by who looks at them now and then."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

One = TypeVar("One", bound=Hashable)

LOOK_SECONDS = 1.0
"""How often somebody looks."""
SAID_AFTER = 0.3
"""After this part of the time that a process is given, health says that it stands still."""


class Standstill(Generic[One]):
    """For how long things stand still, in seconds in which somebody looked.

    Between two looks no more than ``longest`` seconds are counted: if more went by on the ``clock``, the one who looks
    has stood still as well, or the machine was suspended.
    """

    def __init__(self, clock: Callable[[], float], longest: float = 2 * LOOK_SECONDS) -> None:
        self._clock = clock
        self._longest = longest
        self._looked = clock()
        self._seconds: dict[One, float] = {}

    def look(self, still: Iterable[One]) -> dict[One, float]:
        """The seconds of each that stands still now. What does not begins again at 0."""
        now = self._clock()
        passed, self._looked = min(now - self._looked, self._longest), now
        self._seconds = {one: self._seconds[one] + passed if one in self._seconds else 0.0 for one in still}
        return self._seconds


def standstill_text(seconds: Mapping[str, float]) -> str | None:
    """Who stands still for how long, by their names, for a person; None while nobody does."""
    return "; ".join(f"{name} has stood still for {since:.0f} s" for name, since in seconds.items()) or None
