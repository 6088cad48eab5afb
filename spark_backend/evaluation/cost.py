"""What evaluating costs: time, and that of the processor, which others have to wait for wherever they are."""

from __future__ import annotations

import time
from typing import NamedTuple


class Cost(NamedTuple):
    """``seconds`` by the clock, and seconds of this process's ``processor`` time."""

    seconds: float = 0.0
    processor: float = 0.0

    @classmethod
    def now(cls) -> Cost:
        """A moment: what is spent until a later one is their difference."""
        return cls(time.perf_counter(), time.process_time())

    def less(self, other: Cost) -> Cost:
        """What is left of this cost without another."""
        return Cost(self.seconds - other.seconds, self.processor - other.processor)

    def and_also(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(self.seconds + other.seconds, self.processor + other.processor)

    def share(self, part: float) -> Cost:
        """A part of it, between 0 and 1."""
        return Cost(self.seconds * part, self.processor * part)
