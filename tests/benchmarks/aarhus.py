"""The recordings of the city of Aarhus as bodies of RDF messages."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from protocol.time import Instant, parse_instant

BODY_BYTES = 1_000_000
_RESULT_TIME = re.compile(rb'resultTime> "([^"]+)"')


@dataclass(frozen=True)
class MessageLog:
    """Messages in order of time, cut into bodies of about ``BODY_BYTES``."""

    bodies: list[bytes]
    messages: int
    triples: int
    first: Instant
    last: Instant


class NoData(Exception):
    """The recordings are not where they should be."""


def load(data: Path, limit: int) -> MessageLog:
    """The first ``limit`` messages of all recordings together. Raises NoData."""
    folder = data / "aarhus"
    recordings = sorted(folder.glob("*.stream"))
    script = folder / "messages.py"
    if not recordings or not script.is_file():
        raise NoData(f"there is no Aarhus log at {folder} (messages.py and *.stream): say where it is with --data")
    log = subprocess.run(
        [sys.executable, str(script), "--limit", str(limit), *map(str, recordings)], stdout=subprocess.PIPE, check=True
    ).stdout
    marker = b"# @message\n"
    messages = log.count(marker)
    times = _RESULT_TIME.findall(log)
    bodies = []
    start = 0
    while start < len(log):
        cut = log.find(marker, start + BODY_BYTES)
        cut = len(log) if cut < 0 else cut
        bodies.append(log[start:cut])
        start = cut
    return MessageLog(
        bodies,
        messages,
        log.count(b"\n") - messages,
        parse_instant(times[0].decode()),
        parse_instant(times[-1].decode()),
    )
