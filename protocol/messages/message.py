"""A message of a document that may hold several."""

from __future__ import annotations

from dataclasses import dataclass

MOST_MESSAGES = 2_000_000
"""In one body. An empty one takes three bytes of it, and hundreds in memory while it is read: a body of nothing else
takes no more with this bound than one of 64 MiB whose messages say something, which is taken.
"""


@dataclass(frozen=True)
class Message:
    """One message. ``preamble``: what messages before it said that holds for it too, a line each.

    That is the prefixes and the base in Turtle and TriG, and the context in lines of JSON-LD.
    """

    body: bytes
    preamble: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return len(self.body)

    @property
    def alone(self) -> bytes:
        """The message as a document of its own."""
        return b"".join((*(line + b"\n" for line in self.preamble), self.body))
