"""Joins of relations give what SPARQL's operators give of multisets of solution mappings, as they are defined.

The oracle is section 18.5 of SPARQL 1.1 Query, by comparing every solution with every other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.language.algebra import Variable
from protocol.terms import facets
from spark_backend.compiler.sql.patterns.joins import (
    MOST_TABLES,
    join,
    join_across_keys,
    left_join,
    minus,
    semi_join,
    union,
)
from spark_backend.compiler.sql.relation import MEMBER, Columns, Names, Relation, facet_type
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Cast, Column, RowNumber, Text
from spark_backend.compiler.sql.tree.nodes import Expression, named
from spark_backend.compiler.sql.tree.statements import InlineRows, Select, Subselect, Table

X, Y, Z = VARIABLES = Variable("x"), Variable("y"), Variable("z")
TERMS = ('"1"^^<http://www.w3.org/2001/XMLSchema#integer>', "<http://ex/a>", '"a"')
KEYS = ("instant",)

Mapped = dict[Variable, str]
Solution = tuple[tuple[int, ...], Mapped]
"""The values of the keys, and the terms of the variables that are bound."""


@dataclass(frozen=True)
class Side:
    """An operand: its variables, the ones known to be bound, and its solutions."""

    variables: tuple[Variable, ...]
    certain: frozenset[Variable]
    solutions: list[Solution]
    keys: tuple[str, ...] = KEYS


@st.composite
def sides(draw: st.DrawFn, variables: tuple[Variable, ...], keys: tuple[str, ...] = KEYS) -> Side:
    certain = draw(st.frozensets(st.sampled_from(variables)))
    terms = {variable: st.sampled_from(TERMS) for variable in variables}
    bound = st.fixed_dictionaries(
        {variable: terms[variable] for variable in variables if variable in certain},
        optional={variable: terms[variable] for variable in variables if variable not in certain},
    )
    values = st.tuples(*[st.integers(0, 1)] * len(keys))
    return Side(variables, certain, draw(st.lists(st.tuples(values, bound), max_size=6)), keys)


@pytest.fixture(scope="module", name="connection")
def a_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as made:
        yield made


@pytest.fixture(params=[frozenset(), frozenset({Y})], ids=["no facets", "facets"], scope="module")
def faceted(request: pytest.FixtureRequest) -> frozenset[Variable]:
    found: frozenset[Variable] = request.param
    return found


def relation_of(side: Side, names: Names) -> Relation:
    alias, columns = names.fresh("t"), [*side.keys, *names.all_columns(side.variables)]
    rows = [
        (*map(sql.number, key), *(cell for variable in side.variables for cell in cells(names, variable, mapping)))
        for key, mapping in side.solutions
    ]
    nothing = (sql.number(0), *(sql.NULL,) * (len(columns) - 1))
    placed = {name: Column(name, alias) for name in columns}
    return Relation(
        {name: column if name in side.keys else Cast(column, facet_type(name)) for name, column in placed.items()},
        (Table(InlineRows(tuple(rows or [nothing])), alias, tuple(columns)),),
        side.variables,
        side.certain,
        () if rows else (sql.FALSE,),
    )


def cells(names: Names, variable: Variable, mapping: Mapped) -> Iterator[Expression]:
    """A variable's columns in a row."""
    term = mapping.get(variable)
    yield sql.NULL if term is None else Text(term)
    if variable in names.faceted:
        kind, number = (None, None) if term is None else facets(term)
        yield sql.NULL if kind is None else sql.number(kind)
        yield sql.NULL if number is None else sql.Constant(str(number))


def solutions_of(
    connection: duckdb.DuckDBPyConnection, relation: Relation, names: Names, keys: Sequence[str] = KEYS
) -> Counter[object]:
    """The solutions that DuckDB gives, each with how often it is there; a term's facets are checked on the way."""
    cursor = connection.execute(named(relation.select.written))
    columns = [column[0] for column in cursor.description]
    found: Counter[object] = Counter()
    for row in cursor.fetchall():
        by_name = dict(zip(columns, row, strict=True))
        mapping = {}
        for variable in relation.variables:
            term, *facet = (by_name[name] for name in names.columns(variable))
            if term is not None:
                mapping[variable] = term
            assert facet == ([] if not facet else [None, None] if term is None else list(facets(term)))
        found[told((tuple(by_name[key] for key in keys), mapping))] += 1
    return found


