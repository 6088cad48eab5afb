"""Documents in Turtle or TriG whose tokens stand apart, as nearly all programs write them: ``:a :p 1 ; :q "b" .``

Reading them by columns takes less time than the parser does. All they declare is declared at their beginning, and white
space is behind each token, and before each but a full stop, semicolon or comma; what stands between two of these, or
braces, is a subject, a predicate and an object, or as many of them as are new. A document of which any of that is not
so, or that has a term of another shape than those of ``terms/turtle_terms.py`` (what is in brackets, escaped, in long
quotes, a comment), is left to the parser as a whole; so is one that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from protocol.formats.media_types import RdfSyntax
from protocol.formats.reading_time import LONG
from protocol.messages.delimiters import DELIMITER
from protocol.messages.preambles import preamble_end
from spark_backend.ingest.parsing.pieces import declared
from spark_backend.ingest.statement_lines import canonical_rows
from spark_backend.ingest.terms.quads import Quads
from spark_backend.ingest.terms.texts import Positions, slices
from spark_backend.ingest.terms.turtle_terms import TurtleTerms

FORMATS = (RdfSyntax.TURTLE, RdfSyntax.TRIG)
SHORT = LONG
"""Of fewer bytes the parser makes statements sooner, and in this process."""

_ESCAPE = b"\\"
_TAB, _LINE_FEED, _RETURN, _SPACE, _QUOTE = b'\t\n\r "'

_Mask = npt.NDArray[np.bool_]
_Kinds = npt.NDArray[np.uint8]

_TERM, _STOP, _SEMICOLON, _COMMA, _OPENED, _CLOSED, _DELIMITER = range(7)
"""What a token is. A document begins as if behind a full stop."""
_LAST = (_STOP, _CLOSED, _DELIMITER)
_KINDS = np.full(256, _TERM, np.uint8)
_KINDS[list(b".;,{}")] = _STOP, _SEMICOLON, _COMMA, _OPENED, _CLOSED
_STOPS = np.isin(np.arange(256), list(b".;,"))
_MOST_TERMS = 3


def _grammar() -> _Mask:
    """Between which tokens that are no terms so many terms may stand: by the one before, the one behind, the number."""
    allowed = np.zeros((7, 7, _MOST_TERMS + 2), np.bool_)
    for behind in (_STOP, _SEMICOLON, _COMMA, _CLOSED):
        # triples, predicateObjectList, objectList (Turtle [6] to [8]); a block's last full stop may be left out.
        allowed[[_STOP, _OPENED, _CLOSED, _DELIMITER], behind, 3] = True
        allowed[_SEMICOLON, behind, 2] = True
        allowed[_COMMA, behind, 1] = True
    allowed[_SEMICOLON, [_STOP, _SEMICOLON, _CLOSED], 0] = True
    # Between statements: the block of a graph with a name or of the default one (TriG [2g]), and what divides messages.
    allowed[[_STOP, _CLOSED, _DELIMITER], _OPENED, :2] = True
    allowed[[_STOP, _CLOSED, _DELIMITER], _DELIMITER, 0] = True
    allowed[[_STOP, _OPENED], _CLOSED, 0] = True
    return allowed


_ALLOWED = _grammar()


@dataclass(frozen=True)
class TurtleStatements:
    """The statements of a document, and how many stand before each delimiter of messages in it."""

    quads: Quads
    before: Positions


def read_turtle_statements(
    document: bytes, format: RdfSyntax, base: str, *, delimited: bool = False
) -> TurtleStatements | None:
    """The statements of a document in UTF-8; None where it is to be left to the parser, as one in another format is.

    ``delimited``: whether ``MESSAGE`` divides it into messages.
    """
    if format not in FORMATS or len(document) < SHORT or _ESCAPE in document:
        return None
    begin = preamble_end(document)
    names = declared(document[:begin], format, base)
    tokens = None if names is None else _Tokens.of(document[begin:] + b"\n")
    if names is None or tokens is None:
        return None
    phrases = tokens.phrases(delimited=delimited)
    if phrases is None or not phrases.are_of(format):
        return None
    quads = _quads(tokens, phrases, TurtleTerms(names.prefixes))
    if quads is None or canonical_rows(quads) is not None:
        return None
    return TurtleStatements(quads, np.cumsum(phrases.says)[phrases.behind == _DELIMITER])


@dataclass(frozen=True)
class _Phrases:
    """What stands between tokens that are no terms.

    ``ends``: which token is behind each; ``terms``: how many there are; ``before``, ``behind``: between what they are.
    """

    ends: Positions
    terms: Positions
    before: _Kinds
    behind: _Kinds

    def are_of(self, format: RdfSyntax) -> bool:
        """Whether the grammar of Turtle or TriG has such a document."""
        if not np.all(_ALLOWED[self.before, self.behind, np.minimum(self.terms, _MOST_TERMS + 1)]):
            return False
        if not np.any(self.depths):
            return True
        return bool(
            format is RdfSyntax.TRIG
            and self.depths[-1] == 0
            and np.all((self.depths == 0) | (self.depths == 1))
            and not np.any(self.depths[self.behind == _DELIMITER])
        )

    @cached_property
    def says(self) -> _Mask:
        """Which are statements."""
        says: _Mask = (self.terms > 0) & (self.behind != _OPENED)
        return says

    @cached_property
    def names_graph(self) -> _Mask:
        """Which are the name of a graph."""
        names: _Mask = (self.terms > 0) & (self.behind == _OPENED)
        return names

    @cached_property
    def depths(self) -> Positions:
        """How many blocks of graphs are open behind each."""
        opened, closed = self.behind == _OPENED, self.behind == _CLOSED
        return np.cumsum(opened.astype(np.int64) - closed)

    @property
    def graphs(self) -> pa.Int64Array:
        """Which of the graphs' names each stands below, null for none."""
        opened = self.behind == _OPENED
        ordinals = np.where(self.names_graph, np.cumsum(self.names_graph) - 1, -1)[opened]
        within = self.depths + (self.behind == _CLOSED) > 0
        graphs = np.full(len(within), -1)
        graphs[within] = ordinals[np.cumsum(opened)[within] - 1]
        return pa.array(graphs, mask=graphs < 0)


