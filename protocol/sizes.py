"""Sizes in bytes, as settings and requests say them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(?P<number>\d{1,18})\s*(?P<unit>[KMGT]?)i?B?", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int:
    """A number of bytes, also with a unit: ``1GB`` and ``1GiB`` are 2^30. Raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a size: write a number of bytes, or one with a unit such as 512MB")
    return int(match["number"]) << (10 * " KMGT".index(match["unit"].upper() or " "))
