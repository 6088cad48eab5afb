"""Server-Sent Events as a response that lasts as long as its client listens."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Callable, Mapping
from contextlib import AbstractAsyncContextManager

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from endpoint.live.listeners import Listeners

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 10  # docs/http.md, "Events": at most 15; a busy loop may be late
STALLED_SECONDS = 120  # a connection that takes nothing for so long is given up
_SHUTDOWN_SECONDS = 2  # for listeners to be let go of, before connections are cut

OpenedEvents = AbstractAsyncContextManager[AsyncIterable[bytes]]


class EventStreamResponse(Response):
    """Events, with comments as heartbeats, until they end or the client is gone.

    ``open_events`` gives them, as bytes of whole events. It is entered when the response begins, before its headers are
    sent, so that nothing given out after the client has seen them is missed, and left when it is over, however that
    comes about. What it raises becomes an ordinary error response. Raises TooManyListeners in the same way.

    The events are to end by themselves when the hub is ``stopping``; otherwise they are cut off a little later.
    ``headers``: of the response, beside those that all such responses have.
    """

    def __init__(
        self, listeners: Listeners, open_events: Callable[[], OpenedEvents], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._further = {} if headers is None else dict(headers)
        self._listeners = listeners
        self._open_events = open_events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._listeners.one_more():
            async with self._open_events() as events:
                response = EventSourceResponse(
                    events,
                    headers={
                        "Cache-Control": "no-cache, no-store, no-transform",
                        "Vary": "Accept",
                        **self._further,
                    },
                    ping=HEARTBEAT_SECONDS,
                    ping_message_factory=lambda: ServerSentEvent(comment="heartbeat", sep="\n"),
                    send_timeout=STALLED_SECONDS,
                    shutdown_grace_period=_SHUTDOWN_SECONDS,
                )
                try:
                    await response(scope, receive, send)
                except SendTimeoutError:
                    logger.info("gave up a listener of %s: its connection took nothing", scope["path"])
