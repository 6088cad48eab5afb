"""Standing queries come and go: PUT and DELETE of a query, and REGISTER (contract sections 3 and 4)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from urllib.parse import unquote

from starlette.requests import Request

from endpoint.backend import QueryDescription
from endpoint.subscriptions import Hub
from protocol.errors import Conflict, NotFound, ProtocolError, UnsupportedFeature
from protocol.formats.sse import FIRST_INSTANT
from protocol.language.model import ContinuousQuery, Form, Registration
from protocol.time import Instant

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._~-]*\Z")
_RESERVED = re.compile(r"live-[0-9a-f]{32}\Z")
_LONGEST_NAME = 200
_OUTSIDE_NAMES = re.compile(r"[^A-Za-z0-9._~-]+")


class InvalidName(ProtocolError):
    """A name of a stream or query that is not one."""

    title = "Not a name"


def checked_name(name: str) -> str:
    """The name of a stream or a query, as it stands in a URL. Raises InvalidName."""
    if not _NAME.match(name) or len(name) > _LONGEST_NAME:
        shown = name if len(name) <= 60 else name[:57] + "..."
        raise InvalidName(
            f"{shown!r} is not a name: use letters, digits, '_', '-', '.' and '~', "
            f"beginning with none of the last two, at most {_LONGEST_NAME} of them"
        )
    return name


def registered_name(registration: Registration) -> str:
    """The name in the URL of a query that was named by REGISTER: the name itself, or the last segment of the IRI."""
    if not registration.name_is_iri:
        return checked_name(registration.name)
    iri = registration.name
    segment = re.split(r"[/#:?]", iri.rstrip("/#:?"))[-1]
    slug = _OUTSIDE_NAMES.sub("-", unquote(segment)).lstrip(".~-").rstrip("-")[:_LONGEST_NAME]
    return slug or "query-" + hashlib.sha256(iri.encode()).hexdigest()[:16]


def require_supported(query: ContinuousQuery) -> None:
    """Raises UnsupportedFeature for a registration that makes its output a stream."""
    registration = query.registration
    if registration is None or registration.kind == "QUERY" or query.form not in (Form.CONSTRUCT, Form.DESCRIBE):
        return
    raise UnsupportedFeature(
        f"publishing a query's output as a stream (REGISTER {registration.kind} … AS {query.form}) is not implemented "
        "yet: REGISTER QUERY … AS makes it a standing query, whose results can be read"
    )


async def located(request: Request, hub: Hub, query: ContinuousQuery) -> ContinuousQuery:
    """The query with the streams it names by their URL here named by their IRI: queries may use either."""
    settings = request.app.state.settings
    roots = tuple({f"{base.rstrip('/')}/streams/" for base in (settings.base_url, str(request.base_url))})
    if not any(window.stream.startswith(roots) for window in query.windows):
        return query
    streams = await hub.call(hub.backend.streams)
    iris = {stream.settings.iri for stream in streams}
    by_url = {root + stream.name: stream.settings.iri for stream in streams for root in roots}
    windows = tuple(
        window if window.stream in iris else replace(window, stream=by_url.get(window.stream, window.stream))
        for window in query.windows
    )
    return replace(query, windows=windows)


async def put_query(hub: Hub, name: str, query: ContinuousQuery, since: Instant | None) -> bool:
    """Create the standing query, or replace the one of this name; True if it is new.

    The very query that runs already goes on running. Raises what registering it raises, with nothing changed.
    """
    require_supported(query)
    _refuse_reserved(name)
    async with hub.lock(name):
        existing = await _standing(hub, name)
        if existing is None:
            await _register(hub, name, query, since, None)
            return True
        if since is not None or not _same(existing, query) or existing.state not in ("waiting", "running"):
            await _register(hub, name, query, since, existing)
        return False


async def register_query(hub: Hub, query: ContinuousQuery, since: Instant | None) -> tuple[str, bool]:
    """REGISTER: the query's name, and whether it is new. Raises Conflict if the name is another query's."""
    assert query.registration is not None, "only a query with a registration has a name"
    require_supported(query)
    name = registered_name(query.registration)
    _refuse_reserved(name)
    async with hub.lock(name):
        existing = await _standing(hub, name)
        if existing is None:
            await _register(hub, name, query, since, None)
            return name, True
        if not _same(existing, query):
            raise Conflict(f"there is another query {name!r}: replace it with PUT /queries/{name}, or delete it first")
        return name, False


async def delete_query(hub: Hub, name: str) -> None:
    """End the standing query; its listeners are told. Raises NotFound."""
    async with hub.lock(name):
        await standing_query(hub, name)
        await hub.call(hub.backend.remove, name)
        hub.end(name, "the query was removed")


async def standing_query(hub: Hub, name: str) -> QueryDescription:
    """The standing query of this name. Raises NotFound, also where only listeners keep one running."""
    description = await _standing(hub, name)
    if description is None:
        raise NotFound(f"there is no query {name!r}")
    return description


async def _standing(hub: Hub, name: str) -> QueryDescription | None:
    try:
        description = await hub.call(hub.backend.query, name)
    except NotFound:
        return None
    return description if description.standing else None


async def _register(
    hub: Hub, name: str, query: ContinuousQuery, since: Instant | None, previous: QueryDescription | None
) -> None:
    start = None if since is None else max(since, FIRST_INSTANT)
    await hub.register(name, query, standing=True, since=start, previous=previous)


def query_identity(query: ContinuousQuery) -> tuple[object, ...]:
    """What makes two queries the same: the text, read the same way (against the same base IRI, of the same streams)."""
    return query.text.strip(), query.standard.strip(), query.streams, query.from_graphs, query.from_named


def _same(existing: QueryDescription, query: ContinuousQuery) -> bool:
    return query_identity(existing.query) == query_identity(query)


def _refuse_reserved(name: str) -> None:
    if _RESERVED.match(name):
        raise InvalidName(f"{name!r} is a name the endpoint gives to queries that nobody named: choose another")
