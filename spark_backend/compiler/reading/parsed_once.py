"""Parsing once for all queries that differ in constants only: most of registering a query is parsing it.

rdflib's parser takes some milliseconds for a short query. A text whose plain constants, integers and absolute IRIs, are
replaced by stand-ins has the same algebra but for these, and is the same text for all queries of its shape.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import fields, is_dataclass, replace
from typing import Any

from protocol.errors import ProtocolError
from protocol.language import algebra as a
from protocol.language.model import Form
from protocol.sparql.tokens import Token, TokenKind, tokenize
from protocol.terms import XSD
from spark_backend.compiler.algebra.timestamps import with_timestamps
from spark_backend.compiler.reading.translate import translate

_KEPT = 512
_MOST_CONSTANTS = 200
_INTEGER = re.compile(r"[0-9]{1,15}\Z")
_IRI = re.compile(r"<[a-z]+://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9_~%-][A-Za-z0-9_.~%-]*)*(?:#[A-Za-z0-9_-]+)?>\Z")
"""Absolute, with nothing to resolve or normalise."""
_BEFORE = frozenset({"PREFIX", "BASE", "FROM", "NAMED", "GRAPH", "SERVICE", "LIMIT", "OFFSET", "WINDOW"})
"""Keywords whose constants are no terms of a pattern."""
_STAND_IN = "urn:sparql-streams:constant:"

_known: OrderedDict[tuple[str, Form, str | None], a.Query] = OrderedDict()


def translated(text: str, form: Form, base: str | None = None) -> a.Query:
    """The algebra of a standard SPARQL query, as ``translate`` gives it, with its timestamp calls told.

    Raises what ``translate`` and ``with_timestamps`` raise.

    Only for one thread at a time, as the parser is.
    """
    query = _translated(text, form, base)
    return replace(query, pattern=with_timestamps(query.pattern))


def _translated(text: str, form: Form, base: str | None) -> a.Query:
    plain, constants = _with_stand_ins(text)
    if not constants:
        return translate(text, form, base)
    key = plain, form, base
    query = _known.get(key)
    if query is None:
        try:
            query = translate(plain, form, base)
        except ProtocolError:
            # The message is to be about the text as it was written.
            return translate(text, form, base)
        _known[key] = query
        if len(_known) > _KEPT:
            _known.popitem(last=False)
    else:
        _known.move_to_end(key)
    filled: a.Query = _filled(query, constants)
    return filled


def _with_stand_ins(text: str) -> tuple[str, dict[str, str]]:
    """The text with stand-ins, and the canonical terms they stand for, by those of the stand-ins."""
    if _STAND_IN in text:
        return text, {}
    tokens = tokenize(text)
    written: dict[str, str] = {}
    terms: dict[str, str] = {}
    parts: list[str] = []
    done = 0
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if not _is_plain(before, token, after, text):
            continue
        if token.text not in written:  # the same constant twice is the same stand-in twice
            number = len(written)
            if number == _MOST_CONSTANTS:
                return text, {}
            if token.kind is TokenKind.NUMBER:
                written[token.text] = f"{10**15 + number}"
                terms[f'"{written[token.text]}"^^<{XSD}integer>'] = f'"{token.text}"^^<{XSD}integer>'
            else:
                written[token.text] = f"<{_STAND_IN}{number}>"
                terms[written[token.text]] = token.text
        parts += [text[done : token.start], written[token.text]]
        done = token.end
    return "".join([*parts, text[done:]]), terms


def _is_plain(before: Token | None, token: Token, after: Token, text: str) -> bool:
    """Whether a token is a constant that means the term it is, and nothing but that."""
    if token.kind is TokenKind.NUMBER:
        if not _INTEGER.match(token.text):
            return False
    elif token.kind is not TokenKind.IRI or not _IRI.match(token.text) or after.text == "(":
        return False
    if before is None:
        return True
    # A prefix that is declared, a datatype, a number's sign.
    declared = before.kind is TokenKind.PREFIXED_NAME and before.text.endswith(":") and token.kind is TokenKind.IRI
    return not (before.word in _BEFORE or before.text == "^^" or declared or text[token.start - 1] in "+-.0123456789")


def _filled(node: Any, terms: dict[str, str]) -> Any:
    """The node with the terms that stand-ins stand for."""
    if isinstance(node, a.Constant):
        text = terms.get(node.text)
        return node if text is None else a.Constant(text)
    if isinstance(node, a.Variable):
        return node
    if isinstance(node, tuple):
        return tuple(_filled(part, terms) for part in node)
    if isinstance(node, str):
        return terms.get(node, node)
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{field.name: _filled(getattr(node, field.name), terms) for field in fields(node)})
    return node
