"""Texts of other languages, told by their words, so that the error says which and where to look
(docs/coming-from.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from protocol.sparql.tokens import Token

_EVENT_PATTERN = re.compile(r"\bfrom\s+pattern\s*\[", re.IGNORECASE)
"""Also within a string: as it is printed, the statement is one of Java."""
_EPL = frozenset({("CREATE", "WINDOW"), ("CREATE", "SCHEMA"), ("INSERT", "INTO")})
_SQL = frozenset({("CREATE", "VIEW"), ("CREATE", "TABLE")})
_PAGE = "docs/coming-from.md has such queries in this language"


def foreign(text: str, tokens: Sequence[Token]) -> str | None:
    """What to say of a text that is no query of ours but Esper's EPL or SQL; None for any other."""
    words = [token.word for token in tokens]
    pairs = set(pairwise(words))
    merged = any(one == "ON" and merge == "MERGE" for one, merge in zip(words, words[2:], strict=False))
    if merged or pairs & _EPL or _EVENT_PATTERN.search(text):
        return f"this is Esper's EPL, which is not read: {_PAGE}"
    if pairs & _SQL or "MATCH_RECOGNIZE" in words:
        return f"this is SQL, which is not read: {_PAGE}"
    return None
