"""Access control of the ASGI application: what a request may do, by its bearer token (RFC 6750)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import unquote_plus

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from endpoint.problems import protocol_error
from endpoint.settings import Settings
from protocol import access
from protocol.access import PARAMETER, Granted, MalformedCredentials, Tokens, granted, required_scope
from protocol.errors import ProtocolError
from protocol.formats.negotiation import accept_header

logger = logging.getLogger(__name__)

_KEY = "sparql_streams.granted"
_OPEN = Granted(access.EVERY_SCOPE)
_NOTHING = Granted(frozenset())


class ForeignPage(ProtocolError):
    """A page of another site asks for a change, and is none of those that may."""

    status = 403
    title = "Not for this page"
    refusal = "foreign_page"


class AccessControl:
    """ASGI middleware that refuses what a request may not do; ``/sparql`` asks ``require`` for itself, having read on.

    A token in the URL is taken out of it, for whoever logs URLs afterwards. ``origins`` are those of the pages that
    may ask: a browser keeps other pages from reading the answer, but sends a plain form all the same. ``refusals``
    counts what is refused.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens, origins: Sequence[str], refusals: Counter[str]) -> None:
        self._app = app
        self._tokens = tokens
        self._origins = frozenset(origins)
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parameters = _taken_parameters(scope)
        request = Request(scope)
        try:
            self._check_origin(request)
            if self._tokens.restrictive:
                self._check(request, scope, parameters)
            else:
                scope[_KEY] = _OPEN
        except ProtocolError as error:
            await protocol_error(error, self._refusals)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check_origin(self, request: Request) -> None:
        origin = request.headers.get("origin", "").lower()
        if not origin or request.method in ("GET", "HEAD", "OPTIONS") or not self._origins.isdisjoint({"*", origin}):
            return
        if origin.partition("://")[2] != request.headers.get("host", "").lower():
            raise ForeignPage(f"pages of {origin} may not send {request.method} here (the setting cors_origins)")

    def _check(self, request: Request, scope: Scope, parameters: list[str]) -> None:
        method, path = scope["method"], _path_below_root(scope)
        needed = required_scope(method, path)
        if needed is None:
            return
        # Several headers of one kind are one with commas, which no token has (RFC 9110 section 5.3).
        authorization = ", ".join(request.headers.getlist("authorization")) or None
        accept = accept_header(request.headers.getlist("accept"))
        if parameters and not access.parameter_is_taken(method, accept):
            raise MalformedCredentials(
                f"{PARAMETER} in the URL is for a GET of an event stream only: send Authorization: Bearer TOKEN"
            )
        if len(parameters) > 1:
            raise MalformedCredentials(f"the URL has several {PARAMETER}")
        may = granted(self._tokens, authorization, parameters[0] if parameters else None)
        scope[_KEY] = may
        if path == "/sparql":
            # Whoever may do nothing is refused before the body is read.
            if not may.scopes:
                may.require(access.Scope.READ)
        else:
            may.require(needed)


def require(request: Request, needed: access.Scope) -> None:
    """Raise AccessDenied or InsufficientScope unless the request may do what needs this scope."""
    may: Granted = request.scope.get(_KEY, _NOTHING)
    may.require(needed)


def warn_if_open(settings: Settings) -> None:
    """Say it in the log where other machines can change everything without a token."""
    if settings.tokens.restrictive or _is_loopback(settings.host):
        return
    logger.warning(
        "listening on %s without tokens: whoever reaches it may read and change everything (--tokens FILE)",
        settings.host,
    )


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _path_below_root(scope: Scope) -> str:
    """The path as the routes see it, also where the application is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    if path == root:
        return ""
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


def _taken_parameters(scope: Scope) -> list[str]:
    """The tokens in the query string, which has none afterwards."""
    query: bytes = scope.get("query_string", b"")
    if b"access" not in query and b"%" not in query:
        return []
    kept: list[bytes] = []
    taken: list[str] = []
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        if unquote_plus(name.decode("latin-1")) == PARAMETER:
            taken.append(unquote_plus(value.decode("latin-1")))
        else:
            kept.append(part)
    if taken:
        scope["query_string"] = b"&".join(kept)
    return taken
