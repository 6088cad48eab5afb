"""How long to wait before the next attempt."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 30.0
MOST_PATIENCE = 600.0
"""Seconds for which nobody is left alone longer, whatever they ask."""

SPARK_SECONDS = 1.0
"""Spark that starts is asked for so often: twice as long each time, it could be there for as long as it took."""


class BackOff:
    """Twice as long after each failure, up to ``longest`` seconds, and less by up to a half at random.

    So clients that lost the same server do not come back to it all at once. ``chance`` gives numbers from 0 to 1.
    """

    def __init__(self, longest: float = LONGEST_SECONDS, chance: Callable[[], float] = random.random) -> None:
        self._longest = longest
        self._chance = chance
        self._next = FIRST_SECONDS

    def failed(self) -> float:
        """The seconds to wait now."""
        seconds = self._next * (1 - self._chance() / 2)
        self._next = min(2 * self._next, self._longest)
        return seconds

    def pause(self, retry_after: float, retry_in: float | None) -> float:
        """The seconds to wait now: ``retry_after`` at least, or just ``retry_in`` where it is said."""
        return max(self.failed(), retry_after) if retry_in is None else retry_in

    def succeeded(self) -> None:
        """The next failure is a first one."""
        self._next = FIRST_SECONDS


def patience(retry_after: str, now: Callable[[], float] = time.time) -> float:
    """Seconds to wait by an answer's ``Retry-After`` (RFC 9110 section 10.2.3), ten minutes at most; what is neither a
    number nor a date says none.
    """
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text)
    else:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now()
        except (ValueError, OverflowError):
            return 0
    return min(max(seconds, 0), MOST_PATIENCE)
