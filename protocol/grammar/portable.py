"""A valid query written so that rdflib's parser, too, reads what it says."""

from __future__ import annotations

import re

from protocol.grammar.rewrite import blank
from protocol.sparql.tokens import TokenKind, tokenize

_ESCAPE_OR_TAB = re.compile(r"\\(.)|\t", re.DOTALL)


def portable(text: str) -> str:
    r"""The same query with the same tokens, line by line.

    rdflib's parser expands tabs even inside strings, refuses ``\"`` between apostrophes and ``\'`` between
    quotation marks, and ends a comment at a line feed only. So a tab in a string is written ``\t``, a
    quote that needs no escape has none, and comments become spaces.
    """
    parts: list[str] = []
    end = 0
    for token in tokenize(text):
        parts += (blank(text[end : token.start]), _string(token.text) if token.kind is TokenKind.STRING else token.text)
        end = token.end
    return "".join(parts)


def _string(written: str) -> str:
    other = "'" if written[0] == '"' else '"'

    def rewrite(match: re.Match[str]) -> str:
        if match[1] is None:
            return "\\t"
        return other if match[1] == other else match[0]

    return _ESCAPE_OR_TAB.sub(rewrite, written)
