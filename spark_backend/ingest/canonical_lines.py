"""Bodies of N-Triples or N-Quads that are written canonically: terms are taken from the lines as they stand.

This is how programs write these formats, and by far the cheapest to read: a stream's triples repeat
their terms, and it is enough that the parser sees each distinct term once. A line is cut at its first
two spaces and, in N-Quads, the last one; if the parser gives every term back to the byte, the line is a
statement of these terms and nothing else. All other bodies, and all that are wrong, are left to the parser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph

from protocol.formats.long_tokens import long_token_refused
from protocol.formats.media_types import RdfSyntax
from protocol.terms import XSD
from spark_backend.ingest.quads import Quads, no_graphs, split_graphs
from spark_backend.ingest.statements import as_text

_LINE_FEED, _SPACE, _HASH, _FULL_STOP, _LESS, _LOW_LINE = b"\n #.<_"
SHORT = 32 * 1024
"""Below so many bytes parsing every term costs less than preparing not to."""

_ANY_IRI = "<x:x>"

# Terms of these shapes (RE2) are canonical without asking: http and https IRIs of RFC 3986's unreserved
# characters and delimiters, and literals without escapes of datatypes that have no other canonical writing.
_PCHAR = "A-Za-z0-9._~!$&'()*+,;=:@-"
_PLAIN_IRI = rf"<https?://[A-Za-z0-9.-]+(?:/[/{_PCHAR}]*)?(?:\?[/?{_PCHAR}]*)?(?:#[/?{_PCHAR}]*)?>"
_PLAIN_LITERAL = rf'"[ !#-\[\]-~]*"(?:\^\^<{re.escape(XSD)}(?:integer|decimal|double|float|dateTime|boolean)>)?'
PLAIN_IRI = f"^{_PLAIN_IRI}$"
PLAIN_OBJECT = f"^(?:{_PLAIN_IRI}|{_PLAIN_LITERAL})$"

_Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CanonicalLines:
    """The statements of a text, its comment lines, and how many statements stand before each of these (int64)."""

    quads: Quads
    comments: pa.StringArray
    before: pa.Int64Array


def read_canonical_lines(text: bytes, *, graphs: bool) -> CanonicalLines | None:
    """The statements of a UTF-8 text, in the terms as ``str(term)`` gives them.

    ``graphs``: whether it is N-Quads, not N-Triples. None if any line is something else than a canonical
    statement, a comment or empty, and for a short text, as the parser is faster then.
    """
    if len(text) < SHORT:
        return None
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
        if b"\r" in text:
            return None
    if not text.endswith(b"\n"):
        text += b"\n"
    characters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(characters == _LINE_FEED)
    starts = np.concatenate(([0], ends[:-1] + 1))
    initials = characters[starts]
    is_statement = (initials == _LESS) | (initials == _LOW_LINE)
    is_comment = initials == _HASH
    if not np.all(is_statement | is_comment | (initials == _LINE_FEED)):
        return None
    quads = _quads(text, characters, starts[is_statement], ends[is_statement], graphs)
    if quads is None:
        return None
    (comments,) = _slices(text, (starts[is_comment], ends[is_comment]))
    return CanonicalLines(quads, comments, pa.array(np.cumsum(is_statement)[is_comment]))


def _quads(
    text: bytes, characters: npt.NDArray[np.uint8], starts: _Positions, ends: _Positions, graphs: bool
) -> Quads | None:
    """The terms of the lines [starts, ends); None unless each is a canonical statement."""
    # A line is a character at least; where the one before that is another line's, the order below is wrong.
    if not np.all((characters[ends - 1] == _FULL_STOP) & (characters[ends - 2] == _SPACE)):
        return None
    spaces = np.flatnonzero(characters == _SPACE)
    first = np.searchsorted(spaces, starts)
    if len(first) and first[-1] + 2 >= len(spaces):
        return None
    subject_ends, predicate_ends, object_ends = spaces[first], spaces[first + 1], ends - 2
    if not np.all(predicate_ends + 1 < object_ends):
        return None
    s, p, rest = (
        column.dictionary_encode()
        for column in _slices(
            text, (starts, subject_ends), (subject_ends + 1, predicate_ends), (predicate_ends + 1, object_ends)
        )
    )
    o, g = split_graphs(rest) if graphs else (rest, no_graphs(len(rest)))
    quads = Quads(g, s, p, o)
    return quads if _are_canonical(quads) else None


def _slices(text: bytes, *bounds: tuple[_Positions, _Positions]) -> list[pa.StringArray]:
    """The slices [starts, ends) of the text for each pair of ``bounds``, which interleave without overlap."""
    offsets = np.stack([position for pair in bounds for position in pair], axis=1).astype(np.int32).ravel()
    if not len(offsets):
        return [pa.array([], pa.string()) for _ in bounds]
    between = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), as_text(text).buffers()[2])
    step = 2 * len(bounds)
    return [between.take(pa.array(np.arange(begin, len(offsets) - 1, step))) for begin in range(0, step, 2)]


def _are_canonical(quads: Quads) -> bool:
    """Whether the parser reads every distinct term as one term, allowed at its place, and writes it back the same.

    Terms are put together to statements of our own making: s, p and g (at the place of s) without spaces
    and line feeds. As canonical IRIs and blank nodes have none either and canonical statements are lines, a
    document that comes back to the byte has just these terms.
    """
    subjects = pa.concat_arrays([_others(quads.s.dictionary, PLAIN_IRI), _others(quads.g.dictionary, PLAIN_IRI)])
    predicates, objects = _others(quads.p.dictionary, PLAIN_IRI), _others(quads.o.dictionary, PLAIN_OBJECT)
    count = max(len(subjects), len(predicates), len(objects))
    if not count:
        return True
    columns = (_fill_up(terms, count) for terms in (subjects, predicates, objects))
    lines = pc.binary_join_element_wise(*columns, pa.scalar(".\n", pa.string()), pa.scalar(" ", pa.string()))
    _, offsets, characters = lines.buffers()
    document = characters.slice(0, np.frombuffer(offsets, np.int32)[count]).to_pybytes()
    if b"<<" in document:
        return False  # triple terms nest, in the worst case deeper than the parser's stack
    try:
        with long_token_refused(document, RdfSyntax.N_TRIPLES):
            statements = pyoxigraph.parse(document, pyoxigraph.RdfFormat.N_TRIPLES)
            return bool(pyoxigraph.serialize(statements, format=pyoxigraph.RdfFormat.N_TRIPLES) == document)
    except SyntaxError:
        return False


def _others(terms: pa.StringArray, plain: str) -> pa.StringArray:
    """The terms that do not match, so that a parser has to tell."""
    return terms.filter(pc.invert(pc.match_substring_regex(terms, plain)))


def _fill_up(terms: pa.StringArray, count: int) -> pa.StringArray:
    return pa.concat_arrays([terms, pa.repeat(pa.scalar(_ANY_IRI, pa.string()), count - len(terms))])
