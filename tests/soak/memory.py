"""The memory of a server's processes while it runs, and whether it grows."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import psutil

_MIB = 1024 * 1024

Samples = dict[tuple[str, int], list[tuple[float, float]]]
"""For each process, by kind and number: (seconds, MiB) in the order of time."""


class Memory:
    """What processes have for themselves (USS: without what they share), looked at when it is asked to."""

    def __init__(self, processes: Callable[[], dict[psutil.Process, str]]) -> None:
        self.samples: Samples = defaultdict(list)
        self._processes = processes

    def look(self) -> None:
        for process, kind in self._processes().items():
            with contextlib.suppress(psutil.Error):
                self.samples[kind, process.pid].append((time.monotonic(), process.memory_full_info().uss / _MIB))

    def growth(self, since: float, upto: float) -> Iterator[tuple[str, int, float, float, float]]:
        """Of each process that lived so long: kind, number, MiB in the first and in the last quarter, MiB a minute."""
        for (kind, number), samples in sorted(self.samples.items()):
            within = [sample for sample in samples if since <= sample[0] <= upto]
            longest = (upto - since) / 4
            if len(within) < 4 or within[0][0] - since > longest or upto - within[-1][0] > longest:
                continue
            quarter = max(len(within) // 4, 1)
            first = sum(size for _, size in within[:quarter]) / quarter
            last = sum(size for _, size in within[-quarter:]) / quarter
            minutes = (within[-quarter][0] - within[quarter - 1][0]) / 60
            yield kind, number, first, last, (last - first) / minutes if minutes else 0.0
