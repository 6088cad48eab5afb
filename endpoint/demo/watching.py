"""The client's side of the demonstration: it publishes, registers and subscribes over HTTP, as any client would."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx

from endpoint.client.event_stream import SILENCE_SECONDS, events_awaited
from endpoint.client.http import problem_text
from endpoint.demo.display import Display
from endpoint.demo.measurements import MachineSnapshot, core_count, sensors, snapshot
from endpoint.demo.observations import knowledge, observations
from endpoint.demo.queries import DemoQuery, demo_queries
from protocol.formats.media_types import EVENT_STREAM, SPARQL_QUERY
from protocol.time import Instant

STREAM = "machine"
_SECOND = 1000
_RETRY_SECONDS = 1.0


class RequestRefused(Exception):
    """The endpoint did not do what the demonstration needs; the text says why."""


async def watch(client: httpx.AsyncClient, display: Display, threshold: float) -> None:
    """Set up store, stream and queries, then publish and print until cancelled. Raises RequestRefused.

    ``client`` has the endpoint's root as its base URL.
    """
    cores = await asyncio.to_thread(core_count)
    await _request(client, "POST", "graphs?default", "text/turtle", knowledge(sensors(cores)))
    settings = {"time": "event", "timestampPath": ["http://www.w3.org/ns/sosa/resultTime"]}
    described = await _request(client, "PUT", f"streams/{STREAM}", "application/json", json.dumps(settings))
    queries = demo_queries(described["iri"], threshold)
    for query in queries:
        await _request(client, "PUT", f"queries/{query.name}", SPARQL_QUERY, query.text)
    display.say(f"watching {cores} cores, memory, disk, network and the biggest processes; Ctrl-C ends it")
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(publish(client, display, snapshot))
            for query in queries:
                tasks.create_task(subscribe(client, display, query))
    except ExceptionGroup as failed:
        # The first has ended the others.
        raise failed.exceptions[0] from None


async def publish(client: httpx.AsyncClient, display: Display, measure: Callable[[], MachineSnapshot]) -> None:
    """An RDF message at every full second, and then the watermark: nothing else is coming for that second."""
    last = 0
    while True:
        instant = await _next_second(last)
        last = instant
        message = observations(await asyncio.to_thread(measure), instant)
        try:
            await _request(client, "POST", f"streams/{STREAM}", "text/turtle", message)
            await _request(client, "PUT", f"streams/{STREAM}/watermark", "text/plain", str(instant))
        except (RequestRefused, httpx.HTTPError) as error:
            display.say(f"a measurement was not taken: {str(error) or type(error).__name__}")


async def subscribe(client: httpx.AsyncClient, display: Display, query: DemoQuery) -> None:
    """Print the query's evaluations; a connection that breaks is resumed after the last one."""
    last_id = ""
    while True:
        headers = {"Accept": EVENT_STREAM} | ({"Last-Event-ID": last_id} if last_id else {})
        timeout = httpx.Timeout(SILENCE_SECONDS, connect=10)
        with contextlib.suppress(httpx.HTTPError):
            url = f"queries/{quote(query.name, safe='')}/results"
            async with client.stream("GET", url, headers=headers, timeout=timeout) as response:
                if not response.is_success:
                    raise RequestRefused(problem_text(await response.aread(), f"HTTP {response.status_code}"))
                async for event in events_awaited(response):
                    if event.event == "message":
                        display.show(query, json.loads(event.data))
                        last_id = event.id
                    elif event.event == "error":
                        display.say(f"{query.name}: {problem_text(event.data, 'the evaluation failed')}")
                    elif event.event == "end":
                        display.say(f"{query.name} has ended")
                        return
        await asyncio.sleep(_RETRY_SECONDS)


async def _next_second(last: Instant) -> Instant:
    """Sleep until the clock shows a full second after ``last`` (ms); that second."""
    while True:
        now = time.time()
        instant = (int(now) + 1) * _SECOND
        await asyncio.sleep(instant / _SECOND - now)
        if instant > last:
            return instant


async def _request(client: httpx.AsyncClient, method: str, url: str, content_type: str, body: str) -> dict[str, Any]:
    response = await client.request(method, url, content=body.encode(), headers={"Content-Type": content_type})
    if not response.is_success:
        raise RequestRefused(f"{method} /{url}: {problem_text(response.content, f'HTTP {response.status_code}')}")
    document: dict[str, Any] = response.json() if response.content else {}
    return document
