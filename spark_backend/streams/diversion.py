"""Requests of which a stream takes the messages that are right, and diverts the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from protocol.errors import Conflict
from protocol.streams import REJECTED, AppendReceipt
from protocol.time import Instant
from spark_backend.ingest.divided_body import Read, divide_body
from spark_backend.log.appending.request_keys import RequestKey
from spark_backend.streams.known_logs import Log
from spark_backend.streams.rejected import rejected_elements
from spark_backend.streams.sides import SideStreams


@dataclass(frozen=True)
class Diversion:
    """How requests to one stream are appended: what is right to its ``log``, after the rest is in that beside it.

    ``has_context``: whether the stream reads plain JSON.
    """

    name: str
    log: Log
    sides: SideStreams
    clock: Callable[[], Instant]
    has_context: bool

    def append(
        self,
        body: bytes,
        content_type: str,
        key: RequestKey | None,
        partition: str | None,
        reading: Callable[[Instant], Read],
    ) -> AppendReceipt:
        """Append the messages of a request that are right. ``reading``: what reads messages, judging them by a clock.

        Of a request that comes again under its key, what is rejected was written first and is asked first: that stays
        so, and what is right is judged by the clock of then.
        """
        known = None if key is None else self.sides.find(self.name, REJECTED)
        before = None if known is None or key is None else known.request(key)
        answered = None if key is None else self.log.answer(key)
        if answered is not None:
            return replace(answered, rejected=0 if before is None else before.elements)
        if self.log.describe().ended:
            raise Conflict("the stream has ended: nothing can be appended to it")
        now = self.clock() if before is None else before.at
        divided = divide_body(body, content_type, reading(now), has_context=self.has_context)
        if divided.rejected and before is None:
            rejected = self.sides.made(self.name, REJECTED, self.log)
            rejected.append(rejected_elements(divided.rejected, now), key, at=now)
            self.sides.count(self.name, divided.rejected)
        return replace(self.log.append(divided.elements, key, partition=partition), rejected=len(divided.rejected))
