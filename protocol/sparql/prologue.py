"""Prologues between the operations of an update, made part of the first one (SPARQL 1.1 Update, rules 29 and 4).

The grammar allows ``PREFIX`` and ``BASE`` after each semicolon; Oxigraph's parser only at the beginning. rdflib's
``SPARQLUpdateStore`` writes them before every operation of a transaction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from protocol.errors import UnsupportedFeature
from protocol.sparql.source import error_at, spliced
from protocol.sparql.tokens import Token, TokenKind, outside_brackets, tokens

_OF_PROLOGUES = (TokenKind.IRI, TokenKind.PREFIXED_NAME, TokenKind.STRING)
_DECLARING = re.compile(r"\b(?:prefix|base|version)\b", re.IGNORECASE)


@dataclass
class _Prologues:
    """What is found while reading on: prefixes with the IRI each has now, and under which name it is declared."""

    iris: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    base: str = ""
    used: set[str] = field(default_factory=set)
    added: list[str] = field(default_factory=list)


def with_one_prologue(update: str) -> str:
    """The update with all its prefixes declared at the beginning; lines stay where they are.

    A prefix that is declared anew with another IRI gets a name of its own from there on. UnsupportedFeature for a
    later BASE that is another one. What is no update stays as it is: Oxigraph says what is wrong with it.
    """
    first = update.find(";")
    if first < 0 or not _DECLARING.search(update, first):
        return update
    found = outside_brackets(update, lambda token: token.kind is TokenKind.PREFIXED_NAME)
    taken = {token.text.partition(":")[0] for token in found if token.kind is TokenKind.PREFIXED_NAME}
    edits: list[tuple[int, int, str]] = []
    prologues = _Prologues()
    first_end = 0
    index, later, opening = 0, False, True
    while index < len(found):
        token = found[index]
        if opening and (end := declaration_end(found, index)):
            _declare(update, found[index:end], prologues, taken, later)
            if later:
                start, stop = token.start, found[end - 1].end
                edits.append((start, stop, re.sub(r"[^\r\n]", " ", update[start:stop])))
            else:
                first_end = found[end - 1].end
            index = end
            continue
        opening = token.depth == 0 and token.text == ";"
        later = later or opening
        if token.kind is TokenKind.PREFIXED_NAME:
            prefix, _, local = token.text.partition(":")
            prologues.used.add(prefix)
            name = prologues.names.get(prefix, prefix)
            if name != prefix:
                edits.append((token.start, token.end, f"{name}:{local}"))
        index += 1
    if not edits:
        return update
    return spliced(update, [(first_end, first_end, "".join([*prologues.added, " "])), *edits])


def after_prologue(text: str) -> int:
    """The offset of what follows the prologue at the beginning of a text."""
    found: list[Token] = []
    for token in tokens(text):
        found.append(token)
        if token.kind not in _OF_PROLOGUES and token.word not in ("PREFIX", "BASE", "VERSION"):
            break
    index = 0
    while index < len(found) and (end := declaration_end(found, index)):
        index = end
    return found[index].start if index < len(found) else len(text)


def declaration_end(found: Sequence[Token], index: int) -> int:
    """The index after the declaration (PREFIX, BASE, VERSION) that begins with this token; 0 if none does."""
    kinds = [token.kind for token in found[index + 1 : index + 3]]
    if (
        found[index].word == "PREFIX"
        and kinds == [TokenKind.PREFIXED_NAME, TokenKind.IRI]
        and found[index + 1].text.endswith(":")
    ):
        return index + 3
    if found[index].word == "BASE" and kinds[:1] == [TokenKind.IRI]:
        return index + 2
    if found[index].word == "VERSION" and kinds[:1] == [TokenKind.STRING]:
        return index + 2
    return 0


def _declare(text: str, declaration: list[Token], prologues: _Prologues, taken: set[str], later: bool) -> None:
    iri = declaration[-1].text
    if declaration[0].word == "VERSION":
        return
    if len(declaration) == 2:
        if later and iri != prologues.base:
            raise error_at(
                UnsupportedFeature,
                "another BASE between the operations of an update is not supported: write full IRIs, or send the "
                "operations one by one",
                text,
                declaration[0].start,
            )
        prologues.base = iri
        return
    prefix = declaration[1].text[:-1]
    name = prefix
    if later and prologues.iris.get(prefix) != iri:
        # Declared at the beginning under its own name it would hold for what comes before as well.
        if prefix in prologues.iris or prefix in prologues.used:
            number = 2
            while (name := f"{prefix or 'p'}{number}") in taken:
                number += 1
            taken.add(name)
        prologues.added.append(f" PREFIX {name}: {iri}")
    elif later:
        return
    prologues.iris[prefix] = iri
    prologues.names[prefix] = name
