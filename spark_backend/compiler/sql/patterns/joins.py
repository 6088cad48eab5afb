"""Join, LeftJoin, Minus and Union in SQL (SPARQL 1.1 Query section 18.5): compatible solution mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.algebra import Variable
from spark_backend.compiler.sql.relation import MEMBER, Columns, Names, Relation, columns_of_table, unbound_column
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Cast, Column, Parentheses
from spark_backend.compiler.sql.tree.nodes import Expression, Word
from spark_backend.compiler.sql.tree.placeholders import SameKey, SourceRows
from spark_backend.compiler.sql.tree.statements import Compound, FromItem, Joined, Subselect, Table
from spark_backend.compiler.sql.values import value_key

MOST_TABLES = 16
"""Tables that are joined in one SELECT: planning time grows with the cube of their number."""

Condition = Callable[[Columns], Expression]
"""A condition on merged solutions, given what each column of theirs is."""


def join(left: Relation, right: Relation, keys: tuple[str, ...], names: Names) -> Relation:
    """Join(l, r): the merges of all compatible pairs. ``keys`` are the scope's, here and below."""
    if set(left.variables).isdisjoint(right.variables):  # there are more pairs than solutions
        left, right = _computed(left, names), _computed(right, names)
    left, right = _with_one_optional(names.open(left), names.open(right), names)
    if len(left.tables) + len(right.tables) > MOST_TABLES:
        left = left.within(names.fresh("q"), materialised=True)
    return Relation(
        _merge(left, right, keys, names),
        _tables(left, right),
        _variables(left, right),
        left.certain | right.certain,
        (*left.conditions, *right.conditions, *_compatibility(left, right, keys, names)),
        optional=left.optional or right.optional,
    )


def _computed(relation: Relation, names: Names) -> Relation:
    """The relation with what is computed in columns of a SELECT."""
    return relation if all(map(_is_plain, relation.columns.values())) else relation.within(names.fresh("q"))


def _is_plain(column: Expression) -> bool:
    match column:
        case Cast(Parentheses(inner)) | Cast(inner):
            return _is_plain(inner)
    return isinstance(column, Word)


def left_join(
    left: Relation, right: Relation, condition: Condition | None, keys: tuple[str, ...], names: Names
) -> Relation:
    """LeftJoin(l, r, condition): the merges that pass, and the solutions of l without any.

    Here and in ``minus``, l has the key MEMBER if r has it.
    """
    left, right = left.within(names.fresh("q")), right.within(names.fresh("q"))
    columns = _merge(left, right, keys, names)
    on = _compatibility(left, right, keys, names)
    if condition is not None:
        on.append(sql.Parentheses(condition(columns)))
    table = beside(left, "LEFT", right, on)
    return Relation(columns, (table,), _variables(left, right), left.certain, optional=True)


def minus(
    left: Relation,
    right: Relation,
    keys: tuple[str, ...],
    names: Names,
    substituted: frozenset[Variable] = frozenset(),
    substituted_if: Mapping[Variable, str] | None = None,
) -> Relation:
    """Minus(l, r): the solutions of l that no solution of r is compatible with and shares a variable with.

    ``substituted`` variables stand for terms (18.6, substitute): they are not shared. Those of ``substituted_if`` do
    where a column of l, theirs, is not NULL.
    """
    if substituted_if is None:
        substituted_if = {}
    shared = [variable for variable in left.variables if variable in right.variables and variable not in substituted]
    if not shared:  # disjoint domains: nothing is removed (8.3.3)
        return left
    left, right = left.within(names.fresh("q")), right.within(names.fresh("q"))
    on = _compatibility(left, right, keys, names)
    certain = left.certain & right.certain - set(substituted_if)
    if not certain.intersection(shared):
        together = []
        for variable in shared:
            column = names.column(variable)
            bound: list[Expression] = [sql.IsBound(left.columns[column]), sql.IsBound(right.columns[column])]
            if variable in substituted_if:
                bound.append(sql.IsNull(left.columns[substituted_if[variable]]))
            together.append(sql.Parentheses(sql.every(bound)))
        on.append(sql.Parentheses(sql.some(together)))
    return replace(left, tables=(beside(left, "ANTI", right, on),))


def semi_join(left: Relation, right: Relation, keys: tuple[str, ...], names: Names, *, exist: bool) -> Relation:
    """The solutions of l that some solution of r is compatible with; unless ``exist``, an anti join: that none is."""
    left, right = left.within(names.fresh("q")), right.within(names.fresh("q"))
    kind = "SEMI" if exist else "ANTI"
    return replace(left, tables=(beside(left, kind, right, _compatibility(left, right, keys, names)),))


def beside(left: Relation, kind: str, right: Relation, on: Sequence[Expression]) -> Joined:
    """The one table of each of two relations, joined."""
    (of_left,), (of_right,) = left.tables, right.tables
    assert isinstance(of_right, Table)
    return Joined(of_left, kind, of_right, tuple(on))


