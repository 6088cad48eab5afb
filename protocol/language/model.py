"""The query model: a continuous query as RSP-QL's tuple (SE, SDS, ET, QF), before compilation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from protocol.entailment.regimes import Regime
from protocol.language.algebra import Constant, Pattern, Query, Variable
from protocol.sparql.dataset import NONE_REQUESTED, RequestedGraphs
from protocol.time import Milliseconds
from protocol.windows.spec import ONLY_STREAM, FactsWindow, Report, StreamWindow


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

    kind: str  # QUERY, STREAM, FACT, RSTREAM, ISTREAM or DSTREAM
    name: str
    name_is_iri: bool
    every: Milliseconds | None = None


@dataclass(frozen=True)
class OneShotQuery:
    """A query with no stream clause: it goes to the store, its text untouched.

    ``base`` resolves relative IRIs where the text has no BASE.
    """

    text: str
    base: str | None = None


FactTriple = tuple[Variable | Constant, Variable | Constant, Variable | Constant]


@dataclass(frozen=True)
class FactDefinition:
    """``CONSTRUCT FACT name { template } (UNION (SINCE …) (TILL …))`` (docs/model.md, "Facts").

    ``name`` is a word, or an IRI. ``since`` and ``till`` are made of triple patterns, FILTER and BIND, over the
    occurrences of ``stream`` (None: of the endpoint's only one); ``template`` has no blank node. ``base`` is what IRI()
    resolves by. ``line`` and ``column`` are the place of the stream's IRI, or of the name; ``reference`` as in
    ``StreamWindow``.
    """

    name: str
    stream: str | None
    since: Pattern
    till: Pattern
    template: tuple[FactTriple, ...]
    base: str | None
    line: int = field(default=1, compare=False)
    column: int = field(default=1, compare=False)
    reference: str | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """A digest of what makes and ends its facts, whatever its name: places in a text are no part of it."""
        text = repr((self.since, self.till, self.template, self.base))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def window(self, graph: str, report: Report) -> StreamWindow:
        """Its facts as the graph of this name."""
        window = FactsWindow(report=report, definition=self.key)
        stream = ONLY_STREAM if self.stream is None else self.stream
        return StreamWindow(stream, window, graph, False, self.line, self.column, reference=self.reference)


@dataclass(frozen=True)
class Current:
    """``CURRENT name {…}``, where no definition of the text is meant: one that is registered, or all (``name`` None).

    ``graph`` is the graph that the facts become, ``report`` when that is evaluated; ``line`` and ``column`` the place
    of CURRENT or the name.
    """

    name: str | None
    graph: str
    report: Report
    line: int = field(default=1, compare=False)
    column: int = field(default=1, compare=False)


@dataclass(frozen=True)
class ContinuousQuery:
    """A query with at least one stream clause, or over facts, or one of the store that is answered as that changes.

    ``expression`` is SE, in which ``WINDOW <w> {…}``, ``STREAM <s> [spec] {…}`` and ``CURRENT {…}`` are ``Graph`` of
    that window's name. ``from_graphs`` and ``from_named`` are graphs of the store, without either all of it;
    ``requested``: the request named them, and not the text. ``definitions`` are those of the facts in its windows.
    ``currents`` are facts of definitions that others have registered: ``windows`` and ``definitions`` have them once
    they are found. ``defines``: the query is that definition, and gives its facts. ``warnings``: what is known to
    answer nothing, a sentence each. ``one_shot``: what the store is asked, where it reads nothing else (a live query).
    ``entailment``: the regime under which its windows and graphs are matched.
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
    definitions: tuple[FactDefinition, ...] = ()
    currents: tuple[Current, ...] = ()
    defines: FactDefinition | None = None
    one_shot: OneShotQuery | None = field(default=None, compare=False)
    requested: RequestedGraphs = NONE_REQUESTED
    entailment: Regime = Regime.NONE

    @property
    def publishes(self) -> bool:
        """Whether its output is a stream: only graphs make one, and REGISTER QUERY does not ask for it."""
        asked = self.registration is not None and self.registration.kind not in ("QUERY", "FACT")
        return asked and self.form in (Form.CONSTRUCT, Form.DESCRIBE)

    @property
    def streams(self) -> tuple[str, ...]:
        """The IRIs of the streams read, each once, in order of first mention."""
        return tuple(dict.fromkeys(window.stream for window in self.windows))
