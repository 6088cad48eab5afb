"""The resources ``/health``, ``/health/live`` and ``/health/ready`` (docs/operations.md, "Health and metrics")."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from endpoint.graphs.store import GraphStore
from endpoint.readers.errors import Overloaded
from endpoint.readers.exchange import QueryQuestion
from endpoint.readers.limits import QueryLimits
from endpoint.readers.pool import ReaderPool
from endpoint.services import Services, services_of
from protocol.errors import ProtocolError
from protocol.formats.media_types import SolutionsFormat

ONE_SHOT_SECONDS = 5.0
"""So long may a query that asks nothing take."""

_PARTS = ("oneShot", "continuous")


class UnknownPart(ProtocolError):
    """The parameter ``part`` names none of what can be ready."""

    title = "No such part"


async def health(request: Request) -> Response:
    """200 while the process can serve, 503 once the backend has failed; ``ready`` once queries are evaluated."""
    services = services_of(request.app)
    reported = services.backend.health()
    warnings = [*services.store.warnings, *services.regimes.warnings, *reported.warnings]
    document = {
        "status": "failed" if reported.state == "failed" else "ok",
        "ready": reported.state == "running",
        "backend": {"state": reported.state, "detail": reported.detail},
        "store": _store(services.store),
        "readers": _readers(services.readers),
        **({"warnings": warnings} if warnings else {}),
    }
    return _response(document, 503 if reported.state == "failed" else 200)


async def live(request: Request) -> Response:
    """200: the event loop turns. What has failed beside it is started again, and no reason to end this process."""
    return _response({"status": "ok"}, 200)


async def ready(request: Request) -> Response:
    """200 if all parts, or the one that ``?part=`` names, can answer, else 503; each with what there is to say."""
    services = services_of(request.app)
    asked = request.query_params.getlist("part") or _PARTS
    for part in asked:
        if part not in _PARTS:
            raise UnknownPart(f"there is no part {part!r}: ask for one of {', '.join(_PARTS)}, or leave it out")
    parts: dict[str, dict[str, Any]] = {}
    if "oneShot" in asked:
        parts["oneShot"] = await _one_shot(services)
    if "continuous" in asked:
        reported = services.backend.health()
        parts["continuous"] = {"ready": reported.state == "running", "detail": reported.detail}
    all_ready = all(part["ready"] for part in parts.values())
    return _response({"ready": all_ready, "parts": parts}, 200 if all_ready else 503)


async def _one_shot(services: Services) -> dict[str, Any]:
    """Whether a query over the store is answered. That others wait for their turn is no fault of the endpoint."""
    question = QueryQuestion("ASK {}", SolutionsFormat.JSON.value)
    try:
        async with (
            asyncio.timeout(ONE_SHOT_SECONDS),
            services.readers.answer(question, QueryLimits(ONE_SHOT_SECONDS)) as answer,
        ):
            async for _ in answer.rest():
                pass
    except Overloaded as error:
        return {"ready": True, "detail": error.detail}
    except TimeoutError:
        if services.readers.processes:
            return {"ready": True, "detail": f"{services.readers.waiting} queries wait for their turn"}
        return {"ready": False, "detail": "no process for queries has started yet"}
    except (ProtocolError, OSError) as error:
        return {"ready": False, "detail": str(error)}
    return {"ready": True, "detail": "queries are answered"}


def _store(store: GraphStore) -> dict[str, str]:
    """Whether the graphs can be changed."""
    for state, detail in (("lost", store.lost), ("full", store.full), ("stalled", store.stalled)):
        if detail is not None:
            return {"state": state, "detail": detail}
    return {"state": "ok", "detail": "the graphs can be changed"}


def _readers(readers: ReaderPool) -> dict[str, str]:
    """Whether the processes that answer one-shot queries work."""
    if readers.stalled is not None:
        return {"state": "stalled", "detail": readers.stalled}
    return {"state": "ok", "detail": "queries are answered"}


def _response(document: Mapping[str, Any], status: int) -> Response:
    return JSONResponse(document, status_code=status, headers={"Cache-Control": "no-store"})


routes: list[BaseRoute] = [
    Route("/health", health),
    Route("/health/live", live),
    Route("/health/ready", ready),
]
