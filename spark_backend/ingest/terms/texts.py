"""Columns of texts over the bytes of one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Positions = npt.NDArray[np.int64]
"""Places in a text, in bytes."""

Bounds = tuple[Positions, Positions]
"""Where slices of a text begin and end."""


def characters_of(texts: pa.StringArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Where each of the texts begins, and the last one ends, and the bytes in which."""
    _, offsets, characters = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset :][: len(texts) + 1]
    return bounds, np.frombuffer(b"" if characters is None else characters, np.uint8)


def slices(text: bytes | npt.NDArray[np.uint8], *bounds: Bounds) -> list[pa.StringArray]:
    """The slices [starts, ends) of a text in UTF-8 for each pair of ``bounds``, which interleave without overlap."""
    offsets = np.stack([position for pair in bounds for position in pair], axis=1).astype(np.int32).ravel()
    if not len(offsets):
        return [pa.array([], pa.string()) for _ in bounds]
    between = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))
    step = 2 * len(bounds)
    return [between.take(pa.array(np.arange(begin, len(offsets) - 1, step))) for begin in range(0, step, 2)]


def without_start(texts: pa.StringArray, count: int) -> pa.StringArray:
    """The texts without their first ``count`` characters, which are ASCII."""
    # binary_slice without an end overflows (pyarrow 26: "Negative buffer resize").
    return pc.binary_replace_slice(texts.cast(pa.binary()), 0, count, b"").cast(pa.string())
