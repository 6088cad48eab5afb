"""What a document declares before it says anything: prefixes, a base, a version, with comments and white space."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from protocol.formats.turtle_tokens import TURTLE_TOKEN

VERSIONS_WITH_MESSAGES = ("1.2-messages", "1.2-basic-messages", "1.1-messages")
"""The version labels of documents that ``MESSAGE`` divides (W3C RSP CG, *RDF Messages*)."""

_GAP = rb"(?:\s|#[^\r\n]*+)*+"
"""What may stand between the tokens of a declaration."""
_LABEL = rb"\"(?:[^\"\\\r\n]|\\.)*\"|'(?:[^'\\\r\n]|\\.)*'"
_DECLARATION = (
    rb"@prefix(?=[\s#])GAP[^\s:]*:GAP<[^<>\r\n]*>GAP\.|prefix(?=[\s#])GAP[^\s:]*:GAP<[^<>\r\n]*>"
    rb"|@baseGAP<[^<>\r\n]*>GAP\.|baseGAP<[^<>\r\n]*>"
).replace(b"GAP", _GAP)
_VERSION = rb"@version" + _GAP + rb"(?:" + _LABEL + rb")" + _GAP + rb"\.|version" + _GAP + rb"(?:" + _LABEL + rb")"
_PREAMBLE = re.compile(
    rb"(?:[ \t\r\n]++|#[^\r\n]*+|" + _DECLARATION + rb"|" + _VERSION + rb")*+",
    re.IGNORECASE,
)
_VERSION_OR_COMMENT = re.compile(
    rb"#[^\r\n]*+|<[^<>\r\n]*+>|version" + _GAP + rb"[\"'](?P<label>[^\"']*+)", re.IGNORECASE
)
_IRI_OR_COMMENT = re.compile(rb"(?P<iri><[^<>\r\n]*+>)|#[^\r\n]*+")
_PREFIX = re.compile(rb"@?prefix\s+([^\s:]*):", re.IGNORECASE)
_BASE = re.compile(rb"@?base\s*<(?P<scheme>[a-z][a-z0-9+.-]*:)?", re.IGNORECASE)
_DECLARES = re.compile(rb"prefix|base", re.IGNORECASE)
_LOCAL_NAME = rb":(?:[0-9A-Za-z_:%.\x80-\xff-]|\\.)++"
"""What follows a prefix, as a whole: ``:knowledge.base`` declares nothing."""
_DECLARATION_OR_TOKEN = re.compile(
    rb"(?P<declaration>(?<![^\s.}>])(?:" + _DECLARATION + rb"))|" + _LOCAL_NAME + rb"|" + TURTLE_TOKEN.pattern,
    re.DOTALL | re.IGNORECASE,
)


def is_preamble(document: bytes, end: int | None = None) -> bool:
    """Whether there is nothing in it, up to ``end``, but directives, comments and white space."""
    last = len(document) if end is None else end
    return preamble_end(document, last) == last


def preamble_end(document: bytes, end: int | None = None) -> int:
    """Where the directives, comments and white space that it begins with end, up to ``end``."""
    found = _PREAMBLE.match(document, 0, len(document) if end is None else end)
    return 0 if found is None else found.end()


def announces_messages(document: bytes) -> bool:
    """Whether the document says of itself that it may hold several messages: ``VERSION "1.2-messages"`` or the like."""
    preamble = document[: preamble_end(document)]
    if b"-messages" not in preamble:
        return False
    labels = (match["label"] for match in _VERSION_OR_COMMENT.finditer(preamble))
    return any(label is not None and label.decode(errors="replace") in VERSIONS_WITH_MESSAGES for label in labels)


def declared_behind(declared: tuple[bytes, ...], text: bytes) -> tuple[bytes, ...]:
    """The declarations, a line each, that hold behind a text of Turtle or TriG, given those before it.

    In their order, for a relative one is resolved against the base before it; without those of which nothing is left.
    """
    holding = list(declared)
    for declaration in _declarations(text):
        prefix = _PREFIX.match(declaration)
        if prefix is not None:
            holding = [one for one in holding if (other := _PREFIX.match(one)) is None or other[1] != prefix[1]]
        holding.append(declaration)
        bases = [_BASE.match(one) for one in holding]
        replaced = [
            base is not None and following is not None and following["scheme"] is not None
            for base, following in pairwise([*bases, None])
        ]
        holding = [one for one, gone in zip(holding, replaced, strict=True) if not gone]
    return tuple(holding)


def _declarations(text: bytes) -> Iterator[bytes]:
    """The declarations of prefixes and bases in a text of Turtle or TriG, each on one line."""
    # Nearly all messages declare nothing, which is seen sooner than what their tokens are.
    if _DECLARES.search(text) is None:
        return
    for match in _DECLARATION_OR_TOKEN.finditer(text):
        if match["declaration"] is not None:
            # Without its comments, for what follows on its line would be in one of them.
            bare = _IRI_OR_COMMENT.sub(lambda found: found["iri"] or b" ", match[0])
            yield b" ".join(bare.split())
