from __future__ import annotations

import pytest

from protocol.formats.media_types import RdfSyntax
from protocol.formats.reading_time import LONG, take_long

SCOPED = b'{"@context":{"t":{"@id":"http://t","@context":{}}},"t":[%s]}'
ESCAPED = b'{"@context":{"t":{"@id":"http://t","\\u0040context":{}}},"t":[%s]}'
ONE = b'{"@context":{"t":"http://t"},"t":[%s]}'


@pytest.mark.parametrize(
    ("document", "syntax", "size", "long"),
    [
        (b"# %s", RdfSyntax.TURTLE, LONG, True),
        (b"# %s", RdfSyntax.TURTLE, LONG - 1, False),
        (ONE, RdfSyntax.JSON_LD, LONG, True),
        (ONE, RdfSyntax.JSON_LD, LONG - 1, False),
        (SCOPED, RdfSyntax.JSON_LD, LONG // 8, True),
        (SCOPED, RdfSyntax.JSON_LD, LONG // 8 - 1, False),
        (ESCAPED, RdfSyntax.JSON_LD, LONG // 8, True),
    ],
)
def test_documents_take_long_by_their_bytes_and_sooner_with_contexts_within_contexts(
    document: bytes, syntax: RdfSyntax, size: int, long: bool
) -> None:
    filled = document % (b" " * (size - len(document) + 2))
    assert len(filled) == size
    assert take_long([filled], syntax) is long


def test_lines_that_have_a_context_each_are_not_contexts_within_contexts() -> None:
    lines = [ONE % b"1"] * (LONG // 2 // len(ONE))
    assert not take_long(lines, RdfSyntax.JSON_LD)
    assert take_long(lines * 3, RdfSyntax.JSON_LD)
