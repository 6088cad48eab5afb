"""What can go wrong with a query that is evaluated in a process of its own."""

from __future__ import annotations

from protocol.errors import ProtocolError, Unavailable, size_text


class EndpointStopping(Unavailable):
    """Nobody is left to answer: the endpoint is being stopped."""

    def __init__(self) -> None:
        super().__init__("the endpoint is being stopped: ask again when it is back")


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


class QueryMemoryExceeded(ProtocolError):
    """The query needs more memory than the endpoint gives one."""

    status = 422
    title = "The query needs too much memory"
    refusal = "query_memory"

    @classmethod
    def of(cls, limit: int) -> QueryMemoryExceeded:
        """``limit`` in bytes."""
        return cls(
            f"the query was stopped because it needs more than {size_text(limit)} of memory: bind more of its "
            "patterns, or sort and group less at a time, or, if you run this endpoint, allow more with --query-memory",
            extra={"limit": limit},
        )


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
