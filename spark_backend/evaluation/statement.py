"""A plan's statement for some of the queries of its shape: placeholders replaced by tables, columns and constants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from protocol.terms import comparable_facets
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.sql.interval_part import IntervalPart, Narrowing
from spark_backend.compiler.sql.tree.expressions import quote
from spark_backend.compiler.sql.tree.nodes import Placeholder, filled, named
from spark_backend.compiler.sql.tree.placeholders import (
    Alone,
    ClosureRows,
    DerivedRows,
    Instants,
    IntervalRows,
    MatchRows,
    Members,
    NewRows,
    Parameter,
    SameKey,
    ServiceRows,
    SolutionRows,
    SourceList,
    SourceRows,
    StaticRows,
    WindowRows,
)
from spark_backend.compiler.sql.values import number_of

ParameterTerms = tuple[str, ...]
"""The terms of one query's parameters."""
United = Sequence[Sequence[int]]
"""What a table unites, each of it as the numbers of the sources that are joined for it."""
JoinOrder = Callable[[Sequence[United], Collection[tuple[int, int]]], Sequence[int]]
"""In which order to join tables, their places; of some pairs of places the tables are joined by conditions."""
GivenNarrowing = tuple[Narrowing, ParameterTerms]
"""What narrows a part, and the terms of the parameters that it reads."""

_ONE_MEMBER = "(SELECT 0 AS member)"


def statement(
    plan: Plan,
    members: Sequence[ParameterTerms],
    *,
    instants: str,
    windows: Sequence[str],
    members_table: Callable[[str], str],
    new: Sequence[str] = (),
    static_joins: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    order: JoinOrder | None = None,
    keyed: Collection[tuple[int, str]] = (),
    alone: bool = False,
    intervals: Sequence[str] | None = None,
    services: Sequence[str] = (),
    closures: Sequence[str] = (),
) -> str:
    """The SQL for these queries, over tables of the instants and of the windows' contents; ``new``: of what is new in
    those of occurrences.

    ``members_table`` makes (or knows) a table of a SELECT. What is the same for all of the queries is written as
    the constant it is, so that DuckDB plans with it; the rest are columns of the members' table. ``static_joins`` are
    tables of what the plan's ``static_joins`` give; without, they are sub-selects. ``sources`` are tables of what there
    is to look at of the plan's; without, it is all there is. ``keyed``: columns of theirs, each with the number of its
    source, in which all values have keys. ``alone``: there is one query and one instant. ``services``: of what the
    plan's services gave; ``closures``: of what follows from windows' contents.
    ``intervals``: of the solutions of what the plan's ``intervals`` match; without, windows are read.
    """
    differing = differing_parameters(members)
    table = _ONE_MEMBER if len(members) == 1 else members_table(members_select(members))

    def joined(listed: SourceList) -> Sequence[tuple[Placeholder, str]]:
        """The tables of a FROM: what sources give in its order, before those of instants and members."""
        if order is None:
            return listed.tables
        first = [(rows, alias) for rows, alias in listed.tables if isinstance(rows, SourceRows | DerivedRows)]
        places = {alias: place for place, (_, alias) in enumerate(first)}
        links = {(places[one], places[other]) for one, other in listed.links if {one, other} <= places.keys()}
        in_order = order([rows.united for rows, _ in first], links)
        return [*(first[place] for place in in_order), *(one for one in listed.tables if one[1] not in places)]

    def fill(placeholder: Placeholder) -> str:
        match placeholder:
            case Instants():
                return instants
            case Members():
                return table
            case Parameter(_, number):
                return placeholder.name if number in differing else constant(placeholder, members[0])
            case WindowRows(number):
                return windows[number]
            case NewRows(number):
                return new[number]
            case ClosureRows(number):
                return closures[number]
            case ServiceRows(number):
                return services[number]
            case IntervalRows(number):
                return (intervals or ())[number]
            case StaticRows(number):
                return f"({plan.static_joins[number]})" if static_joins is None else static_joins[number]
            case SourceRows(number):
                return filled(plan.sources[number].table, fill) if sources is None else sources[number]
            case DerivedRows(derived):
                return f"({filled(derived, fill)})"
            case SourceList():
                return ", ".join(f"{fill(table)} {alias}" for table, alias in joined(placeholder))
            case Alone(clause):
                return filled(clause, fill) if alone else ""
            case SameKey(clause, columns):
                return filled(clause, fill) if all(column in keyed for column in columns) else "TRUE"
        raise AssertionError(f"of no plan's statement: {placeholder}")

    return filled(plan.sql if intervals is None or plan.intervals is None else plan.intervals.sql, fill)


def shared_narrowing(part: IntervalPart, members: Sequence[ParameterTerms]) -> frozenset[GivenNarrowing]:
    """What of a part's ``narrowing`` is the same for all of these queries."""
    differing = differing_parameters(members)
    return frozenset(
        (one, tuple(members[0][number] for number in one.parameters))
        for one in part.narrowing
        if not differing.intersection(one.parameters)
    )


def narrowed(part: IntervalPart, narrowing: Iterable[GivenNarrowing], tables: Sequence[str]) -> str:
    """The SELECT of a part's rows that all of these leave, over tables of the matches of its triple patterns."""

    def fill(placeholder: Placeholder) -> str:
        assert isinstance(placeholder, MatchRows)
        return tables[placeholder.number]

    sql = filled(part.sql, fill)
    for one, terms in narrowing:
        sql = _narrowed(sql, one, dict(zip(one.parameters, terms, strict=True)))
    return sql


def _narrowed(sql: str, narrowing: Narrowing, terms: Mapping[int, str]) -> str:
    def fill(placeholder: Placeholder) -> str:
        match placeholder:
            case SolutionRows():
                return f"({sql})"
            case Members():
                return _ONE_MEMBER
            case Parameter():
                return constant(placeholder, terms)
        raise AssertionError(f"of no narrowing: {placeholder}")

    return filled(narrowing.sql, fill)


def constant(parameter: Parameter, terms: ParameterTerms | Mapping[int, str]) -> str:
    """What a column of the members' table holds for the query with these terms, as a constant."""
    term = terms[parameter.number]
    return _number(term) if parameter.numeric else quote(term)


def reads_instants(plan: Plan) -> bool:
    """Whether the statement over ``intervals`` reads the table of the instants."""
    return plan.intervals is not None and Instants() in plan.intervals.sql


def differing_parameters(members: Sequence[ParameterTerms]) -> frozenset[int]:
    """The parameters, by their numbers, that are not the same for all of the queries."""
    return frozenset(number for number, terms in enumerate(zip(*members, strict=True)) if len(set(terms)) > 1)


def members_select(members: Sequence[ParameterTerms]) -> str:
    """The SELECT of the members' table."""
    differing = sorted(differing_parameters(members))
    names = ["member", *(name for number in differing for name in (f"c{number}", f"c{number}_n"))]
    rows = []
    for member, terms in enumerate(members):
        cells = [f"{member}::INTEGER"]
        for number in differing:
            cells += [quote(terms[number]), _number(terms[number])]
        rows.append(f"({', '.join(cells)})")
    return f"SELECT * FROM (VALUES {', '.join(rows)}) v({', '.join(names)})"


def _number(term: str) -> str:
    """The number of a term, in SQL."""
    return named(number_of(comparable_facets(term)[1]).written)
