"""Who may do what: bearer tokens (RFC 6750) with scopes, and the scope that a request needs.

Knows no framework: it is given a method, a path below the endpoint's root, headers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from protocol.errors import ProtocolError
from protocol.formats.media_types import EVENT_STREAM
from protocol.formats.negotiation import media_ranges

LEAST_LENGTH = 16
"""Characters of a token: shorter ones can be guessed."""

REALM = "sparql-streams"
PARAMETER = "access_token"

_OPEN = frozenset({"", "/", "/health", "/health/live", "/health/ready"})

TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*\Z")
"""What a bearer token looks like (RFC 6750 section 2.1)."""

_SHA256 = re.compile(r"[0-9A-Fa-f]{64}\Z")
_ADVICE = "make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"


class Scope(StrEnum):
    """What a token lets its holder do.

    ``READ``: one-shot queries, GET of resources, listening to queries; ``WRITE``: updates and graphs of the
    store; ``STREAM``: making, ending and filling streams, registering and removing queries; ``ADMIN``: backups.
    """

    READ = "read"
    WRITE = "write"
    STREAM = "stream"
    ADMIN = "admin"


EVERY_SCOPE = frozenset(Scope)


class AccessDenied(ProtocolError):
    """What the request asks for needs a token that it does not have; ``challenge`` is ``WWW-Authenticate``."""

    status = 401
    title = "Not authorised"
    refusal = "no_token"
    code = ""

    def __init__(self, detail: str, scope: Scope | None = None) -> None:
        super().__init__(detail, extra={"scope": scope.value} if scope is not None else None)
        parts = [f'realm="{REALM}"']
        if self.code:
            parts.append(f'error="{self.code}"')
        if scope is not None:
            parts.append(f'scope="{scope.value}"')
        self.challenge = f"Bearer {', '.join(parts)}"


class InvalidToken(AccessDenied):
    """The token is not one of this endpoint's (RFC 6750 section 3.1)."""

    refusal = "invalid_token"
    code = "invalid_token"


class InsufficientScope(AccessDenied):
    """The token is right, and not for this (RFC 6750 section 3.1)."""

    status = 403
    title = "Not for this token"
    refusal = "insufficient_scope"
    code = "insufficient_scope"


class MalformedCredentials(AccessDenied):
    """The request sends its token in a way that is not taken (RFC 6750 sections 2 and 3.1)."""

    status = 400
    title = "The token is not sent as it should be"
    refusal = "malformed_credentials"
    code = "invalid_request"


@dataclass(frozen=True)
class AccessToken:
    """A token by its SHA-256, so that it is not kept in memory; ``name`` says whose it is."""

    name: str
    scopes: frozenset[Scope]
    sha256: bytes = field(repr=False)

    @classmethod
    def of(cls, name: str, scopes: frozenset[Scope], token: str) -> AccessToken:
        """The entry for a token given as it is."""
        return cls(name, scopes, hashlib.sha256(token.encode()).digest())


