"""The graphs of which all that follows under a regime is made where a query is evaluated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from protocol.entailment.regimes import Regime


@dataclass(frozen=True)
class ClosedContent:
    """A graph of which all that follows is made at each instant: windows (by their numbers), and what is in the store.

    ``statics``: the tables of what is there at every instant, the schema among it.
    """

    windows: tuple[int, ...]
    statics: tuple[str, ...]
    regime: Regime

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> ClosedContent:
        return cls(tuple(document["windows"]), tuple(document["statics"]), Regime(document["regime"]))
