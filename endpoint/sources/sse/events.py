"""The format of Server-Sent Events (HTML Standard, section 9.2.6), read in bounded memory."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_BESIDE = 64 * 1024
"""The longest line that is no data, such as a comment or an id, and the longest name of a field."""

_NOT_SENT = re.compile(rb"[\0-\x08\x0b-\x1f\x7f]")
"""No header has these (RFC 9110 section 5.5): an id with one could not be said to the other side again."""


class Event(NamedTuple):
    """``id``: its own, or the last one before it. ``length``: of its data in bytes; ``data`` may have fewer."""

    id: str
    name: str
    data: bytes
    length: int


class EventReader:
    """Reads events of which one is held up to ``largest`` bytes of its data: of a longer one ``kept`` are.

    A library would hold a line, and an event, however long it gets: one could break off, but not go on behind it.

    ``retry``: for how many milliseconds the other side asks to be left alone when the connection breaks; None: it has
    not said.
    """

    def __init__(self, largest: int, kept: int) -> None:
        self.retry: float | None = None
        self._largest = largest
        self._kept = kept
        self._id = ""
        self._line = bytearray()
        self._line_length = 0
        self._after_return = False
        self._begin()

    def events(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        """The events of these bytes, each as soon as it is whole. What follows the last one is none."""
        for chunk in without_mark(chunks):
            for part in chunk.splitlines(keepends=True):
                if self._after_return and part == b"\n":
                    self._after_return = False  # the second half of a line's end that was cut between two chunks
                    continue
                self._after_return = part.endswith(b"\r")
                content = part.rstrip(b"\r\n")
                self._extend(content)
                if len(content) == len(part):
                    continue
                if not self._line_length:
                    if (event := self._dispatched()) is not None:
                        yield event
                else:
                    self._field(bytes(self._line), self._line_length)
                self._line.clear()
                self._line_length = 0

    def _begin(self) -> None:
        self._name = ""
        self._says_id = False
        self._data = bytearray()
        self._length = 0
        """Of the data, each of whose lines ends with a line feed."""

    def _extend(self, part: bytes) -> None:
        """More of the line; as much of it is held as could still be a message, or be kept of it."""
        self._line_length += len(part)
        room = (self._largest + _BESIDE) - len(self._line) - len(self._data)
        self._line += part[: max(0, room)]

    def _field(self, line: bytes, length: int) -> None:
        name, colon, value = line.partition(b":")
        before = len(name) + len(colon)
        if value.startswith(b" "):
            value, before = value[1:], before + 1
        if name == b"data":
            self._length += length - before + 1
            self._data += value
            self._data += b"\n"
            if self._length - 1 > self._largest:
                del self._data[self._kept :]
        elif length > _BESIDE:
            return
        elif name == b"event":
            self._name = value.decode(errors="replace")
        elif name == b"id" and not _NOT_SENT.search(value):
            self._id = value.decode(errors="replace")
            self._says_id = True
        elif name == b"retry" and value.isdigit():
            self.retry = float(value)

    def _dispatched(self) -> Event | None:
        """The event that an empty line ends; one without data may have an id all the same. None if it has neither."""
        length = self._length - 1
        whole = length <= self._largest
        data = bytes(self._data[:-1] if whole else self._data)
        event = Event(self._id, self._name or "message", data, max(0, length))
        is_one = self._length > 0 or self._says_id
        self._begin()
        return event if is_one else None


def without_mark(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes without a byte order mark at their beginning, which is passed over."""
    beginning: bytes | None = b""
    for chunk in chunks:
        if beginning is None:
            yield chunk
            continue
        beginning += chunk
        if len(beginning) >= len(BOM_UTF8) or not BOM_UTF8.startswith(beginning):
            yield beginning.removeprefix(BOM_UTF8)
            beginning = None
    if beginning:
        yield beginning
