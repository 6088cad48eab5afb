"""Many integers at once."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def distinct(numbers: Numbers) -> Numbers:
    """Sorted, each once."""
    if len(numbers) < 2:
        return numbers
    ordered = np.sort(numbers)
    kept = np.empty(len(ordered), np.bool_)
    kept[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=kept[1:])
    return ordered[kept]


def as_array(numbers: Numbers) -> array[int]:
    """The same, where more can be put behind them."""
    return array("q", numbers.tobytes())
