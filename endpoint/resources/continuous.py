"""Continuous queries asked at ``/sparql``: result stream, next answer, standing query (contract section 4)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from endpoint.access import require
from endpoint.backend import Ended, Evaluation, Failed
from endpoint.live.channel import Entry
from endpoint.live.hub import Hub
from endpoint.live.listeners import Listeners
from endpoint.live.registration import located, register_query, standing_query
from endpoint.live.result_stream import Asked, ResultStreamResponse, accept_header, asked_as, hub_of, read_since
from endpoint.live.subscription import Subscription
from endpoint.live.unregistered_queries import LiveQueries
from endpoint.resources.query_document import query_document
from protocol.access import operation_scope
from protocol.errors import Conflict, ProtocolError, Unavailable
from protocol.formats.answers import graph_as, solutions_as
from protocol.formats.media_types import EVENT_STREAM, GRAPH_OFFERS, SOLUTIONS_OFFERS, content_type
from protocol.formats.negotiation import choose
from protocol.language.model import ContinuousQuery, Form
from protocol.sparql.request import MethodNotAllowed, QueryRequest
from protocol.time import Instant

ANSWER_TIMEOUT = 300.0
"""Seconds a client that knows nothing of streams is kept waiting for the next evaluation."""


class NoAnswerInTime(ProtocolError):
    """No evaluation was due while the client waited."""

    status = 504
    title = "No evaluation in time"


class EvaluationFailed(ProtocolError):
    """The evaluation the client waited for failed."""

    status = 500
    title = "An evaluation failed"


async def answer(request: Request, query: ContinuousQuery, sent: QueryRequest) -> Response:
    """Whatever a request to ``/sparql`` with a continuous query asks for; ``sent`` has its parameters."""
    hub = hub_of(request)
    require(request, operation_scope(registration=query.registration is not None))
    query = await located(request, hub, query)
    if query.registration is not None:
        return await _register(request, hub, query, read_since(sent.since))
    media_type = choose(accept_header(request), offers(query.form))
    start, live = asked_as(request, last_event_id=sent.last_event_id, since=sent.since), live_queries(request)
    if media_type == EVENT_STREAM:
        return ResultStreamResponse(lambda: live.listening(query, start))
    listeners: Listeners = request.app.state.listeners
    with listeners.one_more():
        evaluation = await _next_answer(request, live, query, start, sent.timeout)
    return Response(status_code=499) if evaluation is None else answer_response(evaluation, query.form, media_type)


def offers(form: Form) -> list[str]:
    """The media types a continuous query of this form is answered in, the preferred one first."""
    return [*(GRAPH_OFFERS if form in (Form.CONSTRUCT, Form.DESCRIBE) else SOLUTIONS_OFFERS), EVENT_STREAM]


def answer_response(evaluation: Evaluation, form: Form, media_type: str) -> Response:
    """One evaluation as an ordinary SPARQL response, in one of the types of ``offers`` but the last."""
    if form in (Form.CONSTRUCT, Form.DESCRIBE):
        written = graph_as(evaluation.data, GRAPH_OFFERS[media_type])
    else:
        written = solutions_as(evaluation.data, SOLUTIONS_OFFERS[media_type])
    headers = {"Content-Type": content_type(media_type), "Vary": "Accept", "Cache-Control": "no-store"}
    return Response(written, headers=headers)


def live_queries(request: Request) -> LiveQueries:
    """The application's queries that run while someone listens."""
    state = request.app.state
    live = getattr(state, "live_queries", None)
    if not isinstance(live, LiveQueries):
        live = state.live_queries = LiveQueries(hub_of(request), maximum=state.settings.max_live_queries)
    return live


async def _register(request: Request, hub: Hub, query: ContinuousQuery, since: Instant | None) -> Response:
    if request.method != "POST":
        raise MethodNotAllowed("REGISTER changes the endpoint: send it with POST", ["POST"])
    name, new = await register_query(hub, query, since)
    root = request.scope.get("root_path", "")
    document = query_document(await standing_query(hub, name), root)
    return JSONResponse(document, status_code=201 if new else 200, headers={"Location": f"{root}/queries/{name}"})


async def _next_answer(
    request: Request, live: LiveQueries, query: ContinuousQuery, start: Asked, seconds: float | None
) -> Evaluation | None:  # fmt: skip
    """The next evaluation; None if the client left first. The query is let go of in any case.

    ``seconds`` is how long the client is ready to wait, if that is less than ``ANSWER_TIMEOUT``.
    """
    timeout = getattr(request.app.state, "answer_timeout", ANSWER_TIMEOUT)
    timeout = timeout if seconds is None else min(timeout, seconds)
    async with live.listening(query, start) as subscription:
        answered = asyncio.ensure_future(_first(subscription))
        left = asyncio.ensure_future(_disconnected(request))
        stopping = asyncio.ensure_future(ResultStreamResponse.server_stops())
        waiting = (answered, left, stopping)
        try:
            await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return answered.result()
            if left.done():
                return None
            if stopping.done():
                raise Unavailable("the endpoint is being stopped: ask again when it is back")
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
    raise NoAnswerInTime(
        f"no evaluation was due within {timeout:g} s: time in the streams has not reached the next one. "
        f"Append to them, or advance their watermarks; Accept: {EVENT_STREAM} waits as long as it takes"
    )


async def _first(subscription: Subscription) -> Evaluation:
    async with aclosing(subscription.items()) as items:
        async for item in items:
            if isinstance(item, Entry):
                if isinstance(item.notice, Evaluation):
                    return item.notice
                if isinstance(item.notice, Failed):
                    raise EvaluationFailed(item.notice.detail)
            elif isinstance(item, Ended):
                raise Conflict(
                    f"there is no next evaluation: {item.reason}. What was can be had with ?since=beginning, "
                    "as far as the streams' retention reaches"
                )
    raise Unavailable("the endpoint is being stopped: ask again when it is back")


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