def told(solution: Solution) -> object:
    key, mapping = solution
    return key, frozenset(mapping.items())


def counted(solutions: Sequence[Solution]) -> Counter[object]:
    return Counter(map(told, solutions))


def compatible(one: Mapped, other: Mapped) -> bool:
    return all(one[variable] == other[variable] for variable in one.keys() & other.keys())


def merges(left: Side, right: Side) -> list[Solution]:
    return [
        (key, {**other, **one})
        for key, one in left.solutions
        for other_key, other in right.solutions
        if key == other_key and compatible(one, other)
    ]


@settings(max_examples=60, deadline=None)
@given(left=sides((X, Y)), right=sides((Y, Z)))
def test_a_join_has_the_merges_of_compatible_solutions(
    connection: duckdb.DuckDBPyConnection, faceted: frozenset[Variable], left: Side, right: Side
) -> None:
    names = Names(faceted)
    joined = join(relation_of(left, names), relation_of(right, names), KEYS, names)
    assert solutions_of(connection, joined, names) == counted(merges(left, right))
    assert all(variable in mapping for _, mapping in merges(left, right) for variable in joined.certain)


@settings(max_examples=60, deadline=None)
@given(left=sides((X, Y)), right=sides((Y, Z)), term=st.sampled_from(TERMS) | st.none())
def test_a_left_join_has_the_merges_that_pass_and_the_solutions_without_any(
    connection: duckdb.DuckDBPyConnection, faceted: frozenset[Variable], left: Side, right: Side, term: str | None
) -> None:
    names = Names(faceted)

    def passes(columns: Columns) -> Expression:
        return sql.equal(columns[names.column(Z)], Text(term or ""))

    relation = left_join(
        relation_of(left, names), relation_of(right, names), None if term is None else passes, KEYS, names
    )
    expected: list[Solution] = []
    for key, one in left.solutions:
        found = merges(replace(left, solutions=[(key, one)]), right)
        expected += [(at, merge) for at, merge in found if term is None or merge.get(Z) == term] or [(key, one)]
    assert solutions_of(connection, relation, names) == counted(expected)
    assert relation.certain == left.certain


@settings(max_examples=80, deadline=None)
@given(left=sides((X, Y)), right=sides((X, Y, Z)), substituted=st.frozensets(st.sampled_from((X, Y))))
def test_minus_takes_away_what_is_compatible_and_shares_a_variable(
    connection: duckdb.DuckDBPyConnection,
    faceted: frozenset[Variable],
    left: Side,
    right: Side,
    substituted: frozenset[Variable],
) -> None:
    names = Names(faceted)
    relation = minus(relation_of(left, names), relation_of(right, names), KEYS, names, substituted)
    expected = [
        (key, one)
        for key, one in left.solutions
        if not any(
            key == other_key and compatible(one, other) and (one.keys() & other.keys()) - substituted
            for other_key, other in right.solutions
        )
    ]
    assert solutions_of(connection, relation, names) == counted(expected)


@settings(max_examples=60, deadline=None)
@given(left=sides((X, Y)), right=sides((Y, Z)), there=st.lists(st.booleans(), min_size=6, max_size=6))
def test_minus_knows_row_by_row_what_stands_for_a_term(
    connection: duckdb.DuckDBPyConnection, left: Side, right: Side, there: list[bool]
) -> None:
    names = Names(frozenset())
    rows = there[: len(left.solutions)]
    unknown = sql.null("BOOLEAN")
    values = InlineRows(tuple((sql.TRUE if known else unknown,) for known in rows) or ((unknown,),))
    plain = relation_of(left, names)
    placed = Select((("b", Column("b")), ("place", RowNumber())), (Table(values, "v", ("b",)),))
    numbered = replace(plain, columns={**plain.columns, "place": RowNumber()}).within("n")
    told_of = replace(
        numbered,
        columns={**{name: numbered.columns[name] for name in plain.columns}, "b": Column("b", "o")},
        tables=(*numbered.tables, Table(Subselect(placed), "o")),
        conditions=(sql.equal(Column("place", "n"), Column("place", "o")),),
    )
    relation = minus(told_of, relation_of(right, names), KEYS, names, frozenset(), {Y: "b"})
    expected = [
        (key, one)
        for (key, one), known in zip(left.solutions, there, strict=False)
        if known
        or not any(
            key == other_key and compatible(one, other) and one.keys() & other.keys()
            for other_key, other in right.solutions
        )
    ]
    assert solutions_of(connection, relation, names) == counted(expected)


