"""A sink as JSON (docs/sinks.md, "State"): its settings less their secrets, and how it is."""

from __future__ import annotations

from typing import Any

from endpoint.backend import QueryDescription
from endpoint.resources.queries.query_document import format_or_null
from endpoint.sinks.delivery import Delivery
from protocol.sinks.settings import shown_settings
from protocol.time import FIRST_INSTANT, Instant, Milliseconds, format_duration


def sink_document(delivery: Delivery, query: QueryDescription, root: str) -> dict[str, Any]:
    """The description, with links below ``root``, the path the application is mounted at."""
    sink, state = delivery.sink, delivery.state
    position = None if _nothing_yet(state.position) else state.position
    lag = behind(state.position, query.evaluated)
    return {
        "name": sink.name,
        "query": sink.query,
        **shown_settings(sink.settings),
        "state": "running" if state.failing_since is None else "failing",
        "failingSince": format_or_null(state.failing_since),
        "lastError": state.error,
        "lastErrorAt": format_or_null(state.error_at),
        "position": format_or_null(position),
        "behind": None if lag is None else format_duration(lag),
        "delivered": state.delivered,
        "failures": state.failures,
        "resets": state.resets,
        "lastReset": format_or_null(state.reset),
        "links": {"self": f"{root}/queries/{sink.query}/sinks/{sink.name}"},
    }


def behind(position: Instant | None, evaluated: Instant | None) -> Milliseconds | None:
    """How far what is delivered is behind the query's latest answer; None: everything is still to be delivered."""
    if evaluated is None:
        return 0
    if position is None or _nothing_yet(position):
        return None
    return max(0, evaluated - position)


def _nothing_yet(position: Instant | None) -> bool:
    """Whether a sink began at the very beginning, and has delivered nothing since."""
    return position is not None and position <= FIRST_INSTANT
