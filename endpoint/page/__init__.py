"""The page for people: one HTML page, its scripts, styles and icon (docs/http.md, "The page").

The files are read once, when the package is imported, and served from memory. Every URL in them is
relative, so the routes work under any prefix. The page talks to the endpoint through its HTTP
interface only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

if TYPE_CHECKING:
    from starlette.requests import Request

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    )
)
"""Own scripts and styles, own endpoint, nothing inline and nothing from elsewhere."""

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """A file of the page as it goes over the wire."""

    body: bytes
    media_type: str
    etag: str

    def response(self, request: Request) -> Response:
        """200 with the file, or 304 where the client holds it already (RFC 9110 section 13.1.2)."""
        headers = {
            # The names carry no version, so a copy is asked about before it is used again.
            "Cache-Control": "no-cache",
            "Content-Security-Policy": CONTENT_SECURITY_POLICY,
            "ETag": self.etag,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
        if self.etag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        return Response(self.body, media_type=self.media_type, headers=headers)


def _assets(folder: Traversable, prefix: str = "") -> dict[str, Asset]:
    """The files in a folder and those below it that have a media type, by their path from there."""
    found: dict[str, Asset] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            found |= _assets(entry, f"{prefix}{entry.name}/")
            continue
        media_type = _MEDIA_TYPES.get("." + entry.name.rpartition(".")[2])
        if media_type is not None:
            body = entry.read_bytes()
            found[prefix + entry.name] = Asset(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    return found


ASSETS = _assets(files(__package__))


async def page(request: Request) -> Response:
    """The page itself. Also right for ``GET /sparql`` by ``Accept``: its URLs are relative to the same folder."""
    return ASSETS["index.html"].response(request)


def _endpoint(asset: Asset) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return asset.response(request)

    return serve


routes: list[BaseRoute] = [
    Route("/", page, methods=["GET"], name="page"),
    *(
        Route(f"/page/{name}", _endpoint(asset), methods=["GET"], name=f"page/{name}")
        for name, asset in sorted(ASSETS.items())
        if name != "index.html"
    ),
]
"""``/`` and ``/page/FILE`` for each file; GET and HEAD."""
