"""The form of a query (SPARQL 1.1 Query section 16), read from its words before anything is parsed or evaluated."""

from __future__ import annotations

from itertools import islice

from protocol.sparql.guard import MAXIMUM_TOKENS
from protocol.sparql.tokens import TokenKind, tokens

_GRAPHS = ("CONSTRUCT", "DESCRIBE")
_SOLUTIONS = ("SELECT", "ASK")


def answers_with_a_graph(text: str) -> bool:
    """Whether a query is CONSTRUCT or DESCRIBE. Of a text that is no query, whatever its first words look like.

    A prologue that has more words and signs than are evaluated (``refuse_excess``) is not read to its end.
    """
    for token in islice(tokens(text), MAXIMUM_TOKENS):
        # Parsers that ask for no boundary after a keyword read SELECTDISTINCT as two.
        if token.kind is TokenKind.WORD and token.word.startswith((*_GRAPHS, *_SOLUTIONS)):
            return token.word.startswith(_GRAPHS)
    return False
