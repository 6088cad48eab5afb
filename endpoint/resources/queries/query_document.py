"""A standing query as JSON (docs/http.md, "Standing queries": text, state, watermark, counts, last error)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from endpoint.backend import QueryDescription
from protocol.formats.sse import show_instant
from protocol.language.model import ContinuousQuery
from protocol.time import Instant, format_duration


def query_document(
    description: QueryDescription,
    root: str,
    *,
    listeners: int = 0,
    sinks: Sequence[dict[str, Any]] = (),
    warnings: Sequence[str] = (),
    warning: str | None = None,
) -> dict[str, Any]:
    """The description, with links below ``root``, the path the application is mounted at.

    ``sinks``: the documents of its sinks. ``warnings``: beside those of its text.
    ``warning``: what whoever has just registered it is to know.
    """
    query = description.query
    url = f"{root}/queries/{description.name}"
    document: dict[str, Any] = {
        "name": description.name,
        "text": query.text,
        "form": query.form.value,
        "operator": query.operator.value,
        "streams": list(query.streams),
        "graphs": _graphs(query),
        "entailment": query.entailment.value,
        "state": description.state,
        "start": format_or_null(description.start),
        "evaluated": format_or_null(description.evaluated),
        "watermark": format_or_null(description.watermark),
        "evaluations": description.evaluations,
        "solutions": description.solutions,
        "lane": description.lane,
        "behind": format_duration(description.behind),
        "overdueSeconds": round(description.overdue, 1),
        "lastEvaluationSeconds": description.last_seconds,
        "timeout": description.lowered.seconds,
        "memory": description.lowered.memory,
        "listeners": listeners,
        "sinks": list(sinks),
        "lastError": description.last_error,
        "warnings": [*query.warnings, *warnings],
        "links": {"self": url, "results": f"{url}/results", "plan": f"{url}/plan", "sinks": f"{url}/sinks"},
    }
    if query.registration is not None:
        document["registered"] = {"kind": query.registration.kind, "name": query.registration.name}
    if query.defines is not None:
        document["defines"] = query.defines.name
    elif query.definitions:
        document["facts"] = [definition.name for definition in query.definitions]
    if warning is not None:
        document["warning"] = warning
    return document


def _graphs(query: ContinuousQuery) -> dict[str, list[str]] | None:
    """The graphs of the store that it is over, of its request or its text; null: all of them."""
    if not query.from_graphs and not query.from_named:
        return None
    return {"default": list(query.from_graphs), "named": list(query.from_named)}


def format_or_null(instant: Instant | None) -> str | None:
    """An ``xsd:dateTime``; null for a time there is not yet."""
    return None if instant is None else show_instant(instant)
