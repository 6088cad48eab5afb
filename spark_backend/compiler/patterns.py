"""Graph patterns in SQL, operator by operator (SPARQL 1.1 Query sections 18.5 and 18.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from protocol.errors import UnsupportedFeature
from protocol.terms import TermKind, facets
from spark_backend.compiler import algebra as a
from spark_backend.compiler import modifiers
from spark_backend.compiler.closures import BEGIN, END, node_columns, paths_from
from spark_backend.compiler.dataset import DEFAULT_GRAPH, ActiveGraph, QueryDataset
from spark_backend.compiler.draws import with_draws
from spark_backend.compiler.expressions import ExpressionCompiler, Prelude, computed, parameter_columns, value_of
from spark_backend.compiler.grouping import group
from spark_backend.compiler.joins import MOST_TABLES, Condition, existing, join, left_join, minus, union
from spark_backend.compiler.marks import joins_alike
from spark_backend.compiler.outer import Outer
from spark_backend.compiler.relation import MEMBER, Names, Relation, facet_type, quoted, unbound_column
from spark_backend.compiler.unfinished import UnfinishedSums
from spark_backend.compiler.values import Value, constant, number_sql, of_truth


@dataclass(frozen=True)
class Scope:
    """Where a pattern is evaluated: its active graph, the key columns its relation carries, what EXISTS is asked of."""

    graph: ActiveGraph = DEFAULT_GRAPH
    keys: tuple[str, ...] = ("instant",)
    outer: Outer | None = None

    @property
    def leaf(self) -> Scope:
        """The scope of a pattern that is matched in the active graph, and nothing else."""
        return Scope(self.graph, ("instant",) if self.graph.column is None else ("instant", self.graph.column))


@dataclass(frozen=True)
class PatternCompiler:
    """Compiles a pattern to a Relation.

    ``unfinished`` sums are left in parts (see ``CompiledAggregate.sum_parts``).
    """

    dataset: QueryDataset
    names: Names
    prelude: Prelude
    unfinished: UnfinishedSums = field(default_factory=UnfinishedSums)

    def compile(self, pattern: a.Pattern, scope: Scope) -> Relation:
        """The relation of a pattern in a scope."""
        keys, names = scope.keys, self.names
        match pattern:
            case a.BGP(triples):
                return self._inside(self._bgp(triples, scope.leaf), scope)
            case a.Closure():
                return self._inside(self._closure(pattern, scope), scope)
            case a.Join(left, right):
                return join(self.compile(left, scope), self.compile(right, scope), keys, names)
            case a.LeftJoin() if pattern.asked:
                return self._asking_join(pattern, scope)
            case a.LeftJoin(left, right, condition):
                one, other = self._alike(self.compile(left, scope), self.compile(right, scope))
                return left_join(one, other, self._condition(condition, one, other), keys, names)
            case a.Union():
                return union(self._alike(*(self.compile(part, scope) for part in _alternatives(pattern))), keys, names)
            case a.Minus(left, right):
                one, other = self._alike(self.compile(left, scope), self.compile(right, scope))
                return minus(one, other, keys, names, self._substituted(pattern, scope))
            case a.Filter(inner, condition):
                return self._filtered(inner, conjuncts(condition), scope)
            case a.Marked(inner, variable, exists):
                return self._marked(self.compile(inner, scope), variable, exists, scope)
            case a.Drawn(inner, variable, identity):
                assert identity is not None, "lifted"
                relation, members = self._members(self.compile(inner, scope))
                drawn_from = f"{members}.{self.dataset.parameter(parameter_columns(identity)[0])}"
                return with_draws(relation, variable, drawn_from, ("instant", MEMBER), keys[1:], names)
            case a.Extend(inner, variable, expression):
                return self._extend(self.compile(inner, scope), variable, expression)
            case a.Graph(name, inner, windows_only):
                return self._graph(name, inner, windows_only, scope)
            case a.Values(variables, rows):
                return self._inside(self._values(variables, rows, scope.leaf), scope)
            case a.Group(inner):
                relation, unit = self.compile(inner, scope), self._unit(scope)
                if MEMBER in relation.columns:
                    unit = self.of_members(unit).within(names.fresh("q"))
                return group(pattern, relation, unit, names, self.prelude, self.unfinished.of(pattern))
            case a.OrderBy(inner, conditions):
                return modifiers.order_by(self.compile(inner, scope), conditions, keys, names, self.prelude)
            case a.Project(inner, variables):
                if scope.outer is not None:
                    scope = replace(scope, outer=scope.outer.seeing(variables))
                return modifiers.project(self.compile(inner, scope), variables, keys, names)
            case a.Distinct(inner):
                return modifiers.distinct(self.compile(inner, scope), keys, names)
            case a.Slice(inner, offset, limit):
                return modifiers.cut(self.compile(inner, scope), offset, limit, keys, names)

    def of_members(self, relation: Relation) -> Relation:
        """The relation with the key MEMBER: as it is for each of the queries that are evaluated together."""
        return relation if MEMBER in relation.columns else self._members(relation)[0]

    def _alike(self, *relations: Relation) -> list[Relation]:
        """The relations, all of them with the key MEMBER if one has it."""
        if any(MEMBER in relation.columns for relation in relations):
            return [self.of_members(relation) for relation in relations]
        return list(relations)

    def _members(self, relation: Relation) -> tuple[Relation, str]:
        """An open relation with the key MEMBER, and the alias of the members' table in it."""
        relation = self.names.opened(relation)
        key = relation.columns.get(MEMBER)
        known = None if key is None else key.partition(".")[0]
        if known is not None and f"{self.dataset.members} {known}" in relation.tables:
            return relation, known
        alias = self.names.fresh("m")
        columns, conditions = dict(relation.columns), relation.conditions
        if key is None:
            columns[MEMBER] = f"{alias}.{MEMBER}"
        else:
            conditions = (*conditions, f"{alias}.{MEMBER} = {key}")
        tables = (*relation.tables, f"{self.dataset.members} {alias}")
        return replace(relation, columns=columns, tables=tables, conditions=conditions), alias

    def _unit(self, scope: Scope) -> Relation:
        """One empty solution for each key."""
        alias = self.names.fresh("u")
        table = self.dataset.instants if scope.graph.column is None else f"({self.dataset.graph_names(scope.graph)})"
        unit = Relation({key: f"{alias}.{key}" for key in scope.leaf.keys}, (f"{table} {alias}",))
        if scope.outer is None:
            return unit
        return scope.outer.seeing(()).with_solutions(unit, self.names).within(self.names.fresh("q"))

    def _inside(self, relation: Relation, scope: Scope) -> Relation:
        """What is matched in the active graph, inside of EXISTS for each of the solutions it is asked of."""
        return relation if scope.outer is None else scope.outer.with_solutions(relation, self.names)

    def _bgp(self, triples: Sequence[a.TriplePattern], scope: Scope) -> Relation:
        if len(triples) <= MOST_TABLES:
            return self._joined(triples, scope)
        relation: Relation | None = None
        for part in connected_parts(triples, MOST_TABLES - 1):
            right = self._joined(part, scope)
            relation = right if relation is None else join(relation, right, scope.keys, self.names)
        assert relation is not None
        return relation

    def _joined(self, triples: Sequence[a.TriplePattern], scope: Scope) -> Relation:
        keys: dict[str, str] = {}
        tables: list[str] = []
        conditions: list[str] = []
        places: dict[a.Variable, str] = {}
        objects: dict[a.Variable, str] = {}
        members = self.names.fresh("m")
        for triple in triples:
            alias = self.names.fresh("t")
            source = self.dataset.source(triple, scope.graph, alias)
            tables.append(source.table)
            conditions += source.conditions
            for key, place in source.keys.items():
                if keys.setdefault(key, place) != place:
                    conditions.append(f"{place} = {keys[key]}")
            for column, part in (("s", triple.subject), ("p", triple.predicate), ("o", triple.object)):
                place = f"{alias}.{column}"
                if isinstance(part, a.Parameter):
                    keys[MEMBER] = f"{members}.{MEMBER}"
                    conditions.append(f"{place} = {members}.{self.dataset.parameter(parameter_columns(part)[0])}")
                if not isinstance(part, a.Variable):
                    continue
                if part in places:
                    conditions.append(f"{place} = {places[part]}")
                else:
                    places[part] = place
                if column == "o":
                    objects.setdefault(part, alias)
        if not triples:
            return self._unit(scope)
        if "instant" not in keys:  # all of it is static, and there at every instant
            alias = self.names.fresh("u")
            keys["instant"] = f"{alias}.instant"
            tables.append(f"{self.dataset.instants} {alias}")
        listed = scope.keys
        if MEMBER in keys:
            tables.append(f"{self.dataset.members} {members}")
            listed = (*listed, MEMBER)
        return Relation(
            {**{key: keys[key] for key in listed}, **self._columns(places, objects)},
            tuple(tables),
            tuple(places),
            frozenset(places),
            tuple(conditions),
        )

    def _closure(self, pattern: a.Closure, scope: Scope) -> Relation:
        names = self.names
        substituted = frozenset() if scope.outer is None else scope.outer.certain
        free = set(pattern.variables) - substituted
        backwards = pattern.subject in free and pattern.object not in free
        start, end = (pattern.object, pattern.subject) if backwards else (pattern.subject, pattern.object)
        starts = self._starts(pattern, start, scope, known=start not in free)
        step = self.compile(pattern.step, scope.leaf)
        found = paths_from(starts, pattern, step, scope.leaf.keys, names, backwards=backwards)
        if isinstance(end, a.Term):
            found = found.where(f"{found.columns[END]} = {quoted(end.text)}")
        elif isinstance(end, a.Parameter):
            found, members = self._members(found)
            found = found.where(f"{found.columns[END]} = {members}.{self.dataset.parameter(parameter_columns(end)[0])}")
        elif end == start and start in free:
            found = found.where(f"{found.columns[BEGIN]} = {found.columns[END]}")
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

    def _starts(self, pattern: a.Closure, start: a.PathEnd, scope: Scope, *, known: bool) -> Relation | None:
        """The nodes that paths begin at; None where they begin at all nodes that a step goes from."""
        names = self.names
        ends = node_columns(END, pattern.source, names)
        if not known:
            if pattern.nodes is None:
                return None
            nodes = self.compile(pattern.nodes, scope.leaf).within(names.fresh("q"))
            node = [nodes.columns[name] for name in names.columns(pattern.source)]
            begins = node_columns(BEGIN, pattern.source, names)
            kept = {key: nodes.columns[key] for key in scope.leaf.keys}
            return replace(nodes, columns={**kept, **dict(zip((*begins, *ends), (*node, *node), strict=True))})
        if not isinstance(start, a.Variable):
            return self._constant_node(start, ends, scope.leaf)
        assert scope.outer is not None
        outer = scope.outer.seeing((start,)).with_solutions(self._unit(scope.leaf), names)
        term, *facets_of_it = (outer.columns[name] for name in names.columns(start))
        parts = [term, *(facets_of_it or (f"facet_k({term})", f"facet_n({term})"))]
        kept = {name: column for name, column in outer.columns.items() if name not in names.columns(start)}
        return replace(outer, columns={**kept, **dict(zip(ends, parts, strict=False))})

    def _constant_node(self, node: a.Term | a.Parameter, columns: Sequence[str], scope: Scope) -> Relation:
        """The node for each key, also where it is not in the graph (18.4, ZeroLengthPath)."""
        relation = self._unit(scope)
        if isinstance(node, a.Parameter):
            relation, members = self._members(relation)
            term, number = (f"{members}.{self.dataset.parameter(column)}" for column in parameter_columns(node))
            value = [term, str(node.kind), number]
        else:
            value = _parts(constant(node.text))
        typed = {name: f"({part})::{facet_type(name)}" for name, part in zip(columns, value, strict=False)}
        return replace(relation, columns={**relation.columns, **typed})

    def _columns(self, places: dict[a.Variable, str], objects: dict[a.Variable, str]) -> dict[str, str]:
        columns = {}
        for variable, place in places.items():
            name = self.names.column(variable)
            columns[name] = place
            if variable not in self.names.faceted:
                continue
            if variable in objects:
                columns[f"{name}_k"], columns[f"{name}_n"] = f"{objects[variable]}.k", f"{objects[variable]}.n"
            else:  # subjects, predicates: an IRI or a blank node
                iri, blank = f"{TermKind.IRI:d}", f"{TermKind.BLANK_NODE:d}"
                columns[f"{name}_k"] = f"(CASE WHEN {place}[1] = '<' THEN {iri} ELSE {blank} END)::UTINYINT"
                columns[f"{name}_n"] = "NULL::DOUBLE"
        return columns

    def _values(
        self, variables: tuple[a.Variable, ...], rows: Sequence[Sequence[str | None]], scope: Scope
    ) -> Relation:
        unit = self._unit(scope)
        names = self.names.all_columns(variables)
        if not variables or not rows:
            columns = {**unit.columns, **{name: unbound_column(name) for name in names}}
            if len(rows) > 1:  # rows without a variable are empty solutions, each one counts
                unit = replace(unit, tables=(*unit.tables, f"range({len(rows)}) {self.names.fresh('w')}"))
            return replace(unit, columns=columns, variables=variables, conditions=() if rows else ("FALSE",))
        lines = ", ".join(f"({', '.join(self._cells(variables, row))})" for row in rows)
        alias = self.names.fresh("w")
        certain = frozenset(
            variable for place, variable in enumerate(variables) if all(row[place] is not None for row in rows)
        )
        return Relation(
            {**unit.columns, **{name: f"{alias}.{name}" for name in names}},
            (*unit.tables, f"(VALUES {lines}) {alias}({', '.join(names)})"),
            variables,
            certain,
        )

    def _cells(self, variables: Sequence[a.Variable], row: Sequence[str | None]) -> Iterable[str]:
        for variable, term in zip(variables, row, strict=True):
            yield "NULL::VARCHAR" if term is None else quoted(term)
            if variable in self.names.faceted:
                kind, number = (None, None) if term is None else facets(term)
                yield "NULL::UTINYINT" if kind is None else f"{int(kind)}::UTINYINT"
                yield number_sql(number)

    def _if_there(self, relation: Relation, name: a.Term, inner: a.Pattern) -> Relation:
        """Nothing is in a graph that the dataset does not have (18.6), not even the solution of the empty pattern."""
        there = "TRUE" if a.needs_a_triple(inner) else self.dataset.has_graph(name.text[1:-1])
        return relation if there == "TRUE" else self.names.opened(relation).where(there)

    def _graph(self, name: a.Variable | a.Term, inner: a.Pattern, windows_only: bool, scope: Scope) -> Relation:
        if isinstance(name, a.Term):
            active = ActiveGraph(iri=name.text[1:-1])
            if scope.outer is not None:
                return self._if_there(self.compile(inner, replace(scope, graph=active)), name, inner)
            relation = self._if_there(self.compile(inner, Scope(active)), name, inner)
            # Inside GRAPH ?g another graph is active: its solutions go with every graph that ?g ranges over.
            return relation if scope.keys == ("instant",) else self._for_each_key(relation, scope)
        column = self.names.fresh("g")
        keys = ("instant",) if scope.outer is None else scope.keys
        ranging = Scope(ActiveGraph(column=column, windows_only=windows_only), (*keys, column), scope.outer)
        unit = self._unit(ranging)
        target = self.names.column(name)
        facet_columns = {f"{target}_k": f"{TermKind.IRI:d}::UTINYINT", f"{target}_n": "NULL::DOUBLE"}
        named = replace(
            unit,
            columns={
                **unit.columns,
                target: unit.columns[column],
                **(facet_columns if name in self.names.faceted else {}),
            },
            variables=(name,),
            certain=frozenset({name}),
        )
        relation = self.compile(inner, ranging)
        if name in relation.variables:  # Join(pattern, {?g -> graph}) (18.6)
            relation = join(relation, named, ranging.keys, self.names)
        else:
            if relation.distinct:
                relation = relation.within(self.names.fresh("q"))
            columns = {**relation.columns, target: relation.columns[column]}
            if name in self.names.faceted:
                columns |= facet_columns
            relation = replace(
                relation,
                columns=columns,
                variables=(*relation.variables, name),
                certain=relation.certain | {name},
            )
        listed = [*relation.keys(keys), *self.names.all_columns(relation.variables)]
        relation = replace(relation, columns={key: relation.columns[key] for key in listed}, ranked=False, order=())
        return relation if scope.keys == keys else self._for_each_key(relation, scope)

    def _for_each_key(self, relation: Relation, scope: Scope) -> Relation:
        relation, unit = self.names.opened(relation), self._unit(scope)
        columns = {**{k: v for k, v in relation.columns.items() if k != "instant"}, **unit.columns}
        condition = f"{relation.columns['instant']} = {unit.columns['instant']}"
        return replace(
            relation,
            columns=columns,
            tables=(*relation.tables, *unit.tables),
            conditions=(*relation.conditions, condition),
        )

    def _filtered(self, inner: a.Pattern, conditions: list[a.Expression], scope: Scope) -> Relation:
        """Filters on EXISTS alone are joins; the others come before."""
        if isinstance(inner, a.Marked):
            negated = a.Call("!", (inner.variable,))
            others = [condition for condition in conditions if condition not in (inner.variable, negated)]
            if len(others) + 1 == len(conditions) and not any(inner.variable in a.mentioned(one) for one in others):
                relation = self._filtered(inner.pattern, others, scope)
                return self._existing(relation, inner.exists, scope, exist=negated not in conditions)
        relation = self.compile(inner, scope)
        if not conditions:
            return relation
        return self._filter(relation, reduce(lambda left, right: a.Call("&&", (left, right)), conditions))

    def _existing(self, relation: Relation, exists: a.Pattern, scope: Scope, *, exist: bool) -> Relation:
        if joins_alike(exists, frozenset(relation.variables)):
            one, other = self._alike(relation, self.compile(exists, scope))
            return existing(one, other, scope.keys, self.names, exist=exist)
        relation, found = self._asked(relation, exists, scope)
        return relation.where(found if exist else f"NOT {found}")

    def _marked(self, relation: Relation, variable: a.Variable, exists: a.Pattern, scope: Scope) -> Relation:
        relation, found = self._asked(relation, exists, scope)
        columns = dict(zip(self.names.columns(variable), _parts(of_truth(found)), strict=False))
        columns = {name: f"({column})::{facet_type(name)}" for name, column in columns.items()}
        return replace(
            relation,
            columns={**relation.columns, **columns},
            variables=(*relation.variables, variable),
            certain=relation.certain | {variable},
        ).within(self.names.fresh("q"))

    def _asked(self, relation: Relation, exists: a.Pattern, scope: Scope) -> tuple[Relation, str]:
        """A relation, and whether the pattern has a solution with the terms of each of its solutions (18.6)."""
        names = self.names
        if any(isinstance(node, a.Parameter) for node in a.nodes(exists)):
            relation = self.of_members(relation)
        relation = relation.within(names.fresh("q"))
        row, table = names.fresh("d"), names.fresh("w")
        shared = tuple(variable for variable in relation.variables if variable in a.mentioned(exists))
        columns = (*relation.keys(scope.keys), row)
        outer = Outer(table, row, columns, shared, relation.certain & frozenset(shared))
        numbered = replace(relation, columns={**relation.columns, row: "row_number() OVER ()"})
        if joins_alike(exists, frozenset(relation.variables)):
            inner = outer.with_solutions(self.compile(exists, scope), names)
        else:
            inner = self.compile(exists, Scope(scope.graph, (*scope.keys, row), outer))
        inner = inner.within(names.fresh("q"))
        found = replace(inner, columns={row: inner.columns[row]})
        listed = ", ".join(f"{table}.{name}" for name in relation.columns)
        flag, alias = names.fresh("f"), names.fresh("q")
        asked = f"SELECT {listed}, {table}.{row} IN ({found.sql}) AS {flag} FROM {table}"
        sql = f"(WITH {table} AS MATERIALIZED ({numbered.sql}) {asked}) {alias}"
        told = {name: f"{alias}.{name}" for name in relation.columns}
        return replace(relation, columns=told, tables=(sql,)), f"{alias}.{flag}"

    def _asking_join(self, pattern: a.LeftJoin, scope: Scope) -> Relation:
        """LeftJoin with EXISTS in its condition: the merges that pass, by the row of the left side they are of."""
        names = self.names
        left, right = self._alike(self.compile(pattern.left, scope), self.compile(pattern.right, scope))
        if any(isinstance(node, a.Parameter) for node in a.nodes(pattern.asked)):
            left = self.of_members(left)
        left = left.within(names.fresh("q"))
        row, table = names.fresh("d"), names.fresh("w")
        rows = Outer(table, row, (*left.keys(scope.keys), row), left.variables, left.certain)
        merged = rows.with_solutions(right, names)
        for variable, exists in pattern.asked:
            merged = self._marked(merged, variable, exists, scope)
        assert pattern.condition is not None
        passed = self._filter(merged, pattern.condition).within(names.fresh("q"))
        first = rows.relation(names)
        columns = {key: first.columns[key] for key in rows.columns if key != row}
        variables = tuple(dict.fromkeys((*left.variables, *right.variables)))
        for variable in variables:
            for name in names.columns(variable):
                one, other = first.columns.get(name), passed.columns[name]
                columns[name] = other if one is None else f"COALESCE({one}, {other})"
        table_sql = f"{first.tables[0]} LEFT JOIN {passed.tables[0]} ON {passed.columns[row]} = {first.columns[row]}"
        numbered = replace(left, columns={**left.columns, row: "row_number() OVER ()"}).sql
        joined = Relation(columns, (table_sql,), variables, left.certain)
        alias = names.fresh("q")
        told = {name: f"{alias}.{name}" for name in columns}
        return replace(
            joined, columns=told, tables=(f"(WITH {table} AS MATERIALIZED ({numbered}) {joined.sql}) {alias}",)
        )

    def _substituted(self, pattern: a.Minus, scope: Scope) -> frozenset[a.Variable]:
        if scope.outer is None:
            return frozenset()
        both = a.in_scope(pattern.left) & a.in_scope(pattern.right) & frozenset(scope.outer.variables)
        for variable in sorted(both - scope.outer.certain, key=lambda variable: variable.name):
            raise UnsupportedFeature(
                f"MINUS inside of EXISTS over ?{variable.name}, which may be unbound outside, "
                f"is not evaluated over windows"
            )
        return frozenset(scope.outer.variables)

    def _filter(self, relation: Relation, condition: a.Expression) -> Relation:
        parameters = sorted(a.expression_parameters(condition), key=lambda parameter: parameter.number)
        read = [column for parameter in parameters for column in parameter_columns(parameter)]
        if read:
            relation, members = self._members(relation)
            given = {column: f"{members}.{self.dataset.parameter(column)}" for column in read}
            relation = replace(relation, columns={**relation.columns, **given})
        relation, (truth,) = computed(
            relation, self.names, self.prelude, lambda compiler: [compiler.truth(condition)], parameters
        )
        kept = {column: sql for column, sql in relation.columns.items() if column not in read}
        return replace(relation, columns=kept).where(truth)

    def _condition(self, condition: a.Expression | None, left: Relation, right: Relation) -> Condition | None:
        """The condition of a LeftJoin over merged solutions; prelude calls stay in line in it."""
        if condition is None:
            return None
        variables = tuple(dict.fromkeys((*left.variables, *right.variables)))

        def written(columns: Mapping[str, str]) -> str:
            found = {
                variable: value_of(variable, [columns[name] for name in self.names.columns(variable)])
                for variable in variables
            }
            return ExpressionCompiler(found, self.prelude, columns["instant"]).truth(condition)

        return written

    def _extend(self, relation: Relation, variable: a.Variable, expression: a.Expression) -> Relation:
        names = self.names.columns(variable)
        if isinstance(expression, a.Variable) and not relation.distinct:
            sources: Sequence[str] = self.names.columns(expression)
            parts: Sequence[str] = [
                relation.columns.get(source, unbound_column(name)) for source, name in zip(sources, names, strict=False)
            ]
            certain = expression in relation.certain
            if expression in relation.parts:
                relation = replace(relation, parts=relation.parts | {variable})
        else:
            relation, parts = computed(
                relation,
                self.names,
                self.prelude,
                lambda compiler: _parts(compiler.value(expression))[: len(names)],
            )
            parts = [f"({part})::{facet_type(name)}" for part, name in zip(parts, names, strict=True)]
            certain = isinstance(expression, a.Term)
        kept = {name: sql for name, sql in relation.columns.items() if name not in names}
        return replace(
            relation,
            columns={**kept, **dict(zip(names, parts, strict=True))},
            variables=(*(v for v in relation.variables if v != variable), variable),
            certain=relation.certain - {variable} | ({variable} if certain else frozenset()),
        )


def conjuncts(condition: a.Expression) -> list[a.Expression]:
    """What is all to be true for a condition to be."""
    if isinstance(condition, a.Call) and condition.name == "&&":
        return [conjunct for operand in condition.arguments for conjunct in conjuncts(operand)]
    return [condition]


def _parts(value: Value) -> list[str]:
    return [value.term, value.kind, value.number]


def connected_parts(triples: Sequence[a.TriplePattern], size: int) -> list[list[a.TriplePattern]]:
    """A long basic graph pattern in parts, each pattern sharing a variable with those before it where it can."""
    left = list(triples)
    ordered: list[a.TriplePattern] = []
    bound: set[a.Variable] = set()
    while left:
        following = next((triple for triple in left if bound.intersection(triple.variables)), left[0])
        left.remove(following)
        ordered.append(following)
        bound.update(following.variables)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def _alternatives(pattern: a.Pattern) -> list[a.Pattern]:
    """The operands of nested unions, in order."""
    if isinstance(pattern, a.Union):
        return [*_alternatives(pattern.left), *_alternatives(pattern.right)]
    return [pattern]
