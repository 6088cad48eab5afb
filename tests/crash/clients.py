"""Those who post, listen and ask while processes are killed around them. Each is a thread that never gives up."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from typing import Any

import httpx

from endpoint.client.event_stream import events
from tests.crash import oracle

_SILENCE = 40.0
"""Heartbeats are at most 15 s apart."""
_BETWEEN_ATTEMPTS = 0.2


class Client(threading.Thread):
    """A thread over a connection of its own. ``wrong`` is what should not be, ``told`` what it was told and may be."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.http = httpx.Client(base_url=url, timeout=httpx.Timeout(_SILENCE, connect=5))
        self.stopping = threading.Event()
        self.wrong: list[str] = []
        self.told: Counter[str] = Counter()

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                self.step()
            except httpx.TransportError:
                self.stopping.wait(_BETWEEN_ATTEMPTS)
            except Exception as error:
                self.wrong.append(f"{self.name}: {type(error).__name__}: {error}")
                return

    def step(self) -> None:
        """What it does again and again; a broken connection is no mistake."""
        raise NotImplementedError


class Poster(Client):
    """Posts second after second of the elements. ``seconds`` have been acknowledged, or found to be there."""

    def __init__(self, url: str, pause: float) -> None:
        super().__init__(url, "poster")
        self.seconds = 0
        self._pause = pause
        self._unknown = False

    def step(self) -> None:
        if self._unknown:
            # Nobody else posts: the number of elements says whether a request without an answer was carried out.
            answer = self.http.get("/streams/elements")
            if answer.status_code == 503:
                raise httpx.ReadError("the server is starting")
            held, rest = divmod(answer.json()["elements"], oracle.A_SECOND)
            if rest or not self.seconds <= held <= self.seconds + 1:
                self.wrong.append(f"{self.seconds} seconds were acknowledged, and {held} and {rest} elements are there")
                self.stopping.set()
            self.seconds, self._unknown = held, False
        self._unknown = True
        answer = self.http.post(
            "/streams/elements",
            content=oracle.message(self.seconds),
            headers={"Content-Type": "text/turtle; messages=rdfm"},
        )
        if answer.status_code == 200:
            self._unknown = False
            self.seconds += 1
        elif answer.status_code != 503:
            self.wrong.append(f"POST: {answer.status_code} {answer.text}")
        self.stopping.wait(self._pause)


class Listener(Client):
    """Follows a query from its beginning, resuming where it was. ``answers`` are what it got, in order.

    A restless one leaves by itself now and then.
    """

    def __init__(self, url: str, query: str, chance: random.Random | None = None) -> None:
        super().__init__(url, f"{'restless ' if chance else ''}listener of {query}")
        self.answers: list[oracle.Content] = []
        self.times: list[str] = []
        self._query = query
        self._chance = chance
        self._last = ""

    def step(self) -> None:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": self._last} if self._last else {})
        params = {} if self._last else {"since": "beginning"}
        path = f"/queries/{self._query}/results"
        leaves = time.monotonic() + (self._chance.uniform(0.5, 20) if self._chance else 1e9)
        with self.http.stream("GET", path, params=params, headers=headers) as response:
            if response.status_code != 200:
                self.told[f"{response.status_code}"] += 1
                if response.status_code != 503:
                    self.wrong.append(f"{self.name}: {response.status_code} {response.read()!r}")
                raise httpx.ReadError("the server is starting")
            for event in events(response):
                if event.event == "message":
                    self._last = event.id
                    self._take(event.data)
                elif event.event != "progress":
                    self.told[f"{event.event} {event.data[:200]}"] += 1
                if self.stopping.is_set() or time.monotonic() > leaves:
                    return
        raise httpx.ReadError("the stream ended")

    def _take(self, data: str) -> None:
        if self._query == "sums":
            self.answers.append(oracle.triples(data))
        else:
            document: dict[str, Any] = json.loads(data)
            self.answers.append(oracle.content(document))
            self.times.append(document["evaluation"]["time"])

    def check(self, seconds: int) -> None:
        """Every answer once, in order, with the right content."""
        for place, answer in enumerate(self.answers, 1):
            if answer != oracle.expected(self._query, place):
                self.wrong.append(f"{self.name}: answer {place} is {sorted(answer)} of {self.times[place - 1 : place]}")
                return
        if len(self.answers) != seconds:
            self.wrong.append(f"{self.name}: {len(self.answers)} answers of {seconds}")


class Asker(Client):
    """Updates the store and asks for what is in it: each update that was acknowledged is in every answer since."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "asker")
        self.updates = 0

    def step(self) -> None:
        # The same update again, where its outcome is not known, changes nothing.
        update = f"INSERT DATA {{ <{oracle.EX}asker> <{oracle.EX}updates> {self.updates + 1} }}"
        answer = self.http.post("/sparql", data={"update": update})
        if answer.status_code == 204:
            self.updates += 1
        else:
            self._refused(answer)
        answer = self.http.get("/sparql", params={"query": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"})
        if answer.status_code == 200:
            (solution,) = answer.json()["results"]["bindings"]
            if int(solution["n"]["value"]) not in (self.updates, self.updates + 1):
                self.wrong.append(f"{self.updates} updates were acknowledged, and {solution['n']['value']} are there")
        else:
            self._refused(answer)
        self.stopping.wait(0.1)

    def _refused(self, answer: httpx.Response) -> None:
        """The process that did it may have been killed or frozen, which is told; nothing else may fail."""
        self.told[f"{answer.status_code} {answer.json().get('detail', '')[:60]}"] += 1
        if answer.status_code != 503 and "done as a whole or not at all" not in answer.text:
            self.wrong.append(f"{self.name}: {answer.status_code} {answer.text}")
