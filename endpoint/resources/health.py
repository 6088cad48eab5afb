"""The resources ``/health`` (liveness and readiness) and ``/metrics`` (Prometheus text exposition format 0.0.4)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endpoint.backend import Backend, Health, QueryDescription
from endpoint.services import services_of
from protocol.streams import StreamDescription

Sample = tuple[Mapping[str, object], float | None]
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "QUERY"})


class RequestCounter:
    """ASGI middleware that counts the responses begun, by method and status, in ``counts``."""

    def __init__(self, app: ASGIApp, counts: Counter[tuple[str, int]]) -> None:
        self._app = app
        self._counts = counts
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "other"

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                with self._lock:
                    self._counts[method, message["status"]] += 1
            await send(message)

        await self._app(scope, receive, counting)


async def health(request: Request) -> Response:
    """200 while the process can serve, 503 once the backend has failed; ``ready`` once queries are evaluated."""
    services = services_of(request.app)
    reported = await services.threads.run(services.backend.health)
    document = {
        "status": "failed" if reported.state == "failed" else "ok",
        "ready": reported.state == "running",
        "backend": {"state": reported.state, "detail": reported.detail},
    }
    status = 503 if reported.state == "failed" else 200
    return JSONResponse(document, status_code=status, headers={"Cache-Control": "no-store"})


async def metrics(request: Request) -> Response:
    """Counters and gauges of requests, streams and queries."""
    services = services_of(request.app)
    streams, queries, reported = await services.threads.run(_look, services.backend)
    families: list[str] = []
    _family(
        families, "requests_total", "counter", "HTTP responses begun.",
        (({"method": method, "status": code}, count) for (method, code), count in sorted(services.requests.items())),
    )  # fmt: skip
    _family(
        families, "refused_total", "counter", "Requests refused by a rule or a limit, by which one.",
        (({"reason": reason}, services.refusals[reason]) for reason in sorted({*_REASONS, *services.refusals})),
    )  # fmt: skip
    _family(families, "listeners", "gauge", "Open result streams, and clients that wait for a next answer.",
            [({}, services.listeners.count)])  # fmt: skip
    _family(families, "ready", "gauge", "1 while continuous queries are evaluated.",
            [({}, int(reported.state == "running"))])  # fmt: skip
    _family(families, "store_version", "counter", "Changes of the endpoint's graphs.", [({}, services.store.version)])
    _family(families, "streams", "gauge", "Streams.", [({}, len(streams))])
    for name, kind, help_text in _OF_STREAMS:
        samples = (({"stream": one.name}, _of_stream(one, name)) for one in streams)
        _family(families, f"stream_{name}", kind, help_text, samples)
    states = Counter(one.state for one in queries)
    _family(families, "queries", "gauge", "Continuous queries, by state.",
            (({"state": name}, count) for name, count in sorted(states.items())))  # fmt: skip
    for name, kind, help_text in _OF_QUERIES:
        samples = (({"query": one.name}, _of_query(one, name)) for one in queries)
        _family(families, f"query_{name}", kind, help_text, samples)
    return Response("".join(families), headers={"Content-Type": METRICS_TYPE, "Cache-Control": "no-store"})


_REASONS = (
    "fetch", "foreign_page", "insufficient_scope", "invalid_token", "listeners", "live_queries",
    "malformed_credentials", "no_token",
    "query_timeout", "readers", "result_too_large", "too_complex", "too_large",
)  # fmt: skip
"""Those that are shown as 0 before they occur: ``refusal`` of the errors' classes."""

_OF_STREAMS = (
    ("elements_total", "counter", "Elements appended."),
    ("triples_total", "counter", "Triples appended."),
    ("late_total", "counter", "Elements that came at or below the watermark."),
    ("bytes", "gauge", "Size of the stream's log."),
    ("watermark_seconds", "gauge", "The stream's watermark, in seconds since 1970."),
)
_OF_QUERIES = (
    ("evaluations_total", "counter", "Evaluations whose answer is out."),
    ("solutions_total", "counter", "Solutions given out."),
    ("watermark_seconds", "gauge", "The least watermark of the query's streams, in seconds since 1970."),
    ("evaluated_seconds", "gauge", "The latest instant whose answer is out, in seconds since 1970."),
)


def _look(backend: Backend) -> tuple[list[StreamDescription], list[QueryDescription], Health]:
    return backend.streams(), backend.queries(), backend.health()


def _of_stream(stream: StreamDescription, name: str) -> float | None:
    return {
        "elements_total": stream.elements,
        "triples_total": stream.triples,
        "late_total": stream.late,
        "bytes": stream.bytes,
        "watermark_seconds": _seconds(stream.watermark),
    }[name]


def _of_query(query: QueryDescription, name: str) -> float | None:
    return {
        "evaluations_total": query.evaluations,
        "solutions_total": query.solutions,
        "watermark_seconds": _seconds(query.watermark),
        "evaluated_seconds": _seconds(query.evaluated),
    }[name]


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _family(families: list[str], name: str, kind: str, help_text: str, samples: Iterable[Sample]) -> None:
    """Add one metric with all its samples; a sample without a value is left out."""
    full = f"sparql_streams_{name}"
    families.append(f"# HELP {full} {help_text}\n# TYPE {full} {kind}\n")
    for labels, value in samples:
        if value is None:
            continue
        shown = ",".join(f'{key}="{_escaped(str(label))}"' for key, label in labels.items())
        families.append(f"{full}{{{shown}}} {value}\n" if shown else f"{full} {value}\n")


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


routes: list[BaseRoute] = [Route("/health", health), Route("/metrics", metrics)]
