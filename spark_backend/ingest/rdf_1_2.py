"""What RDF 1.2 adds, and streams do not take yet: triple terms and base directions."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from protocol.formats.turtle_tokens import LINE_END, TURTLE_TOKEN

_TRIPLE_TERM = "<<("
_DIRECTIONS = ("--ltr", "--rtl")  # no other canonical term ends so: IRIs end in '>', labels here in a letter or digit


_NO_TRIPLE_TERMS = "triple terms (RDF 1.2, RDF-star) are not supported yet; say it in RDF 1.1"


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
            raise SyntaxError(_NO_TRIPLE_TERMS, (None, line, column, None))


def find_rdf_1_2(objects: pa.DictionaryArray) -> tuple[int, str] | None:
    """The first row whose object RDF 1.1 does not have, and what to say of it."""
    distinct = objects.dictionary
    foreign = pc.starts_with(distinct, _TRIPLE_TERM)
    for direction in _DIRECTIONS:
        foreign = pc.or_(foreign, pc.ends_with(distinct, direction))
    if not pc.any(foreign).as_py():
        return None
    row = pc.index(foreign.take(objects.indices), pa.scalar(True, pa.bool_())).as_py()
    if objects[row].as_py().startswith(_TRIPLE_TERM):
        return row, _NO_TRIPLE_TERMS
    return row, "strings with a base direction (RDF 1.2) are not supported yet; leave the direction out"
