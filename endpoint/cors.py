"""CORS: what a page from elsewhere may ask, with refusals that are problem documents like all others."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from endpoint.problems import problem_response
from protocol.errors import shortened

_SAID = "Disallowed CORS "


class CrossOriginAccess(CORSMiddleware):
    """Starlette's, which tells a refused preflight in a text of its own."""

    def preflight_response(self, request_headers: Headers) -> Response:
        """What the preflight is answered with; a refusal names what is not allowed, and for whom."""
        response = super().preflight_response(request_headers)
        if response.status_code < 400:
            return response
        refused = bytes(response.body).decode().removeprefix(_SAID)
        origin, method = request_headers["origin"], request_headers["access-control-request-method"]
        document = {
            "type": "about:blank",
            "title": "The preflight is refused",
            "status": response.status_code,
            "detail": shortened(f"a page of {origin} may not ask with {method} here: not allowed is its {refused}"),
        }
        headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
        return problem_response(document, headers)
