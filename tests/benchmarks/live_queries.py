"""(l) Updates beside ten live queries of 100 ms each, and how old the answers are that these give.

A hundred updates a second are sent, for so long with nobody listening and for so long with ten queries listened to, in
turn, so that a machine that is slow for a while is slow for both. Every update sets a number that is part of every
answer. An answer is *one evaluation behind* at most if it has all that was acknowledged before the answer before it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from tests.benchmarks.figures import Figure, median_of, percentile
from tests.server.one_shot_server import one_shot_server

QUERIES = 10
UPDATES_A_SECOND = 100
EVALUATION_SECONDS = 0.1
_LINKS = 50_000
_P = "PREFIX : <http://example.org/> "
_JSON = "application/sparql-results+json"


@dataclass
class _Answers:
    """Of one query: when each came, and the number that it has."""

    came: list[tuple[float, int]] = field(default_factory=list)


def measure(*, quick: bool) -> list[Figure]:
    rounds, seconds = (2, 5.0) if quick else (5, 20.0)
    with one_shot_server("asgi") as url:
        return asyncio.run(_measured(url, rounds, seconds))


async def _measured(url: str, rounds: int, seconds: float) -> list[Figure]:
    alone: list[float] = []
    beside: list[float] = []
    acknowledged: list[tuple[float, int]] = []
    answers: list[_Answers] = []
    async with httpx.AsyncClient(base_url=url, timeout=120.0) as client:
        links = "\n".join(f":n{number} :to :n{(number * 7919) % _LINKS} ; :key {number} ." for number in range(_LINKS))
        turtle = f"{_P}\n:counter :is 0 .\n{links}".encode()
        stored = await client.put("/graphs?default", content=turtle, headers={"Content-Type": "text/turtle"})
        stored.raise_for_status()
        keys, evaluation = await _calibrated(client)
        number = 0
        for _ in range(rounds):
            taken, number = await _updates(client, number, seconds, [])
            alone += taken
            listened = [_Answers() for _ in range(QUERIES)]
            listening = [
                asyncio.ensure_future(_listen(client, _query(keys + which), one)) for which, one in enumerate(listened)
            ]
            while not all(one.came for one in listened):
                await asyncio.sleep(0.05)
            taken, number = await _updates(client, number, seconds, acknowledged)
            beside += taken
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)
            answers += listened
    behind = [_behind(one, acknowledged) for one in answers]
    late, given = sum(late for late, _ in behind), sum(given for _, given in behind)
    ages = [age for one in answers for age in _ages(one, acknowledged)]
    medians = median_of(alone), median_of(beside)
    details = {"alone": alone, "beside": beside, "evaluation": evaluation}
    return [
        Figure("l", f"an update beside {QUERIES} live queries", 1000 * medians[1], "ms", medians[1] / medians[0], 1.2,
               False, 1000 * medians[0], "nobody listens", details),
        Figure("l", "answers that are one evaluation behind at most", 100 * (given - late) / given, "%",
               100 * (given - late) / given, 100.0, True, details={"answers": given}),
        Figure("l", "age of an answer when it comes, p50", 1000 * median_of(ages), "ms", 1000 * median_of(ages)),
        Figure("l", "the same, p99", 1000 * percentile(ages, 99), "ms", 1000 * percentile(ages, 99)),
        Figure("l", "such a query by itself", 1000 * evaluation, "ms", 1000 * evaluation),
    ]  # fmt: skip


def _query(keys: int) -> str:
    """One that takes longer the more keys there are, and has the number of the last update in its answer."""
    return (
        f"{_P}SELECT ?number ?count {{ :counter :is ?number {{ SELECT (COUNT(*) AS ?count) "
        f"{{ ?one :key ?key FILTER(?key < {keys}) ?one :to ?other . ?other :key ?further }} }} }}"
    )


async def _calibrated(client: httpx.AsyncClient) -> tuple[int, float]:
    """So many keys that one evaluation takes ``EVALUATION_SECONDS`` or somewhat more, and how long it takes."""
    keys = 1000
    while True:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            await client.post("/sparql", data={"query": _query(keys)}, headers={"Accept": _JSON})
            times.append(time.perf_counter() - began)
        if min(times) >= EVALUATION_SECONDS or keys >= _LINKS:
            return keys, median_of(times)
        keys = min(_LINKS, int(keys * max(1.2, min(4.0, EVALUATION_SECONDS / min(times)))))


async def _update(client: httpx.AsyncClient, text: str) -> None:
    headers = {"Content-Type": "application/sparql-update"}
    (await client.post("/sparql", content=(_P + text).encode(), headers=headers)).raise_for_status()


async def _updates(
    client: httpx.AsyncClient, number: int, seconds: float, acknowledged: list[tuple[float, int]]
) -> tuple[list[float], int]:
    """Send them at their pace, one after the other; how long each took, and the last number."""
    taken: list[float] = []
    began = time.perf_counter()
    while (sent := time.perf_counter()) - began < seconds:
        number += 1
        await _update(client, f"DELETE {{ ?c :is ?was }} INSERT {{ ?c :is {number} }} WHERE {{ ?c :is ?was }}")
        taken.append(time.perf_counter() - sent)
        acknowledged.append((time.perf_counter(), number))
        await asyncio.sleep(max(0.0, 1 / UPDATES_A_SECOND - taken[-1]))
    return taken, number


async def _listen(client: httpx.AsyncClient, query: str, answers: _Answers) -> None:
    headers = {"Accept": "text/event-stream", "Content-Type": "application/sparql-query"}
    async with client.stream("POST", "/sparql", content=query.encode(), headers=headers) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: {") and '"results"' in line:
                row = json.loads(line[6:])["results"]["bindings"][0]
                answers.came.append((time.perf_counter(), int(row["number"]["value"])))


def _last_before(acknowledged: Sequence[tuple[float, int]], moment: float) -> int:
    return max((number for at, number in acknowledged if at <= moment), default=0)


def _behind(answers: _Answers, acknowledged: Sequence[tuple[float, int]]) -> tuple[int, int]:
    """How many answers lack what was acknowledged before the answer before them, and how many there are."""
    pairs = list(zip(answers.came, answers.came[1:], strict=False))
    late = [1 for (before, _), (_, number) in pairs if number < _last_before(acknowledged, before)]
    return len(late), max(1, len(pairs))


def _ages(answers: _Answers, acknowledged: Sequence[tuple[float, int]]) -> list[float]:
    """For how long the update after the one that an answer has had been acknowledged when it came."""
    times = {number: at for at, number in acknowledged}
    return [max(0.0, came - times[number + 1]) for came, number in answers.came if number + 1 in times]
