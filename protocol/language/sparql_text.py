"""The algebra as a text for Oxigraph: of standard SPARQL 1.1, but for LATERAL before SERVICE with a variable.

What has no place in the standard is written in its terms: AGGREGATE as a sub-select for each aggregate. Variables that
nobody can name (of blank nodes, paths and aggregates) have names here that no variable of the query has. Where
Oxigraph makes something else of an expression or a path than the standard, it is written so that it does not; an
alternative, which it makes a set, is a union in the algebra already (Query section 18.2.2.4). COUNT(DISTINCT *), which
it has of hidden variables too, is of a sub-select without them (18.2.1: in scope are variables, no blank nodes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from protocol.language import algebra as a
from protocol.language.model import Form
from protocol.terms import TermKind, facets, triple_text

UNBOUND = a.Constant("<urn:x-sparql-streams:unbound>")
"""Stands for no term, among the values of a key."""
_SHORT = 300
"""Sums of longer operands are written once: in a chain of sums each would be three times as long as the last."""
_INFIX = a.COMPARISONS | {"&&", "||", "+", "-", "*", "/"}


def call_text(call: a.Call, arguments: list[str]) -> str:
    """A call of these arguments, which are texts already."""
    if call.name in ("IN", "NOT IN"):
        return f"({arguments[0]} {call.name} ({', '.join(arguments[1:])}))"
    if call.name in _INFIX and len(arguments) == 2:
        return f"({arguments[0]} {call.name} {arguments[1]})"
    if call.name in ("!", "-", "+"):
        return f"({call.name}({arguments[0]}))"
    return f"{call.name}({', '.join(arguments)})"


def exact_call_text(call: a.Call, arguments: list[str]) -> str:
    """The same for Oxigraph: it turns operands of ``+`` round as it likes, by a hash of theirs, and knows no duration
    plus a dateTime, only a dateTime plus a duration.

    What is an error to it is tried both ways round: operands of ``-`` stay where they are.
    """
    if not is_open_sum(call) or sum(map(len, arguments)) >= _SHORT:
        return call_text(call, arguments)
    one, other = arguments
    return f"COALESCE(({one} + {other}), ({one} - (-({other}))), ({other} - (-({one}))))"


def is_open_sum(node: object) -> bool:
    """Whether it is a sum, and none of numbers as its text has it."""
    if not isinstance(node, a.Call) or node.name != "+" or len(node.arguments) != 2:
        return False
    return not any(isinstance(one, a.Constant) and facets(one.text)[0] <= TermKind.DOUBLE for one in node.arguments)


@dataclass(frozen=True)
class WrittenQuery:
    """A query with what its algebra does not tell: its form, and the graphs of its dataset.

    Of DESCRIBE ``resources`` are what is described, and the pattern is the one that is written.
    """

    form: Form
    query: a.Query
    default: Sequence[str] = ()
    named: Sequence[str] = ()
    resources: Sequence[a.Variable | a.Constant] = ()

    @property
    def text(self) -> str:
        """The query in standard SPARQL 1.1."""
        return _Writer(self.query).query(self)


def group_text(query: a.Query) -> str:
    """The group that is a query's pattern, in braces."""
    return _Writer(query).group(query.pattern)


