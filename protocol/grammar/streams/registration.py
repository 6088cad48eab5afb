"""``REGISTER kind name [COMPUTED EVERY d] AS`` (docs/language.md, "Registration")."""

from __future__ import annotations

import re
from dataclasses import dataclass

from protocol.grammar.cursor import Cursor
from protocol.grammar.streams.quantities import QuantityReader
from protocol.language.model import R2S, Registration
from protocol.sparql.iris import Namespaces
from protocol.sparql.tokens import Token, TokenKind
from protocol.time import Milliseconds

_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KINDS = ("QUERY", "STREAM", "FACT", *R2S)


@dataclass(frozen=True)
class WrittenRegistration:
    """A registration before its name is resolved: a name's prefix may be declared after it (C-SPARQL)."""

    keyword: Token
    kind: Token
    name: Token | str
    every: Milliseconds | None

    @property
    def operator(self) -> R2S | None:
        """The operator that the registration names, if it names one."""
        return R2S(self.kind.word) if self.kind.word in tuple(R2S) else None

    def resolved(self, namespaces: Namespaces) -> Registration:
        """The registration of the model, an IRI for a name made absolute."""
        if isinstance(self.name, str):
            return Registration(self.kind.word, self.name, name_is_iri=False, every=self.every)
        return Registration(self.kind.word, namespaces.iri(self.name), name_is_iri=True, every=self.every)


def read_registration(cursor: Cursor, namespaces: Namespaces) -> WrittenRegistration:
    """Read a registration from its REGISTER up to its AS."""
    keyword = cursor.advance()
    kind = cursor.expect(*_KINDS, after="REGISTER")
    name = read_name(cursor, "REGISTER")
    every: Milliseconds | None = None
    if cursor.take("COMPUTED"):
        cursor.expect("EVERY", after="COMPUTED")
        reader = QuantityReader(cursor.source, namespaces, cursor.token.start)
        every = reader.duration("COMPUTED EVERY")
        cursor.advance_to(reader.offset)
    if not cursor.at("AS"):
        raise cursor.unexpected("AS" if every is not None else "COMPUTED EVERY <duration> or AS after the name")
    cursor.advance()
    return WrittenRegistration(keyword, kind, name, every)


def read_name(cursor: Cursor, after: str) -> Token | str:
    """Read a name: an IRI or prefixed name as a token, or a word, in which hyphens may be."""
    token = cursor.token
    if token.kind in (TokenKind.IRI, TokenKind.PREFIXED_NAME):
        return cursor.advance()
    bare = _BARE_NAME.match(cursor.source.text, token.start)
    # AS in place of the name: the name is missing, unless a name AS is followed by what follows a name.
    missing = token.word in ("AS", "COMPUTED") and cursor.following.word not in ("AS", "COMPUTED")
    if bare is None or missing:
        raise cursor.unexpected(f"a name after {after}: letters, digits, _ and -, or an IRI")
    cursor.advance_to(bare.end())
    if cursor.token.start == bare.end() and cursor.token.kind is not TokenKind.END and cursor.token.text != "{":
        raise cursor.error(f"{cursor.token.shown} cannot be part of a name: use letters, digits, _ and -, or an IRI")
    return bare[0]
