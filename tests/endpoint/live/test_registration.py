"""When a query that is put again is the one that is there, and for whom others wait while one is registered."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from endpoint.live.hub import Hub
from endpoint.live.registration import put_query
from protocol.errors import QuerySemanticError
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.streams import StreamSettings
from protocol.time import Instant
from protocol.windows.spec import ONLY_STREAM
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, continuous, run, settle
from tests.endpoint.store_queries.store_side import no_store_queries


class OneStream(FakeBackend):
    """A backend with one stream, which is what a query is about that names none, or names it by ``<s>`` alone."""

    def register(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        since: Instant | None = None,
        landmark: Instant | None = None,
        limits: EvaluationLimits = NO_LIMITS,
    ) -> bool:
        windows = tuple(
            replace(one, stream=STREAM) if one.stream == ONLY_STREAM or one.reference == "s" else one
            for one in query.windows
        )
        query = replace(query, windows=windows)
        return super().register(name, query, standing=standing, since=since, landmark=landmark, limits=limits)


def registrations(*queries: ContinuousQuery) -> int:
    """How often a backend with one stream is asked to register when these are put under one name, one by one."""
    backend = OneStream()
    backend.create_stream("s", StreamSettings(STREAM))
    hub = Hub(backend, no_store_queries())

    async def put() -> None:
        hub.bind()
        for query in queries:
            await put_query(hub, "q", query, None)

    run(put())
    return backend.calls.count("register")


def test_a_text_that_names_no_stream_is_the_same_query_when_it_is_put_again() -> None:
    unnamed = continuous(stream=ONLY_STREAM)
    assert registrations(unnamed, unnamed, unnamed) == 1


def test_a_text_that_names_its_stream_by_a_relative_iri_is_the_same_query_when_it_is_put_again() -> None:
    text = "SELECT * FROM STREAM <s> [RANGE 2] WHERE { ?s ?p ?o }"
    here, there = (parse(text, base=f"http://{host}.example/sparql") for host in ("here", "there"))
    assert isinstance(here, ContinuousQuery)
    assert isinstance(there, ContinuousQuery)
    assert registrations(here, here, there) == 1


def test_a_relative_iri_that_was_a_streams_own_is_of_another_query_from_another_address() -> None:
    text = "SELECT * FROM STREAM <streams/s> [RANGE 2] WHERE { ?s ?p ?o }"
    here = parse(text, base=STREAM.replace("streams/s", "sparql"))
    there = parse(text, base="http://there.example/sparql")
    assert isinstance(here, ContinuousQuery)
    assert isinstance(there, ContinuousQuery)
    assert registrations(here, here) == 1
    with pytest.raises(QuerySemanticError):
        registrations(here, there)


def test_another_text_or_another_stream_is_another_query() -> None:
    assert registrations(continuous(stream=ONLY_STREAM), continuous("SELECT ?x …", stream=ONLY_STREAM)) == 2
    assert registrations(continuous(), continuous()) == 1


@pytest.mark.parametrize(("name", "registered"), [("p", 2), ("http://ex/p", 1)])
def test_from_another_address_it_is_the_same_query_unless_its_iris_are_others(name: str, registered: int) -> None:
    text = f"SELECT * FROM STREAM <{STREAM}> [RANGE 2] WHERE {{ ?s <{name}> ?o }}"
    here, there = (parse(text, base=f"http://{host}.example/sparql") for host in ("here", "there"))
    assert isinstance(here, ContinuousQuery)
    assert isinstance(there, ContinuousQuery)
    assert registrations(here, there, there) == registered


class Compiling(OneStream):
    """A backend that is compiling all queries until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def register(self, *arguments: Any, **named: Any) -> bool:
        assert self.go_on.wait(10)
        return super().register(*arguments, **named)


def test_however_many_are_registered_what_only_looks_something_up_does_not_wait_for_them() -> None:
    backend = Compiling()
    backend.create_stream("s", StreamSettings(STREAM))
    hub = Hub(backend, no_store_queries())

    async def look_up() -> None:
        hub.bind()
        # More than there are threads that others share.
        registering = [
            asyncio.create_task(hub.register(f"q{number}", continuous(), standing=True, since=None, previous=None))
            for number in range(50)
        ]
        await settle()
        assert [one.name for one in await hub.threads.run(backend.streams)] == ["s"]
        assert not any(one.done() for one in registering)
        backend.go_on.set()
        await asyncio.gather(*registering)

    run(look_up())
    assert len(backend.queries()) == 50
