"""A slash too many or too few at the end of a path: the client is sent on to the path that there is."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Match, Router
from starlette.types import Receive, Scope, Send

from endpoint.access import path_below_root
from endpoint.resources.requests.parameters import mounted_at


class SlashRedirects:
    """What a router does where none of its routes matches, in place of Starlette's ``redirect_slashes``.

    That names the scheme and the path of the request, which are not those that the client knows where a proxy in front
    speaks TLS, or takes a prefix away.
    """

    def __init__(self, router: Router) -> None:
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = path_below_root(scope)
        other = path.rstrip("/") if path.endswith("/") else f"{path}/"
        there = {**scope, "path": f"{scope['path'].removesuffix(path)}{other}"}
        if scope["type"] != "http" or all(one.matches(there)[0] is Match.NONE for one in self._router.routes):
            await self._router.not_found(scope, receive, send)
            return
        query = scope["query_string"].decode("latin-1")
        location = f"{mounted_at(Request(scope))}{quote(other)}{f'?{query}' if query else ''}"
        await RedirectResponse(location)(scope, receive, send)