@dataclass(frozen=True)
class Tokens:
    """The tokens of an endpoint, and what can be done without one. Without a list everything is open."""

    tokens: tuple[AccessToken, ...] = ()
    anonymous: frozenset[Scope] = EVERY_SCOPE

    @property
    def restrictive(self) -> bool:
        """Whether anything needs a token at all."""
        return self.anonymous != EVERY_SCOPE

    def holder(self, token: str) -> AccessToken | None:
        """The entry of a token; takes as long whichever it is, or none."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        found: AccessToken | None = None
        for one in self.tokens:
            if hmac.compare_digest(one.sha256, digest):
                found = one
        return found

    def with_token(self, token: AccessToken) -> Tokens:
        """The same and one more."""
        return Tokens((*self.tokens, token), self.anonymous)


EVERYTHING_OPEN = Tokens()
"""No tokens are asked for."""


@dataclass(frozen=True)
class Granted:
    """What the sender of a request may do; ``holder`` is the name of the token, "" without one."""

    scopes: frozenset[Scope]
    holder: str = ""

    def require(self, scope: Scope) -> None:
        """Raise AccessDenied (401: a token is missing) or InsufficientScope (403: it is not for this)."""
        if scope in self.scopes:
            return
        if not self.holder:
            raise AccessDenied(f"this needs a token with the scope {scope}: send Authorization: Bearer TOKEN", scope)
        raise InsufficientScope(f"this needs the scope {scope}, which the token {self.holder!r} does not have", scope)


def granted(tokens: Tokens, authorization: str | None, parameter: str | None = None) -> Granted:
    """What a request with this ``Authorization`` header, or this token in its URL, may do.

    Another scheme than Bearer is taken for none (a proxy's, say). Raises InvalidToken for a token that is not
    known, MalformedCredentials for two tokens and for what cannot be one.
    """
    scheme, _, sent = (authorization or "").strip().partition(" ")
    token = sent.strip() if scheme.lower() == "bearer" else None
    if token is not None and parameter is not None:
        raise MalformedCredentials(f"the token is sent twice: in Authorization and as {PARAMETER}")
    token = parameter if token is None else token
    if token is None:
        return Granted(tokens.anonymous)
    if not TOKEN.match(token):
        raise MalformedCredentials("what is sent is no token: it has characters that none has, or is empty")
    holder = tokens.holder(token)
    if holder is None:
        raise InvalidToken("the token is not one of this endpoint's")
    return Granted(holder.scopes | tokens.anonymous, holder.name)


def parameter_is_taken(method: str, accept: str | None) -> bool:
    """Whether a request may send its token in the URL (RFC 6750 section 2.3).

    Only a GET of an event stream may: a page's EventSource has no other way.
    """
    return method == "GET" and accept is not None and any(
        f"{one.type}/{one.subtype}" == EVENT_STREAM and one.quality > 0 for one in media_ranges(accept)
    )  # fmt: skip


def required_scope(method: str, path: str) -> Scope | None:
    """The scope that a request to this path below the root needs; None if it is open to everybody.

    ``/sparql`` is not judged here: what is asked of it is in the body, see ``operation_scope``. What is not
    known is taken for a resource of the store.
    """
    segments = path.split("/")
    first = segments[1] if len(segments) > 1 else ""
    reading = method in ("GET", "HEAD")
    if method == "OPTIONS" or (reading and (path in _OPEN or first == "page")):
        return None
    if first == "backup":
        return Scope.ADMIN
    if reading:
        return Scope.READ
    return Scope.STREAM if first in ("streams", "queries") else Scope.WRITE


def operation_scope(*, update: bool = False, registration: bool = False) -> Scope:
    """The scope that an operation sent to ``/sparql`` needs; listening to a continuous query is reading."""
    if update:
        return Scope.WRITE
    return Scope.STREAM if registration else Scope.READ


def parse_tokens(text: str, *, json_document: bool) -> Tokens:
    """The tokens in a TOML or JSON document. ValueError says what is wrong, and what would be right.

    ``tokens`` is a list of tables with ``name``, ``scopes`` (of read, write, stream, admin), and ``token`` or its
    ``sha256`` in hexadecimal; ``anonymous``, by default empty, lists the scopes of requests without a token.
    """
    try:
        document = json.loads(text) if json_document else tomllib.loads(text)
    except ValueError as error:
        # Nothing of the text itself: it holds secrets.
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        kind = "JSON" if json_document else "TOML"
        raise ValueError(f"the document is not {kind}{where}") from None
    if not isinstance(document, dict):
        raise ValueError("the document is not an object with the members tokens and anonymous")
    _only(document, "the document", "tokens", "anonymous")
    entries = document.get("tokens", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("tokens is not a list of tables (TOML: [[tokens]])")
    tokens = tuple(_entry(entry, number) for number, entry in enumerate(entries, 1))
    for kind, values in (("name", [one.name for one in tokens]), ("token", [one.sha256 for one in tokens])):
        if len(set(values)) < len(values):
            raise ValueError(f"two tokens have the same {kind}")
    anonymous = _scopes(document.get("anonymous", []), "anonymous")
    if not tokens and "anonymous" not in document:
        raise ValueError("there are neither tokens nor anonymous scopes: nobody could do anything")
    return Tokens(tokens, anonymous)


def _entry(entry: Mapping[str, Any], number: int) -> AccessToken:
    where = f"token {number}"
    _only(entry, where, "name", "scopes", "token", "sha256")
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{where} has no name")
    where = f"the token {name!r}"
    scopes = _scopes(entry.get("scopes"), f"scopes of {where}")
    if not scopes:
        raise ValueError(f"{where} has no scopes: list some of {', '.join(Scope)}")
    token, sha256 = entry.get("token"), entry.get("sha256")
    if (token is None) == (sha256 is None):
        raise ValueError(f"{where} has to have one of token and sha256")
    if token is not None:
        if not isinstance(token, str) or not TOKEN.match(token) or len(token) < LEAST_LENGTH:
            raise ValueError(
                f"{where} is not {LEAST_LENGTH} or more letters, digits and -._~+/ (= at the end): {_ADVICE}"
            )
        return AccessToken.of(name.strip(), scopes, token)
    if not isinstance(sha256, str) or not _SHA256.match(sha256):
        raise ValueError(f"the sha256 of {where} is not 64 hexadecimal digits")
    return AccessToken(name.strip(), scopes, bytes.fromhex(sha256))


def _scopes(value: object, where: str) -> frozenset[Scope]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one in EVERY_SCOPE for one in value):
        raise ValueError(f"{where} is not a list of some of {', '.join(Scope)}")
    return frozenset(Scope(one) for one in value)


def _only(table: Mapping[str, Any], where: str, *members: str) -> None:
    for name in table:
        if name not in members:
            raise ValueError(f"{where} has a member {name!r}: there are {', '.join(members)}")
