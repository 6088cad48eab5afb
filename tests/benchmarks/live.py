"""A source that posts in real time, whatever the answers do, and how far these are behind it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from protocol.time import Instant
from tests.benchmarks.figures import median_of, percentile
from tests.benchmarks.listening import listening
from tests.benchmarks.server import Client

_BOUND = 1.0
"""Seconds: the lag of what keeps up with steps of a second."""


@dataclass(frozen=True)
class Part:
    """A body that is due so many seconds after the begin; ``closes``: the instant that it makes due."""

    due: float
    body: bytes
    closes: Instant | None = None


@dataclass(frozen=True)
class Lags:
    """Seconds from when the closing body of an instant was due: to each of its answers, and to the last of them.

    ``posts``: how late each body was sent, since one is sent when the one before is durable.
    """

    answers: list[float]
    instants: list[float]
    posts: list[float]
    complete: bool

    @property
    def keep_up(self) -> bool:
        """Whether all answers came, and neither they nor the source were later and later."""
        return self.complete and _stays(self.instants) and median_of(self.instants) < _BOUND and self.on_time

    @property
    def on_time(self) -> bool:
        """Whether the last third of the bodies was sent when it was due."""
        return median_of(self.posts[-(len(self.posts) // 3) :]) < _BOUND

    @property
    def pace(self) -> float:
        """Of the seconds of event time that passed, the part that was answered in as many seconds; at most 1.

        By how much the lag grew from the first third to the last.
        """
        third = len(self.instants) // 3
        if not third:
            return 0.0
        if self.complete and _stays(self.instants):
            return 1.0
        grown = max(0.0, median_of(self.instants[-third:]) - median_of(self.instants[:third]))
        passed = len(self.instants) - third
        return passed / (passed + grown)

    def told(self) -> str:
        if not self.instants:
            return "no instant was answered by all"
        return (
            f"lag median {median_of(self.instants):.2f} s, at the end {self.instants[-1]:.2f} s, "
            f"p99 of the answers {percentile(self.answers, 99):.2f} s, source late by {max(self.posts):.2f} s at most"
            f"{'' if self.complete else '; not all answers came'}"
        )


def _stays(lags: Sequence[float]) -> bool:
    third = len(lags) // 3
    return third > 0 and median_of(lags[-third:]) < 1.25 * median_of(lags[:third]) + 0.25


def lags(
    client: Client,
    stream: str,
    queries: Sequence[str],
    parts: Iterable[Part],
    measured: Container[Instant],
    *,
    content_type: str,
    patience: float = 10.0,
) -> Lags:
    """Posts the parts when they are due, and waits ``patience`` seconds for what is missing of ``measured``."""
    closed: dict[Instant, float] = {}
    posts = []
    with listening(client, queries) as results:
        began = time.perf_counter()
        for part in parts:
            due = began + part.due
            time.sleep(max(0.0, due - time.perf_counter()))
            posts.append(time.perf_counter() - due)
            if part.closes is not None and part.closes in measured:
                closed[part.closes] = due
            client.post(stream, part.body, content_type)
        wanted = len(closed) * len(queries)
        complete = results.wait_for(
            lambda all_: len(all_) >= wanted and sum(one.instant in closed for one in all_) >= wanted, patience
        )
        answers = [(one.instant, one.at) for one in results.arrivals if one.instant in closed]
    count = Counter(instant for instant, _ in answers)
    last = dict(answers)
    return Lags(
        [at - closed[instant] for instant, at in answers],
        [last[instant] - closed[instant] for instant in sorted(closed) if count[instant] == len(queries)],
        posts,
        complete,
    )
