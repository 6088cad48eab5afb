"""A body taken apart, so that some of its messages can be read without the others."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

from protocol.errors import InvalidMessage, ProtocolError
from protocol.formats.media_types import RdfSyntax
from protocol.messages import division, json_lines
from protocol.messages.body_type import BodyType, Grouping
from protocol.messages.message import Message
from protocol.messages.preambles import announces_messages, is_preamble
from spark_backend.ingest.halves import read_by_halves

MOST_WRONG, MOST_PARTS = 5_000, 200_000
"""Of one body: the messages that are wrong, each of which is found and kept by itself, in a millisecond or so; and the
messages among which they are looked for.
"""


class TooMany(ProtocolError):
    """A body has more messages than are told apart: it is taken for one that is wrong as a whole."""

    title = "Too many messages to tell apart those that are not right"


@dataclass(frozen=True)
class MessageParts:
    """The messages of a body, each with those behind it that are empty: these have the time of the one before them.

    ``join`` makes a body of some; ``content_type`` is that of one alone.
    """

    parts: list[list[Message]]
    content_type: str
    join: Callable[[Sequence[Message]], tuple[bytes, str]]

    @classmethod
    def of(cls, body: bytes, content_type: str, body_type: BodyType) -> MessageParts:
        """The messages, as finely as can be told of a body that may be wrong: in the worst case it is one.

        Raises TooMany.
        """
        syntax, grouping = body_type.format, body_type.grouping
        whole = cls([[Message(body)]], content_type, lambda some: (some[0].body, content_type))
        if body_type.charset not in (None, "utf-8") or grouping is Grouping.FRAMES:
            return whole
        if grouping is Grouping.LINES:
            media_type = content_type.partition(";")[0].strip()
            pieces = (piece.removesuffix(b"\n") for piece in BytesIO(body))
            lines = _with_empty_ones(_few(json_lines.divide(pieces)), json_lines.is_empty)
            return cls(lines, media_type, lambda some: (json_lines.join(some), media_type)) if lines else whole
        announced = syntax.has_comments and announces_messages(body.removeprefix(BOM_UTF8))
        if grouping is Grouping.SINGLE:
            return cls._divided(body, syntax, Grouping.DELIMITERS) if announced else whole
        if grouping is Grouping.MARKERS and announced:
            return whole  # what divides it is said twice, which is an error of all of it
        return cls._divided(body, syntax, grouping)

    @classmethod
    def _divided(cls, body: bytes, syntax: RdfSyntax, grouping: Grouping) -> MessageParts:
        messages = _few(division.divide([body], syntax, announced=grouping is Grouping.DELIMITERS))
        parts = _with_empty_ones(messages, is_preamble)
        content_type = f"{syntax.value}; version={division.VERSION}"
        return cls(parts, syntax.value, lambda some: (division.join(some), content_type))

    def wrong(self, read: Callable[[bytes, str], object]) -> dict[int, InvalidMessage]:
        """Which parts are wrong, and how, given what reads a body and raises InvalidMessage.

        Raises TooMany where more than ``MOST_WRONG`` are.
        """
        alone = 0

        def read_some(some: Sequence[int]) -> None:
            nonlocal alone
            if len(some) > 1:
                read(*self.join(self._messages(some)))
                return
            try:
                # As it is kept, so that the error's place is one in it.
                read(self.alone(some[0]), self.content_type)
            except InvalidMessage as error:
                alone += 1
                self._require_few(alone, error)
                raise

        found = dict(read_by_halves(range(len(self.parts)), read_some, InvalidMessage)[1])
        if found:
            self._require_few(len(found), found[min(found)])
        return found

    def _require_few(self, wrong: int, error: InvalidMessage) -> None:
        if wrong > MOST_WRONG:
            raise TooMany(
                f"of {len(self.parts)} messages more than {MOST_WRONG} are not right, which is more than are diverted "
                f"of one body: send fewer in it; the error of one: {error.detail}"
            )

    def alone(self, number: int) -> bytes:
        """A part as a body of its own, without what is empty."""
        return self.parts[number][0].alone

    def without(self, left_out: Sequence[int]) -> tuple[bytes, str] | None:
        """A body of the other parts, and its type; None if there is none."""
        gone = set(left_out)
        rest = [number for number in range(len(self.parts)) if number not in gone]
        return self.join(self._messages(rest)) if rest else None

    def _messages(self, numbers: Sequence[int]) -> list[Message]:
        return [message for number in numbers for message in self.parts[number]]


def _with_empty_ones(messages: Iterable[Message], is_empty: Callable[[bytes], bool]) -> list[list[Message]]:
    """The messages, each with those behind it whose bodies are empty."""
    parts: list[list[Message]] = []
    for message in messages:
        if parts and is_empty(message.body):
            parts[-1].append(message)
        else:
            parts.append([message])
    return parts


def _few(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages, as long as there are not too many."""
    for number, message in enumerate(messages):
        if number == MOST_PARTS:
            raise TooMany(
                f"the body has more than {MOST_PARTS} messages, and one of them is not right: which are, is looked for "
                "in smaller ones only; send fewer in one body"
            )
        yield message
