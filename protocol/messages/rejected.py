"""Messages that a stream did not take, and how each is told as RDF (docs/http.md, "What was rejected").

The terms are those of the W3C's *Representing Content in RDF* (``cnt``), of DCMI Metadata Terms and of PROV-O.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from enum import StrEnum

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from protocol.errors import MessageAhead, MessageWithoutTime, ProtocolError, shortened
from protocol.formats.long_tokens import LONGEST_TOKEN
from protocol.shapes.report import as_triples
from protocol.shapes.violation import ShapeViolation
from protocol.terms import XSD, Term
from protocol.time import Instant, format_instant

_CONTENT = "http://www.w3.org/2011/content#"
_TERMS = "http://purl.org/dc/terms/"
_PROV = "http://www.w3.org/ns/prov#"
_COMMENT = NamedNode("http://www.w3.org/2000/01/rdf-schema#comment")
_SEE_ALSO = NamedNode("http://www.w3.org/2000/01/rdf-schema#seeAlso")
_REPORT = BlankNode("report")

_LONGEST = LONGEST_TOKEN - 2**20
"""The bytes of a term, as N-Triples write it: who stores the record and who reads it parse it."""

_LONGEST_ESCAPE = len("\\u0000")
_PIECE = 2**16
"""Characters of a message that are kept together, or not."""


class Reason(StrEnum):
    """What kind of fault a rejected message has: it is no RDF, has no time, is ahead of its time, or has another
    shape than the stream's.
    """

    UNREADABLE = "unreadable"
    NO_TIME = "no_time"
    AHEAD = "ahead"
    SHAPE = "shape"


_REASONS: dict[type[ProtocolError], Reason] = {
    MessageWithoutTime: Reason.NO_TIME,
    MessageAhead: Reason.AHEAD,
    ShapeViolation: Reason.SHAPE,
}


def reason_of(error: ProtocolError) -> Reason:
    """What kind of fault an error tells of a message."""
    return _REASONS.get(type(error), Reason.UNREADABLE)


@dataclass(frozen=True)
class Rejected:
    """A message that a stream did not take: its bytes as they came, their media type ("": not known), and why.

    ``source``: where it came from, an IRI or a text; None for a request. With a ``key`` (any bytes, of this message
    and those that came in one with it) that was there before, it is not kept again. ``report``: what SHACL says of it,
    as N-Triples. ``number``: which it is of those that came in one, from 0.
    """

    body: bytes
    content_type: str
    reason: str
    source: str | None = None
    key: bytes | None = None
    kind: Reason = Reason.UNREADABLE
    report: str = ""
    number: int = 0

    @classmethod
    def by(
        cls,
        error: ProtocolError,
        body: bytes,
        content_type: str,
        source: str | None = None,
        key: bytes | None = None,
        number: int = 0,
    ) -> Rejected:
        """A message that was rejected with this error."""
        report = ""
        if isinstance(error, ShapeViolation):
            triples = as_triples(error.results, str(_REPORT))
            report = "".join(f"{s} {p} {o} .\n" for s, p, o in triples if len(o.encode()) <= _LONGEST)
        return cls(body, content_type, shortened(error.detail), source, key, reason_of(error), report, number)


def rejected_document(rejected: Rejected, time: Instant) -> bytes:
    """What is kept of a rejected message, as N-Triples about one blank node, and the report that it refers to.

    ``time``: when it was rejected. A message that is too long for a term is cut, and the comment says so.
    """
    message = BlankNode("m")
    content, kept = _content(rejected.body)
    reason = rejected.reason
    if kept < len(rejected.body):
        reason += f" (of the {len(rejected.body)} bytes of the message, the first {kept} are kept)"
    described: list[tuple[NamedNode, Term]] = [
        content,
        (_COMMENT, Literal(reason)),
        (NamedNode(_PROV + "generatedAtTime"), Literal(format_instant(time), datatype=NamedNode(XSD + "dateTime"))),
    ]
    if rejected.content_type:
        described.append((NamedNode(_TERMS + "format"), Literal(shortened(rejected.content_type))))
    if rejected.source is not None:
        described.append((NamedNode(_PROV + "hadPrimarySource"), _source(rejected.source)))
    if rejected.report:
        described.append((_SEE_ALSO, _REPORT))
    told = "".join(f"{Triple(message, predicate, value)} .\n" for predicate, value in described)
    return (told + rejected.report).encode()


def _content(body: bytes) -> tuple[tuple[NamedNode, Literal], int]:
    """What is kept of a message, and how many bytes of it that are."""
    try:
        text = _beginning(body.decode())
    except UnicodeDecodeError:
        kept = body[: _LONGEST // 4 * 3]
        encoded = base64.b64encode(kept).decode()
        return (NamedNode(_CONTENT + "bytes"), Literal(encoded, datatype=NamedNode(XSD + "base64Binary"))), len(kept)
    return (NamedNode(_CONTENT + "chars"), Literal(text)), len(text.encode())


def _beginning(text: str) -> str:
    """As much of a text as a literal has room for, written with its escapes."""
    if len(text) * _LONGEST_ESCAPE <= _LONGEST:
        return text
    room = _LONGEST
    for start in range(0, len(text), _PIECE):
        room -= len(str(Literal(text[start : start + _PIECE])).encode())
        if room < 0:
            return text[:start]
    return text


def _source(source: str) -> NamedNode | Literal:
    try:
        return NamedNode(source)
    except ValueError:
        return Literal(source)
