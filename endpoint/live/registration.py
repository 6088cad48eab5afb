"""Standing queries come and go: PUT and DELETE of a query, and REGISTER (docs/language.md, "Registration";
docs/http.md, "Standing queries").
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from endpoint.backend import QueryDescription
from endpoint.live.hub import Hub
from endpoint.uninterrupted import uninterrupted
from protocol.errors import Conflict, NotFound
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.language.model import ContinuousQuery
from protocol.names import InvalidName, registered_name
from protocol.preconditions import Precondition
from protocol.sparql.iris import resolve
from protocol.time import BEFORE_ALL, FIRST_INSTANT, Instant
from protocol.windows.spec import ONLY_STREAM, FactsWindow, StreamWindow

OVERDUE_SECONDS = 10.0
"""While evaluations have been due for longer, whoever registers a query is warned."""
_RESERVED = re.compile(r"live-[0-9a-f]{32}\Z")
_ANY = Precondition()
Clear = Callable[[str], Awaitable[None]]
"""Puts away what there still is of a query of this name, which is there no more."""


async def _nothing(name: str) -> None:
    """Nobody keeps anything of a query by its name."""


class Registered(NamedTuple):
    """A standing query as it was when it was registered, whatever has its name by now, and whether it is ``new``."""

    description: QueryDescription
    new: bool


async def located(hub: Hub, query: ContinuousQuery, base_urls: Iterable[str]) -> ContinuousQuery:
    """The query with the streams it names by their URL, below one of these, named by their IRI: it may use either."""
    roots = tuple({f"{base.rstrip('/')}/streams/" for base in base_urls})
    if not any(window.stream.startswith(roots) for window in query.windows):
        return query
    streams = await hub.threads.run(hub.backend.streams)
    iris = {stream.settings.iri for stream in streams}
    by_url = {root + stream.name: stream.settings.iri for stream in streams for root in roots}
    windows = tuple(
        window if window.stream in iris else replace(window, stream=by_url.get(window.stream, window.stream))
        for window in query.windows
    )
    return replace(query, windows=windows)


async def put_query(
    hub: Hub,
    name: str,
    query: ContinuousQuery,
    since: Instant | None,
    limits: EvaluationLimits = NO_LIMITS,
    condition: Precondition = _ANY,
    *,
    clear: Clear = _nothing,
) -> Registered:
    """Create the standing query, or replace the one of this name.

    One evaluation may take what the ``limits`` say, or the settings if that is less. Before one is created, ``clear``
    puts away what a crash may have left of another one that had the name and was removed.
    The very query that runs already, with these limits, goes on running; one that has failed is started again.
    Raises what registering it raises, and PreconditionFailed, with nothing changed.
    """
    _refuse_reserved(name)
    since = _asked_start(query, since)
    async with hub.lock(name):
        existing = await _standing(hub, name)
        condition.require(existing is not None, f"the query {name}")
        if existing is None:
            await _clear(hub, name, clear)
            return Registered(await _register(hub, name, query, since, limits, None), True)
        same = _same(existing, query) and existing.limits == limits
        if since is not None or not same or existing.state not in ("waiting", "running"):
            existing = await _register(hub, name, query, since, limits, existing)
        return Registered(existing, False)


async def register_query(
    hub: Hub,
    query: ContinuousQuery,
    since: Instant | None,
    limits: EvaluationLimits = NO_LIMITS,
    *,
    clear: Clear = _nothing,
) -> Registered:
    """REGISTER: make the standing query. One that has failed is started again. ``clear``: see ``put_query``.

    Raises Conflict if the name is another query's, or this one's with other limits.
    """
    assert query.registration is not None, "only a query with a registration has a name"
    name = registered_name(query.registration)
    _refuse_reserved(name)
    since = _asked_start(query, since)
    instead = f"replace it with PUT /queries/{name}, or delete it first"
    async with hub.lock(name):
        existing = await _standing(hub, name)
        if existing is None:
            await _clear(hub, name, clear)
            return Registered(await _register(hub, name, query, since, limits, None), True)
        if not _same(existing, query):
            raise Conflict(f"there is another query {name!r}: {instead}")
        if existing.limits != limits:
            raise Conflict(f"the query {name!r} has other limits: {instead}")
        if existing.state == "failed":
            existing = await _register(hub, name, query, since, limits, existing)
        return Registered(existing, False)


async def remove_query(
    hub: Hub, name: str, condition: Precondition = _ANY, *, forget: Callable[[str], Awaitable[None]]
) -> None:
    """End the standing query; its listeners are told, and ``forget`` removes what else there is of it.

    Raises NotFound, PreconditionFailed.
    """
    async with hub.lock(name):
        there = await _standing(hub, name) is not None or await _is_dormant(hub, name)
        condition.require(there, f"the query {name}")
        if not there:
            raise _not_there(name)
        await uninterrupted(_removed(hub, name, forget))


async def _removed(hub: Hub, name: str, forget: Callable[[str], Awaitable[None]]) -> None:
    await hub.threads.run(hub.queries.remove, name)
    hub.end(name, "the query was removed")
    await forget(name)


async def late_warning(hub: Hub) -> str | None:
    """That a query registered now may be late, since those there are have been for some seconds; None otherwise."""
    overdue = await hub.threads.run(hub.backend.overdue)
    late = [
        seconds for lane, some in overdue.items() for seconds in some if seconds > OVERDUE_SECONDS and lane != "own"
    ]
    heavy = [seconds for seconds in overdue["own"] if seconds > OVERDUE_SECONDS]
    if late:
        return (
            f"the machine does not keep up: {len(late)} queries have evaluations that have been due for up to "
            f"{max(late):.0f} s; this one will be late as well"
        )
    if heavy:
        return (
            f"{len(heavy)} heavy queries have evaluations that have been due for up to {max(heavy):.0f} s: "
            "this one will be late as well if it is heavy"
        )
    return None


async def standing_query(hub: Hub, name: str) -> QueryDescription:
    """The standing query of this name. Raises NotFound, also where only listeners keep one running."""
    description = await _standing(hub, name)
    if description is not None:
        return description
    if await _is_dormant(hub, name):
        raise NotFound(
            f"the query {name!r} waits, for it cannot be evaluated as the endpoint was started: GET /health says why"
        )
    raise _not_there(name)


async def _is_dormant(hub: Hub, name: str) -> bool:
    return name in await hub.threads.run(hub.backend.dormant)


def _not_there(name: str) -> NotFound:
    return NotFound(f"there is no query {name!r}")


async def _standing(hub: Hub, name: str) -> QueryDescription | None:
    try:
        description = await hub.threads.run(hub.queries.query, name)
    except NotFound:
        return None
    return description if description.standing else None


async def _clear(hub: Hub, name: str, clear: Clear) -> None:
    # What there is of a query that waits is its successor's.
    if not await _is_dormant(hub, name):
        await clear(name)


async def _register(
    hub: Hub,
    name: str,
    query: ContinuousQuery,
    since: Instant | None,
    limits: EvaluationLimits,
    previous: QueryDescription | None,
) -> QueryDescription:
    return await hub.register(name, query, standing=True, since=since, previous=previous, limits=limits)


def _asked_start(query: ContinuousQuery, since: Instant | None) -> Instant | None:
    """Where the query is to start; None: where it does by itself, as a live query from its beginning."""
    if since is None or (query.one_shot is not None and since == BEFORE_ALL):
        return None
    return max(since, FIRST_INSTANT)


def query_identity(query: ContinuousQuery) -> tuple[object, ...]:
    """What makes two queries the same: the text, read the same way (against the same base IRI, of the same
    streams, under the same regime).
    """
    # Which stream facts are of follows from the text, or from definitions that stay as they are while they are read.
    streams = tuple(member.stream for member in query.windows if not isinstance(member.window, FactsWindow))
    dataset = query.from_graphs, query.from_named, query.entailment
    return query.text.strip(), query.expression.base, streams, *dataset


def _same(existing: QueryDescription, query: ContinuousQuery) -> bool:
    """Whether it is the query that is there: what names no stream, or has its name for a relative IRI, means the one
    that it found then.
    """
    there, before = existing.query.windows, existing.query.expression
    if len(there) == len(query.windows):
        found = zip(query.windows, there, strict=True)
        windows = tuple(
            replace(one, stream=of.stream)
            if one.stream == ONLY_STREAM or _was_found_by_name(one, of, before.base)
            else one
            for one, of in found
        )
        query = replace(query, windows=windows)
    # The endpoint may have another address by now: where that makes no other IRIs of the text, it is the same.
    if replace(query.expression, base=before.base) == before:
        query = replace(query, expression=before)
    return query_identity(existing.query) == query_identity(query)


def _was_found_by_name(window: StreamWindow, there: StreamWindow, base: str | None) -> bool:
    """Whether the stream of the window that is there was found below ``/streams/``, and not where its base puts it, by
    the very reference that this window has (docs/language.md, "Stream clauses").
    """
    reference = window.reference
    return reference is not None and reference == there.reference and there.stream != resolve(base or "", reference)


def _refuse_reserved(name: str) -> None:
    if _RESERVED.match(name):
        raise InvalidName(f"{name!r} is a name the endpoint gives to queries that nobody named: choose another")
