"""A response of many parts, which holds something until its client has taken them (docs/operations.md, "Limits")."""

from __future__ import annotations

import logging
from functools import partial

from starlette.responses import StreamingResponse
from starlette.types import Send

from endpoint.readers.response import send_unless_stalled
from protocol.errors import ProtocolError

logger = logging.getLogger(__name__)


class LongResponse(StreamingResponse):
    """One that is given up when its client takes nothing for as long as ``send_unless_stalled`` waits, or what it has
    raises ProtocolError.

    It is left unfinished then, by which the ASGI server aborts the connection.
    """

    async def stream_response(self, send: Send) -> None:
        """As Starlette has it, within this limit."""
        try:
            await super().stream_response(partial(send_unless_stalled, send))
        except ProtocolError as error:
            logger.warning("an answer was cut off after it had begun: %s", error)
