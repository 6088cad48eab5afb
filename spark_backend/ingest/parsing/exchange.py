"""What the server and a process that parses say to each other.

A question is two messages, an ``Asked`` and the documents one behind the other; an answer is a ``Parsed`` and their
statements likewise, or a ``WrongDocument`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from protocol.formats.media_types import RdfSyntax
from spark_backend.ingest.parsing.documents import Names


class Asked(NamedTuple):
    """``lengths``: bytes of each document."""

    format: RdfSyntax
    base: str
    lengths: Sequence[int]


class Parsed(NamedTuple):
    """``lengths``: bytes of each document's statements; ``end``: what the last one has declared at its end."""

    lengths: Sequence[int]
    end: Names


def divided(text: bytes, lengths: Sequence[int]) -> list[bytes]:
    """The texts of these lengths that stand one behind the other."""
    return [text[begin:end] for begin, end in pairwise([0, *accumulate(lengths)])]
