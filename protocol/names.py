"""Names of streams and queries, as they stand in URLs (docs/language.md, "Registration"; docs/http.md, "Streams")."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

from protocol.errors import ProtocolError
from protocol.language.model import Registration

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._~-]*\Z")
_LONGEST_NAME = 200
_OUTSIDE_NAMES = re.compile(r"[^A-Za-z0-9._~-]+")


class InvalidName(ProtocolError):
    """A name of a stream or query that is not one."""

    title = "Not a name"


def checked_name(name: str) -> str:
    """The name of a stream or a query, as it stands in a URL. Raises InvalidName."""
    if not _NAME.match(name) or len(name) > _LONGEST_NAME:
        shown = name if len(name) <= 60 else name[:57] + "..."
        raise InvalidName(
            f"{shown!r} is not a name: use letters, digits, '_', '-', '.' and '~', "
            f"beginning with none of the last two, at most {_LONGEST_NAME} of them"
        )
    return name


def registered_name(registration: Registration) -> str:
    """The name in the URL of what REGISTER names, a query or its output: the name, or the last segment of the IRI."""
    if not registration.name_is_iri:
        return checked_name(registration.name)
    iri = registration.name
    segment = re.split(r"[/#:?]", iri.rstrip("/#:?"))[-1]
    slug = _OUTSIDE_NAMES.sub("-", unquote(segment)).lstrip(".~-").rstrip("-")[:_LONGEST_NAME]
    return slug or "query-" + hashlib.sha256(iri.encode()).hexdigest()[:16]