def join_across_keys(outer: Relation, inner: Relation, names: Names) -> Relation:
    """Join(i, o), where the keys of either need not be those of the other: it has those of both."""
    outer, inner = _with_one_optional(names.open(outer), names.open(inner), names)
    if len(outer.tables) + len(inner.tables) > MOST_TABLES:
        inner = inner.within(names.fresh("q"))
    of_variables = {*names.all_columns(inner.variables), *names.all_columns(outer.variables)}
    keys = {name: column for name, column in inner.columns.items() if name not in of_variables}
    keys |= {name: column for name, column in outer.columns.items() if name not in of_variables}
    shared = tuple(key for key in keys if key in inner.columns and key in outer.columns and key != MEMBER)
    return Relation(
        {**_merge(outer, inner, shared, names), **keys},
        _tables(outer, inner),
        _variables(outer, inner),
        outer.certain | inner.certain,
        (*outer.conditions, *inner.conditions, *_compatibility(outer, inner, shared, names)),
        optional=outer.optional or inner.optional,
    )


def same_key(relation: Relation, condition: a.Expression, names: Names) -> SameKey | None:
    """What can be joined on where ``?v = ?w`` is asked of a join of sources: by its CASE nothing can."""
    match condition:
        case a.Call("=", (a.Variable() as one, a.Variable() as other)) if {
            one,
            other,
        } <= relation.certain and not relation.closed:
            sources = {
                table.alias: table.source.number
                for table in relation.tables
                if isinstance(table, Table) and isinstance(table.source, SourceRows)
            }
            values = [[relation.columns[name] for name in names.columns(variable)] for variable in (one, other)]
            match [value[0] for value in values]:
                case [Column(left, str(first)), Column(right, str(second))] if {first, second} <= sources.keys():
                    clause = sql.equal(*(value_key(*value) for value in values)).written
                    return SameKey(clause, ((sources[first], left), (sources[second], right)), (first, second))
    return None


def union(parts: list[Relation], keys: tuple[str, ...], names: Names) -> Relation:
    """Union of any number of patterns; variables that one of them does not have are unbound in its solutions.

    Either all of them have the key MEMBER, or none.
    """
    variables = tuple(dict.fromkeys(variable for part in parts for variable in part.variables))
    listed = [*parts[0].keys(keys), *names.all_columns(variables)]
    selects = []
    for part in parts:
        if part.distinct:
            part = part.within(names.fresh("q"))
        columns = {column: part.columns.get(column, unbound_column(column)) for column in listed}
        selects.append(replace(part, columns=columns, ranked=False, order=()).select)
    alias = names.fresh("q")
    return Relation(
        columns_of_table(alias, listed),
        (Table(Subselect(Compound("UNION ALL", tuple(selects))), alias),),
        variables,
        frozenset.intersection(*(part.certain for part in parts)),
    )


def _with_one_optional(left: Relation, right: Relation, names: Names) -> tuple[Relation, Relation]:
    """Two relations to be joined, of which at most one has a LEFT JOIN beside its tables; see ``_tables``."""
    if left.optional and right.optional:
        right = right.within(names.fresh("q"), materialised=True)
    return left, right


def _tables(left: Relation, right: Relation) -> tuple[FromItem, ...]:
    """The tables of both, that with a LEFT JOIN first.

    From 2.0.0 on DuckDB's optimizer ``join_order`` has LEFT JOINs in its join graph, and may join a table that is
    written before one to its right side alone: where that gives NULL, so is the table, and the row is lost. A LEFT
    JOIN that is written first keeps its rows, and what is materialised is planned by itself.
    """
    return (*right.tables, *left.tables) if right.optional else (*left.tables, *right.tables)


def _compatibility(left: Relation, right: Relation, keys: tuple[str, ...], names: Names) -> list[Expression]:
    """Conditions under which solutions are compatible (18.3); plain equality where both are bound."""
    shared = keys if MEMBER not in left.columns else right.keys(keys)
    conditions: list[Expression] = [sql.equal(right.columns[key], left.columns[key]) for key in shared]
    for variable in left.variables:
        if variable not in right.variables:
            continue
        one, other = left.columns[names.column(variable)], right.columns[names.column(variable)]
        same = sql.equal(other, one)
        unbound = [
            sql.IsNull(side) for side, relation in ((one, left), (other, right)) if variable not in relation.certain
        ]
        conditions.append(sql.Parentheses(sql.some([same, *unbound])) if unbound else same)
    return conditions


def _merge(left: Relation, right: Relation, keys: tuple[str, ...], names: Names) -> dict[str, Expression]:
    """The columns of merge(l, r): where a variable may be unbound on one side, the other's."""
    columns = {key: left.columns[key] for key in keys}
    if MEMBER in left.columns or MEMBER in right.columns:
        columns[MEMBER] = left.columns.get(MEMBER) or right.columns[MEMBER]
    for variable in _variables(left, right):
        for column in names.columns(variable):
            if variable not in right.variables or variable in left.certain:
                columns[column] = left.columns[column]
            elif variable not in left.variables:
                columns[column] = right.columns[column]
            else:  # compatible terms are the same term, with the same facets
                columns[column] = sql.call("COALESCE", left.columns[column], right.columns[column])
    return columns


def _variables(left: Relation, right: Relation) -> tuple[Variable, ...]:
    return tuple(dict.fromkeys((*left.variables, *right.variables)))
