"""The form of a query (SPARQL 1.1 Query section 16), read from its words before anything is parsed or evaluated."""

from __future__ import annotations

from protocol.sparql.tokens import TokenKind, tokens

_GRAPHS = ("CONSTRUCT", "DESCRIBE")
_SOLUTIONS = ("SELECT", "ASK")


def answers_with_a_graph(text: str) -> bool:
    """Whether a query is CONSTRUCT or DESCRIBE. Of a text that is no query, whatever its first words look like."""
    for token in tokens(text):
        # Parsers that ask for no boundary after a keyword read SELECTDISTINCT as two.
        if token.kind is TokenKind.WORD and token.word.startswith((*_GRAPHS, *_SOLUTIONS)):
            return token.word.startswith(_GRAPHS)
    return False
