"""Targets of requests that are whole URLs, as proxies are sent them (RFC 9112 section 3.2.2)."""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

_ABSOLUTE = re.compile(rb"https?://(?:[^/?#@]*@)?(?P<host>[^/?#]+)(?P<path>/.*)?\Z", re.IGNORECASE | re.DOTALL)


class AbsoluteTargets:
    """ASGI middleware: ``GET http://host/path`` is ``GET /path`` of that host, whatever ``Host`` says."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (absolute := _ABSOLUTE.match(scope["raw_path"])):
            path = absolute["path"] or b"/"
            headers = [(b"host", absolute["host"]), *(one for one in scope["headers"] if one[0] != b"host")]
            scope = {**scope, "path": unquote(path.decode("ascii")), "raw_path": path, "headers": headers}
        await self._app(scope, receive, send)
