"""The query model: a continuous query as RSP-QL's tuple (SE, SDS, ET, QF), before compilation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from protocol.time import Milliseconds
from protocol.windows.spec import StreamWindow


class R2S(StrEnum):
    """Relation-to-stream operators (Definitions 20 to 22)."""

    RSTREAM = "RSTREAM"
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"


class Form(StrEnum):
    """Query forms."""

    SELECT = "SELECT"
    ASK = "ASK"
    CONSTRUCT = "CONSTRUCT"
    DESCRIBE = "DESCRIBE"


@dataclass(frozen=True)
class Registration:
    """``REGISTER kind name [COMPUTED EVERY d] AS``; ``name_is_iri`` tells an IRI from a bare name."""

    kind: str  # QUERY, STREAM, RSTREAM, ISTREAM or DSTREAM
    name: str
    name_is_iri: bool
    every: Milliseconds | None = None


@dataclass(frozen=True)
class OneShotQuery:
    """A query with no stream clause: it goes to the store, its text untouched."""

    text: str


@dataclass(frozen=True)
class ContinuousQuery:
    """A query with at least one stream clause.

    ``standard`` is the rest of it in standard SPARQL 1.1: stream clauses, registration and R2S
    keywords removed; ``WINDOW <w> {…}`` written ``GRAPH <w> {…}``; ``STREAM <s> [spec] {…}`` written
    ``GRAPH <IRI of that window's graph> {…}``; ``WINDOW ?w {…}`` written ``GRAPH ?__window_w {…}``
    (see ``WINDOW_VARIABLE_PREFIX``). FROM and FROM NAMED of the store's graphs stay in it and are
    also listed (absolute IRIs).
    """

    text: str
    standard: str
    form: Form
    operator: R2S
    windows: tuple[StreamWindow, ...]
    from_graphs: tuple[str, ...] = ()
    from_named: tuple[str, ...] = ()
    registration: Registration | None = None

    @property
    def publishes(self) -> bool:
        """Whether its output is a stream: only graphs make one, and REGISTER QUERY does not ask for it."""
        asked = self.registration is not None and self.registration.kind != "QUERY"
        return asked and self.form in (Form.CONSTRUCT, Form.DESCRIBE)

    @property
    def streams(self) -> tuple[str, ...]:
        """The IRIs of the streams read, each once, in order of first mention."""
        return tuple(dict.fromkeys(window.stream for window in self.windows))


WINDOW_VARIABLE_PREFIX = "__window_"
"""How ``WINDOW ?w`` is carried through standard SPARQL: as ``GRAPH ?__window_w``."""

TIMESTAMP_FUNCTION = "urn:x-sparql-streams:timestamp"
"""How ``timestamp(?v)`` and ``timestamp(s p o)`` are carried through standard SPARQL: as a call with one or three
arguments."""

AGGREGATE_FUNCTION = "urn:x-sparql-streams:aggregate:"
"""How C-SPARQL's ``(?new, SUM(?x), {?a})`` is carried through standard SPARQL: ``BIND(<…SUM>(?x, ?a) AS ?new)``,
``COUNT`` without an argument being ``COUNT-ALL``."""
