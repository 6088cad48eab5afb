"""Access control of the ASGI application: what a request may do, by its bearer token (RFC 6750) and by who sends it."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import unquote_plus, urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from endpoint.problems import protocol_error
from endpoint.settings import Settings
from protocol import access
from protocol.access import PARAMETER, Granted, MalformedCredentials, granted, required_scope
from protocol.errors import ProtocolError
from protocol.formats.media_types import SPARQL_UPDATE
from protocol.formats.negotiation import accept_header, media_type_of

logger = logging.getLogger(__name__)

_KEY = "sparql_streams.granted"
_OPEN = Granted(access.EVERY_SCOPE)
_NOTHING = Granted(frozenset())
_READING = frozenset({access.Scope.READ})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class ForeignPage(ProtocolError):
    """A page of another site asks for what it may not (docs/operations.md, "Pages of other sites")."""

    status = 403
    title = "Not for this page"
    refusal = "foreign_page"


@dataclass(frozen=True)
class GrantedToPage(Granted):
    """What a page of another site may do, of what ``anybody`` may; ``page`` says which one it is."""

    anybody: Granted = _OPEN
    page: str = ""

    def require(self, scope: access.Scope) -> None:
        """As for anybody, and raise ForeignPage for what only the page may not do."""
        self.anybody.require(scope)
        if scope not in self.scopes:
            raise ForeignPage(
                f"{self.page} may not do this, which needs the scope {scope}: name its origin in cors_origins "
                "(--cors-origins), or send a token"
            )


class AccessControl:
    """ASGI middleware that refuses what a request may not do; ``/sparql`` asks ``require`` for itself, having read on.

    A token in the URL is taken out of it, for whoever logs URLs afterwards. ``refusals`` counts what is refused.
    """

    def __init__(self, app: ASGIApp, settings: Settings, refusals: Counter[str]) -> None:
        self._app = app
        self._tokens = settings.tokens
        self._origins = frozenset(settings.cors_origins)
        public = urlsplit(settings.base_url)
        self._own_origin = f"{public.scheme}://{public.netloc}".lower()
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parameters = _taken_parameters(scope)
        request = Request(scope)
        try:
            self._check(request, scope, parameters)
        except ProtocolError as error:
            await protocol_error(error, self._refusals)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check(self, request: Request, scope: Scope, parameters: list[str]) -> None:
        method, path = scope["method"], path_below_root(scope)
        needed = required_scope(method, path)
        if needed is None:
            return
        may = self._by_token(request, parameters) if self._tokens.restrictive else _OPEN
        page = None if may.holder else self._foreign_page(request)
        if page is not None:
            # `*` lets every page read. What changes something would come from any page that is open in a browser of
            # this network, without its reader's knowledge: such a page has to be named, or to have a token.
            reads = method in _SAFE or "*" in self._origins
            may = GrantedToPage(may.scopes & _READING if reads else frozenset(), anybody=may, page=page)
        scope[_KEY] = may
        if path.rstrip("/") == "/sparql":
            # Whoever may do nothing is refused before the body is read. What asks nothing may be for the page.
            if not may.scopes and (method not in _SAFE or b"query" in scope["query_string"]):
                update = media_type_of(request.headers.get("content-type")) == SPARQL_UPDATE
                may.require(access.operation_scope(update=update))
        else:
            may.require(needed)

    def _by_token(self, request: Request, parameters: list[str]) -> Granted:
        # Several headers of one kind are one with commas, which no token has (RFC 9110 section 5.3).
        authorization = ", ".join(request.headers.getlist("authorization")) or None
        accept = accept_header(request.headers.getlist("accept"))
        if parameters and not access.parameter_is_taken(request.method, accept):
            raise MalformedCredentials(
                f"{PARAMETER} in the URL is for a GET of an event stream only: send Authorization: Bearer TOKEN"
            )
        if len(parameters) > 1:
            raise MalformedCredentials(f"the URL has several {PARAMETER}")
        return granted(self._tokens, authorization, parameters[0] if parameters else None)

    def _foreign_page(self, request: Request) -> str | None:
        """The page of another site that sends the request, in words; None if it is no such page that does.

        Browsers say so, and pages cannot change it: in ``Sec-Fetch-Site`` (Fetch Metadata; only to https and to this
        machine) and, of whatever is not GET or HEAD, in ``Origin``. Other clients send neither.
        """
        site = request.headers.get("sec-fetch-site", "").lower()
        if site in ("same-origin", "none"):
            return None
        origin = request.headers.get("origin", "").lower()
        if not origin:
            return "a page of another site" if site else None
        if origin in self._origins or origin == self._own_origin:
            return None
        # Whether it was https may be known only to the proxy in front.
        if origin.partition("://")[2] == request.headers.get("host", "").lower():
            return None
        return f"a page of {origin}" if origin != "null" else "a page that hides its origin"


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


def path_below_root(scope: Scope) -> str:
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
