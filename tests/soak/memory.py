"""The memory of a server's processes while it runs, and whether it grows."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, linear_regression

import psutil

_MIB = 1024 * 1024

Samples = dict[tuple[str, int], list[tuple[float, float]]]
"""For each process, by kind and number: (seconds, MiB) in the order of time."""

STEADY = 1.5
"""MiB a minute that the processes of a kind may seem to grow by: that much is their noise within minutes."""
OF_KIND = {"jvm": 6.0}
"""Another limit: Java takes what its collector finds convenient, up to the heap that it has."""
_WARM_SECONDS = 900.0
_WARMING = 18.0
"""MiB a minute more, until processes are warm: caches fill, Java compiles, and answers are held for their listeners.
What an allocator keeps for a moment, 13 MiB of the server's, may seem as much within the last half of five minutes.
"""


def limit(kind: str, since: float) -> float:
    """MiB a minute that the processes of a kind may grow by, from so many seconds after the load began."""
    return OF_KIND.get(kind, STEADY) + (0.0 if since >= _WARM_SECONDS else _WARMING)


@dataclass(frozen=True)
class Growth:
    """Of the processes of a kind that lived throughout: how many, and of the average one MiB and MiB a minute."""

    kind: str
    processes: int
    size: float
    slope: float


class Memory:
    """What processes have in memory that is no file's, looked at when it is asked to.

    Also what a fork has in common with its parent: it would seem to grow when the other one ends.
    """

    def __init__(self, processes: Callable[[], dict[psutil.Process, str]]) -> None:
        self.samples: Samples = defaultdict(list)
        self._processes = processes

    def look(self) -> None:
        for process, kind in self._processes().items():
            with contextlib.suppress(psutil.Error):
                memory = process.memory_info()
                self.samples[kind, process.pid].append((time.monotonic(), (memory.rss - memory.shared) / _MIB))


def growth(samples: Samples, since: float, upto: float) -> list[Growth]:
    """By kind: the slope of the line that fits best what its processes had between two times."""
    of_kind: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (kind, _), looked in sorted(samples.items()):
        within = [(when, size) for when, size in looked if since <= when <= upto]
        longest = (upto - since) / 4
        if len(within) >= 4 and within[0][0] - since <= longest and upto - within[-1][0] <= longest:
            line = linear_regression(*zip(*within, strict=True))
            of_kind[kind].append((fmean(size for _, size in within), 60 * line.slope))
    return [
        Growth(kind, len(found), fmean(size for size, _ in found), fmean(slope for _, slope in found))
        for kind, found in of_kind.items()
    ]
