"""Files of RDF messages taken apart, message by message, and put together into request bodies (contract section 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import Literal, parse

from protocol.errors import ProtocolError
from protocol.formats.media_types import JSON_LINES, RDF_EXTENSIONS, RDF_TYPES, RdfSyntax
from protocol.time import Instant, parse_instant

CONTENT_TYPES: dict[str, str] = {
    **{f".{extension}": syntax.value for extension, syntax in RDF_EXTENSIONS.items()},
    ".ndjson": JSON_LINES,
    ".ndjsonld": JSON_LINES,
    ".jsonl": JSON_LINES,
}
"""Content types by the end of a file's name."""

_LINES = frozenset(syntax.value for syntax in RdfSyntax if syntax.has_a_statement_a_line)
_BLOCKS = frozenset(syntax.value for syntax in RdfSyntax if syntax.has_comments) - _LINES
_MARKER = re.compile(rb"[ \t]*#[ \t]*@message(?![0-9A-Za-z_-])")
# A marker counts only where a comment may stand; what strings and IRIs hold is theirs.
_TOKEN = re.compile(
    rb'(?P<string>"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\''
    rb'|"(?:[^"\\\r\n]|\\.)*"|\'(?:[^\'\\\r\n]|\\.)*\')'
    rb"|(?P<directive>(?<![^\s.}])(?:@prefix|@base|prefix\b|base\b)[^<#\"']*<[^>\r\n]*>(?:[ \t\r\n]*\.)?)"
    rb"|(?P<iri><[^<>\"{}|^`\x00-\x20]*>)"
    rb"|(?P<marker>#[ \t]*@message(?![0-9A-Za-z_-])[^\r\n]*)"
    rb"|(?P<comment>#[^\r\n]*)",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True)
class Message:
    """One message. ``preamble`` holds the prefixes and base that earlier messages of its file declared."""

    body: bytes
    preamble: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        return len(self.body)

    @property
    def alone(self) -> bytes:
        """The message as a body of its own."""
        return b"".join((*(directive + b"\n" for directive in self.preamble), self.body))


def divisible(content_type: str) -> bool:
    """Whether files of this type may hold several messages."""
    return content_type in _LINES or content_type in _BLOCKS or content_type == JSON_LINES


def split(lines: Iterable[bytes], content_type: str) -> Iterator[Message]:
    """The messages of a file, given as lines (with their ends): as they come, except for Turtle and TriG.

    A marker at the start (or after nothing but prefixes) opens the first message; nothing after the
    last one is no message; nothing between two is an empty message. A file without markers is one message.
    """
    if content_type == JSON_LINES:
        return (Message(line) for line in lines if line.strip())
    if content_type in _LINES:
        return _split_lines(lines)
    if content_type in _BLOCKS:
        return _split_blocks(b"".join(lines))
    return iter([Message(b"".join(lines))])


def joined(messages: Sequence[Message], content_type: str) -> tuple[bytes, str]:
    """A request body of these messages, and its content type."""
    if content_type == JSON_LINES:
        return b"".join(message.body.rstrip(b"\r\n") + b"\n" for message in messages), content_type
    if len(messages) == 1:
        return messages[0].alone, content_type
    parts: list[bytes] = []
    declared: tuple[bytes, ...] = ()
    for message in messages:
        # What the messages before it declared holds already; said again only where something was added.
        added = message.preamble if message.preamble != declared else ()
        declared = message.preamble
        parts += [b"# @message\n", *(directive + b"\n" for directive in added), message.body, b"\n"]
    # Closed by a marker of its own, or an empty message at the end would be none.
    return b"".join([*parts, b"# @message\n"]), f"{content_type}; messages=rdfm"


def timestamp(message: Message, content_type: str, path: Sequence[str]) -> Instant | None:
    """The time in a message by the stream's ``timestampPath``: the first property found with a time. None: none.

    Raises ValueError for what is not RDF.
    """
    syntax = RdfSyntax.JSON_LD if content_type == JSON_LINES else RDF_TYPES[content_type]
    found: dict[str, Instant] = {}
    try:
        for quad in parse(message.alone, syntax.oxigraph, base_iri="http://localhost/"):
            predicate = quad.predicate.value
            if predicate in path and predicate not in found and isinstance(quad.object, Literal):
                found[predicate] = parse_instant(quad.object.value)
    except (SyntaxError, ProtocolError) as error:
        raise ValueError(str(error)) from None
    return next((found[predicate] for predicate in path if predicate in found), None)


def _split_lines(lines: Iterable[bytes]) -> Iterator[Message]:
    current: list[bytes] = []
    marked = False
    for line in lines:
        if _MARKER.match(line):
            if marked or _has_statement(current):
                yield Message(b"".join(current))
            current, marked = [], True
        else:
            current.append(line)
    if not marked or _has_statement(current):
        yield Message(b"".join(current))


def _has_statement(lines: Iterable[bytes]) -> bool:
    return any(stripped and not stripped.startswith(b"#") for stripped in map(bytes.strip, lines))


def _split_blocks(text: bytes) -> Iterator[Message]:
    declared: dict[bytes, None] = {}
    inherited: tuple[bytes, ...] = ()
    begin, marked = 0, False
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "directive":
            directive = b" ".join(token[0].split())
            # Last, even where it was declared before: what holds is what was said last.
            declared.pop(directive, None)
            declared[directive] = None
        elif token.lastgroup == "marker":
            body = text[begin : token.start()]
            if marked or not _is_preamble(body):
                yield Message(body, inherited)
            begin, marked, inherited = token.end(), True, tuple(declared)
    if not marked or not _is_preamble(text[begin:]):
        yield Message(text[begin:], inherited)


def _is_preamble(text: bytes) -> bool:
    """Whether there is nothing in it but prefixes, comments and white space."""
    return not _TOKEN.sub(lambda token: b"" if token.lastgroup in ("directive", "comment") else token[0], text).strip()