@settings(max_examples=60, deadline=None)
@given(left=sides((X, Y)), right=sides((Y, Z)), exist=st.booleans())
def test_a_semi_join_keeps_each_solution_that_some_other_is_compatible_with(
    connection: duckdb.DuckDBPyConnection, faceted: frozenset[Variable], left: Side, right: Side, exist: bool
) -> None:
    names = Names(faceted)
    relation = semi_join(relation_of(left, names), relation_of(right, names), KEYS, names, exist=exist)
    expected = [
        (key, one)
        for key, one in left.solutions
        if exist is any(key == other_key and compatible(one, other) for other_key, other in right.solutions)
    ]
    assert solutions_of(connection, relation, names) == counted(expected)


@settings(max_examples=60, deadline=None)
@given(operands=st.lists(st.sampled_from([(X,), (X, Y), (Y, Z)]).flatmap(sides), min_size=1, max_size=4))
def test_a_union_has_the_solutions_of_all(
    connection: duckdb.DuckDBPyConnection, faceted: frozenset[Variable], operands: list[Side]
) -> None:
    names = Names(faceted)
    relation = union([relation_of(side, names) for side in operands], KEYS, names)
    expected = [solution for side in operands for solution in side.solutions]
    assert solutions_of(connection, relation, names) == counted(expected)
    assert relation.certain == frozenset.intersection(*(side.certain for side in operands))


@settings(max_examples=60, deadline=None)
@given(outer=sides((X, Y), ("instant", "row")), inner=sides((Y, Z)))
def test_what_is_joined_across_keys_has_those_of_both(
    connection: duckdb.DuckDBPyConnection, faceted: frozenset[Variable], outer: Side, inner: Side
) -> None:
    names = Names(faceted)
    relation = join_across_keys(relation_of(outer, names), relation_of(inner, names), names)
    expected = [
        (key, {**other, **one})
        for key, one in outer.solutions
        for (instant,), other in inner.solutions
        if key[0] == instant and compatible(one, other)
    ]
    assert solutions_of(connection, relation, names, ("instant", "row")) == counted(expected)


Join = Callable[[Relation, Relation, tuple[str, ...], Names], Relation]


@pytest.mark.parametrize("which", ["left", "right", "both"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_queries_evaluated_together_are_joined_each_with_its_own(
    connection: duckdb.DuckDBPyConnection, which: str, data: st.DataObject
) -> None:
    names = Names(frozenset())
    keys = {side: ("instant", MEMBER) if which in (side, "both") else KEYS for side in ("left", "right")}
    left, right = data.draw(sides((X, Y), keys["left"])), data.draw(sides((Y, Z), keys["right"]))
    relation = join(relation_of(left, names), relation_of(right, names), KEYS, names)
    expected: list[Solution] = []
    for key, one in left.solutions:
        for other_key, other in right.solutions:
            # A solution without a member is one of every member's.
            if all(mine == its for mine, its in zip(key, other_key, strict=False)) and compatible(one, other):
                expected.append((max(key, other_key, key=len), {**other, **one}))
    assert solutions_of(connection, relation, names, ("instant", MEMBER)) == counted(expected)


def test_many_tables_are_joined_a_few_at_a_time(connection: duckdb.DuckDBPyConnection) -> None:
    names = Names(frozenset())
    side = Side((X,), frozenset({X}), [((0,), {X: TERMS[0]}), ((1,), {X: TERMS[1]})])
    relation = relation_of(side, names)
    for _ in range(2 * MOST_TABLES):
        relation = join(relation, relation_of(side, names), KEYS, names)
        assert len(relation.tables) <= MOST_TABLES
    assert solutions_of(connection, relation, names) == counted(side.solutions)
