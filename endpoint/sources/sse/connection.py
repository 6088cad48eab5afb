"""A stream of Server-Sent Events as a source: its position is the last id, and what came behind that."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx

from endpoint.back_off import MOST_PATIENCE
from endpoint.outgoing.breaking import break_off
from endpoint.sources.connection import Surroundings
from endpoint.sources.sse.events import Event, EventReader
from endpoint.sources.waiting import Put, Waiting
from endpoint.sources.web import failures_of, message_type, open_address
from protocol.errors import shortened
from protocol.formats.media_types import EVENT_STREAM, MESSAGE_TYPE
from protocol.formats.negotiation import media_type_of
from protocol.sources import BEGINNING_BYTES, SourceBatch, SourceFailed, SourceMessage, bounded_message

SILENCE_SECONDS = 60.0
"""Who sends events says something every 15 seconds, as the standard advises; one silent for so long is lost."""

_ID, _OWN, _BEHIND = "id", "own", "behind"
"""The positions: the last id, digests of the message that came with it and of those behind it that have none of their
own.
"""

_RETRY = "retry"
"""What is remembered: for how many seconds the other side asks to be left alone."""

_MOST_BEHIND = 1000
_DIGEST = 8


class SseConnection:
    """Reads events in a thread of its own, a batch ahead of what is stored.

    A message is the ``data`` of an event without a name. Of those with one, ``end``, ``reset`` and ``error`` are what
    this endpoint's own streams say of themselves; others are passed over.
    """

    is_kept = False

    def __init__(self, surroundings: Surroundings) -> None:
        """Raises SourceFailed where there are no events, or nobody says what they carry."""
        self.notice: str | None = None
        self._url = surroundings.settings.url
        self._largest = surroundings.largest
        last = surroundings.positions.get(_ID, b"")
        self._events = ReadEvents(surroundings.positions)
        headers = {b"Accept": EVENT_STREAM.encode(), b"Cache-Control": b"no-store"}
        # White space around it is none of a header's value.
        if sent := last.strip(b" \t"):
            headers[b"Last-Event-ID"] = sent
        self._memory = surroundings.memory
        with self._no_sooner():
            self._opened = open_address(surroundings, self._url, headers, SILENCE_SECONDS)
        try:
            told = self._opened.response.headers
            if self._opened.response.status_code == httpx.codes.NO_CONTENT:
                # A browser would never ask again (HTML Standard, section 9.2.3): whoever made the source can mend that.
                over = f"{self._url} says that there is nothing to come back for (204)"
                raise SourceFailed(over, retry_after=MOST_PATIENCE)
            if media_type_of(told.get("content-type")) != EVENT_STREAM:
                raise SourceFailed(f"{self._url} has no events: it is {told.get('content-type') or 'of no type'}")
            self._content_type = message_type(surroundings, told.get(MESSAGE_TYPE))
        except BaseException:
            self._opened.close()
            raise
        self._waiting = Waiting(f"sse-{surroundings.stream}", self._receive)

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``Connection.take``."""
        return self._waiting.take(seconds)

    def stored(self, batch: SourceBatch) -> None:
        """Who sends events awaits no word."""

    def close(self) -> None:
        """End the connection, and the thread with it."""
        self._waiting.close()
        stream = self._opened.response.extensions.get("network_stream")
        connected = None if stream is None else stream.get_extra_info("socket")
        if connected is not None:
            break_off(connected)
        self._waiting.join()

    def forget(self) -> None:
        """Who sends events knows of nobody."""

    def _receive(self, put: Put) -> None:
        """What the thread does, until the connection breaks or is closed."""
        reader = EventReader(self._largest, BEGINNING_BYTES)
        try:
            with self._no_sooner(reader), failures_of(self._url):
                for event in reader.events(self._opened.response.iter_raw()):
                    message = self._message(event)
                    if message is not None and not put(message, self._events.positions):
                        return
                raise SourceFailed(f"{self._url} has closed the connection")
        finally:
            self._opened.close()

    @contextmanager
    def _no_sooner(self, reader: EventReader | None = None) -> Iterator[None]:
        """Whatever fails, the source comes back no sooner than it was asked to, by this connection or one before."""
        try:
            yield
        except SourceFailed as error:
            if reader is not None and reader.retry is not None:
                self._memory[_RETRY] = reader.retry / 1000
            error.retry_after = max(error.retry_after, min(self._memory.get(_RETRY, 0.0), MOST_PATIENCE))
            raise

    def _message(self, event: Event) -> SourceMessage | None:
        own = self._events.has_own(event.id)
        text = event.data.decode(errors="replace")
        if event.name == "end":
            raise SourceFailed(f"{self._url} says that it has ended: {shortened(text)}")
        if event.name == "reset":
            self.notice = f"{self._url} no longer holds what came after the last event that was read: that is lost"
        elif event.name == "error":
            self.notice = f"{self._url} tells of an error: {shortened(text)}"
        elif event.name == "message" and text:
            if not self._events.positions[_ID]:
                self.notice = "its events have no ids: what is sent while the connection is away is lost"
            # The beginning of a long one may end in the middle of a character.
            data = text.encode() if event.length <= self._largest else event.data
            key = self._events.key_of(data, own=own)
            if key is None:
                return None
            if self._events.many_behind:
                self.notice = f"more than {_MOST_BEHIND} events have no ids: some come twice with a new connection"
            return bounded_message(data, event.length, self._largest, self._content_type, self._url, key)
        return None


