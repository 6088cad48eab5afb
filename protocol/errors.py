"""One error family: what went wrong, where, and the HTTP status it becomes at the edge (RFC 9457)."""

from __future__ import annotations

import errno
import os
from typing import Any

_LONGEST_DETAIL = 2000

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The file system, what a user may have of it, and what one file may have are used up."""


def shortened(text: str) -> str:
    """The text, or where it is very long (it may quote what a client sent) its beginning and its end."""
    half = _LONGEST_DETAIL // 2
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:half]} […] {text[-half:]}"


def size_text(size: int) -> str:
    """A number of bytes, for a person."""
    return f"{size // 2**20} MiB" if size >= 2**20 and size % 2**20 == 0 else f"{size} bytes"


class ProtocolError(Exception):
    """An error a client can act on; rendered as ``application/problem+json``.

    ``status`` and ``title`` belong to the class, ``detail`` to the occurrence. ``line`` and
    ``column`` (both counted from 1) name the place in the text the client sent, where there is one.
    ``refusal`` of a class names the rule or limit by which a request is refused, for counting; "" is none.
    """

    status = 400
    title = "Bad request"
    refusal = ""

    def __init__(
        self,
        detail: str,
        *,
        line: int | None = None,
        column: int | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.line = line
        self.column = column
        self.extra = extra or {}

    def problem(self) -> dict[str, Any]:
        """The problem document (RFC 9457 section 3)."""
        document: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": shortened(self.detail),
        }
        if self.line is not None:
            document["line"] = self.line
        if self.column is not None:
            document["column"] = self.column
        return {**document, **self.extra}


class QuerySyntaxError(ProtocolError):
    """The text is not a query of the language (SPARQL 1.1, docs/language.md, "Grammar")."""

    title = "Syntax error in the query"


class ExcludedByGrammar(QuerySyntaxError):
    """The grammar has no place for it, though Oxigraph reads it."""


class UpdateSyntaxError(ProtocolError):
    """The text is not a SPARQL 1.1 update."""

    title = "Syntax error in the update"


class QuerySemanticError(ProtocolError):
    """The text parses, but means nothing: an unknown stream, an undeclared window, a step of zero."""

    title = "The query cannot be answered"


class UpdateFailed(ProtocolError):
    """The text is an update, but cannot be done: CREATE of a graph that is there, for one. Nothing of it was."""

    title = "The update cannot be done"


class UnsupportedFeature(ProtocolError):
    """Part of the language or protocol that this version does not implement; said, never pretended."""

    status = 501
    title = "Not implemented"


class InvalidMessage(ProtocolError):
    """A request body that is not RDF, or an element without a timestamp (docs/http.md, "Appending")."""

    title = "The messages cannot be appended"


class MessageWithoutTime(InvalidMessage):
    """A message of a stream of event time that has no timestamp, or something else in its place."""


class MessageAhead(InvalidMessage):
    """A message whose timestamp is further ahead of the server's clock than its stream takes."""


class NotFound(ProtocolError):
    """No such stream or query."""

    status = 404
    title = "Not found"


class HeldNoMore(NotFound):
    """Retention has taken what an answer is made of."""


class Conflict(ProtocolError):
    """The request contradicts the state: the stream has ended, is read by a query, exists otherwise."""

    status = 409
    title = "Conflict"


class KeyReused(ProtocolError):
    """The idempotency key of a request was that of another one (docs/http.md, "Sending once")."""

    status = 422
    title = "The idempotency key was used before"


class StorageFull(ProtocolError):
    """There is no room to write to: nothing was changed, and it can be tried again when there is."""

    status = 507
    title = "The storage is full"
    refusal = "storage_full"

    @classmethod
    def of(cls, error: OSError, what: str) -> StorageFull | None:
        """What an error in writing ``what`` is, if it is this; a database below has only its message."""
        if error.errno in _FULL or (error.errno is None and any(os.strerror(one) in str(error) for one in _FULL)):
            return cls(
                f"{what} could not be written ({os.strerror(error.errno) if error.errno else error}): "
                "nothing was changed; make room, then send it again"
            )
        return None


class StorageDamaged(ProtocolError):
    """The files of the graphs are not what was written: there is no answer, since it would be wrong."""

    status = 500
    title = "The graphs are damaged"
    refusal = "storage_damaged"

    @classmethod
    def of(cls, error: BaseException) -> StorageDamaged | None:
        """What an error of the database's is, if it is this; it has only its message."""
        if str(error).startswith("Corruption: "):
            return cls(f"the files of the graphs are damaged, restore them from a backup: {error}")
        return None


class ServiceFailed(ProtocolError):
    """An endpoint named by SERVICE did not answer as it should (SPARQL 1.1 Federated Query section 4)."""

    status = 502
    title = "A service failed"


class Unavailable(ProtocolError):
    """The part that would answer is not running (yet): Spark is warming up or has failed."""

    status = 503
    title = "Not available"
