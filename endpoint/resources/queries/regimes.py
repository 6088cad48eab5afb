"""Under which entailment regime a query is answered that is evaluated again and again."""

from __future__ import annotations

from dataclasses import replace

from protocol.entailment.regimes import Regime
from protocol.errors import UnsupportedFeature
from protocol.language.model import ContinuousQuery


def under_regime(query: ContinuousQuery, asked: Regime | None, default: Regime) -> ContinuousQuery:
    """The query under the regime that is asked, or the ``default``, that of the endpoint.

    Raises UnsupportedFeature for a live query under another one than that.
    """
    regime = default if asked is None else asked
    if query.one_shot is None:
        return replace(query, entailment=regime)
    if regime is not default:
        raise UnsupportedFeature(
            f"entailment: live queries are answered under the regime of the endpoint, {default}, only: leave it out"
        )
    return query
