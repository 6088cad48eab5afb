"""Resolution of IRI references (RFC 3986 section 5, with RFC 3987's characters) and of prefixed names.

``resolve`` is the rule itself. ``Namespaces`` follows a prologue token by token, with places for what is wrong;
``named_iris`` asks the parser that will read the same prologue, where what it means is to be known beyond doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyoxigraph

from protocol.errors import QuerySyntaxError
from protocol.sparql.corrections import readable_names
from protocol.sparql.source import Source
from protocol.sparql.tokens import Token, TokenKind

# RFC 3986 appendix B.
_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_LOCAL_ESCAPE = re.compile(r"\\(.)")


def is_absolute(iri: str) -> bool:
    """Whether the reference has a scheme."""
    match = _PARTS.match(iri)
    return match is not None and match[1] is not None


def resolve(base: str, reference: str) -> str:
    """The target IRI of a reference (RFC 3986 section 5.2.2); an absolute reference stays as it is written."""
    target = _PARTS.match(reference)
    origin = _PARTS.match(base)
    assert target is not None  # every part is optional
    assert origin is not None
    scheme, authority, path, query, fragment = target.groups()
    if scheme is not None:
        return reference
    if authority is not None:
        path = _remove_dot_segments(path)
    else:
        authority = origin[2]
        if not path:
            path = origin[3]
            query = origin[4] if query is None else query
        elif path.startswith("/"):
            path = _remove_dot_segments(path)
        elif authority is not None and not origin[3]:
            path = _remove_dot_segments("/" + path)
        else:
            path = _remove_dot_segments(origin[3][: origin[3].rfind("/") + 1] + path)
    return "".join(
        (
            "" if origin[1] is None else origin[1] + ":",
            "" if authority is None else "//" + authority,
            path,
            "" if query is None else "?" + query,
            "" if fragment is None else "#" + fragment,
        )
    )


def _remove_dot_segments(path: str) -> str:
    """RFC 3986 section 5.2.4, segment by segment."""
    segments = path.split("/")
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)


def named_iris(prologue: str, names: Sequence[str], base: str | None) -> list[str] | None:
    """The absolute IRIs that IRIs and prefixed names stand for after this prologue, each once, as Oxigraph reads them.

    None if its parser refuses any of them, or the prologue: it will refuse the text for the same fault.
    """
    if not names:
        return []
    query = f"{prologue} SELECT ?iri {{ VALUES ?iri {{ {' '.join(map(readable_names, names))} }} }}"
    try:
        solutions = pyoxigraph.Store().query(query, base_iri=base)
    except SyntaxError:
        return None
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    return list(dict.fromkeys(term.value for (term,) in solutions if isinstance(term, pyoxigraph.NamedNode)))


class Namespaces:
    """BASE and PREFIX as far as the prologue has been read."""

    def __init__(self, source: Source, base: str | None) -> None:
        self.base = base
        self._source = source
        self._prefixes: dict[str, str] = {}

    def declare(self, prefix: Token, iri: Token) -> None:
        """``PREFIX prefix <iri>``; the token of the prefix ends with its colon."""
        self._prefixes[prefix.text[:-1]] = self.iri(iri)

    def known(self, token: Token) -> str | None:
        """What ``iri`` gives, or None where that would raise."""
        try:
            return self.iri(token)
        except QuerySyntaxError:
            return None

    def iri(self, token: Token) -> str:
        """The absolute IRI that an IRI or prefixed name stands for. Raises QuerySyntaxError."""
        if token.kind is TokenKind.IRI:
            reference = token.text[1:-1]
            if is_absolute(reference):
                return reference
            if self.base is None:
                raise self._source.error(f"{token.shown} is relative: write an absolute IRI, or BASE", token.start)
            return resolve(self.base, reference)
        prefix, _, local = token.text.partition(":")
        if prefix not in self._prefixes:
            raise self._source.error(f"the prefix {prefix}: is not declared: write PREFIX {prefix}: <…>", token.start)
        return self._prefixes[prefix] + _LOCAL_ESCAPE.sub(r"\1", local)
