"""How a query is evaluated, as text for a person (``GET /queries/NAME/plan``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from protocol.entailment.consequences import BEYOND
from protocol.entailment.regimes import Regime
from protocol.errors import UnsupportedFeature
from protocol.language import algebra as a
from protocol.language.model import ContinuousQuery, FactDefinition
from protocol.terms import triple_text
from protocol.time import Instant, format_duration, format_instant
from protocol.windows.spec import (
    DEFAULT_REPORT,
    CountWindow,
    FactsWindow,
    LandmarkWindow,
    NowWindow,
    Partition,
    SessionWindow,
    StreamWindow,
    TimeWindow,
    WindowSpec,
)
from spark_backend.budget import Lane
from spark_backend.compiler.algebra.text import algebra_text, prefixes, term_text
from spark_backend.compiler.deep_stack import with_deep_stack
from spark_backend.compiler.plan import Plan, TemplatePart, TemplateTriple
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.compiler.statistics import Statistics
from spark_backend.evaluation.step import MeasuredStatement
from spark_backend.queries.explain.operators import milliseconds, operator_lines, total_times
from spark_backend.queries.measurements import Measurement, Measurements
from spark_backend.queries.services import ROWS_OF_REQUEST
from spark_backend.site import BY_SIZE, Site, SiteChoice

_LONGEST_SQL = 60_000
"""Longer statements are not laid out: that takes a second for each hundred thousand characters."""


@dataclass(frozen=True)
class Circumstances:
    """What there is to tell besides a query and its plan.

    ``matches``: how many each static pattern has in the store. ``rows``: for each window about how many triples it
    holds at ``instant``, the last that can be evaluated; None, and no instant, where there is none. ``measured``: how
    an evaluation was made, or why there is none to tell of; None where it was not asked for. ``limits``: those of
    requests to other endpoints.
    """

    matches: Mapping[StaticPattern, int] = field(default_factory=dict)
    rows: Sequence[int] | None = None
    instant: Instant | None = None
    sites: SiteChoice = BY_SIZE
    measurements: Measurements = field(default_factory=Measurements)
    statistics: Statistics | None = None
    lane: Lane = Lane.COMMON
    overdue: float = 0.0
    measured: MeasuredStatement | str | None = None
    limits: Sequence[str] = ()

    @property
    def together(self) -> int | None:
        """The triples of all windows."""
        return None if self.rows is None else sum(self.rows)


def explain(query: ContinuousQuery, plan: Plan, circumstances: Circumstances) -> str:
    """Site, windows, rows and times, algebra, static patterns, and the SQL of the site."""
    return "\n".join(_lines(query, plan, circumstances))


def _lines(query: ContinuousQuery, plan: Plan, circumstances: Circumstances) -> Iterator[str]:
    from spark_backend.spark_sql.translation.plans import plan_statement, refusal

    names = prefixes(query.text)
    chosen, refused = _by_size(circumstances), None
    if chosen is Site.SPARK and circumstances.sites.forced is None:
        refused = refusal(plan, query.windows)
        chosen = chosen if refused is None else Site.DUCKDB
    form = f"{plan.form} {plan.operator}"
    yield form if plan.template is not None else f"{form} of ({', '.join(f'?{name}' for name in plan.variables)})"
    yield from _section("Site", _site(circumstances, chosen, refused))
    yield from _section("Lane", _lane(circumstances))
    yield from _section("Evaluations", _evaluations(circumstances.measurements))
    yield from _section("Rows", _rows(query, circumstances))
    yield from _section("Windows", _windows(query))
    if plan.facts:
        yield from _section("Facts", _facts(query, plan, names))
    if plan.closed:
        yield from _section(
            "Closures (inferred at each instant, as much follows from several triples together)",
            (
                f"closure_{number}: all that follows under {one.regime} from "
                f"{', '.join((*(f'window_{window}' for window in one.windows), *one.statics))}"
                for number, one in enumerate(plan.closed)
            ),
        )
    if plan.services:
        yield from _section("Services (asked once an instant, and recorded)", _services(plan, circumstances.limits))
    changed = f"after the passes {', '.join(plan.passes)}" if plan.passes else "no pass changed anything"
    if plan.algebra is not None:
        written = partial(algebra_text, plan.algebra, plan.parameters, names, partial(_estimate, circumstances))
        yield from _section(f"Algebra ({changed})", with_deep_stack(written))
    if circumstances.measured is not None:
        yield from _operators(circumstances.measured)
    if plan.template is not None:
        yield from _section("Template", (_template_line(line, names) for line in plan.template))
    if plan.statics:
        yield from _section("Static patterns (matched in the store once per change)", _statics(plan, circumstances))
    else:
        yield from ("", "Nothing is static")
    if plan.parameters:
        yield from _section(
            "Parameters (queries that differ in these only are evaluated together)",
            (f"c{number} = {term_text(term, names)}" for number, term in enumerate(plan.parameters)),
        )
    if plan.functions:
        yield from _section(
            "Functions (evaluated by the one-shot engine)",
            (f"{function.name}: {function.expression}" for function in plan.functions),
        )
    sql = plan_statement(plan, len(query.windows))
    if chosen is Site.SPARK:
        yield from _section("SQL (Spark)", _spark_sql(sql))
    else:
        yield from _section("SQL (DuckDB)", with_deep_stack(partial(_laid_out, sql)))
    yield ""


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", heading)
    for line in lines:
        yield f"  {line}" if line else ""


# --- site, rows and times --------------------------------------------------------------------


def _by_size(circumstances: Circumstances) -> Site:
    return circumstances.sites.of(circumstances.together or 0)


def _site(circumstances: Circumstances, chosen: Site, refused: str | None) -> Iterator[str]:
    sites, rows = circumstances.sites, circumstances.together
    runs = {
        Site.DUCKDB: "DuckDB over the stream log, inside Spark's tasks",
        Site.SPARK: "Spark SQL over the stream log, a job for each evaluation",
    }
    if sites.forced is not None:
        yield f"{runs[chosen]}: it is forced (--site {sites.forced})"
    elif rows is None:
        yield f"{runs[chosen]}: Spark SQL takes over above {_count(sites.spark_above)} triples (--spark-above)"
    else:
        compared = "more than" if rows > sites.spark_above else "not more than"
        held = f"the windows hold about {_count(rows)} triples"
        yield f"{runs[chosen]}: {held}, {compared} {_count(sites.spark_above)} (--spark-above)"
        if refused is not None:
            yield f"not Spark SQL: {refused}"


def _operators(measured: MeasuredStatement | str) -> Iterator[str]:
    if isinstance(measured, str):
        return _section("Operators (not measured)", measured.splitlines())
    heading = f"Operators (of an evaluation at {_instant(measured.instant)}: {total_times(measured)})"
    return _section(heading, operator_lines(measured))


def _evaluations(measurements: Measurements) -> Iterator[str]:
    last, median, mean = measurements.last, measurements.median, measurements.mean
    if last is None:
        yield "not evaluated yet, since the server was started"
        return
    yield f"last   {_last(last)}"
    if median is not None and mean is not None:
        latest = len(measurements.seconds)
        of = "the only one" if latest == 1 else f"the last {latest}"
        yield f"usual  {milliseconds(median)} in the median, {milliseconds(mean)} in the mean of {of}"
    failed = f", {_count(measurements.failed)} of them failed" if measurements.failed else ""
    yield f"so far {_count(measurements.count)}{failed}"


def _lane(circumstances: Circumstances) -> Iterator[str]:
    if circumstances.lane is Lane.COMMON:
        yield "the common one: evaluated together with others"
    elif circumstances.lane is Lane.NEW:
        yield "none yet: its first evaluation is made apart from those of others"
    else:
        yield "its own: others would wait for its evaluations"
    if circumstances.overdue:
        yield f"the oldest evaluation that is not out has been due for {circumstances.overdue:.1f} s"


def _last(last: Measurement) -> str:
    where = {Site.DUCKDB: "DuckDB", Site.SPARK: "Spark SQL"}[last.site]
    if last.error is not None:
        return f"{_instant(last.instant)}, {where}: failed: {last.error.splitlines()[0] if last.error else ''}"
    return f"{_instant(last.instant)}, {where}: {milliseconds(last.seconds)}"


def _rows(query: ContinuousQuery, circumstances: Circumstances) -> Iterator[str]:
    """A table: what is estimated beside what there was at the last evaluation."""
    last = circumstances.measurements.last
    if last is not None and last.error is not None:
        last = None
    at = "" if circumstances.instant is None else f" at {_instant(circumstances.instant)}"
    read, found, told = (("-",) * 3) if last is None else map(_count, (last.read, last.solutions, last.told))
    rows: list[tuple[str, str, str]] = [("", f"estimated{at}", "last evaluation")]
    held = ["-"] * len(query.windows) if circumstances.rows is None else list(map(_count, circumstances.rows))
    rows += [(table, number, "") for table, number in zip(_tables(query), held, strict=True)]
    rows.append(("read", _count(circumstances.together), read))
    rows.append(("solutions", "", found))
    rows.append(("given out", "", told))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, estimated, actual in rows:
        yield f"{name:<{widths[0]}}  {estimated:>{widths[1]}}  {actual:>{widths[2]}}".rstrip()


def _estimate(circumstances: Circumstances, triple: a.TriplePattern) -> str:
    """Of the windows' triples, those of the pattern's predicate, as they were in the sample of the log."""
    known, rows = circumstances.statistics, circumstances.together
    if known is None or not known.triples or rows is None or not isinstance(triple.predicate, a.Constant):
        return ""
    found = known.predicates.get(triple.predicate.text)
    share = 0.0 if found is None else found.triples / known.triples
    return f"about {_count(round(rows * share))} triples of this predicate"


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


# --- windows and statics ---------------------------------------------------------------------


def _tables(query: ContinuousQuery) -> list[str]:
    return [f"window_{number}" for number in range(len(query.windows))]


def _windows(query: ContinuousQuery) -> Iterator[str]:
    deciding = [member for member in query.windows if member.window.report is not None] or list(query.windows)
    for member, table in zip(query.windows, _tables(query), strict=True):
        if isinstance(member.window, FactsWindow):
            yield f"{table}: the facts {_definition(query, member.window).name}, over <{member.stream}>"
            yield f"  {_facts_report(member.window)}"
            continue
        where = "the default graph" if member.graph is None else f"<{member.graph}>"
        where += "" if member.also is None else f" and <{member.also}>"
        yield f"{table}: {where}, over <{member.stream}>"
        yield from (f"  {line}" for line in _describe(member.window))
        yield f"  {_report(member)}" if member in deciding else "  does not decide when to evaluate"


def _definition(query: ContinuousQuery, window: FactsWindow) -> FactDefinition:
    return next(definition for definition in query.definitions if definition.key == window.definition)


def _facts_report(window: FactsWindow) -> str:
    if window.report is not None and window.report.period is not None:
        return f"reports every {format_duration(window.report.period)}"
    return "reports when a fact begins or ends"


def _facts(query: ContinuousQuery, plan: Plan, names: Mapping[str, str]) -> Iterator[str]:
    """What begins and ends the facts that are read, and the SQL that finds from when until when they hold."""
    statements = dict(plan.facts)
    for definition in dict.fromkeys(query.definitions):
        if definition.key not in statements:
            continue
        yield definition.name
        for triple in definition.template:
            s, p, o = (f"?{part.name}" if isinstance(part, a.Variable) else part.text for part in triple)
            yield f"  {_template_line((s, p, o), names)}"
        for keyword, pattern in (("since", definition.since), ("till", definition.till)):
            yield f"  {keyword}"
            yield from (f"    {line}" for line in algebra_text(a.Query(pattern, ()), (), names))
        yield from (f"  {line}" for line in _laid_out(statements[definition.key]))


def _services(plan: Plan, limits: Sequence[str]) -> Iterator[str]:
    """What is asked of other endpoints, with what, and within which limits."""
    for number, service in enumerate(plan.services):
        call = service.call
        address = call.service if call.variable is not None else f"<{call.service}>"
        failing = "gives one solution without terms" if call.silent else "is the error of its instant"
        yield f"service_{number}: SERVICE {'SILENT ' * call.silent}{address} {call.pattern}"
        if call.given:
            sent = ", ".join(f"?{name}" for name in call.given)
            yield f"  given {sent} by VALUES, {ROWS_OF_REQUEST} solutions a request; not asked where there is none"
        else:
            yield "  given no terms: nothing that it surely binds is surely bound beside it"
        yield f"  a failure {failing}, and is not tried again"
        yield from (f"  {line}" for line in limits)


def _report(member: StreamWindow) -> str:
    report = member.window.report or DEFAULT_REPORT
    every = "" if report.period is None else f" every {format_duration(report.period)}"
    return f"reports on {' and '.join(sorted(report.strategies))}{every}"


def _describe(window: WindowSpec) -> list[str]:
    """What the window holds, and where its instants are."""
    match window:
        case TimeWindow(width=width, slide=slide, origin=origin, offset=offset):
            earlier = f", all bounds {format_duration(offset)} earlier" if offset else ""
            lengths = f"range {format_duration(width)}, step {format_duration(slide)}"
            return [lengths + earlier, _said("first opens at", origin)]
        case NowWindow(origin=origin):
            held = ["the elements at the instant"]
        case SessionWindow(gap=gap, origin=origin, partition=partition):
            of_each = "" if partition is None else f" of each {_key(partition)}"
            held = [f"the sessions{of_each} that close, with gaps of at most {format_duration(gap)}"]
        case LandmarkWindow(landmark=landmark, step=step, origin=origin):
            since = "all since the first element" if landmark is None else _said("all since", landmark)
            held = [since if step is None else f"{since}, step {format_duration(step)}"]
        case CountWindow(size=size, unit=unit, step=step, origin=origin, partition=partition, where=where):
            of_each = f" of each {_key(partition)}" if partition else ""
            held = [f"the last {size} {unit.lower()}{of_each}, step {step}"]
            held += [] if where is None else [f"those of messages that match {where}"]
    return held if origin is None else [*held, _said("steps from", origin)]


def _key(partition: Partition) -> str:
    return " and ".join([*(part.lower() for part in partition.parts), *(f"<{iri}>" for iri in partition.properties)])


def _said(what: str, instant: Instant) -> str:
    return f"{what} {_instant(instant)}"


def _instant(instant: Instant) -> str:
    try:
        return format_instant(instant)
    except ValueError:  # outside the years 1 to 9999
        return f"{instant} ms"


_SCOPES = {
    "default": "the default graph",
    "names": "names of named graphs",
    "schema": "the schema",
}


def _statics(plan: Plan, circumstances: Circumstances) -> Iterator[str]:
    for pattern in plan.statics:
        parts = " ".join(part or "?" for part in (pattern.subject, pattern.predicate, pattern.object))
        graphs = "all named graphs" if pattern.graphs is None else ", ".join(f"<{g}>" for g in pattern.graphs)
        where = _SCOPES.get(pattern.scope, graphs)
        if pattern.way == BEYOND:
            where = f"what makes data a part of the schema with {where}"
        elif pattern.way is not None:
            where = f"what follows from triples ({pattern.way}) and the schema with {where}"
        elif pattern.regime is not Regime.NONE:
            where += f" under {pattern.regime}"
        found = circumstances.matches.get(pattern, 0)
        if pattern.way is not None and not found:
            continue  # nothing follows so: that is nothing to tell of each pattern
        told = f"{_count(found)} match{'es' * (found != 1)}, {pattern.table}" if found else "no match, left out"
        yield f"{parts} in {where}: {told}"
    for number, sql in enumerate(plan.static_joins):
        yield f"joined_{number}, computed once per change: {sql}"


def _template_line(triple: TemplateTriple, names: Mapping[str, str]) -> str:
    return f"{' '.join(_template_part(part, names) for part in triple)} ."


def _template_part(part: TemplatePart, names: Mapping[str, str]) -> str:
    if isinstance(part, str):
        return term_text(part, names)
    return triple_text(*(_template_part(within, names) for within in part))


# --- SQL -------------------------------------------------------------------------------------


def _laid_out(sql: str) -> list[str]:
    # Imported where a plan is asked for: starting a server need not wait for it.
    import sqlglot

    if len(sql) > _LONGEST_SQL:
        return [sql]
    return sqlglot.parse_one(sql, dialect="duckdb").sql("duckdb", pretty=True, normalize_functions=False).split("\n")


def _spark_sql(sql: str) -> Iterator[str]:
    """The program of Spark SQL: its intermediate tables, then the SELECT over them."""
    from spark_backend.spark_sql.translation.program import Fixpoint
    from spark_backend.spark_sql.translation.translation import translate_statement

    try:
        program = translate_statement(sql, "")
    except UnsupportedFeature as error:
        yield error.detail
        return
    for step in program.steps:
        if isinstance(step, Fixpoint):
            yield f"{step.name}, until nothing is new: {step.first}"
            yield f"  then: {step.longer}"
        else:
            yield f"{step.name}{', kept' * step.kept}: {step.sql}"
    yield program.select
