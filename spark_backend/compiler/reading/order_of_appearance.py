"""The variables that a query's text mentions, in order."""

from __future__ import annotations

from protocol.language.model import WINDOW_VARIABLE_PREFIX
from protocol.sparql.tokens import TokenKind, tokenize


def variables_in_order(text: str) -> dict[str, int]:
    """Variable names (those of WINDOW without their prefix) by place of first mention: the columns of SELECT *."""
    found = (token.text[1:] for token in tokenize(text) if token.kind is TokenKind.VARIABLE)
    names = (name.removeprefix(WINDOW_VARIABLE_PREFIX) for name in found)
    return {name: place for place, name in enumerate(dict.fromkeys(names))}
