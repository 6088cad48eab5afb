"""What a stream is created with, of that which changes answers (docs/http.md, "Stream settings")."""

from __future__ import annotations

import json
from dataclasses import dataclass

from conformance.rsp.oracle.window_text import duration

GENERATED_AT = "http://www.w3.org/ns/prov#generatedAtTime"
DEFAULT_PATH = (
    "http://www.w3.org/ns/sosa/resultTime",
    "https://www.w3.org/ns/activitystreams#published",
    GENERATED_AT,
)


@dataclass(frozen=True)
class OracleSettings:
    """A stream's IRI, its allowed lateness in ms, and the properties that carry a message's time."""

    iri: str
    lateness: int = 0
    path: tuple[str, ...] = DEFAULT_PATH


def settings_of(body: str, iri: str) -> OracleSettings:
    """The settings in a body of JSON; ``iri``: the stream's where none is given."""
    given = json.loads(body or "{}")
    return OracleSettings(
        given.get("iri", iri),
        duration(given.get("allowedLateness", "PT0S")),
        tuple(given.get("timestampPath", DEFAULT_PATH)),
    )
