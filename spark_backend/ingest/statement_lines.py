"""Bodies of N-Triples or N-Quads: terms are taken from the lines as they stand.

This is by far the cheapest way to read these formats: a stream's triples repeat their terms, and it is enough that
the parser sees each distinct term once. A line is cut where white space is; if the parser gives every term back to the
byte, the line is a statement of these terms and nothing else. Lines of which that is not so (a literal with an escape
that it need not have, a comment at the end) are left to the parser, which reads each by itself. All bodies that are
wrong are left to it as a whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph

from protocol.formats.document_checks import errors_placed
from protocol.formats.media_types import RdfSyntax
from protocol.terms import XSD
from spark_backend.ingest.parsing.documents import Parser
from spark_backend.ingest.terms.lines import Lines, Mask
from spark_backend.ingest.terms.quads import Quads, joined, quads_between
from spark_backend.ingest.terms.texts import characters_of, slices

_HASH, _LESS, _LOW_LINE = b"#<_"
SHORT = 32 * 1024
"""Below so many bytes parsing every term costs less than preparing not to."""

_ANY_IRI = "<x:x>"

# Terms of these shapes (RE2) are canonical without asking: http and https IRIs of RFC 3986's unreserved
# characters and delimiters, and literals without escapes of datatypes that have no other canonical writing.
_PCHAR = "A-Za-z0-9._~!$&'()*+,;=:@-"
_PLAIN_IRI = rf"<https?://[A-Za-z0-9.-]+(?:/[/{_PCHAR}]*)?(?:\?[/?{_PCHAR}]*)?(?:#[/?{_PCHAR}]*)?>"
_PLAIN_LITERAL = rf'"[ !#-\[\]-~]*"(?:\^\^<{re.escape(XSD)}(?:integer|decimal|double|float|dateTime|boolean)>)?'
_NOTE = r'^(?:#.*|(?i:VERSION)[ \t]+"[^"\\\r\n]*"[ \t]*(?:#.*)?)$'
PLAIN_IRI = f"^{_PLAIN_IRI}$"
PLAIN_OBJECT = f"^(?:{_PLAIN_IRI}|{_PLAIN_LITERAL})$"


@dataclass(frozen=True)
class StatementLines:
    """The statements of a text, its other lines (comments and directives, without white space around them), and how
    many statements stand before each of these (int64).
    """

    quads: Quads
    others: pa.StringArray
    before: pa.Int64Array


def read_statement_lines(text: bytes, format: RdfSyntax, base: str, parser: Parser) -> StatementLines | None:
    """The statements of a UTF-8 text in N-Triples or N-Quads.

    None where it has line ends of Mac OS 9, and where a statement is wrong, which is to be located with care. Its other
    lines are not looked at.
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    lines = Lines.of(text)
    if lines is None:
        return None
    initials = lines.initials
    is_statement = (initials == _LESS) | (initials == _LOW_LINE)
    statements = lines.filter(is_statement)
    only_comments = bool(np.all(is_statement | (initials == _HASH)))
    quads = _quads(statements, format, base, parser, only_comments=only_comments)
    if quads is None:
        return None
    others = lines.filter(~is_statement)
    (texts,) = slices(text, (others.starts[others.first], others.ends[others.last]))
    return StatementLines(quads, texts, pa.array(np.cumsum(is_statement)[~is_statement]))


def are_notes(lines: pa.StringArray) -> pa.BooleanArray:
    """Which of these lines, none of them a statement, say nothing: comments and versions."""
    return pc.match_substring_regex(lines, _NOTE)


def _quads(lines: Lines, format: RdfSyntax, base: str, parser: Parser, *, only_comments: bool) -> Quads | None:
    """The statements of lines that hold one each; None where that is not so.

    ``only_comments``: whether there is nothing but comments beside these lines in their text.
    """
    taken, quads = _taken(lines, graphs=format.names_graphs) if len(lines.text) >= SHORT else (None, None)
    if taken is None or quads is None:
        return _parsed(lines, lines.text if only_comments else lines.alone(), format, base, parser)
    if np.all(taken):
        return quads
    rest = lines.filter(~taken)
    others = _parsed(rest, rest.alone(), format, base, parser)
    if others is None:
        return None
    rows = pa.array(np.argsort(np.concatenate([np.flatnonzero(taken), np.flatnonzero(~taken)])))
    return joined([quads, others]).take(rows)


