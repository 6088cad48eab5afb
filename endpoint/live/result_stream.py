"""Result streams as responses: Server-Sent Events, and where a client asks them to begin (contract section 5)."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass

import anyio
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from endpoint.backend import Ended
from endpoint.live.channel import Entry
from endpoint.live.hub import Hub
from endpoint.live.listeners import Listeners
from endpoint.live.subscription import CutOff, Item, Reset, StartingPoint, Subscription
from protocol.errors import ProtocolError
from protocol.formats import sse
from protocol.time import BEFORE_ALL, FIRST_INSTANT, LAST_INSTANT, Instant, parse_instant

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 10  # the contract allows 15; a busy loop may be late
STALLED_SECONDS = 120  # a connection that takes nothing for so long is given up
_SHUTDOWN_SECONDS = 2  # for listeners to be let go of, before connections are cut
_OFFSET_WITHOUT_PLUS = re.compile(r" (?=\d\d:\d\d\Z)")


class InvalidTime(ProtocolError):
    """A parameter or body that should be a time, and is not."""

    title = "Not a time"


@dataclass(frozen=True)
class Asked:
    """Where a request asks a result stream to begin: after an event it had, at a time, or (neither) now."""

    token: Instant | None = None
    since: Instant | None = None

    @property
    def start(self) -> StartingPoint:
        """The event the client had last decides: a reconnecting EventSource sends its first URL again."""
        return StartingPoint(self.token if self.token is not None else self.since)


def asked(request: Request) -> Asked:
    """``Last-Event-ID`` (header, else ``?lastEventId=``) and ``?since=``; an empty one is as good as none.

    Raises InvalidResumePoint or InvalidTime.
    """
    parameters = request.query_params
    return asked_as(request, last_event_id=parameters.get("lastEventId", ""), since=parameters.get("since", ""))


def asked_as(request: Request, *, last_event_id: str, since: str) -> Asked:
    """``asked``, with the parameters as they came: those of a query may be in a form (SPARQL 1.1 Protocol 2.1.2)."""
    token = request.headers.get("last-event-id", "").strip() or last_event_id.strip()
    return Asked(sse.parse_resume_token(token) if token else None, read_since(since))


def since_parameter(request: Request) -> Instant | None:
    """``?since=`` of the URL, as ``read_since`` reads it."""
    return read_since(request.query_params.get("since", ""))


def read_since(text: str) -> Instant | None:
    """Where to start: ``beginning`` is before all instants; None if ``text`` is empty. Raises InvalidTime."""
    return BEFORE_ALL if text.strip().lower() == "beginning" else _instant_or_none(text, "since", also="beginning")


def instant_parameter(request: Request, name: str, *, also: str = "") -> Instant | None:
    """A time in the query string; None if the parameter is not there or empty. InvalidTime if it is there twice."""
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise InvalidTime(f"{name} is given {len(given)} times: give one")
    return _instant_or_none("".join(given), name, also=also)


def _instant_or_none(text: str, name: str, *, also: str) -> Instant | None:
    text = text.strip()
    if not text:
        return None
    # A plus sign that was not percent-encoded has become a space; a time has no other.
    return read_instant(_OFFSET_WITHOUT_PLUS.sub("+", text), name, also=also)


def read_instant(text: str, name: str, *, also: str = "") -> Instant:
    """``text`` as a time within the years 1 to 9999. Raises InvalidTime, naming it and what would be right."""
    try:
        instant = parse_instant(text)
        if not FIRST_INSTANT <= instant <= LAST_INSTANT:
            raise ValueError(f"{text[:40]} is outside the years 1 to 9999")
    except ValueError as error:
        raise InvalidTime(f"{name}: {error}{f', or {also!r}' if also else ''}") from None
    return instant


class EventStreamResponse(EventSourceResponse):
    """Events, with comments as heartbeats, until they end or the client is gone. ``_serve`` gives them."""

    def __init__(self) -> None:
        super().__init__(
            iter(()),
            headers={"Cache-Control": "no-cache, no-store, no-transform", "Vary": "Accept"},
            ping=HEARTBEAT_SECONDS,
            ping_message_factory=lambda: ServerSentEvent(comment="heartbeat", sep="\n"),
            send_timeout=STALLED_SECONDS,
            data_sender_callable=self._complete_at_shutdown,
            shutdown_event=anyio.Event(),
            shutdown_grace_period=_SHUTDOWN_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listeners: Listeners = scope["app"].state.listeners
        with listeners.one_more():
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise NotImplementedError

    async def _stream(
        self, events: AsyncGenerator[bytes, None], name: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Send the events; ``name`` is what is listened to, for the log."""
        self.body_iterator = events
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            logger.info("gave up a listener of %s: its connection took nothing", name)

    @classmethod
    async def server_stops(cls) -> None:
        """Wait until the server is told to stop; it then waits for its responses, and the hub stops only after it."""
        await cls._listen_for_exit_signal()

    async def _complete_at_shutdown(self) -> None:
        assert self._shutdown_event is not None
        await self._shutdown_event.wait()
        self._close()

    def _close(self) -> None:
        """Let the events end soon: the server stops."""
        raise NotImplementedError


