"""How a query is evaluated, as text for a person (``GET /queries/NAME/plan``)."""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot

from protocol.language.model import ContinuousQuery
from protocol.time import Instant, format_duration, format_instant
from protocol.windows.spec import DEFAULT_REPORT, CountWindow, LandmarkWindow, NowWindow, TimeWindow, WindowSpec
from spark_backend.compiler.dataset import StaticPattern
from spark_backend.compiler.plan import Plan
from spark_backend.evaluation.statement import statement


def explain(query: ContinuousQuery, plan: Plan, statics: Mapping[StaticPattern, str | None]) -> str:
    """The windows and when they report, the static patterns, the SQL that the tasks run."""
    lines = [f"{plan.form} {plan.operator} of ({', '.join(f'?{name}' for name in plan.variables)})", "", "Windows"]
    deciding = [member for member in query.windows if member.window.report is not None] or list(query.windows)
    tables = [f"window_{number}" for number in range(len(query.windows))]
    for member, table in zip(query.windows, tables, strict=True):
        window = member.window
        report = window.report or DEFAULT_REPORT
        said = " and ".join(sorted(report.strategies)) + (
            f" every {format_duration(report.period)}" if report.period is not None else ""
        )
        where = "the default graph" if member.graph is None else f"<{member.graph}>"
        lines += [
            f"  {table}: {where}, over <{member.stream}>",
            *(f"    {line}" for line in _described(window)),
            f"    reports on {said}" if member in deciding else "    does not decide when to evaluate",
        ]
    lines += ["", "Static patterns (matched in the store once per change)" if plan.statics else "Nothing is static"]
    for pattern in plan.statics:
        parts = " ".join(part or "?" for part in (pattern.subject, pattern.predicate, pattern.object))
        graphs = "all named graphs" if pattern.graphs is None else ", ".join(f"<{g}>" for g in pattern.graphs)
        where = {"default": "the default graph", "names": "names of named graphs"}.get(pattern.scope, graphs)
        lines.append(f"  {parts} in {where}: {'no match, left out' if statics.get(pattern) is None else pattern.table}")
    lines += ["", "Evaluated in Spark's tasks, by DuckDB over the stream log", ""]
    for function in plan.functions:
        lines.append(f"{function.name}: {function.expression}")
    sql = statement(plan, [plan.parameters], instants="instants", windows=tables, members_table=str)
    lines += ["", sqlglot.parse_one(sql, dialect="duckdb").sql("duckdb", pretty=True), ""]
    return "\n".join(lines)


def _described(window: WindowSpec) -> list[str]:
    """What the window holds, and where its instants are."""
    match window:
        case TimeWindow(width=width, slide=slide, origin=origin):
            return [f"range {format_duration(width)}, step {format_duration(slide)}", _said("first opens at", origin)]
        case NowWindow(origin=origin):
            held = ["the elements at the instant"]
        case LandmarkWindow(landmark=landmark, step=step, origin=origin):
            since = "all since the first element" if landmark is None else _said("all since", landmark)
            held = [since if step is None else f"{since}, step {format_duration(step)}"]
        case CountWindow(size=size, unit=unit, step=step, origin=origin):
            held = [f"the last {size} {unit.lower()}, step {step}"]
    return held if origin is None else [*held, _said("steps from", origin)]


def _said(what: str, instant: Instant) -> str:
    try:
        return f"{what} {format_instant(instant)}"
    except ValueError:  # outside the years 1 to 9999
        return f"{what} {instant} ms"
