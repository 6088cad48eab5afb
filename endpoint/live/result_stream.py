"""Result streams as Server-Sent Events: one event an evaluation (docs/http.md, "Result streams")."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager

from endpoint.backend import Ended
from endpoint.live.channel import Entry
from endpoint.live.event_stream import EventStreamResponse
from endpoint.live.hub import AnySubscription, Hub
from endpoint.live.listeners import Listeners
from endpoint.live.subscription import CutOff, RequestedSpan, Reset, ResumePoint, SubscriptionItem
from protocol.errors import ProtocolError
from protocol.formats import sse
from protocol.language.model import ContinuousQuery
from protocol.time import FIRST_INSTANT, LAST_INSTANT

logger = logging.getLogger(__name__)


def result_stream(
    listeners: Listeners,
    subscribed: Callable[[], AbstractAsyncContextManager[AnySubscription]],
    query: ContinuousQuery,
) -> EventStreamResponse:
    """The response that gives the events of a subscription to a query; ``subscribed`` is entered when it begins."""

    @asynccontextmanager
    async def open_events() -> AsyncGenerator[AsyncGenerator[bytes, None], None]:
        async with subscribed() as subscription, aclosing(result_events(subscription, query.warnings)) as stream:
            yield stream

    return EventStreamResponse(listeners, open_events)


@asynccontextmanager
async def subscribed(hub: Hub, name: str, asked: RequestedSpan) -> AsyncGenerator[AnySubscription, None]:
    """A subscription to a query that runs anyway."""
    subscription = await hub.subscribe(name, asked.point)
    subscription.until = asked.until
    yield subscription


async def result_events(subscription: AnySubscription, warnings: Sequence[str] = ()) -> AsyncGenerator[bytes, None]:
    """A subscription as bytes, whole events; a failure is the last of them, as the response has begun.

    ``warnings`` are the query's.
    """
    yield sse.opening([*warnings, *subscription.warnings])
    try:
        async with aclosing(subscription.batches()) as batches:
            async for batch in batches:
                yield b"".join(map(_encoded, batch))
    except ProtocolError as error:
        yield sse.error_event(error.problem())
    except Exception:
        logger.exception("the result stream of %s failed", subscription.channel.name)
        yield sse.error_event(_problem("Internal server error", 500, "the stream failed; reconnect to resume it"))


def _encoded(item: SubscriptionItem) -> bytes:
    match item:
        case Entry():
            return item.event
        case Reset(time=time):
            return sse.reset_event(time)
        case ResumePoint(instant=instant):
            return sse.resume_point(instant)
        case Ended(reason=reason):
            return sse.end_event(reason)
        case CutOff(position=position, incarnation=incarnation, landmark=landmark):
            detail = (
                "the connection takes events more slowly than the query gives them; "
                "reconnect with Last-Event-ID to go on after the last one received"
            )
            problem = _problem("Too slow", 503, detail)
            if FIRST_INSTANT <= position <= LAST_INSTANT:
                problem["lastEventId"] = sse.resume_token(position, incarnation, landmark)
            return sse.error_event(problem)


def _problem(title: str, status: int, detail: str) -> dict[str, object]:
    return {"type": "about:blank", "title": title, "status": status, "detail": detail}
