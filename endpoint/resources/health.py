"""The resource ``/health``: liveness and readiness."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from endpoint.services import services_of


async def health(request: Request) -> Response:
    """200 while the process can serve, 503 once the backend has failed; ``ready`` once queries are evaluated."""
    services = services_of(request.app)
    reported = await services.threads.run(services.backend.health)
    document = {
        "status": "failed" if reported.state == "failed" else "ok",
        "ready": reported.state == "running",
        "backend": {"state": reported.state, "detail": reported.detail},
        **({"warnings": list(reported.warnings)} if reported.warnings else {}),
    }
    status = 503 if reported.state == "failed" else 200
    return JSONResponse(document, status_code=status, headers={"Cache-Control": "no-store"})


routes: list[BaseRoute] = [Route("/health", health)]
