"""Whether a plan has a translation to Spark SQL: told where it is registered, and before a task leaves it to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from protocol.errors import UnsupportedFeature
from protocol.language.model import ContinuousQuery
from protocol.windows.spec import CountWindow, StreamWindow
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.refusals import NotCompilable, with_place
from spark_backend.evaluation.statement import statement
from spark_backend.spark_sql.translation.translation import translate_statement


def plan_statement(plan: Plan, windows: int, prefix: str = "") -> str:
    """The plan's SQL for itself alone, over the tables ``instants``, ``window_0``, … with a prefix to their names."""
    return statement(
        plan,
        [plan.parameters],
        instants=f"{prefix}instants",
        windows=[f"{prefix}window_{place}" for place in range(windows)],
        new=[f"{prefix}new_{place}" for place in range(windows)],
        services=[f"{prefix}service_{place}" for place in range(len(plan.services))],
        closures=[f"{prefix}closure_{place}" for place in range(len(plan.closed))],
        members_table=_no_table,
    )


def refusal(plan: Plan, windows: Sequence[StreamWindow]) -> str | None:
    """Why the plan, which reads these windows, has no translation; None if it has one."""
    if any(member.occurrences for member in windows):
        return "event patterns are evaluated by DuckDB alone: what is in a window of Spark SQL's is a set"
    if plan.closed:
        return "what follows under owl-rl is inferred beside DuckDB alone"
    if plan.facts:
        return "facts are evaluated by DuckDB alone"
    if any(isinstance(member.window, CountWindow) and member.window.where is not None for member in windows):
        return "windows with WHERE are evaluated by DuckDB alone: Spark SQL is not asked about single messages"
    return _refusal(plan_statement(plan, len(windows)))


def require_translation(plan: Plan, query: ContinuousQuery, base: str | None) -> None:
    """Raises UnsupportedFeature, at the query's form in its text, if its plan has no translation.

    Nor may that of the terms that a service is given lack one.
    """
    for one in (plan, *(service.bindings for service in plan.services if service.bindings is not None)):
        reason = refusal(one, query.windows)
        if reason is not None:
            raise with_place(NotCompilable(reason), query.text)


@lru_cache(maxsize=256)
def _refusal(sql: str) -> str | None:
    try:
        translate_statement(sql, "")
    except UnsupportedFeature as error:
        return error.detail
    return None


def _no_table(select: str) -> str:
    raise AssertionError(f"one query has no table of members: {select}")
