"""Property paths of any length in SQL, from the ends that they are given (SPARQL 1.1 Query section 18.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.sql.dataset import ActiveGraph
from spark_backend.compiler.sql.patterns.closures import BEGIN, END, Starts, node_columns, paths_from
from spark_backend.compiler.sql.patterns.context import Context, PatternScope
from spark_backend.compiler.sql.patterns.joins import join
from spark_backend.compiler.sql.relation import Relation, columns_of_table, facet_type
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.tree.placeholders import Parameter
from spark_backend.compiler.sql.tree.statements import Subselect, Table, TableName, common
from spark_backend.compiler.sql.values import columns_of, constant


def compile_path(context: Context, pattern: a.Closure, scope: PatternScope) -> Relation:
    """The solutions of a path, from the end that is given, or else from everywhere."""
    substituted = frozenset() if scope.outer is None else scope.outer.certain
    free = frozenset(pattern.variables) - substituted
    backwards = pattern.subject in free and pattern.object not in free
    start = pattern.object if backwards else pattern.subject
    starts = _starts(context, pattern, start, scope, known=start not in free)
    found = _paths(context, pattern, scope, starts, backwards=backwards)
    if scope.outer is None and scope.graph.column is None and not isinstance(start, a.Variable):
        (table,) = found.tables
        assert isinstance(table, Table)
        ends = dict.fromkeys(pattern.variables, END)
        source = context.dataset.computed(pattern, scope.graph, table.source, ends, at_instants=True)
        found = replace(found, tables=(replace(table, source=source),))
    return _between(context, pattern, found, free, backwards=backwards)


def follow_path(context: Context, pattern: a.PathJoin, scope: PatternScope) -> Relation:
    """The join of a pattern and a path, the path from what the pattern binds its start to, each node once."""
    names, path = context.names, pattern.path
    if scope.outer is not None or (isinstance(path, a.Graph) and scope.keys != ("instant",)):
        return context.compile(a.Join(pattern.pattern, path), scope)
    within = scope
    closure: a.Pattern = path
    if isinstance(path, a.Graph):
        assert isinstance(path.name, a.Constant)
        within, closure = PatternScope(ActiveGraph(iri=path.name.text[1:-1])), path.pattern
    assert isinstance(closure, a.Closure)
    inner = context.compile(pattern.pattern, scope)
    table, alias = names.fresh("w"), names.fresh("q")
    columns = columns_of_table(table, inner.columns)
    left = Relation(columns, (Table(TableName(table)),), inner.variables, inner.certain)
    if _has_node(pattern.pattern, pattern.start, path.name if isinstance(path, a.Graph) else None):
        closure = replace(closure, nodes=None)
    starts = _nodes_of(context, left, pattern.start, closure, within)
    backwards = closure.subject != pattern.start
    paths = _paths(context, closure, within, starts, backwards=backwards)
    right = _between(context, closure, paths, frozenset(closure.variables), backwards=backwards)
    joined = join(left, right, scope.keys, names)
    told = columns_of_table(alias, joined.columns)
    found = Subselect(common(table, inner.select, joined.select))
    return Relation(told, (Table(found, alias),), joined.variables, joined.certain)


def _has_node(pattern: a.Pattern, node: a.Variable, graph: a.Constant | a.Variable | None) -> bool:
    """Whether a pattern binds a variable to nodes of a graph alone; of the one it is matched in where none is named."""
    match pattern:
        case a.BGP(triples):
            return graph is None and any(node in (triple.subject, triple.object) for triple in triples)
        case a.Graph(name, inner):
            return name == graph and _has_node(inner, node, None)
        case a.Join(left, right):
            return _has_node(left, node, graph) or _has_node(right, node, graph)
        case a.Project(inner, variables) if node in variables:
            return _has_node(inner, node, graph)
        case a.PathJoin(inner) | a.Filter(inner) | a.Distinct(inner):
            return _has_node(inner, node, graph)
    return False


def _nodes_of(context: Context, relation: Relation, start: a.Variable, path: a.Closure, scope: PatternScope) -> Starts:
    """What a relation binds a variable to; where paths may be of length zero, if it is a node of the active graph."""
    names, keys = context.names, scope.leaf.keys
    node = _with_facets([relation.columns[name] for name in names.columns(start)])
    columns = {key: relation.columns[key] for key in keys}
    for place in (BEGIN, END):
        columns |= zip(node_columns(place, path.source, names), node, strict=False)
    tables, conditions = relation.tables, relation.conditions
    if path.nodes is not None:
        nodes = context.compile(path.nodes, scope.leaf).within(names.fresh("q"))
        tables = (*tables, *nodes.tables)
        conditions = (*conditions, sql.equal(nodes.columns[names.column(path.source)], node[0]))
        conditions = (*conditions, *(sql.equal(nodes.columns[key], relation.columns[key]) for key in keys))
    return Starts(Relation(columns, tables, conditions=conditions), everywhere=False)


def _paths(
    context: Context, pattern: a.Closure, scope: PatternScope, starts: Starts | None, *, backwards: bool
) -> Relation:
    """The paths from some nodes, in the columns BEGIN and END."""
    step = context.compile(pattern.step, scope.leaf)
    return paths_from(starts, pattern, step, scope.leaf.keys, context.names, backwards=backwards)


def _between(
    context: Context, pattern: a.Closure, found: Relation, free: frozenset[a.Variable], *, backwards: bool
) -> Relation:
    """Paths between the ends that are given, as solutions for the ``free`` variables at their ends."""
    names = context.names
    start, end = (pattern.object, pattern.subject) if backwards else (pattern.subject, pattern.object)
    if isinstance(end, a.Constant):
        found = found.where(sql.equal(found.columns[END], sql.Text(end.text)))
    elif isinstance(end, a.Parameter):
        found, members = context.members(found)
        found = found.where(sql.equal(found.columns[END], Parameter(members, end.number)))
    elif end == start and start in free:
        found = found.where(sql.equal(found.columns[BEGIN], found.columns[END]))
    ends = {
        part: node
        for part, node in ((start, BEGIN), (end, END))
        if isinstance(part, a.Variable) and (node == END or part in free)
    }
    kept = {name: column for name, column in found.columns.items() if not name.startswith((BEGIN, END))}
    for part, node in ends.items():
        listed = node_columns(node, part, names)
        kept |= zip(names.columns(part), (found.columns[name] for name in listed), strict=True)
    return replace(found, columns=kept, variables=tuple(ends), certain=frozenset(ends))


def _starts(
    context: Context, pattern: a.Closure, start: a.PathEnd, scope: PatternScope, *, known: bool
) -> Starts | None:
    """The nodes that paths begin at; None where they begin at all nodes that a step goes from."""
    names = context.names
    ends = node_columns(END, pattern.source, names)
    if not known:
        if pattern.nodes is None:
            return None
        nodes = context.compile(pattern.nodes, scope.leaf).within(names.fresh("q"))
        node = [nodes.columns[name] for name in names.columns(pattern.source)]
        begins = node_columns(BEGIN, pattern.source, names)
        kept = {key: nodes.columns[key] for key in scope.leaf.keys}
        columns = {**kept, **dict(zip((*begins, *ends), (*node, *node), strict=True))}
        return Starts(replace(nodes, columns=columns), everywhere=True)
    if not isinstance(start, a.Variable):
        return Starts(_constant_node(context, start, ends, scope.leaf))
    assert scope.outer is not None
    outer = scope.outer.seeing((start,)).with_solutions(context.unit(scope.leaf), names)
    values = _with_facets([outer.columns[name] for name in names.columns(start)])
    kept = {name: column for name, column in outer.columns.items() if name not in names.columns(start)}
    return Starts(replace(outer, columns={**kept, **dict(zip(ends, values, strict=False))}))


def _with_facets(columns: Sequence[Expression]) -> list[Expression]:
    """A term's columns, its facets made where they are not at hand: a path's other nodes may need theirs."""
    term, *known = columns
    return [term, *(known or (sql.call("facet_k", term), sql.call("facet_n", term)))]


def _constant_node(
    context: Context, node: a.Constant | a.Parameter, columns: Sequence[str], scope: PatternScope
) -> Relation:
    """The node for each key, also where it is not in the graph (18.4, ZeroLengthPath)."""
    relation = context.unit(scope)
    if isinstance(node, a.Parameter):
        relation, members = context.members(relation)
        value = [Parameter(members, node.number), sql.number(node.kind), Parameter(members, node.number, numeric=True)]
    else:
        value = columns_of(constant(node.text))
    typed = {
        name: sql.Cast(sql.Parentheses(part), facet_type(name)) for name, part in zip(columns, value, strict=False)
    }
    return replace(relation, columns={**relation.columns, **typed})
