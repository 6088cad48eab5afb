"""One answer on its way from a reader: its beginning, and the rest of it piece by piece, within the time it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from endpoint.processes.frames import Frame, Kind
from endpoint.processes.relayed_error import RelayedError
from endpoint.readers.errors import EvaluationFailed, QueryTimeout
from endpoint.readers.exchange import Asked
from endpoint.readers.limits import QueryLimits
from endpoint.readers.patience import Patience
from endpoint.readers.process import ReaderProcess

logger = logging.getLogger(__name__)


class ReaderAnswer:
    """``media_type`` and ``first`` are there after ``begin``; ``complete``: there is no more than ``first``.

    ``version`` is the state of the store that it is over, which may have some later changes, too. ``patience`` is that
    with the client, which may be lost where others wait for the reader.

    The time limit counts the seconds spent waiting for the reader, not those in which the client takes what is there.
    """

    def __init__(self, reader: ReaderProcess, limits: QueryLimits, version: int) -> None:
        self.version = version
        self.patience = Patience()
        self._reader = reader
        self._limits = limits
        self._left = limits.seconds
        self.media_type = ""
        self.first = b""
        self.complete = False

    async def begin(self, asked: Asked) -> None:
        """Put the question and wait for the first of the answer. Raises ProtocolError."""
        try:
            async with asyncio.timeout(self._left):
                # Sending waits if the text is long and the reader busy starting.
                await self._reader.ask(asked)
        except TimeoutError:
            raise self._timeout() from None
        received = await self._next()
        if received.kind is Kind.HEADER:
            self.media_type = received.json()["media_type"]
            received = await self._next()
        self.first = received.content
        self.complete = received.kind is Kind.LAST

    async def rest(self) -> AsyncIterator[bytes]:
        """What comes after ``first``. Raises ProtocolError where the answer breaks off."""
        while not self.complete:
            received = await self._next()
            self.complete = received.kind is Kind.LAST
            yield received.content

    async def _next(self) -> Frame:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._left):
                received = await self._reader.receive()
        except TimeoutError:
            raise self._timeout() from None
        self._left -= loop.time() - began
        if received.kind is Kind.PROBLEM:
            raise RelayedError(received.json())
        if received.kind is Kind.FAILED:
            logger.error("the evaluation of a query failed:\n%s", received.content.decode("utf-8", "replace"))
            raise EvaluationFailed("an unexpected error in the evaluation; the server's log has more")
        return received

    def _timeout(self) -> QueryTimeout:
        limit = self._limits.seconds
        return QueryTimeout(
            f"the query was stopped after {limit:g} s: bind more of its patterns, or ask for less at a time (LIMIT), "
            "or, if you run this endpoint, allow more with --query-timeout",
            extra={"limit": limit},
        )
