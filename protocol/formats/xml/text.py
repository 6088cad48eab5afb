"""What XML 1.0 can say: the characters it has, and how a carriage return survives it."""

from __future__ import annotations

import re
from typing import Protocol

from protocol.errors import ProtocolError

_FORBIDDEN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
_LONGEST = 3  # bytes of U+FFFE and U+FFFF
_CARRIAGE_RETURN = b"&#13;"


class NotExpressible(ProtocolError):
    """The answer has something in it that the format asked for has no way to write; others have."""

    status = 406
    title = "The answer cannot be written in this format"


class Output(Protocol):
    """What serializers need of a binary file."""

    def write(self, data: bytes, /) -> int: ...

    def flush(self) -> None: ...


class XmlOutput:
    """A binary file for a serializer that leaves characters as they are, in front of another one.

    A carriage return becomes a character reference: written as it is, every XML reader takes it for a line feed (XML
    1.0 section 2.11). ``write`` raises NotExpressible for what is no character of XML (section 2.2).
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._before = b""

    def write(self, data: bytes, /) -> int:
        """Takes a part of a document in UTF-8, cut anywhere, in which no markup has a carriage return."""
        found = _FORBIDDEN.search(self._before + data)
        if found is not None:
            raise not_a_character(found[0].decode())
        self._before = (self._before + data)[1 - _LONGEST :]
        self._output.write(data.replace(b"\r", _CARRIAGE_RETURN) if b"\r" in data else data)
        return len(data)

    def flush(self) -> None:
        """Passed on."""
        self._output.flush()


def not_a_character(character: str) -> NotExpressible:
    """The error for a character that XML cannot carry."""
    return NotExpressible(
        f"a literal of the answer contains the character U+{ord(character):04X}, which XML 1.0 cannot carry: "
        "ask for another format"
    )
