"""Continuous queries asked at ``/sparql``: result stream, next answer, standing query
(docs/http.md, "SPARQL Protocol").
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from endpoint.access import require
from endpoint.backend import Ended, Evaluation, Failed
from endpoint.live.channel import Entry
from endpoint.live.hub import AnySubscription
from endpoint.live.registration import late_warning, located, register_query
from endpoint.live.result_stream import result_stream
from endpoint.live.store_subscription import StoreSubscription
from endpoint.live.subscription import RequestedSpan, ResumePoint
from endpoint.readers.errors import EndpointStopping
from endpoint.readers.response import disconnected
from endpoint.resources.queries.query_document import query_document
from endpoint.resources.queries.regimes import under_regime
from endpoint.resources.requests.accept import answer_response, answer_types
from endpoint.resources.requests.parameters import mounted_at, read_requested_span, read_since
from endpoint.services import Services
from endpoint.store_queries.question import refuse_past, require_evaluable
from protocol.access import operation_scope
from protocol.errors import Conflict, ProtocolError, Unavailable
from protocol.evaluation_limits import EvaluationLimits
from protocol.formats.media_types import EVENT_STREAM
from protocol.language.model import ContinuousQuery
from protocol.sparql.request import MethodNotAllowed, QueryRequest
from protocol.time import Instant


class NoAnswerInTime(ProtocolError):
    """No evaluation was due while the client waited."""

    status = 504
    title = "No evaluation in time"


class NextEvaluationFailed(ProtocolError):
    """The evaluation the client waited for failed."""

    title = "An evaluation failed"

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.detail)
        self.status = failed.status


async def answer(request: Request, services: Services, query: ContinuousQuery, sent: QueryRequest) -> Response:
    """Whatever a request to ``/sparql`` with a continuous query asks for; ``sent`` has its parameters."""
    hub = services.hub
    require(request, operation_scope(registration=query.registration is not None))
    query = await located(hub, query, (services.settings.base_url, str(request.base_url)))
    limits = EvaluationLimits(sent.timeout, sent.memory)
    query = await under_regime(hub, query, sent.entailment, services.settings.entailment)
    if query.one_shot is not None:
        await services.threads.run(require_evaluable, query, services.rdflib)
    if query.registration is not None:
        return await _register(request, services, query, read_since(sent.since), limits)
    media_types = answer_types(request, query.form)
    asked = read_requested_span(request, last_event_id=sent.last_event_id, since=sent.since, until=sent.until)
    if query.one_shot is not None:
        refuse_past(query, asked.since)
        asked = replace(asked, since=None)
    if media_types[0] == EVENT_STREAM:
        return result_stream(services.listeners, lambda: services.unregistered.listening(query, asked, limits), query)
    timeout = services.answer_timeout if sent.timeout is None else min(services.answer_timeout, sent.timeout)
    with services.listeners.one_more():
        evaluation = await _next_answer(request, services, query, asked, limits, timeout)
    if evaluation is None:
        return Response(status_code=499)
    return await answer_response(services.threads, evaluation, query.form, media_types)


async def _register(
    request: Request, services: Services, query: ContinuousQuery, since: Instant | None, limits: EvaluationLimits
) -> Response:
    if request.method != "POST":
        raise MethodNotAllowed("REGISTER changes the endpoint: send it with POST", ["POST"])
    made, new = await register_query(services.hub, query, since, limits, clear=services.sinks.set_aside)
    root = mounted_at(request)
    document = query_document(made, root, warning=await late_warning(services.hub))
    return JSONResponse(document, status_code=201 if new else 200, headers={"Location": f"{root}/queries/{made.name}"})


async def _next_answer(
    request: Request,
    services: Services,
    query: ContinuousQuery,
    asked: RequestedSpan,
    limits: EvaluationLimits,
    timeout: float,
) -> Evaluation | None:
    """The next evaluation; None if the client left first. The query is let go of in any case.

    Raises NoAnswerInTime after ``timeout`` seconds, or Unavailable where answers are not computed yet, or no more.
    """
    async with services.unregistered.listening(query, asked, limits) as subscription:
        answered = asyncio.ensure_future(_first(subscription))
        left = asyncio.ensure_future(disconnected(request.receive))
        waiting = (answered, left)
        try:
            await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return answered.result()
            if left.done():
                return None
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
    health = services.hub.backend.health()
    if health.state != "running":
        raise Unavailable(f"no evaluation came within {timeout:g} s: {health.detail}. Ask again")
    raise NoAnswerInTime(
        f"no evaluation was due within {timeout:g} s: time in the streams has not reached the next one. "
        f"Append to them, or advance their watermarks; Accept: {EVENT_STREAM} waits as long as it takes",
        extra={"warnings": list(query.warnings)} if query.warnings else None,
    )


async def _first(subscription: AnySubscription) -> Evaluation:
    async with aclosing(subscription.items()) as items:
        async for item in items:
            if isinstance(item, Entry):
                if isinstance(item.notice, Evaluation):
                    return item.notice
                if isinstance(item.notice, Failed):
                    raise NextEvaluationFailed(item.notice)
            elif isinstance(item, ResumePoint) and isinstance(subscription, StoreSubscription):
                return subscription.nothing()
            elif isinstance(item, Ended):
                raise Conflict(
                    f"there is no next evaluation: {item.reason}. What was can be had with ?since=beginning, "
                    "as far as the streams' retention reaches"
                )
    raise EndpointStopping
