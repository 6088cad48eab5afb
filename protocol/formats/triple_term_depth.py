"""Triple terms within triple terms (RDF 1.2) are bounded before a parser sees them."""

from __future__ import annotations

from protocol.formats.turtle_tokens import LINE_END, TURTLE_TOKEN
from protocol.terms import DEEPEST_TRIPLE_TERM, NESTED_TOO_DEEPLY

_DEPTHS = {b"<<": 1, b">>": -1}


def check_nesting(document: bytes) -> None:
    """Raise SyntaxError, with line and column, if a document in Turtle or a relative of it has triple terms within
    triple terms more than ``DEEPEST_TRIPLE_TERM`` deep: some ten thousand overrun the parser's stack, which ends the
    process.
    """
    if document.count(b"<<") <= DEEPEST_TRIPLE_TERM:
        return
    depth = 0
    for match in TURTLE_TOKEN.finditer(document):
        depth += _DEPTHS.get(match[0], 0)
        if depth > DEEPEST_TRIPLE_TERM:
            before = document[: match.start()]
            line = len(LINE_END.findall(before)) + 1
            start = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
            column = len(before[start:].decode(errors="replace")) + 1
            raise SyntaxError(NESTED_TOO_DEEPLY, (None, line, column, None))
