"""Which continuous queries are answered under an entailment regime."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from protocol.entailment.consequences import BEYOND
from protocol.entailment.regimes import Regime
from protocol.language.model import ContinuousQuery
from protocol.windows.spec import FactsWindow
from spark_backend.compiler.refusals import NotCompilable
from spark_backend.compiler.sql.static_pattern import StaticPattern


def beyond_rewriting(query: ContinuousQuery, read: Iterable[StaticPattern]) -> tuple[StaticPattern, ...]:
    """What matches where the schema, or that of a graph which is read, has more consequences than those of one triple
    each: of no query under a regime that is answered.
    """
    if query.entailment is not Regime.RDFS:
        return ()
    patterns = [
        replace(one, subject=None, predicate=None, object=None, way=BEYOND) for one in read if one.regime.infers
    ]
    shared = StaticPattern("schema", (), regime=query.entailment, way=BEYOND)
    return tuple(dict.fromkeys((shared, *patterns)))


def refuse_what_is_not_entailed(query: ContinuousQuery) -> None:
    """Raise NotCompilable for what is not answered under the query's regime, by what it says."""
    if not query.entailment.infers:
        return
    if any(isinstance(one.window, FactsWindow) for one in query.windows) or query.defines:
        raise NotCompilable(
            "facts are about what was sent, and are not answered under an entailment regime: say entailment=none"
        )
    if query.entailment is Regime.OWL_RL and any(one.occurrences for one in query.windows):
        raise NotCompilable(
            "what follows from several triples has no time: under owl-rl event patterns are not answered, say "
            "entailment=rdfs, or entailment=none"
        )


def refuse_schemas_that_data_extend(beyond: Iterable[StaticPattern], present: Callable[[StaticPattern], bool]) -> None:
    """Raise NotCompilable where any of ``beyond_rewriting`` is there."""
    if any(map(present, beyond)):
        raise NotCompilable(
            "the schema, or that of a graph which the query reads, has properties below rdf:type or a property of "
            "RDFS, so that the data extend it; queries over streams are not answered under it: leave these out of the "
            "schema, or say entailment=none"
        )
