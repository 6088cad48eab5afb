"""Conditional requests (RFC 9110 section 13): what has to be so for a request that changes something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from protocol.errors import ProtocolError, UnsupportedFeature


class PreconditionFailed(ProtocolError):
    """What the client made a condition is not so: nothing was changed."""

    status = 412
    title = "The condition of the request is not met"


@dataclass(frozen=True)
class Precondition:
    """Whether the resource has to be there (``If-Match: *``), or must not be (``If-None-Match: *``); None: either."""

    there: bool | None = None

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> Precondition:
        """That of a request with these headers, whose names are in lower case.

        Raises PreconditionFailed for entity tags, which no resource has, and UnsupportedFeature for times.
        """
        match, none_match = headers.get("if-match"), headers.get("if-none-match")
        if match is not None and (match.strip() != "*" or (none_match or "").strip() == "*"):
            raise PreconditionFailed(
                "If-Match names what the resource cannot be: resources here have no entity tags, so that only "
                "If-Match: * (it is there) and If-None-Match: * (it is not), one of them, can be met"
            )
        if match is None and "if-unmodified-since" in headers:
            raise UnsupportedFeature(
                "If-Unmodified-Since cannot be decided: it is not kept when a resource was changed; "
                "If-Match: * asks whether it is there"
            )
        if match is not None:
            return cls(True)
        return cls(False if (none_match or "").strip() == "*" else None)

    def require(self, there: bool, what: str) -> None:
        """Raises PreconditionFailed, naming ``what``, if it is there and must not be, or the other way round."""
        if self.there is not None and self.there is not there:
            said = "is there already (If-None-Match: *)" if there else "is not there (If-Match: *)"
            raise PreconditionFailed(f"{what} {said}: nothing was changed")
