"""``GRAPH`` and ``WINDOW`` in SQL: another active graph, or each of several (SPARQL 1.1 Query section 18.6)."""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from protocol.terms import TermKind
from spark_backend.compiler.sql.dataset import ActiveGraph
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.joins import join
from spark_backend.compiler.sql.relation import Relation
from spark_backend.compiler.sql.tree import expressions as sql


def compile_graph(
    context: Context, name: a.Variable | a.Constant, inner: a.Pattern, windows_only: bool, scope: PatternScope
) -> Relation:
    if isinstance(name, a.Constant):
        active = ActiveGraph(iri=name.text[1:-1])
        if scope.outer is not None:
            return _if_there(context, context.compile(inner, replace(scope, graph=active)), name, inner)
        relation = _if_there(context, context.compile(inner, PatternScope(active)), name, inner)
        # Inside GRAPH ?g another graph is active: its solutions go with every graph that ?g ranges over.
        return relation if scope.keys == ("instant",) else _for_each_key(context, relation, scope)
    column = context.names.fresh("g")
    keys = ("instant",) if scope.outer is None else scope.keys
    ranging = PatternScope(ActiveGraph(column=column, windows_only=windows_only), (*keys, column), scope.outer)
    unit = context.unit(ranging)
    target = context.names.column(name)
    facet_columns = {f"{target}_k": sql.Cast(sql.number(TermKind.IRI), "UTINYINT"), f"{target}_n": sql.null("DOUBLE")}
    named = replace(
        unit,
        columns={
            **unit.columns,
            target: unit.columns[column],
            **(facet_columns if name in context.names.faceted else {}),
        },
        variables=(name,),
        certain=frozenset({name}),
    )
    relation = context.compile(inner, ranging)
    if name in relation.variables:  # Join(pattern, {?g -> graph}) (18.6)
        relation = join(relation, named, ranging.keys, context.names)
    else:
        if relation.distinct:
            relation = relation.within(context.names.fresh("q"))
        columns = {**relation.columns, target: relation.columns[column]}
        if name in context.names.faceted:
            columns |= facet_columns
        relation = replace(
            relation,
            columns=columns,
            variables=(*relation.variables, name),
            certain=relation.certain | {name},
        )
    listed = [*relation.keys(keys), *context.names.all_columns(relation.variables)]
    relation = replace(relation, columns={key: relation.columns[key] for key in listed}, ranked=False, order=())
    return relation if scope.keys == keys else _for_each_key(context, relation, scope)


def _if_there(context: Context, relation: Relation, name: a.Constant, inner: a.Pattern) -> Relation:
    """Nothing is in a graph that the dataset does not have (18.6), not even the solution of the empty pattern."""
    there = sql.TRUE if a.needs_a_triple(inner) else context.dataset.has_graph(name.text[1:-1])
    return relation if there == sql.TRUE else context.names.open(relation).where(there)


def _for_each_key(context: Context, relation: Relation, scope: PatternScope) -> Relation:
    relation, unit = context.names.open(relation), context.unit(scope)
    columns = {**{k: v for k, v in relation.columns.items() if k != "instant"}, **unit.columns}
    condition = sql.equal(relation.columns["instant"], unit.columns["instant"])
    return replace(
        relation,
        columns=columns,
        tables=(*relation.tables, *unit.tables),
        conditions=(*relation.conditions, condition),
    )
