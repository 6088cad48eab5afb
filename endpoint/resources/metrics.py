"""The resource ``/metrics``: counters and gauges of requests, streams and queries, for Prometheus."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endpoint.backend import QueryDescription
from endpoint.resources.queries.sink_document import behind
from endpoint.services import Services, services_of
from endpoint.sinks.delivery import SinkState
from protocol.errors import Unavailable
from protocol.messages.rejected import Reason
from protocol.sources import SourceDescription, SourceState
from protocol.streams import StreamDescription
from protocol.time import Instant

Family = CounterMetricFamily | GaugeMetricFamily
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


_REASONS = (
    "closure", "connections", "fetch", "foreign_page", "insufficient_scope", "invalid_token", "listeners",
    "live_queries", "malformed_credentials", "malformed_request", "no_token",
    "query_memory", "query_timeout", "readers", "result_too_large", "sinks", "slow_request",
    "storage_damaged", "storage_full",
    "too_complex", "too_large", "unknown_host", "update_memory", "update_timeout", "updates",
)  # fmt: skip
"""Those that are shown as 0 before they occur: ``refusal`` of the errors' classes, and what is refused unread."""


class ServicesCollector(Collector):
    """The metrics of one application, which are what its services say whenever they are collected."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Family]:
        """Every metric with its samples; where there is no value yet, there is no sample. While the backend cannot be
        built, there are those of the server alone.
        """
        yield from self._of_server()
        try:
            streams, queries = self._services.backend.streams(), self._services.hub.queries.queries()
        except Unavailable:
            return
        yield from self._of_backend(streams, queries)

    def _of_server(self) -> Iterator[Family]:
        services = self._services
        health = services.backend.health()
        requests, refusals = dict(services.requests), dict(services.refusals)
        yield _family(
            CounterMetricFamily, "requests_total", "HTTP responses begun.", ("method", "status"),
            (((method, str(status)), count) for (method, status), count in sorted(requests.items())),
        )  # fmt: skip
        yield _family(
            CounterMetricFamily, "refused_total", "Requests refused by a rule or a limit, by which one.", ("reason",),
            (((reason,), refusals.get(reason, 0)) for reason in sorted({*_REASONS, *refusals})),
        )  # fmt: skip
        yield _gauge("listeners", "Open result streams, and clients that wait for a next answer.",
                     services.listeners.count)  # fmt: skip
        yield _gauge("ready", "1 while continuous queries are evaluated.", health.state == "running")
        yield _gauge("store_version", "Grows with each change of the endpoint's graphs.", services.store.version)
        yield _gauge("store_full", "1 while the graphs cannot be changed because there is no room.",
                     services.store.full is not None)  # fmt: skip
        yield _gauge("updates_waiting", "Changes of the graphs that wait for their turn.", services.changes.waiting)
        asked = services.service_client.counts
        for name, explained, count in (
            ("requests", "Requests to other endpoints for SERVICE of continuous queries.", asked.requests),
            ("failures", "Those of them that failed.", asked.failures),
        ):
            yield _family(CounterMetricFamily, f"service_{name}_total", explained, (), [((), count)])

    def _of_backend(
        self, streams: Sequence[StreamDescription], queries: Sequence[QueryDescription]
    ) -> Iterator[Family]:
        services = self._services
        yield _gauge("streams", "Streams.", len(streams))
        for kind, name, explained, of_stream in _OF_STREAMS:
            samples = (((one.name,), of_stream(one)) for one in streams)
            yield _family(kind, f"stream_{name}", explained, ("stream",), samples)
        yield _family(
            GaugeMetricFamily, "stream_partition_watermark_seconds",
            "The watermark of each partition of a stream that has several, in seconds since 1970.",
            ("stream", "partition"),
            (
                ((one.name, partition), _seconds(watermark))
                for one in streams if len(one.partitions) > 1 for partition, watermark in one.partitions.items()
            ),
        )  # fmt: skip
        sources = [(one.name, source) for one in streams if (source := services.sources.describe(one.name))]
        for name, explained, of_source in _OF_SOURCES:
            counts = (((stream,), of_source(source)) for stream, source in sources)
            yield _family(CounterMetricFamily, f"source_{name}", explained, ("stream",), counts)
        yield _family(
            GaugeMetricFamily, "source_state", "1 for the state that the stream's source is in.", ("stream", "state"),
            (((stream, state.value), state is source.state) for stream, source in sources for state in SourceState),
        )  # fmt: skip
        yield _family(
            CounterMetricFamily, "stream_rejected_total", "Messages rejected and kept, since the start, by reason.",
            ("stream", "reason"),
            (((one.name, reason), one.rejected_by.get(reason, 0)) for one in streams for reason in Reason),
        )  # fmt: skip
        states = Counter(one.state for one in queries)
        yield _family(
            GaugeMetricFamily, "queries", "Continuous queries, by state.", ("state",),
            (((state,), count) for state, count in sorted(states.items())),
        )  # fmt: skip
        for kind, name, explained, of_query in _OF_QUERIES:
            samples = (((one.name,), of_query(one)) for one in queries)
            yield _family(kind, f"query_{name}", explained, ("query",), samples)
        evaluated = {one.name: one.evaluated for one in queries}
        sinks = [(one.sink, one.state, evaluated.get(one.sink.query)) for one in services.sinks.all()]
        for kind, name, explained, of_sink in _OF_SINKS:
            values = (((sink.query, sink.name), of_sink(state, latest)) for sink, state, latest in sinks)
            yield _family(kind, f"sink_{name}", explained, ("query", "sink"), values)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


_OF_STREAMS: tuple[tuple[type[Family], str, str, Callable[[StreamDescription], float | None]], ...] = (
    (CounterMetricFamily, "elements_total", "Elements appended.", lambda stream: stream.elements),
    (CounterMetricFamily, "triples_total", "Triples appended.", lambda stream: stream.triples),
    (CounterMetricFamily, "late_total", "Elements that came at or below the watermark.", lambda stream: stream.late),
    (GaugeMetricFamily, "damaged_places", "Places in the stream's log that cannot be read.",
     lambda stream: len(stream.damage)),
    (GaugeMetricFamily, "bytes", "Size of the stream's log.", lambda stream: stream.bytes),
    (GaugeMetricFamily, "watermark_seconds", "The stream's watermark, in seconds since 1970.",
     lambda stream: _seconds(stream.watermark)),
)  # fmt: skip
_OF_SOURCES: tuple[tuple[str, str, Callable[[SourceDescription], float]], ...] = (
    ("messages_total", "Messages received from the stream's source since the start.", lambda source: source.messages),
    ("bytes_total", "Bytes of these messages.", lambda source: source.bytes),
    ("rejected_total", "Messages of the source that the stream did not take.", lambda source: source.rejected),
    ("failures_total", "How often the source has failed.", lambda source: source.failures),
    (
        "notices_total",
        "How often the source has told what is to be known, such as that messages are lost.",
        lambda source: source.notices,
    ),
)
_OF_QUERIES: tuple[tuple[type[Family], str, str, Callable[[QueryDescription], float | None]], ...] = (
    (CounterMetricFamily, "evaluations_total", "Evaluations whose answer is out.", lambda query: query.evaluations),
    (CounterMetricFamily, "solutions_total", "Solutions given out.", lambda query: query.solutions),
    (GaugeMetricFamily, "watermark_seconds", "The least watermark of the query's streams, in seconds since 1970.",
     lambda query: _seconds(query.watermark)),
    (GaugeMetricFamily, "evaluated_seconds", "The latest instant whose answer is out, in seconds since 1970.",
     lambda query: _seconds(query.evaluated)),
    (GaugeMetricFamily, "behind_seconds", "How far the watermark is ahead of what is out, where an evaluation is due.",
     lambda query: _seconds(query.behind)),
    (GaugeMetricFamily, "overdue_seconds", "For how long the oldest evaluation that is not out has been due.",
     lambda query: query.overdue),
    (GaugeMetricFamily, "own_lane", "1 while the query is evaluated in a lane of its own.",
     lambda query: query.lane == "own"),
    (GaugeMetricFamily, "evaluation_seconds", "What the last evaluation took.", lambda query: query.last_seconds),
)  # fmt: skip
_OF_SINKS: tuple[tuple[type[Family], str, str, Callable[[SinkState, Instant | None], float | None]], ...] = (
    (CounterMetricFamily, "delivered_total", "Answers delivered.", lambda state, latest: state.delivered),
    (CounterMetricFamily, "failures_total", "Attempts that failed.", lambda state, latest: state.failures),
    (CounterMetricFamily, "resets_total", "How often answers were no longer within retention when it was their turn.",
     lambda state, latest: state.resets),
    (GaugeMetricFamily, "failing", "1 from the first failure to the next success.",
     lambda state, latest: state.failing_since is not None),
    (GaugeMetricFamily, "behind_seconds", "How far what is delivered is behind the query's latest answer.",
     lambda state, latest: _seconds(behind(state.position, latest))),
)  # fmt: skip


def _family(
    kind: type[Family],
    name: str,
    explained: str,
    labels: Sequence[str],
    samples: Iterable[tuple[Sequence[str], float | None]],
) -> Family:
    family = kind(f"sparql_streams_{name}", explained, labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric(values, value)
    return family


def _gauge(name: str, explained: str, value: float) -> Family:
    return _family(GaugeMetricFamily, name, explained, (), [((), value)])


async def metrics(request: Request) -> Response:
    """All metrics in Prometheus' text format."""
    services = services_of(request.app)
    registry = CollectorRegistry()
    registry.register(ServicesCollector(services))
    text = await services.metrics_thread.run(generate_latest, registry)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4, "Cache-Control": "no-store"})


routes: list[BaseRoute] = [Route("/metrics", metrics)]