class ReadEvents:
    """Which events were read, and by which key each is known if it comes again, also over the next connection.

    An id holds on for the events after it that have none (HTML Standard, section 9.2.6), and whoever goes on behind it
    sends these again. They are told apart by how far behind it they are, and what they say. Before the first id nothing
    can come again. Some send the event that has the id again, too, and some give several events the same one.
    """

    def __init__(self, positions: Mapping[str, bytes]) -> None:
        """``positions``: of the connections before; empty: nothing was read."""
        self._last = positions.get(_ID, b"")
        self._told = ""
        self._count = 0
        self._own = positions.get(_OWN, b"")
        self._behind = positions.get(_BEHIND, b"")
        self._may_come_again = True
        self._first_may_be = self._own
        """The digest by which the first event is known, if the id that it comes with is the last one."""

    @property
    def positions(self) -> dict[str, bytes]:
        """What is to be stored with all events so far."""
        return {_ID: self._last, _OWN: self._own, _BEHIND: self._behind}

    @property
    def many_behind(self) -> bool:
        """Whether there are more events behind the last id than are known again."""
        return self._count > _MOST_BEHIND

    def has_own(self, told: str) -> bool:
        """Whether the next event, of which the connection tells this id, is the first of all that it is told of."""
        if told == self._told:
            return False
        self._told = told
        if self._may_come_again and told.encode() == self._last:
            return False
        self._last = told.encode()
        self._count, self._own, self._behind, self._may_come_again = 0, b"", b"", False
        return bool(told)

    def key_of(self, data: bytes, *, own: bool) -> bytes | None:
        """The key of that event, which is a message; None: it was read before."""
        digest = hashlib.blake2b(data, digest_size=_DIGEST).digest()
        if own:
            self._own = digest
            # Not the id alone: who counts them in memory begins anew with what is said for the first time.
            return b"%b %b" % (self._last, digest)
        if not self._last:
            return uuid.uuid4().bytes
        known, self._first_may_be = self._first_may_be, b""
        if self._told and digest == known:
            return None
        begin = self._count * _DIGEST
        self._count += 1
        if self._may_come_again and self._behind.startswith(digest, begin):
            return None
        # What comes from here on is not what was read.
        self._may_come_again = False
        if not self.many_behind:
            self._behind = self._behind[:begin] + digest
        return b"%b %d %b" % (self._last, self._count, digest)