def _quads(tokens: _Tokens, phrases: _Phrases, terms: TurtleTerms) -> Quads | None:
    """The statements of a document that the grammar has; None where a term has a shape that is left to the parser."""
    says = phrases.says
    ends, counts = phrases.ends[says], phrases.terms[says]
    with_subject, with_predicate = counts == 3, counts >= 2
    o = terms.terms(tokens.texts(ends - 1))
    p = terms.verbs(tokens.texts(ends[with_predicate] - 2))
    s = terms.terms(tokens.texts(ends[with_subject] - 3))
    g = terms.terms(tokens.texts(phrases.ends[phrases.names_graph] - 1))
    if o is None or p is None or s is None or g is None:
        return None
    return Quads(g.take(phrases.graphs.filter(pa.array(says))), _latest(s, with_subject), _latest(p, with_predicate), o)


def _latest(terms: pa.DictionaryArray, is_new: _Mask) -> pa.DictionaryArray:
    """A term for each statement: where none is new, that of the statement before."""
    return terms if np.all(is_new) else terms.take(pa.array(np.cumsum(is_new) - 1))


@dataclass(frozen=True)
class _Tokens:
    """The tokens of a text, with white space around each: where they start and end."""

    text: bytes
    characters: npt.NDArray[np.uint8]
    starts: Positions
    ends: Positions

    @classmethod
    def of(cls, text: bytes) -> _Tokens | None:
        """Those of a text that ends in white space; None where it has other control characters, or quotes that nothing
        closes. What stands in quotes is no white space.
        """
        characters = np.frombuffer(text, np.uint8)
        marks = np.flatnonzero((characters <= _SPACE) | (characters == _QUOTE))
        kinds = characters[marks]
        quotes = kinds == _QUOTE
        if not np.all(quotes | (kinds == _SPACE) | (kinds == _LINE_FEED) | (kinds == _TAB) | (kinds == _RETURN)):
            return None
        if np.any(quotes):
            quoted = np.cumsum(quotes, dtype=np.int32) & 1
            if quoted[-1]:
                return None
            marks = marks[~(quotes | quoted.astype(np.bool_))]
        lengths = np.diff(marks, prepend=-1) - 1
        is_token = lengths > 0
        ends, lengths = marks[is_token], lengths[is_token]
        # No term that is read here ends in a full stop, a semicolon or a comma: it is a token of its own.
        stops = (lengths > 1) & _STOPS[characters[ends - 1]]
        if np.any(stops):
            ends, lengths = np.repeat(ends, 1 + stops), np.repeat(lengths, 1 + stops)
            added = np.flatnonzero(stops) + np.arange(np.count_nonzero(stops)) + 1
            ends[added - 1] -= 1
            lengths[added - 1] -= 1
            lengths[added] = 1
        return cls(text, characters, ends - lengths, ends)

    def phrases(self, *, delimited: bool) -> _Phrases | None:
        """What stands between tokens that are no terms; None where the last one ends no statement."""
        if not len(self.starts):
            return None
        lengths = self.ends - self.starts
        kinds = np.where(lengths == 1, _KINDS[self.characters[self.starts]], np.uint8(_TERM))
        if delimited:
            kinds[self._are(DELIMITER, lengths)] = _DELIMITER
        if kinds[-1] not in _LAST:
            return None
        ends = np.flatnonzero(kinds)
        behind = kinds[ends]
        before = np.concatenate((np.array([_STOP], np.uint8), behind[:-1]))
        return _Phrases(ends, np.diff(ends, prepend=-1) - 1, before, behind)

    def _are(self, word: bytes, lengths: Positions) -> Positions:
        """Which of the tokens are this word."""
        found = np.flatnonzero((lengths == len(word)) & (self.characters[self.starts] == word[0]))
        letters = self.characters[self.starts[found][:, None] + np.arange(len(word))]
        return found[np.all(letters == np.frombuffer(word, np.uint8), axis=1)]

    def texts(self, which: Positions) -> pa.StringArray:
        """These tokens, each behind those before it."""
        (texts,) = slices(self.text, (self.starts[which], self.ends[which]))
        return texts
