"""A response of many parts, which holds something until its client has taken them (docs/operations.md, "Limits")."""

from __future__ import annotations

import asyncio
import logging

from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from endpoint.readers.errors import ClientTooSlow
from endpoint.readers.limits import STALLED_SECONDS

logger = logging.getLogger(__name__)


class LongResponse(StreamingResponse):
    """One that is given up when its client takes nothing for ``STALLED_SECONDS``.

    It is left unfinished then, by which the ASGI server aborts the connection.
    """

    async def stream_response(self, send: Send) -> None:
        """As Starlette has it, within this limit."""

        async def taken(message: Message) -> None:
            try:
                async with asyncio.timeout(STALLED_SECONDS):
                    await send(message)
            except TimeoutError:
                raise ClientTooSlow(f"the client took nothing for {STALLED_SECONDS:g} s") from None

        try:
            await super().stream_response(taken)
        except ClientTooSlow as error:
            logger.warning("an answer was cut off after it had begun: %s", error)
