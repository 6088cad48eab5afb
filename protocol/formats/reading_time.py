"""How long RDF documents take to be read, told before they are."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.formats.media_types import RdfSyntax

LONG = 64 * 1024
"""Documents of as many bytes together are read in a process beside the server: less is read sooner than said."""

_LONG_OF_CONTEXTS = LONG // 8
"""The same where contexts may be within contexts."""

_CONTEXT = b"@context"
_ESCAPE = b"\\u00"
"""How a character of ASCII may be written, of a keyword, too."""


def take_long(documents: Sequence[bytes], syntax: RdfSyntax) -> bool:
    """Whether the documents are to be read where they can be stopped, and keep nobody else waiting.

    JSON-LD may take any time: the context that a term has is copied for each node that the term names.
    """
    size = sum(map(len, documents))
    if size >= LONG or size < _LONG_OF_CONTEXTS or syntax is not RdfSyntax.JSON_LD:
        return size >= LONG
    return any(document.count(_CONTEXT) > 1 or _ESCAPE in document for document in documents)


def allowed_seconds(size: int) -> float:
    """How much processor time documents of so many bytes together may take: ten times what slow machines need."""
    return 10.0 + size / 2**20


def said_of_excess(seconds: float) -> str:
    """What is said of documents that take more processor time than they may, behind what they are."""
    return (
        f"takes more than {seconds:.0f} s of processor time to read: send less at a time, "
        "or, of JSON-LD, fewer contexts within terms"
    )
