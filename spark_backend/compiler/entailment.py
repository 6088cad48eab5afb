"""Which continuous queries are answered under an entailment regime: those whose patterns can be rewritten."""

from __future__ import annotations

from collections.abc import Callable

from protocol.entailment.regimes import Regime
from protocol.language.model import ContinuousQuery
from protocol.windows.spec import FactsWindow
from spark_backend.compiler.refusals import NotCompilable
from spark_backend.compiler.sql.dataset import StaticPattern


def beyond_rewriting(regime: Regime) -> StaticPattern:
    """What matches where a schema says more than consequences of one triple each (``Consequences.beyond``)."""
    return StaticPattern("beyond", (), regime=regime)


def refuse_what_is_not_entailed(query: ContinuousQuery, present: Callable[[StaticPattern], bool]) -> None:
    """Raise NotCompilable for what is not answered under the query's regime, by what it reads or by the schema."""
    regime = query.entailment
    if regime is Regime.NONE:
        return
    if regime is Regime.OWL_RL:
        raise NotCompilable(
            "queries over streams are not answered under owl-rl, as much of it follows from several triples together: "
            "say entailment=rdfs, or entailment=none"
        )
    if any(one.occurrences or isinstance(one.window, FactsWindow) for one in query.windows) or query.defines:
        raise NotCompilable(
            "event patterns and facts are about what was sent, and are not answered under an entailment regime: "
            "say entailment=none"
        )
    if present(beyond_rewriting(regime)):
        raise NotCompilable(
            "the schema has properties below rdf:type or a property of RDFS, so that the data extend it; queries over "
            "streams are not answered under it: leave these out of the schema, or say entailment=none"
        )
