"""Messages that are longer than one may be: what is kept of each says which it was, and nothing waits for it."""

from __future__ import annotations

from protocol.errors import size_text
from protocol.sources import SourceMessage

BEGINNING_BYTES = 64 * 1024
"""How much is kept of a message that is too long."""


def bounded_message(
    body: bytes, length: int, largest: int, content_type: str | None, origin: str, key: bytes
) -> SourceMessage:
    """A message of ``length`` bytes, refused with its beginning where that is more than ``largest``; then ``body`` is
    as much of it as there is.
    """
    if length <= largest:
        return SourceMessage(body, content_type, origin, key)
    kept = _whole_characters(body[:BEGINNING_BYTES])
    reason = (
        f"the message has {length} bytes, and --max-request-bytes is {size_text(largest)}: "
        f"its first {len(kept)} bytes are kept"
    )
    return SourceMessage(kept, content_type, origin, key, refused=reason)


def _whole_characters(cut: bytes) -> bytes:
    """Without the half of a character at the end, for which a text would be kept as bytes."""
    try:
        cut.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return cut[: error.start]
    return cut
