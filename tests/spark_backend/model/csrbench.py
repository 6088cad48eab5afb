"""CSRBench: its recordings by second of application time, and its seven queries with their windows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "csrbench"
STREAM = "http://knoesis.wright.edu/ssw/observations"
FILES = 34


@dataclass(frozen=True)
class Given:
    """A query as the benchmark has it: prologue, SELECT clause and group pattern; width and slide in seconds."""

    number: int
    prologue: str
    select: str
    pattern: str
    width: int
    slide: int


@cache
def recordings() -> dict[int, bytes]:
    """The Turtle files by their second."""
    files = {int(path.stem.removeprefix("data_")): path.read_bytes() for path in sorted(FOLDER.glob("data_*.ttl"))}
    assert len(files) == FILES
    return files


@cache
def queries() -> dict[int, Given]:
    """By number, 1 to 7. The file says 50 s for query 6, whose window is of 5 s: a known slip."""
    text = re.sub(r"\\[ \t]*\n", " ", (FOLDER / "queries.properties").read_text())
    given: dict[int, dict[str, str]] = {}
    for number, name, value in re.findall(r"^srb\.query(\d)\.([\w.]+) *= *(.*)$", text, re.MULTILINE):
        given.setdefault(int(number), {})[name] = value.strip()
    return {number: _given(number, one) for number, one in given.items()}


def _given(number: int, properties: dict[str, str]) -> Given:
    query = properties["booleanquery"]
    select = re.search(r"\bSELECT\b(.*?)\bWHERE\b", query)
    assert select is not None
    width, slide = (int(properties[f"window.{name}"]) // 1000 for name in ("size", "slide"))
    if number == 6:
        assert (width, slide) == (50, 50)
        width = slide = 5
    return Given(number, query[: select.start()], select[1].strip(), query[select.end() :].strip(), width, slide)
