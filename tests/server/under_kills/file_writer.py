"""Writes all messages to a file that it rotates: ``python -m tests.server.under_kills.file_writer FILE HOW``.

It goes on where it was when it was killed, and cuts off what it had left of a line. A rotated file has a number behind
its name, those before it get one more (``numbers``); or it gets a name of its own that comes before (``names``).
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from tests.server.under_kills.messages import MESSAGES, body

_LINES = 2_500
_A_SECOND = 2_000


def main(place: Path, how: str) -> None:
    chance = random.Random(os.getpid())
    before = sum(file.read_bytes().count(b"\n") for file in place.parent.iterdir() if file != place)
    text = place.read_bytes() if place.exists() else b""
    lines = text.count(b"\n")
    number = before + lines
    began, first = time.monotonic(), number
    file = place.open("ab", buffering=0)
    file.truncate(text.rfind(b"\n") + 1)
    while number < MESSAGES:
        if lines >= _LINES:
            file.close()
            rotate(place, how)
            file, lines = place.open("ab", buffering=0), 0
        upto = min(number + chance.randrange(1, 100), number + _LINES - lines, MESSAGES)
        written = "".join(f"{body(one)}\n" for one in range(number, upto)).encode()
        middle = chance.randrange(len(written))
        file.write(written[:middle])
        time.sleep(max(0.0, began + (upto - first) / _A_SECOND - time.monotonic()))
        file.write(written[middle:])
        lines += upto - number
        number = upto
    file.close()


def rotate(place: Path, how: str) -> None:
    if how == "names":
        place.rename(place.with_name(f"{place.stem}-{len(list(place.parent.iterdir())):05d}{place.suffix}"))
        return
    numbers = sorted(int(file.suffix[1:]) for file in place.parent.iterdir() if file != place)
    for number in reversed(numbers):
        place.with_name(f"{place.name}.{number}").rename(place.with_name(f"{place.name}.{number + 1}"))
    place.rename(place.with_name(f"{place.name}.1"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
