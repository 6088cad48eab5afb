"""A minute of SOSA observations of 100 sensors, as messages of N-Triples, and what queries over windows of it give.

The answers that are expected are computed here from the data, by plain Python.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from protocol.time import Instant, format_instant

SENSORS = 100
TRIPLES = 4
"""Of an observation, its time among them; all are in the windows."""
_SOSA = "http://www.w3.org/ns/sosa/"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@dataclass(frozen=True)
class Observation:
    subject: str
    time: Instant
    sensor: str
    value: Decimal
    """0.00 to 99.99, all equally often."""

    def n_triples(self) -> str:
        return (
            f"<{self.subject}> <{_TYPE}> <{_SOSA}Observation> .\n"
            f"<{self.subject}> <{_SOSA}madeBySensor> <{self.sensor}> .\n"
            f'<{self.subject}> <{_SOSA}hasSimpleResult> "{self.value}"^^<{_XSD}decimal> .\n'
            f'<{self.subject}> <{_SOSA}resultTime> "{format_instant(self.time)}"^^<{_XSD}dateTime> .\n'
        )


@dataclass(frozen=True)
class Recording:
    """The observations of each second (second, second + 1], and their messages."""

    seconds: tuple[tuple[Observation, ...], ...]
    messages: tuple[tuple[str, ...], ...]

    @property
    def triples(self) -> int:
        return TRIPLES * sum(map(len, self.seconds))

    def text(self, second: int) -> str:
        """A second's triples."""
        return "".join(self.messages[second])

    def bodies(self, seconds: int) -> list[bytes]:
        """Bodies of RDF messages, ``seconds`` of them in each."""
        return [
            "".join(f"# @message\n{message}" for some in self.messages[first : first + seconds] for message in some)
            .encode()
            for first in range(0, len(self.messages), seconds)
        ]  # fmt: skip


@lru_cache(maxsize=4)
def recording(seconds: int, observations_a_second: int) -> Recording:
    """The same for the same arguments."""
    chance = random.Random(seconds * observations_a_second)
    found = tuple(
        tuple(
            Observation(
                f"http://example.org/o/{second}/{number}",
                second * 1000 + 1 + number * 1000 // observations_a_second,
                f"http://example.org/s/{chance.randrange(SENSORS)}",
                Decimal(chance.randrange(10_000)).scaleb(-2),
            )
            for number in range(observations_a_second)
        )
        for second in range(seconds)
    )
    return Recording(found, tuple(tuple(one.n_triples() for one in some) for some in found))


@dataclass(frozen=True)
class Question:
    """A join of three over windows of ``range_seconds``, each ``step_seconds``; of values of at least ``least``."""

    range_seconds: int
    step_seconds: int
    averages: bool
    least: Decimal = Decimal(0)

    def over_stream(self, stream: str) -> str:
        brackets = f"RANGE {self.range_seconds}s STEP {self.step_seconds}s"
        return self._text(
            f"FROM NAMED WINDOW <http://example.org/w> ON <{stream}> [{brackets}] ",
            "{ WINDOW <http://example.org/w> {",
            "} }",
        )

    def over_graph(self) -> str:
        return self._text("", "{", "}")

    def _text(self, dataset: str, begin: str, end: str) -> str:
        form = "?s (AVG(?v) AS ?average) (COUNT(?v) AS ?count)" if self.averages else "?o ?s ?v"
        least = f" FILTER(?v >= {self.least})" if self.least else ""
        return (
            f"PREFIX sosa: <{_SOSA}> SELECT {form} {dataset}WHERE {begin} "
            f"?o a sosa:Observation ; sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v{least} {end}"
            f"{' GROUP BY ?s' if self.averages else ''}"
        )

    def instants(self, seconds: int) -> range:
        """Those of ``seconds`` of event time."""
        return range(self.step_seconds * 1000, seconds * 1000 + 1, self.step_seconds * 1000)

    def window(self, instant: Instant) -> range:
        """The seconds that the window holds at an instant."""
        return range(max(0, instant // 1000 - self.range_seconds), instant // 1000)

    def solutions(self, chosen: Iterable[Observation]) -> Solutions:
        """What is right, of the observations that a window holds."""
        chosen = [one for one in chosen if one.value >= self.least]
        if not self.averages:
            return Counter((one.subject, one.sensor, one.value) for one in chosen)
        values: dict[str, list[Decimal]] = {}
        for one in chosen:
            values.setdefault(one.sensor, []).append(one.value)
        return Counter(
            (sensor, _rounded(sum(some, Decimal(0)) / len(some)), len(some)) for sensor, some in values.items()
        )

    def read(self, bindings: Sequence[dict[str, dict[str, str]]]) -> Solutions:
        """The solutions of an answer in SPARQL JSON."""
        if not self.averages:
            return Counter((row["o"]["value"], row["s"]["value"], Decimal(row["v"]["value"])) for row in bindings)
        return Counter(
            (row["s"]["value"], _rounded(Decimal(row["average"]["value"])), int(row["count"]["value"]))
            for row in bindings
        )


Solutions = Counter[tuple[object, ...]]


def solutions(questions: Sequence[Question], data: Recording) -> Iterator[tuple[int, Instant, Solutions]]:
    """What is right, for the number of each question at each instant; the questions differ in a constant only."""
    least = min(question.least for question in questions)
    for instant in questions[0].instants(len(data.seconds)):
        window = [one for second in questions[0].window(instant) for one in data.seconds[second] if one.value >= least]
        for number, question in enumerate(questions):
            yield number, instant, question.solutions(window)


def _rounded(average: Decimal) -> Decimal:
    """Averages of xsd:decimal differ in how many digits an implementation gives."""
    return round(average, 6)
