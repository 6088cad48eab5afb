"""What can go wrong with a query that is evaluated in a process of its own."""

from __future__ import annotations

from typing import Any

from protocol.errors import ProtocolError, Unavailable


class QueryTimeout(ProtocolError):
    """The query was stopped at its time limit."""

    status = 504
    title = "The query took too long"
    refusal = "query_timeout"


class ClientTooSlow(ProtocolError):
    """The client takes its answer so slowly that the process that gives it is needed elsewhere."""

    status = 408
    title = "The answer was not taken"


class ResultTooLarge(ProtocolError):
    """The answer is longer than the endpoint gives out."""

    status = 422
    title = "The result is too large"
    refusal = "result_too_large"


class ReaderEnded(ProtocolError):
    """The process that evaluated the query ended by itself."""

    status = 500
    title = "The query could not be evaluated"


class EvaluationFailed(ProtocolError):
    """An error that nobody foresaw, in the process that evaluated the query; the server's log has more."""

    status = 500
    title = "Internal server error"


class Overloaded(Unavailable):
    """More queries wait for their turn, or wait longer, than the endpoint lets them."""

    title = "Too many queries"
    refusal = "readers"


class RelayedError(ProtocolError):
    """A ProtocolError that was raised in another process, with all that its class said there."""

    def __init__(self, document: dict[str, Any]) -> None:
        """``document`` is the problem document (RFC 9457), and the member ``refusal`` of the error's class."""
        said = dict(document)
        said.pop("type", None)
        self.title = said.pop("title")
        self.refusal = said.pop("refusal", "")
        self.status = said.pop("status")
        super().__init__(said.pop("detail"), line=said.pop("line", None), column=said.pop("column", None), extra=said)