class ResultStreamResponse(EventStreamResponse):
    """A result stream: one event an evaluation.

    ``subscribed`` is entered when the response begins, before its headers are sent, so that nothing given out after
    the client has seen them is missed, and left when it is over, however that comes about. What it raises becomes
    an ordinary error response.
    """

    def __init__(self, subscribed: Callable[[], AbstractAsyncContextManager[Subscription]]) -> None:
        super().__init__()
        self._subscribed = subscribed
        self._subscription: Subscription | None = None

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._subscribed() as subscription, aclosing(events(subscription)) as stream:
            self._subscription = subscription
            await self._stream(stream, subscription.channel.name, scope, receive, send)

    def _close(self) -> None:
        if self._subscription is not None:
            self._subscription.channel.close()


@asynccontextmanager
async def subscribed(hub: Hub, name: str, start: StartingPoint) -> AsyncGenerator[Subscription, None]:
    """A subscription to a query that runs anyway."""
    yield await hub.subscribe(name, start)


async def events(subscription: Subscription) -> AsyncGenerator[bytes, None]:
    """A subscription as bytes, whole events; a failure is the last of them, as the response has begun."""
    yield sse.HEARTBEAT
    try:
        async with aclosing(subscription.batches()) as batches:
            async for batch in batches:
                yield b"".join(map(_encoded, batch))
    except ProtocolError as error:
        yield sse.error_event(error.problem())
    except Exception:
        logger.exception("the result stream of %s failed", subscription.channel.name)
        yield sse.error_event(_problem("Internal server error", 500, "the stream failed; reconnect to resume it"))


def hub_of(request: Request) -> Hub:
    """The application's hub, in the event loop of this request."""
    hub: Hub = request.app.state.hub
    hub.bind()
    return hub


def accept_header(request: Request) -> str | None:
    """The ``Accept`` headers as one; a list may be sent in several (RFC 9110 section 5.3)."""
    return ", ".join(request.headers.getlist("accept")) or None


def _encoded(item: Item) -> bytes:
    match item:
        case Entry():
            return item.event
        case Reset(time=time):
            return sse.reset_event(time)
        case Ended(reason=reason):
            return sse.end_event(reason)
        case CutOff(position=position):
            detail = (
                "the connection takes events more slowly than the query gives them; "
                "reconnect with Last-Event-ID to go on after the last one received"
            )
            problem = _problem("Too slow", 503, detail)
            if FIRST_INSTANT <= position <= LAST_INSTANT:
                problem["lastEventId"] = sse.resume_token(position)
            return sse.error_event(problem)


def _problem(title: str, status: int, detail: str) -> dict[str, object]:
    return {"type": "about:blank", "title": title, "status": status, "detail": detail}
