"""The entailment regimes of this endpoint (SPARQL 1.1 Entailment Regimes), and how they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from protocol.errors import ProtocolError

_ENTAILMENT = "http://www.w3.org/ns/entailment/"


class UnknownRegime(ProtocolError):
    """What should be an entailment regime, and is none of those there are."""

    title = "Not an entailment regime"


class Regime(StrEnum):
    """What follows from a graph: nothing (simple entailment), what RDFS says, or what the rules of OWL 2 RL say."""

    NONE = "none"
    RDFS = "rdfs"
    OWL_RL = "owl-rl"

    @property
    def iri(self) -> str:
        """The regime as an ``sd:EntailmentRegime``."""
        names = {Regime.NONE: "Simple", Regime.RDFS: "RDFS", Regime.OWL_RL: "OWL-RDF-Based"}
        return _ENTAILMENT + names[self]

    @property
    def infers(self) -> bool:
        """Whether anything follows from a graph but itself."""
        return self is not Regime.NONE

    @property
    def profile(self) -> str | None:
        """What of the regime is supported, as an ``sd:EntailmentProfile``; None is all."""
        return "http://www.w3.org/ns/owl-profile/RL" if self is Regime.OWL_RL else None


def parse_regime(value: object, where: str) -> Regime:
    """The regime of this name; ``where`` says what it was given as. Raises UnknownRegime."""
    if not isinstance(value, str) or value not in list(Regime):
        shown = repr(value)[:60]
        raise UnknownRegime(f"{where}: {shown} is no entailment regime: write {', '.join(Regime)}")
    return Regime(value)


def read_regime(values: Sequence[str]) -> Regime | None:
    """The parameter ``entailment`` of a request; None where it is not there or empty. Raises UnknownRegime."""
    given = [value for value in values if value]
    if len(given) > 1:
        raise UnknownRegime(f"entailment is given {len(given)} times: give one of {', '.join(Regime)}")
    return parse_regime(given[0], "entailment") if given else None
