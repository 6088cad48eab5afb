"""Under which entailment regime a query is answered that is evaluated again and again."""

from __future__ import annotations

from dataclasses import replace

from endpoint.live.hub import Hub
from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError, UnsupportedFeature
from protocol.language.model import ContinuousQuery


class DifferentRegimes(ProtocolError):
    """A query reads streams that have different regimes, and asks for none."""

    title = "Streams of different entailment regimes"


async def under_regime(hub: Hub, query: ContinuousQuery, asked: Regime | None, default: Regime) -> ContinuousQuery:
    """The query under the regime that is asked; without one under that of its streams, or the endpoint's ``default``.

    Raises DifferentRegimes, and UnsupportedFeature for a live query under another one than the endpoint's.
    """
    if query.one_shot is not None:
        if asked not in (None, default):
            raise UnsupportedFeature(
                f"entailment: live queries are answered under the regime of the endpoint, {default}, only: leave it out"
            )
        return replace(query, entailment=default)
    regime = asked if asked is not None else await _of_streams(hub, query, default)
    return replace(query, entailment=regime)


async def _of_streams(hub: Hub, query: ContinuousQuery, default: Regime) -> Regime:
    read = {member.stream for member in query.windows}
    streams = [one for one in await hub.threads.run(hub.backend.streams) if one.settings.iri in read]
    regimes = {one.name: one.settings.entailment or default for one in streams}
    if len(set(regimes.values())) > 1:
        told = ", ".join(f"{name}: {regime}" for name, regime in sorted(regimes.items()))
        raise DifferentRegimes(f"the streams have different regimes ({told}): ask with entailment=")
    return next(iter(regimes.values()), default)
