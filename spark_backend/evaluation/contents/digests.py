"""A set of digests that grows: whether it has any of some thousand others is asked in a fraction of a millisecond."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
"""One dimension, in any order; a digest may be there several times."""

_GROWTH = 4


class Digests:
    """A set of 64-bit digests, in sorted arrays.

    An array is merged with the one before it where that is not much larger: so each digest is copied a few times,
    however few there are at once, and there are never many arrays.
    """

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

    def add(self, digests: Hashes) -> None:
        if not len(digests):
            return
        self._runs.append(np.sort(digests))
        while len(self._runs) > 1 and len(self._runs[-2]) < _GROWTH * len(self._runs[-1]):
            last = self._runs.pop()
            # A stable sort merges what is sorted already.
            self._runs[-1] = np.sort(np.concatenate((self._runs[-1], last)), kind="stable")

    def have_any(self, digests: Hashes) -> bool:
        """Whether one of these is in the set."""
        wanted = np.sort(digests)  # neighbours are found near each other
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, wanted), len(run) - 1)
            if (run[places] == wanted).any():
                return True
        return False
