"""The soak's workload: who posts, who listens, and what every answer has to be.

Batch j is of the stream's time 200 j + 100 ms and has ``size`` elements; element k says
``<ek> :room <r(k mod QUERIES)>`` and ``:value k``. Query i counts those of room i in the last five seconds, each
second.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field

import httpx

from endpoint.client.event_stream import events_awaited

BATCHES_A_SECOND = 5
_WINDOW_SECONDS = 5
EX = "http://ex/"


@dataclass(frozen=True)
class Workload:
    """``rate`` elements a second for so many ``queries`` and ``listeners``, some slow, some that come and go."""

    rate: int
    queries: int
    listeners: int
    slow: int
    restless: int

    @property
    def size(self) -> int:
        """Elements of a batch: as many for each room."""
        return max(self.rate // BATCHES_A_SECOND // self.queries, 1) * self.queries

    def query(self, number: int) -> str:
        return f"""PREFIX : <{EX}>
            SELECT (COUNT(*) AS ?n) (MAX(?v) AS ?last) FROM STREAM :elements [RANGE {_WINDOW_SECONDS}s STEP 1s]
            WHERE {{ ?e :room :r{number} ; :value ?v }}"""

    def batch(self, number: int) -> str:
        """A body of N-Triples messages, all of the time ``at(number)``."""
        return "# @message\n".join(
            f"<{EX}e{k}> <{EX}room> <{EX}r{k % self.queries}> .\n"
            f'<{EX}e{k}> <{EX}value> "{k}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
            for k in range(self.size * number, self.size * (number + 1))
        )

    @staticmethod
    def at(batch: int) -> int:
        """The stream's time of a batch, in milliseconds."""
        return 1000 * batch // BATCHES_A_SECOND + 100

    def answer(self, query: int, second: int) -> tuple[int, int]:
        """The count, and the last number of the room."""
        last = BATCHES_A_SECOND * second
        first = max(last - BATCHES_A_SECOND * _WINDOW_SECONDS, 0)
        return (last - first) * self.size // self.queries, self.size * last - self.queries + query


@dataclass
class Run:
    """What has happened so far. ``closed``: for each second of the stream, when the request that closed it was sent."""

    workload: Workload
    closed: dict[int, float] = field(default_factory=dict)
    latencies: list[tuple[float, float]] = field(default_factory=list)
    """(when it came, seconds since the request that closed it), of listeners that are neither slow nor restless."""
    wrong: list[str] = field(default_factory=list)
    told: dict[str, int] = field(default_factory=dict)
    behind: float = 0.0
    """Seconds that the last request was sent late."""
    ending: bool = False


async def post(run: Run, http: httpx.AsyncClient, seconds: float) -> int:
    """Post batch after batch at their pace. Returns how many whole seconds of the stream there are."""
    began, batch = time.monotonic(), 0
    while batch < seconds * BATCHES_A_SECOND:
        wait = began + batch / BATCHES_A_SECOND - time.monotonic()
        run.behind = max(-wait, 0.0)
        if wait > 0:
            await asyncio.sleep(wait)
        if batch % BATCHES_A_SECOND == 0 and batch:
            run.closed[batch // BATCHES_A_SECOND] = time.monotonic()
        answer = await http.post(
            "/streams/elements",
            params={"at": str(Workload.at(batch))},
            content=run.workload.batch(batch),
            headers={"Content-Type": "application/n-triples; messages=rdfm"},
        )
        if answer.status_code != 200:
            run.wrong.append(f"POST: {answer.status_code} {answer.text}")
            break
        batch += 1
    return batch // BATCHES_A_SECOND


class Listener:
    """Follows one query, resuming where it was. ``second`` is the last one it has the answer of."""

    def __init__(self, run: Run, query: int, *, slow: bool = False, restless: bool = False) -> None:
        self.second = 0
        self._run = run
        self._query = query
        self._slow, self._restless = slow, restless
        self._last = ""

    async def listen(self, http: httpx.AsyncClient) -> None:
        while True:
            try:
                await self._connection(http)
            except httpx.TransportError as error:
                self._tell(type(error).__name__)
                await asyncio.sleep(0.5)

    async def _connection(self, http: httpx.AsyncClient) -> None:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": self._last} if self._last else {})
        params = {} if self._last else {"since": "beginning"}
        leaves = time.monotonic() + 10 + self._query % 10
        async with http.stream("GET", f"/queries/q{self._query}/results", params=params, headers=headers) as response:
            if response.status_code != 200:
                self._tell(f"status {response.status_code}")
                await asyncio.sleep(0.5)
                return
            async for event in events_awaited(response):
                if event.event == "message":
                    self._last = event.id
                    self._take(json.loads(event.data))
                    if self._slow and not self._run.ending:
                        await asyncio.sleep(5)
                elif event.event != "progress":
                    self._tell(f"{event.event} {event.data[:100]}")
                if self._restless and time.monotonic() > leaves and not self._run.ending:
                    return

    def _take(self, document: dict[str, dict[str, list[dict[str, dict[str, str]]]]]) -> None:
        self.second += 1
        (solution,) = document["results"]["bindings"]
        got = int(solution["n"]["value"]), int(solution["last"]["value"])
        if got != self._run.workload.answer(self._query, self.second) and len(self._run.wrong) < 20:
            self._run.wrong.append(f"query {self._query}, answer {self.second}: {got}")
        closed = self._run.closed.get(self.second)
        if closed is not None and not self._slow and not self._restless:
            now = time.monotonic()
            self._run.latencies.append((now, now - closed))

    def _tell(self, what: str) -> None:
        self._run.told[what] = self._run.told.get(what, 0) + 1
