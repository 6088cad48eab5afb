"""Content negotiation (RFC 9110 section 12.5.1): ``Accept`` headers against what can be written."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from werkzeug.http import parse_list_header, parse_options_header

from protocol.errors import ProtocolError
from protocol.formats.xml.text import NotExpressible

A = TypeVar("A")
T = TypeVar("T")


class NotAcceptable(ProtocolError):
    """Nothing the client accepts can be written."""

    status = 406
    title = "Not acceptable"


class UnsupportedMediaType(ProtocolError):
    """The body is in a format, an encoding or a grouping that is not read here (RFC 9110 section 15.5.16)."""

    status = 415
    title = "Unsupported media type"


_UTF8 = frozenset({"utf-8", "utf8", "us-ascii"})
_QUALITY = re.compile(r"(?:0(?:\.\d*)?|1(?:\.0*)?|\.\d+)\Z")


@dataclass(frozen=True)
class MediaRange:
    """One member of an ``Accept`` header; ``quality`` in [0, 1], ``position`` its place in the header."""

    type: str
    subtype: str
    quality: float
    position: int

    def matches(self, media_type: str) -> bool:
        main, _, sub = media_type.partition("/")
        return self.type in ("*", main) and self.subtype in ("*", sub)

    @property
    def specificity(self) -> int:
        return (self.type != "*") + (self.subtype != "*")


def media_ranges(accept: str | None) -> list[MediaRange]:
    """The ranges of an ``Accept`` header; none, or an empty one, accepts everything.

    What is not a media range is skipped, as RFC 9110 leaves to the recipient; a quality that is not
    a number between 0 and 1 skips its range.
    """
    if accept is None or not accept.strip():
        return [MediaRange("*", "*", 1.0, 0)]
    ranges = []
    for position, member in enumerate(parse_list_header(accept)):
        name, parameters = parse_options_header(member)
        # Some clients (Java's URLConnection) write "*" for "*/*".
        main, _, sub = ("*/*" if name == "*" else name.lower()).partition("/")
        quality = parameters.get("q", "1")
        if main and sub and (main != "*" or sub == "*") and _QUALITY.match(quality):
            ranges.append(MediaRange(main, sub, float(quality), position))
    return ranges


def accept_header(values: Iterable[str]) -> str | None:
    """The ``Accept`` headers of a request as one; a list may be sent in several (RFC 9110 section 5.3)."""
    return ", ".join(values) or None


def media_type_of(content_type: str | None) -> str:
    """The media type in a Content-Type, without parameters; "" if there is none."""
    return parse_options_header(content_type)[0].lower()


def require_utf8(content_type: str | None) -> None:
    """Raise UnsupportedMediaType if a Content-Type names another encoding: SPARQL and RDF are sent as UTF-8."""
    charset = parse_options_header(content_type)[1].get("charset", "utf-8")
    if charset.lower() not in _UTF8:
        raise UnsupportedMediaType(f"charset={charset} is not read here: send UTF-8")


async def in_turn(alternatives: Iterable[A], write: Callable[[A], Awaitable[T]]) -> T:
    """What ``write`` gives of the first of these, one at least, that has a way to say it.

    Raises what the first was refused with where none has, and whatever else ``write`` raises.
    """
    refused: ProtocolError | None = None
    for alternative in alternatives:
        try:
            return await write(alternative)
        except ProtocolError as error:
            # From another process it comes without its class.
            if error.status != NotExpressible.status:
                raise
            refused = refused or error
    assert refused is not None, "there is one at least"
    raise refused


def acceptable(accept: str | None, offers: Iterable[str]) -> list[str]:
    """The offers the client takes, what it wants most first; there is at least one.

    Among equals the one its own header names first wins, then the first of the offers. Raises
    NotAcceptable, naming what there is.
    """
    offers = list(offers)
    ranges = media_ranges(accept)
    ranked: list[tuple[tuple[float, int, int], str]] = []
    for order, offer in enumerate(offers):
        matching = [one for one in ranges if one.matches(offer)]
        if not matching:
            continue
        decisive = max(matching, key=lambda one: (one.specificity, one.quality, -one.position))
        if decisive.quality > 0:
            ranked.append(((-decisive.quality, decisive.position, order), offer))
    if not ranked:
        raise NotAcceptable(
            f"nothing of what Accept: {accept} names can be written here; there is {', '.join(offers)}",
            extra={"available": offers},
        )
    return [offer for _, offer in sorted(ranked)]
