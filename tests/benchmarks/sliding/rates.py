"""(s) How many elements a second a source may post, live, so that the answers of a window of a minute keep up.

Queries are a join of three with a FILTER that is true of one observation in a thousand; an element is an observation of
four triples. The rates that are tried are half an octave apart: each is posted for some seconds of real time over a
window that was filled before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.benchmarks import live
from tests.benchmarks.figures import Figure
from tests.benchmarks.listening import FailedEvaluation
from tests.benchmarks.server import MESSAGES, Client, running_server

_RANGE = 60
_STEPS = {"STEP 1s": 1, "TUMBLING": _RANGE}
_PARTS = 4
_HALF_OCTAVE = 2**0.5
_FIRST, _LEAST, _MOST = 4_000, 100, 200_000
_NEEDED = 0.5
_SOSA = "http://www.w3.org/ns/sosa/"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@dataclass(frozen=True)
class Source:
    """``rate`` observations in each second of event time; all seconds are alike but for subjects and times."""

    rate: int

    def part(self, number: int) -> str:
        """A part of a second, with places for the second and its time."""
        return "".join(
            "# @message\n"
            f"<http://example.org/o/@S/{one}> <{_TYPE}> <{_SOSA}Observation> .\n"
            f"<http://example.org/o/@S/{one}> <{_SOSA}madeBySensor> <http://example.org/s/{one % 100}> .\n"
            f'<http://example.org/o/@S/{one}> <{_SOSA}hasSimpleResult> "{one * 7 % 1000}"^^<{_XSD}integer> .\n'
            f'<http://example.org/o/@S/{one}> <{_SOSA}resultTime> "@T.{1 + one * 999 // self.rate:03}Z"'
            f"^^<{_XSD}dateTime> .\n"
            for one in range(self.rate * number // _PARTS, self.rate * (number + 1) // _PARTS)
        )

    def seconds(self, seconds: range) -> Iterator[tuple[int, int, bytes]]:
        """Each second, each part of it, and its messages."""
        parts = [self.part(number).encode() for number in range(_PARTS)]
        for second in seconds:
            clock = f"1970-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}".encode()
            for number, part in enumerate(parts):
                yield second, number, part.replace(b"@S", str(second).encode()).replace(b"@T", clock)


def measure(*, quick: bool) -> list[Figure]:
    seconds = 9 if quick else 24
    found = {}
    with running_server() as client:
        for brackets in _STEPS:
            found[brackets] = _sustained(client, brackets, seconds)
    sliding, tumbling = found.values()
    name = f"RANGE {_RANGE}s STEP 1s: elements sustained live"
    return [
        Figure(
            "s",
            name,
            sliding,
            "elements/s",
            sliding / max(tumbling, 1),
            _NEEDED,
            baseline=tumbling,
            baseline_name=f"RANGE {_RANGE}s TUMBLING",
        )
    ]


def _sustained(client: Client, brackets: str, seconds: int) -> int:
    """The greatest rate that was tried and kept up with; 0 where none was."""
    tried: dict[int, bool] = {}

    def keeps_up(rate: float) -> bool:
        tried[round(rate)] = _keeps_up(client, brackets, round(rate), seconds)
        return tried[round(rate)]

    rate = float(_FIRST)
    if keeps_up(rate):
        while rate * 2 <= _MOST and keeps_up(rate * 2):
            rate *= 2
    else:
        rate /= 2
        while rate >= _LEAST and not keeps_up(rate):
            rate /= 2
    if rate >= _LEAST:
        keeps_up(rate * _HALF_OCTAVE)
    return max((rate for rate, kept in tried.items() if kept), default=0)


def _keeps_up(client: Client, brackets: str, rate: int, seconds: int) -> bool:
    stream, source, step = f"rate-{rate}", Source(rate), _STEPS[brackets]
    iri = f"http://example.org/{stream}"
    client.create_stream(stream, iri)
    # A window of a minute tumbles in the first third of what is live.
    begin = _RANGE if step == 1 else _RANGE - seconds // 3
    began = time.perf_counter()
    for _, _, body in source.seconds(range(begin)):
        client.post(stream, body)
    filled = time.perf_counter() - began
    try:
        if filled > begin:  # the way in is slower than time
            print(f"    {brackets}, {rate:,} elements/s: posting {begin} s of them takes {filled:.0f} s", flush=True)
            return False
        client.register("slide", _query(iri, brackets))
        parts = [
            live.Part(second - begin + number / _PARTS, body, None if number else second * 1000)
            for second, number, body in source.seconds(range(begin, begin + seconds + 1))
        ]
        measured = range(-(-(begin + 2) // step) * step * 1000, (begin + seconds + 1) * 1000, step * 1000)
        try:
            lags = live.lags(client, stream, ["slide"], parts, measured, content_type=MESSAGES, patience=_RANGE)
        except FailedEvaluation as failed:
            print(f"    {brackets}, {rate:,} elements/s: {failed}", flush=True)
            return False
        finally:
            client.remove("slide")
    finally:
        client.delete_stream(stream)
    # Who tumbles has until the next time.
    kept = lags.keep_up if step == 1 else lags.complete and lags.on_time and max(lags.instants) < step
    print(f"    {brackets}, {rate:,} elements/s: {lags.told()}: {'keeps up' if kept else 'falls behind'}", flush=True)
    return kept


def _query(stream: str, brackets: str) -> str:
    return (
        f"PREFIX sosa: <{_SOSA}> SELECT ?o ?s ?v "
        f"FROM NAMED WINDOW <http://example.org/w> ON <{stream}> [RANGE {_RANGE}s {brackets}] "
        "WHERE { WINDOW <http://example.org/w> "
        "{ ?o a sosa:Observation ; sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v FILTER(?v >= 999) } }"
    )