class _Writer:
    def __init__(self, query: a.Query) -> None:
        self._query = query
        names = {node.name for node in a.nodes(query) if isinstance(node, a.Variable)}
        self._hidden = "hidden"
        while any(name.startswith(self._hidden) for name in names):
            self._hidden += "_"
        self._more = 0

    def query(self, written: WrittenQuery) -> str:
        query = written.query
        prologue = "" if query.base is None else f"BASE <{query.base}> "
        dataset = [*(f"FROM <{iri}> " for iri in written.default), *(f"FROM NAMED <{iri}> " for iri in written.named)]
        projection, where = self._select(query.pattern, "".join(dataset))
        match written.form:
            case Form.SELECT:
                form = f"SELECT {projection}"
            case Form.CONSTRUCT:
                template = " ".join(f"{' '.join(map(_template_node, triple))} ." for triple in query.template or ())
                form = f"CONSTRUCT {{ {template} }}"
            case Form.DESCRIBE:
                form = f"DESCRIBE {' '.join(map(self._expression, written.resources)) or '*'}"
            case Form.ASK:
                form = "ASK"
        return f"{prologue}{form} {where}"

    # Solutions

    def _select(self, pattern: a.Pattern, dataset: str = "", *, nested: bool = False) -> tuple[str, str]:
        """What follows SELECT, and what follows that: dataset, group and modifiers."""
        cut = distinct = order = ""
        if isinstance(pattern, a.Slice):
            cut = f" LIMIT {pattern.limit}" if pattern.limit is not None else ""
            cut += f" OFFSET {pattern.offset}" if pattern.offset else ""
            pattern = pattern.pattern
        if isinstance(pattern, a.Distinct):
            distinct, pattern = "DISTINCT ", pattern.pattern
        assert isinstance(pattern, a.Project)
        projection = self._variables(pattern.variables) or (
            f"(1 AS {self._variable(self._fresh())})" if nested else "*"
        )
        pattern = pattern.pattern
        if isinstance(pattern, a.OrderBy):
            order = " ORDER BY " + " ".join(map(self._order, pattern.conditions))
            pattern = pattern.pattern
        return f"{distinct}{projection}", f"{dataset}WHERE {self.group(pattern)}{order}{cut}"

    def _order(self, condition: a.OrderCondition) -> str:
        return f"{'DESC' if condition.descending else 'ASC'}({self._expression(condition.expression)})"

    def _sub_select(self, pattern: a.Pattern) -> str:
        projection, where = self._select(pattern, nested=True)
        return f"{{ SELECT {projection} {where} }}"

    def _grouped(self, group: a.Group) -> str:
        inner = group.pattern
        if any(one.counts_solutions for one in group.aggregates):
            # Hidden ones among them, an expression's, are made of those in scope: they tell no more solutions apart.
            needed = {one.argument for one in group.aggregates if isinstance(one.argument, a.Variable)}
            needed.update(group.keys or ())
            inner = a.Project(inner, tuple(sorted(a.in_scope(inner) | needed, key=lambda one: one.name)))
        aggregates = [f"({self._aggregate(one)} AS {self._variable(one.result)})" for one in group.aggregates]
        keys = self._variables(group.keys or ())
        by = f" GROUP BY {keys}" if keys else ""
        return f"{{ SELECT {' '.join([keys, *aggregates])} WHERE {self.group(inner)}{by} }}"

    def _aggregate(self, aggregate: a.Aggregate) -> str:
        argument = "*" if aggregate.argument is None else self._expression(aggregate.argument)
        separator = f"; SEPARATOR={_quoted(aggregate.separator)}" if aggregate.function == "GROUP_CONCAT" else ""
        return f"{aggregate.function}({'DISTINCT ' * aggregate.distinct}{argument}{separator})"

    def _with_aggregates(self, pattern: a.Aggregation) -> a.Pattern:
        """The solutions of the WHERE, joined with each aggregate over them on what tells their keys apart.

        A key may be unbound, which would join with anything: so it is joined on what COALESCE makes of it.
        """
        aggregations = [pattern]
        while isinstance(inner := aggregations[-1].pattern, a.Aggregation):
            aggregations.append(inner)
        joined, groups = inner, []
        for aggregation in reversed(aggregations):
            keys: dict[a.Variable, a.Variable] = {}
            for key in aggregation.keys:
                keys[key] = self._fresh()
            counted = inner
            for key, told in keys.items():
                told_as = a.Call("COALESCE", (key, UNBOUND))
                joined, counted = a.Extend(joined, told, told_as), a.Extend(counted, told, told_as)
            groups.append(a.Group(counted, tuple(keys.values()), (aggregation.aggregate,)))
        for group in groups:
            joined = a.Join(joined, group)
        return joined

    # Patterns

    def group(self, pattern: a.Pattern) -> str:
        return f"{{ {self._content(pattern)} }}"

    def _content(self, pattern: a.Pattern) -> str:
        """What is between the braces of a group: the parts of a chain in the order in which they are evaluated."""
        parts: list[str] = []
        while isinstance(pattern, a.Filter):
            parts.append(f"FILTER({self._expression(pattern.condition)})")
            pattern = pattern.pattern
        while True:
            match pattern:
                case a.Aggregation():
                    pattern = self._with_aggregates(pattern)
                    continue
                case a.Join(a.Service(a.Variable() as name) as first, left) if name in a.in_scope(left):
                    parts.append(self._lateral(first))
                case a.Join(left, a.Service(a.Variable() as name) as right) if name in a.in_scope(left):
                    parts.append(self._lateral(right))
                case a.Join(left, right):
                    parts.append(self._part(right))
                case a.LeftJoin(left, right, condition):
                    inner = self._part(right) if isinstance(right, a.Filter) else self._content(right)
                    on = "" if condition is None else f" FILTER({self._expression(condition)})"
                    parts.append(f"OPTIONAL {{ {inner}{on} }}")
                case a.Minus(left, right):
                    parts.append(f"MINUS {self.group(right)}")
                case a.Extend(left, variable, expression):
                    parts.append(f"BIND({self._expression(expression)} AS {self._variable(variable)})")
                case a.BGP(triples):
                    parts.append(" ".join(map(self._triple, triples)))
                    break
                case _:
                    parts.append(self._part(pattern))
                    break
            pattern = left
        return " ".join(reversed(parts))

    def _lateral(self, service: a.Service) -> str:
        """SERVICE behind what binds its variable: Oxigraph evaluates it for each of those solutions."""
        return f"LATERAL {self.group(service)}"

    def _part(self, pattern: a.Pattern) -> str:
        """A pattern as one part of a group."""
        match pattern:
            case a.Closure(subject, object_):
                return f"{self._expression(subject)} {pattern.written} {self._expression(object_)} ."
            case a.Union():
                branches: list[a.Pattern] = []
                while isinstance(pattern, a.Union):
                    branches.append(pattern.right)
                    pattern = pattern.left
                return " UNION ".join(map(self.group, [pattern, *reversed(branches)]))
            case a.Graph(name, inner):
                return f"GRAPH {self._expression(name)} {self.group(inner)}"
            case a.Service(name, inner, silent):
                return f"SERVICE {'SILENT ' * silent}{self._expression(name)} {self.group(inner)}"
            case a.Values(variables, rows):
                terms = (f"({' '.join('UNDEF' if term is None else term for term in row)})" for row in rows)
                return f"VALUES ({self._variables(variables)}) {{ {' '.join(terms)} }}"
            case a.Group():
                return self._grouped(pattern)
            case a.Project() | a.Distinct() | a.Slice():
                return self._sub_select(pattern)
        return self.group(pattern)

    def _triple(self, triple: a.TriplePattern) -> str:
        return f"{' '.join(map(self._expression, (triple.subject, triple.predicate, triple.object)))} ."

    # Expressions

    def _expression(self, expression: a.Expression) -> str:
        match expression:
            case a.Variable():
                return self._variable(expression)
            case a.Constant(text):
                return text
            case a.Exists(pattern):
                return f"EXISTS {self.group(pattern)}"
            case a.Call(_, arguments):
                return exact_call_text(expression, list(map(self._expression, arguments)))
        raise AssertionError("parameters are made by the compiler")

    def _variable(self, variable: a.Variable) -> str:
        return f"?{self._hidden}{variable.name[2:]}" if variable.name.startswith("_:") else f"?{variable.name}"

    def _fresh(self) -> a.Variable:
        self._more += 1
        return a.Variable(f"_:more{self._more}")

    def _variables(self, variables: Iterable[a.Variable]) -> str:
        return " ".join(map(self._variable, variables))


def _template_node(node: a.TemplateNode) -> str:
    if isinstance(node, a.Constant):
        return node.text
    if isinstance(node, a.TripleTerm):
        return triple_text(*map(_template_node, (node.subject, node.predicate, node.object)))
    return node.name if node.name.startswith("_:") else f"?{node.name}"


def _quoted(text: str) -> str:
    return str(ox.Literal(text))
