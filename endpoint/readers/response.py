"""The HTTP response that relays an answer of a reader, for as long as the client takes it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from endpoint.readers.answer import ReaderAnswer
from endpoint.readers.errors import ClientTooSlow
from endpoint.readers.exchange import GraphQuestion, QueryQuestion, Question
from endpoint.readers.limits import LEAST_PACE, STALLED_SECONDS, QueryLimits
from endpoint.readers.patience import Patience
from endpoint.readers.pool import ReaderPool
from protocol.errors import ProtocolError
from protocol.formats.media_types import content_type
from protocol.formats.negotiation import in_turn

logger = logging.getLogger(__name__)


class AnswerResponse(Response):
    """Asks when the response is to begin, so that whatever is wrong until then becomes an ordinary error response.

    What goes wrong later leaves the response unfinished, by which the ASGI server aborts the connection: no client can
    take a part of an answer for the whole. A client that leaves, or takes next to nothing, ends the query.
    """

    def __init__(
        self,
        readers: ReaderPool,
        question: QueryQuestion | GraphQuestion,
        limits: QueryLimits,
        *,
        others: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``others``: the media types in which it is asked for in turn, where what the question names has no way to
        write it. ``clock`` gives seconds that never step back: those in which the client keeps a reader waiting.
        """
        super().__init__()
        self._clock = clock
        self._readers = readers
        self._questions = [question, *(replace(question, media_type=other) for other in others)]
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        relaying = asyncio.ensure_future(self._relay(scope, send))
        leaving = asyncio.ensure_future(disconnected(receive))
        try:
            await asyncio.wait((relaying, leaving), return_when=asyncio.FIRST_COMPLETED)
            if relaying.done():
                relaying.result()
            else:
                logger.debug("a client left before it had its answer")
        finally:
            for one in (relaying, leaving):
                one.cancel()
            await asyncio.gather(relaying, leaving, return_exceptions=True)

    async def _relay(self, scope: Scope, send: Send) -> None:
        # What cannot be written is told before anything is sent.
        await in_turn(self._questions, lambda question: self._relay_answer(question, scope, send))

    async def _relay_answer(self, question: Question, scope: Scope, send: Send) -> None:
        async with self._readers.answer(question, self._limits) as answer:
            headers = [(b"content-type", content_type(answer.media_type).encode()), (b"vary", b"Accept")]
            if answer.complete:
                headers.append((b"content-length", str(len(answer.first)).encode()))
            begin: Message = {"type": "http.response.start", "status": 200, "headers": headers}
            await send(begin)
            if answer.complete or scope["method"] == "HEAD":
                # Of a long answer, HEAD's ends here; leaving the block ends its evaluation.
                await send({"type": "http.response.body", "body": answer.first if answer.complete else b""})
                return
            try:
                await self._stream(answer, send)
            except ProtocolError as error:
                logger.warning("an answer was cut off after it had begun: %s", error)

    async def _stream(self, answer: ReaderAnswer, send: Send) -> None:
        taker = _Taker(send, answer.patience, self._clock)
        await taker.take(answer.first)
        async for data in answer.rest():
            await taker.take(data)
        await taker.take(b"", last=True)


class _Taker:
    """The client, and how long it has kept a reader waiting."""

    def __init__(self, send: Send, patience: Patience, clock: Callable[[], float]) -> None:
        self._send = send
        self._patience = patience
        self._clock = clock
        self._taken = 0
        self._waited = 0.0

    async def take(self, data: bytes, *, last: bool = False) -> None:
        """Returns when the connection has room for more. Raises ClientTooSlow."""
        began = self._clock()
        message: Message = {"type": "http.response.body", "body": data, "more_body": not last}
        await send_unless_stalled(self._send, message, self._patience)
        self._waited += self._clock() - began
        self._taken += len(data)
        if self._waited > STALLED_SECONDS + self._taken / LEAST_PACE:
            raise ClientTooSlow(f"the client took less than {LEAST_PACE} bytes a second")


async def send_unless_stalled(send: Send, message: Message, patience: Patience | None = None) -> None:
    """Returns when the connection has room for more. Raises ClientTooSlow after ``STALLED_SECONDS``, or when
    ``patience`` is lost.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        async with (patience or Patience()).waiting(STALLED_SECONDS):
            await send(message)
    except TimeoutError:
        raise ClientTooSlow(f"the client took nothing for {loop.time() - began:.1f} s") from None


async def disconnected(receive: Receive) -> None:
    """Wait until the client is gone; what is left of its body is thrown away."""
    while (await receive())["type"] != "http.disconnect":
        pass
