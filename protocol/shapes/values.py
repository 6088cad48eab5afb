"""Comparing and matching terms as SPARQL does, which SHACL refers to. What is not told at once, Oxigraph is asked."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import lru_cache
from math import isnan
from typing import cast

import pyoxigraph as ox

from protocol.shapes.datatypes import known_facets
from protocol.terms import TermKind, is_triple, parse_term, unescape

_ORACLE = ox.Store()
_NUMBERS = frozenset({TermKind.INTEGER, TermKind.DECIMAL, TermKind.FLOAT, TermKind.DOUBLE})
_EXACT = _NUMBERS - {TermKind.FLOAT}
"""Of two of these kinds the facets compare as the values do."""
_REMEMBERED = 4096

_SHORT = 256
_MOST_GROUPS = 2
_PIECE = re.compile(
    r"""(?:[\w./:#@%&=~,;!<>"' -]|\\[dw.\\/^$*+?()\[\]{}|-]|\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9]|[\w/:#.@+* ])+\])"""
    r"""(?:\{\d{1,2}\}|(?P<varies>[*+?]|\{\d{1,2},\d{0,2}\}))?""",
    re.ASCII,
)


def kind_of(term: str) -> str:
    """What a term is: ``<`` an IRI, ``_`` a blank node, ``"`` a literal, ``(`` a triple term."""
    return "(" if is_triple(term) else term[0]


def has_text(term: str) -> bool:
    """Whether STR() has a value: a blank node has none, nor has a triple term."""
    return kind_of(term) in '<"'


def text_of(term: str) -> str:
    """STR(): the IRI, or the literal's lexical form. For what ``has_text``."""
    return unescape(term[1:-1] if term[0] == "<" else term[1 : term.rindex('"')])


def language_of(term: str) -> str:
    """LANG(): the language tag of a literal, "" of other terms."""
    return _tag_and_direction(term)[0]


def direction_of(term: str) -> str:
    """LANGDIR(): the base direction of a literal, ``ltr`` or ``rtl``, "" of other terms."""
    return _tag_and_direction(term)[1]


def _tag_and_direction(term: str) -> tuple[str, str]:
    suffix = term[term.rindex('"') + 1 :] if term[0] == '"' else ""
    if not suffix.startswith("@"):
        return "", ""
    tag, _, direction = suffix[1:].partition("--")
    return tag, direction


def language_matches(tag: str, range_: str) -> bool:
    """langMatches(), of a tag that is not empty: basic filtering (RFC 4647 section 3.3.1)."""
    tag, range_ = tag.lower(), range_.lower()
    return range_ == "*" or tag == range_ or tag.startswith(range_ + "-")


def is_less(left: str, right: str, *, or_equal: bool) -> bool:
    """Whether ``left < right`` (``<=``) is true in SPARQL; false, too, where they cannot be compared."""
    k, n = known_facets(left)
    other_k, other_n = known_facets(right)
    if n is not None and other_n is not None and not (isnan(n) or isnan(other_n)):
        # Beside a float a number of another type is rounded first.
        if k == other_k or (k in _NUMBERS and other_k in _NUMBERS and TermKind.FLOAT not in (k, other_k)):
            return n <= other_n if or_equal else n < other_n
    elif k == TermKind.STRING == other_k:
        one, other = text_of(left), text_of(right)
        return one <= other if or_equal else one < other
    if left[0] != '"' or right[0] != '"':
        return False
    return _asked("<=" if or_equal else "<", left, right)


def bound_test(limit: str, *, least: bool, or_equal: bool) -> Callable[[str], bool]:
    """What ``is_less`` says of a term and a limit, which comes first where it is the ``least``."""
    limit_kind, limit_number = known_facets(limit)
    usable = limit_number is not None and limit_kind in _EXACT and not isnan(limit_number)
    number = limit_number if usable else None
    compare: Callable[[float, float], bool] = operator.le if or_equal else operator.lt

    def test(term: str) -> bool:
        if number is not None:
            k, n = known_facets(term)
            if n is not None and k in _EXACT and not isnan(n):
                return compare(number, n) if least else compare(n, number)
        return is_less(limit, term, or_equal=or_equal) if least else is_less(term, limit, or_equal=or_equal)

    return test


@lru_cache(_REMEMBERED)
def _asked(sign: str, left: str, right: str) -> bool:
    return _answer(f"?a {sign} ?b", {"a": left, "b": right}) is True


def _answer(expression: str, bindings: dict[str, str]) -> bool | None:
    """The value of an expression of booleans over terms; None for an error."""
    names = " ".join(f"?{name}" for name in bindings)
    found = _ORACLE.query(
        f"SELECT {names} ({expression} AS ?answer) {{}}",
        substitutions={ox.Variable(name): parse_term(term) for name, term in bindings.items()},
    )
    (solution,) = cast(ox.QuerySolutions, found)
    answer = solution["answer"]
    return None if answer is None else cast(ox.Literal, answer).value == "true"


def pattern_test(pattern: str, flags: str) -> Callable[[str], bool]:
    """What tells whether REGEX(text, pattern, flags) is true of a text. ValueError if they are not for REGEX."""

    def ask(text: str) -> bool | None:
        terms = {"text": text, "pattern": pattern, "flags": flags}
        literals = {name: str(ox.Literal(value)) for name, value in terms.items()}
        return _answer("REGEX(?text, ?pattern, ?flags)", literals)

    if ask("") is None:
        raise ValueError(f"{pattern!r} with the flags {flags!r} is no regular expression that REGEX takes")
    asked = lru_cache(_REMEMBERED)(lambda text: ask(text) is True)
    if flags not in ("", "i") or not _is_plain(pattern):
        return asked
    ends = pattern.endswith("$") and not pattern.endswith(r"\$")
    plain = re.compile(
        pattern[:-1] + r"\Z" if ends else pattern, re.ASCII | (re.IGNORECASE if flags else re.NOFLAG)
    ).search
    # What tries every place of a long text takes its square; and what letters and digits are is told alike for ASCII.
    return lambda text: plain(text) is not None if len(text) <= _SHORT and text.isascii() else asked(text)


def _is_plain(pattern: str) -> bool:
    """Whether Python's regular expression says the same of ASCII text, and never searches long: no groups in each other
    or repeated, and little that may match more or less.
    """
    begins = pattern.startswith("^")
    end = len(pattern) - (pattern.endswith("$") and not pattern.endswith(r"\$"))
    place, varying, groups, in_group = int(begins), 0, 0, False
    while place < end:
        if pattern[place] == "(" and not in_group:
            in_group, groups = True, groups + 1
            place += 3 if pattern.startswith("(?:", place) else 1
        elif pattern[place] == "|" and in_group:
            place += 1
        elif pattern[place] == ")" and in_group and pattern[place + 1 : place + 2] not in ("*", "+", "?", "{"):
            in_group = False
            place += 1
        else:
            piece = _PIECE.match(pattern, place, end)
            if piece is None:
                return False
            varying += piece["varies"] is not None
            place = piece.end()
    return not in_group and groups <= _MOST_GROUPS and varying <= (2 if begins else 1)
