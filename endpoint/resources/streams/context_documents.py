"""The documents that a stream's context refers to: fetched when the stream is made, and never again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from endpoint.graphs.fetching import Fetching, LoadFailed
from protocol.formats.json.context import context_problem, inlined
from protocol.formats.json.depth import check_json_depth
from protocol.settings.stream import InvalidSettings
from protocol.sparql.guard import FetchRefused
from protocol.sparql.iris import is_absolute, resolve
from protocol.streams import JsonContext

MAXIMUM_BYTES = 256 * 1024
"""Of one document, and of the context that all together make."""

_DOCUMENTS = 8
_SECONDS = 10.0
_ACCEPT = "application/ld+json, application/json;q=0.9, */*;q=0.1"


def fetched_context(context: JsonContext, fetching: Fetching) -> JsonContext:
    """The context with the documents that its IRIs lead to.

    Raises InvalidSettings, FetchRefused for an address that is not on the list, LoadFailed.
    """
    documents = _Documents(replace(fetching, maximum_bytes=MAXIMUM_BYTES, seconds=_SECONDS))
    given = json.loads(context.given)
    text = json.dumps(inlined(given, documents.fetch), ensure_ascii=False, sort_keys=True)
    if len(text.encode()) > MAXIMUM_BYTES:
        raise InvalidSettings(f"context: with all that it refers to it is longer than {MAXIMUM_BYTES} bytes")
    if (problem := context_problem(text)) is not None:
        raise InvalidSettings(f"context, with what it refers to: {problem}")
    return replace(context, document=text)


@dataclass
class _Documents:
    """What has been fetched for one context, so that none is without end."""

    fetching: Fetching
    count: int = field(default=0, init=False)

    def fetch(self, iri: str, base: str | None) -> tuple[str, Any]:
        """Where the document was found, and the context in it."""
        address = iri if base is None else resolve(base, iri)
        if not is_absolute(address):
            raise InvalidSettings(f"context: {iri!r} is not the absolute IRI of a context")
        if not self.fetching.allowed.permits(address):
            raise FetchRefused(
                f"context: this server may not fetch <{address}> (the setting allow_fetch names the addresses that it "
                "may); write the context itself into the settings"
            )
        self.count += 1
        if self.count > _DOCUMENTS:
            raise InvalidSettings(f"context: it leads to more than {_DOCUMENTS} documents, or back to itself")
        found, media_type, body = self.fetching.document(address, _ACCEPT)
        try:
            check_json_depth(body)
            document = json.loads(body)
        except (SyntaxError, ValueError) as error:
            said = f" (it is {media_type})" if media_type else ""
            raise LoadFailed(f"<{address}> is not JSON{said}: {error}") from None
        if not isinstance(document, dict) or "@context" not in document:
            raise LoadFailed(f'<{address}> has no context: a JSON object with the member "@context" is expected')
        return found, document["@context"]
