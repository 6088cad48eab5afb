"""Numbered messages that a source reads, and what of them is in a stream's log in the end."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pyarrow as pa

from spark_backend.log.reader import LogReader

MESSAGES = int(os.environ.get("UNDER_KILLS", "100000"))
TOPICS = 4
AT = 1_767_225_600_000
RESULT_TIME = "http://www.w3.org/ns/sosa/resultTime"
_BAD_EVERY, _BAD = 1000, 7


def is_good(number: int) -> bool:
    return number // TOPICS % _BAD_EVERY != _BAD


def body(number: int) -> str:
    """The message of this number, of one of the topics in turn; one of a thousand is no RDF."""
    topic, place = number % TOPICS, number // TOPICS
    if not is_good(number):
        return f"not RDF {topic} {place}"
    return f'<http://ex/o/{number}> <http://ex/topic/{topic}> "{place}" .'


def timed_body(number: int) -> str:
    """The same with its time, in a document of many; one of a thousand has none."""
    if not is_good(number):
        return f'<http://ex/o/{number}> <http://ex/untimed> "" .'
    time = f'"{AT + number}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    return f"{body(number)}\n<http://ex/o/{number}> <{RESULT_TIME}> {time} ."


GOOD = sum(is_good(number) for number in range(MESSAGES))
PLACES = {
    topic: [number // TOPICS for number in range(MESSAGES) if number % TOPICS == topic and is_good(number)]
    for topic in range(TOPICS)
}
"""What is good of each topic, in its order."""
REJECTED = Counter(body(number) for number in range(MESSAGES) if not is_good(number))


def stored(data: Path, name: str) -> dict[int, list[int]]:
    """What the log of a stream has of each topic, in the order in which it came."""
    found: dict[int, list[int]] = {}
    for predicate, value in _rows(data, name):
        if predicate.startswith("<http://ex/topic/"):
            found.setdefault(int(predicate[len("<http://ex/topic/") : -1]), []).append(int(value.strip('"')))
    return found


def rejected(data: Path, name: str) -> Counter[str]:
    """The messages that the stream has rejected, as they came."""
    chars = "<http://www.w3.org/2011/content#chars>"
    return Counter(value.strip('"') for predicate, value in _rows(data, f"{name}.rejected") if predicate == chars)


def _rows(data: Path, log: str) -> list[tuple[str, str]]:
    (directory,) = (path for path in (data / "streams").iterdir() if path.name.rpartition(".")[0] == log)
    reader = LogReader(directory)
    try:
        frames, _ = reader.read_after(reader.begin, 2**40)
        rows = []
        for frame in frames:
            assert isinstance(frame, pa.RecordBatch), f"damaged: {frame}"
            rows += list(zip(frame["p"].to_pylist(), frame["o"].to_pylist(), strict=True))
        return rows
    finally:
        reader.close()
