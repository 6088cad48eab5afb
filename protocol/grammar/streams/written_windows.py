"""Windows as queries write them, before defaults (``dialects``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from protocol.time import Instant, Milliseconds
from protocol.windows.spec import Partition, Report, Unit


@dataclass(frozen=True)
class WrittenTime:
    """A time window as the query writes it, before defaults; all in milliseconds, None where nothing is written.

    ``of_now``: it is written as in SPARQLStream, ``[FROM NOW - 1 MINUTE TO NOW STEP 10s]`` or ``[1 MINUTE SLIDE 10s]``,
    in a clause that this language has.
    ``offset``: how long before NOW it ends, 0 where nothing is written.
    """

    width: Milliseconds
    slide: Milliseconds | None = None
    origin: Instant | None = None
    report: Report | None = None
    of_now: bool = False
    offset: Milliseconds = 0


@dataclass(frozen=True)
class WrittenCount:
    """A count window as the query writes it, None where nothing is written."""

    size: int
    unit: Unit
    step: int | None = None
    origin: Instant | None = None
    report: Report | None = None
    partition: Partition | None = None
    where: str | None = None


@dataclass(frozen=True)
class WrittenNow:
    """``NOW`` as the query writes it, None where nothing is written."""

    origin: Instant | None = None
    report: Report | None = None


@dataclass(frozen=True)
class WrittenLandmark:
    """``LANDMARK`` as the query writes it; all in milliseconds, None where nothing is written."""

    landmark: Instant | None = None
    step: Milliseconds | None = None
    origin: Instant | None = None
    report: Report | None = None


@dataclass(frozen=True)
class WrittenNothing:
    """No window: all of the stream so far, as an event pattern has it. It says nothing of origins and reports."""

    origin: Instant | None = None
    report: Report | None = None


@dataclass(frozen=True)
class WrittenSession:
    """``SESSION`` as the query writes it; all in milliseconds, None where nothing is written."""

    gap: Milliseconds
    origin: Instant | None = None
    report: Report | None = None
    partition: Partition | None = None


WrittenWindow: TypeAlias = WrittenTime | WrittenCount | WrittenNow | WrittenLandmark | WrittenSession | WrittenNothing