def _parsed(lines: Lines, text: bytes, format: RdfSyntax, base: str, parser: Parser) -> Quads | None:
    """What the parser finds in a text that holds these lines."""
    try:
        quads = parser.statements(text, format, base)
    except SyntaxError:
        return None
    # A line holds one statement at most: where there are as many, each holds one.
    return quads if len(quads) == len(lines) else None


def _taken(lines: Lines, *, graphs: bool) -> tuple[Mask, Quads]:
    """Which lines are canonical statements but for the white space between terms, and the terms of these."""
    taken, bounds = lines.terms(graphs=graphs)
    quads = quads_between(lines.text, bounds)
    canonical = canonical_rows(quads)
    if canonical is None:
        return taken, quads
    taken[taken] = canonical
    return taken, quads.filter(pa.array(canonical))


def canonical_rows(quads: Quads) -> Mask | None:
    """Of which rows the parser reads every term as one, allowed at its place, and writes it back the same.

    None: of all. Terms are put together to statements of our own making: s, p and g (at the place of s) without white
    space. As canonical IRIs and blank nodes have none either and canonical statements are lines, a line that comes
    back to the byte has just these terms.
    """
    patterns = (PLAIN_IRI, PLAIN_IRI, PLAIN_IRI, PLAIN_OBJECT)
    plain = [
        pc.match_substring_regex(column.dictionary, pattern)
        for column, pattern in zip(quads.columns, patterns, strict=True)
    ]
    if all(pc.all(mask, min_count=0).as_py() for mask in plain):
        return None
    g, s, p, o = (column.dictionary.filter(pc.invert(mask)) for column, mask in zip(quads.columns, plain, strict=True))
    asked = _come_back(pa.concat_arrays([g, s]), p, o)
    if np.all(asked):
        return None
    canonical = np.ones(len(quads), np.bool_)
    answers = (asked[: len(g)], asked[len(g) : len(g) + len(s)], asked[: len(p)], asked[: len(o)])
    for column, mask, answer in zip(quads.columns, plain, answers, strict=True):
        known = mask.to_numpy(zero_copy_only=False).copy()
        known[~known] = answer
        if not np.all(known):
            canonical &= pc.fill_null(pa.array(known).take(column.indices), True).to_numpy(zero_copy_only=False)
    return canonical


def _come_back(subjects: pa.StringArray, predicates: pa.StringArray, objects: pa.StringArray) -> Mask:
    """Which of the statements of these terms, filled up to one length, come back to the byte."""
    count = max(len(subjects), len(predicates), len(objects))
    columns = (_fill_up(terms, count) for terms in (subjects, predicates, objects))
    lines = pc.binary_join_element_wise(*columns, pa.scalar(".\n", pa.string()), pa.scalar(" ", pa.string()))
    bounds, characters = characters_of(lines)
    document = characters[bounds[0] : bounds[-1]].tobytes()
    nothing = np.zeros(count, np.bool_)
    if b"<<" in document:
        return nothing  # triple terms nest, in the worst case deeper than the parser's stack
    try:
        with errors_placed(document, RdfSyntax.N_TRIPLES):
            statements = pyoxigraph.parse(document, pyoxigraph.RdfFormat.N_TRIPLES)
            returned = pyoxigraph.serialize(statements, format=pyoxigraph.RdfFormat.N_TRIPLES)
    except SyntaxError:
        return nothing
    assert returned is not None  # no output was named, so the bytes are returned
    if returned == document:
        return ~nothing
    pairs = list(zip(document.split(b"\n"), returned.split(b"\n"), strict=False))
    found = returned.count(b"\n")
    return np.array([sent == back for sent, back in pairs[:-1]]) if found == count else nothing


def _fill_up(terms: pa.StringArray, count: int) -> pa.StringArray:
    return pa.concat_arrays([terms, pa.repeat(pa.scalar(_ANY_IRI, pa.string()), count - len(terms))])
