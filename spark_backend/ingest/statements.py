"""The statements of a request body, divided into messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from protocol.errors import InvalidMessage
from protocol.formats.document_checks import syntax_problem
from protocol.formats.turtle_tokens import LINE_END
from protocol.messages.message import MOST_MESSAGES
from spark_backend.ingest.terms.quads import Quads


@dataclass(frozen=True)
class Statements:
    """The statements of all messages of a body.

    ``quads``: their terms as ``str(term)`` gives them, in document order. ``counts``: statements per message,
    in order. ``line_of``: the line of the body (from 1) on which the message with this ordinal (from 0) starts,
    None in a body that has no lines.
    """

    quads: Quads
    counts: list[int]
    line_of: Callable[[int], int | None]

    def invalid(self, message: int, problem: str, kind: type[InvalidMessage] = InvalidMessage) -> InvalidMessage:
        """The error that says which message (an ordinal from 0) is wrong and where it starts."""
        line = self.line_of(message)
        number = message + 1
        place = "" if line is None else f" (line {line})"
        return kind(f"message {number}{place}: {problem}", line=line, extra={"message": number})


def require_few(messages: int) -> None:
    """Raises InvalidMessage for more messages than one body may have, as soon as it is known that it has so many."""
    if messages > MOST_MESSAGES:
        raise InvalidMessage(
            f"the body has more than {MOST_MESSAGES:,} messages, the most that are taken at once: send them in several"
        )


def position_of(text: bytes, line: int, column: int | None) -> int:
    """Where a line and column (from 1) are in a text, in bytes; the start of the line without a column."""
    start = 0
    for found in LINE_END.finditer(text):
        if line == 1:
            end = found.start()
            break
        line, start = line - 1, found.end()
    else:
        end = len(text)
    return start + len(text[start:end].decode()[: (column or 1) - 1].encode())


def statement_error(error: SyntaxError, message: int, line: int | None, column: int | None) -> InvalidMessage:
    """A syntax error as the client sees it: message number (from 0 here), line and column within the body."""
    place = "".join(f", {name} {value}" for name, value in (("line", line), ("column", column)) if value is not None)
    return InvalidMessage(
        f"message {message + 1}{place}: {syntax_problem(error)}",
        line=line,
        column=column,
        extra={"message": message + 1},
    )
