"""Triple terms (RDF 1.2), which streams do not take yet, are refused before a parser sees them."""

from __future__ import annotations

from protocol.formats.turtle_tokens import LINE_END, TURTLE_TOKEN

NO_TRIPLE_TERMS = "triple terms (RDF 1.2, RDF-star) are not supported yet; say it in RDF 1.1"


def check_no_triple_terms(document: bytes) -> None:
    """Raise SyntaxError, with line and column, if a document in Turtle or a relative of it has a triple term.

    The parser would take it, but triple terms within triple terms, some ten thousand deep, overrun its stack
    and end the process.
    """
    if b"<<" not in document:
        return
    for match in TURTLE_TOKEN.finditer(document):
        if match[0] == b"<<":
            before = document[: match.start()]
            line = len(LINE_END.findall(before)) + 1
            start = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
            column = len(before[start:].decode(errors="replace")) + 1
            raise SyntaxError(NO_TRIPLE_TERMS, (None, line, column, None))
