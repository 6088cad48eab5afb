"""The query model: a continuous query as RSP-QL's tuple (SE, SDS, ET, QF), before compilation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from protocol.language.algebra import Query
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

    ``expression`` is SE, in which ``WINDOW <w> {…}`` and ``STREAM <s> [spec] {…}`` are ``Graph`` of that window's name.
    ``warnings``: what is known to answer nothing, a sentence each.
    """

    text: str
    expression: Query
    form: Form
    operator: R2S
    windows: tuple[StreamWindow, ...]
    from_graphs: tuple[str, ...] = ()
    from_named: tuple[str, ...] = ()
    registration: Registration | None = None
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def publishes(self) -> bool:
        """Whether its output is a stream: only graphs make one, and REGISTER QUERY does not ask for it."""
        asked = self.registration is not None and self.registration.kind != "QUERY"
        return asked and self.form in (Form.CONSTRUCT, Form.DESCRIBE)

    @property
    def streams(self) -> tuple[str, ...]:
        """The IRIs of the streams read, each once, in order of first mention."""
        return tuple(dict.fromkeys(window.stream for window in self.windows))
