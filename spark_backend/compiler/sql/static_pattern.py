"""What a continuous query reads of the store: matches of a triple pattern, or what a schema says."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from protocol.entailment.consequences import COPIES, SUBJECTS_BY_CLASS
from protocol.entailment.regimes import Regime
from protocol.terms import RDF_TYPE


@dataclass(frozen=True)
class StaticPattern:
    """What the tasks need of the store for one triple pattern: the matching quads, or the graphs' names.

    ``graphs``: IRIs of the graphs merged into the default graph, or of the named graphs to range over;
    None for all named graphs. ``scope`` is "default", "merged", "named" or "names". Constant parts are
    canonical N-Triples, None where a variable stands. ``without``: named graphs that are not ranged over,
    their names being those of the query's windows.

    Under a ``regime`` the matches are of what follows from each graph and the schema; ``scope`` may be "schema" then,
    which is what follows from that alone, or under ``owl-rl`` what it says. With a ``way`` the rows are consequences
    that triples of the graphs have with the schema in this way (``protocol.entailment.consequences``): those that a
    pattern of these constants may match.
    """

    scope: str
    graphs: tuple[str, ...] | None
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    without: tuple[str, ...] = ()
    regime: Regime = Regime.NONE
    way: str | None = None

    @property
    def table(self) -> str:
        """Its table's name: the same pattern of two queries is one table."""
        digest = hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()
        return f"static_{digest[:16]}"

    @property
    def is_of_itself(self) -> bool:
        """Whether what it matches itself is told by the same terms as that from which its matches follow: they are
        among the rows then, if there are any.
        """
        if self.way == COPIES:
            return self.predicate is not None
        return self.way == SUBJECTS_BY_CLASS and self.predicate == RDF_TYPE and self.object is not None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> StaticPattern:
        graphs = document["graphs"]
        without = tuple(document["without"])
        told = {"graphs": None if graphs is None else tuple(graphs), "without": without}
        return cls(**{**document, **told, "regime": Regime(document["regime"])})
