"""Newline-delimited JSON-LD: a message a line (W3C RSP CG, *RDF Messages*, section on JSON-LD).

A line with an object whose only member is ``@context`` is no message: it sets the context of the messages after it,
under their own. Lines of white space are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from protocol.messages.message import Message

_DECODER = json.JSONDecoder()
_CONTEXT = re.compile(r'\{\s*"@context"\s*:\s*')
_EMPTY = re.compile(rb"\{\s*\}|\[\s*\]")
_MEMBER = re.compile(r'\s*,\s*"([^"\\]*)"\s*:')


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line that is a message: its number (from 1), its text without white space around it, and where that starts.

    ``context``, JSON too, is what a line before it set; None: nothing.
    """

    number: int
    text: bytes
    indent: int
    context: bytes | None

    @property
    def document(self) -> bytes:
        """The message as one document of JSON-LD."""
        return self.text if self.context is None else under_context(self.context, self.text)

    @property
    def shift(self) -> int:
        """What a column of the document has to be moved by to be one of the line, in characters."""
        return self.indent if self.context is None else self.indent - len(_opening(self.context).decode())


def under_context(context: bytes, text: bytes) -> bytes:
    """A message as one document of JSON-LD, with the context that a line before it set."""
    return _opening(context) + text + b"}"


def only_context(text: bytes) -> bytes | None:
    """The context, in JSON, of an object that has no other member, else None."""
    if b'"@context"' not in text:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, dict) and document.keys() == {"@context"}:
        return json.dumps(document["@context"]).encode()
    return None


def read_lines(lines: Iterable[bytes], context: bytes | None = None) -> Iterator[JsonLine]:
    """The messages of a document that comes in lines, with or without their ends.

    ``context``: that of the messages before which no line sets one.
    """
    begins = b""
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        # Most lines begin with the context that the one before has.
        if b'"@context"' in text and not (begins and text.startswith(begins)):
            announced = only_context(text)
            if announced is not None:
                context = announced
                continue
            begins = _with_another_member(text)
        if text:
            yield JsonLine(number, text, len(line) - len(line.lstrip()), context)


def divide(lines: Iterable[bytes]) -> Iterator[Message]:
    """The messages of a document that comes in lines, as they come."""
    for line in read_lines(lines):
        yield Message(line.text, () if line.context is None else (b'{"@context":' + line.context + b"}",))


def is_empty(text: bytes) -> bool:
    """Whether a line, without white space around it, is an object or array that has nothing in it."""
    return _EMPTY.fullmatch(text) is not None


def join(messages: Sequence[Message]) -> bytes:
    """One document of these messages."""
    lines: list[bytes] = []
    said: tuple[bytes, ...] = ()
    for message in messages:
        if message.preamble != said:
            # A context is taken back by one that has nothing in it.
            said = message.preamble
            lines += said or (b'{"@context":{}}',)
        lines.append(message.body)
    return b"".join(line + b"\n" for line in lines)


def _with_another_member(text: bytes) -> bytes:
    """What an object begins with, to the name of a member that is not ``@context``; nothing if that is not seen.

    Whatever begins so is no object that has a context alone.
    """
    document = text.decode(errors="replace")
    opened = _CONTEXT.match(document)
    if opened is None:
        return b""
    try:
        _, end = _DECODER.raw_decode(document, opened.end())
    except (ValueError, RecursionError):
        return b""
    member = _MEMBER.match(document, end)
    return b"" if member is None or member[1] == "@context" else document[: member.end()].encode()


def _opening(context: bytes) -> bytes:
    return b'{"@context":' + context + b',"@graph":'
