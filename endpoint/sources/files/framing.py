"""Where the messages of a growing file end (docs/sources.md, "Files"): at a line's end, or at a delimiter's."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from protocol.errors import UnsupportedFeature
from protocol.formats.media_types import JSON_LINES, RDF_TYPES, RdfSyntax
from protocol.formats.negotiation import media_type_of
from protocol.messages.body_type import LINES
from protocol.messages.json_lines import only_context, under_context

_ANNOUNCED = re.compile(r";\s*version\s*=\s*\"?1\.\d(?:-basic)?-messages", re.IGNORECASE)
_MARKED = re.compile(r";\s*messages\s*=\s*\"?rdfm", re.IGNORECASE)
_VERSION = re.compile(rb"\s*VERSION\s+(?:\"([^\"]*)\"|'([^']*)')\s*(?:#.*)?\Z", re.IGNORECASE | re.DOTALL)
_DELIMITER = re.compile(rb"\s*MESSAGE\s*(?:#.*)?\Z", re.IGNORECASE | re.DOTALL)
_MARKER = re.compile(rb"\s*#[ \t]*@message(?:[^0-9A-Za-z_-].*)?\Z", re.DOTALL)


class Ends(StrEnum):
    """What ends a message."""

    UNKNOWN = ""  # nothing of the file was seen that tells
    JSON_LINE = "json-line"  # every line that is not blank is a message, or a context
    STATEMENT = "statement"  # so is every line with a statement
    DELIMITER = "MESSAGE"
    MARKER = "# @message"


class Framed(NamedTuple):
    """A message: where it begins in the bytes that were looked at, its body, and its media type."""

    start: int
    body: bytes
    content_type: str


@dataclass(frozen=True)
class Framing:
    """What of a file's beginning holds for the rest. ``context``: JSON; ``opened``: a marker was there."""

    media_type: str
    ends: Ends = Ends.UNKNOWN
    context: str | None = None
    opened: bool = False

    @classmethod
    def of(cls, content_type: str) -> Framing:
        """How a file of this type, which is empty where nothing tells it, is divided. Raises UnsupportedFeature for one
        in which no message ends before the file does.
        """
        media_type = media_type_of(content_type)
        if media_type in LINES:
            return cls(media_type, Ends.JSON_LINE)
        syntax = RDF_TYPES.get(media_type)
        if syntax is None or not syntax.has_a_statement_a_line:
            said = f"not {media_type}" if media_type else "and its name tells none of these"
            raise UnsupportedFeature(
                f"a file that grows is N-Triples, N-Quads or newline-delimited JSON ({JSON_LINES}), {said}: "
                "in other formats nothing says where a message ends; say the source's contentType"
            )
        if _ANNOUNCED.search(content_type):
            return cls(media_type, Ends.DELIMITER)
        return cls(media_type, Ends.MARKER if _MARKED.search(content_type) else Ends.UNKNOWN)

    def divide(self, data: bytes, *, whole: bool = False) -> Iterator[tuple[Framed | None, int, Framing]]:
        """The messages that end in ``data``, which begins where one may begin: each with where it ends, and what holds
        from there on; None for what ends and is no message.

        ``whole``: the file ends with it, and with the file the last message does.
        """
        now, begin, place = self, 0, 0
        while place < len(data):
            end = data.find(b"\n", place) + 1
            if not end:
                if not whole:
                    return
                end = len(data)
            line = data[place:end]
            now, closed = now._after(line, first=begin == place)
            if closed is not None:
                body = data[begin:place] if now.ends in (Ends.DELIMITER, Ends.MARKER) else line.strip()
                yield now._framed(begin, body) if closed else None, end, now
                begin = end
            place = end
        if whole and begin < len(data) and _has_statement(data[begin:]):
            yield now._framed(begin, data[begin:]), len(data), now

    def _framed(self, start: int, body: bytes) -> Framed:
        if self.ends is Ends.JSON_LINE and self.context is not None and _is_document(body):
            return Framed(start, under_context(self.context.encode(), body), RdfSyntax.JSON_LD.value)
        return Framed(start, body, self.media_type)

    def _after(self, line: bytes, *, first: bool) -> tuple[Framing, bool | None]:
        """What holds after a line, and whether it ends a message (False: it ends, and is none; None: it ends nothing).

        ``first``: nothing but what was ended is before it.
        """
        # A file may begin with a byte order mark.
        line = line.removeprefix(BOM_UTF8)
        if self.ends is Ends.JSON_LINE:
            context = only_context(line)
            if context is not None:
                return replace(self, context=context.decode()), False
            return self, bool(line.strip())
        version = _VERSION.match(line)
        if version is not None and first:
            announced = (version[1] or version[2] or b"").endswith(b"-messages")
            return replace(self, ends=Ends.DELIMITER if announced else self.ends), False
        if self.ends is Ends.DELIMITER:
            return self, True if _DELIMITER.match(line) else None
        if self.ends is Ends.MARKER:
            if not _MARKER.match(line):
                # Statements before the first marker are a message; nothing before it is none.
                return (self if self.opened or not _has_statement(line) else replace(self, opened=True)), None
            return replace(self, opened=True), self.opened
        if not _has_statement(line):
            return self, False
        return replace(self, ends=Ends.STATEMENT), True


def _has_statement(text: bytes) -> bool:
    return any(line.strip() and not line.lstrip().startswith(b"#") for line in text.splitlines())


def _is_document(line: bytes) -> bool:
    """Whether a context may be put before it: what is no object or list is rejected as it came, for what it is."""
    try:
        return isinstance(json.loads(line), (dict, list))
    except (ValueError, RecursionError):
        return False
