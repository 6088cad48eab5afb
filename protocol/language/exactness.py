"""Patterns in words for which Oxigraph has the answer of the standard, where it would have another one.

The result has, by the standard itself, the meaning of the original. Known of Oxigraph 0.5.13 (the file is of a crate
that it is made of):

- of a path of length zero that has a term at one end it looks first whether the graph has the term (Query section 18.4,
  ZeroLengthPath; ``run_if_term_is_a_graph_node``, ``spareval-0.2.9/src/eval.rs:3676``). In EXISTS a variable that the
  solution binds is such a term (section 18.6, substitute);
- ``GRAPH ?g {P}`` is P with ?g as a variable of its triple patterns: VALUES, SERVICE and another GRAPH have solutions
  without ?g, where no triple pattern stands beside them. ``GRAPH <g> {P}`` has such solutions also where the dataset
  has no such graph (section 18.6, evaluation of Graph);
- BNODE of one text is the same blank node in all solutions (section 17.4.2.9), and an error for most texts;
- COUNT of an expression that is an error for one solution is an error, and does not leave that out (section 18.5.1.2).
  Of a variable it counts what is bound.

What depends on how an expression or a path is written is the writer's (``protocol.language.sparql_text``): sums,
alternatives, COUNT(DISTINCT *), and SERVICE with a variable.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import TypeVar, cast

from protocol.language import algebra as a

T = TypeVar("T")


def exact(query: a.Query) -> a.Query:
    """The query, rewritten where it has to be; the same object where nothing is. RecursionError if it is too deep."""
    return _Rewriting().of(query, None)


class _Rewriting:
    def __init__(self) -> None:
        self._numbers = count()
        self._substituted = False
        """Whether variables may stand for terms: what is read is in EXISTS, and in no sub-select of that."""

    def of(self, node: T, graph: a.Variable | a.Constant | None) -> T:
        """A part of the query in an active graph, the default graph being None."""
        return cast("T", self._node(node, graph))

    def _node(self, node: object, graph: a.Variable | a.Constant | None) -> object:
        match node:
            case tuple():
                parts = tuple(self._node(part, graph) for part in node)
                return node if all(one is other for one, other in zip(parts, node, strict=True)) else parts
            case a.Values():
                return node  # perhaps many thousands of rows, and only terms
            case a.Graph(name):
                changed = self._with_parts(node, name)
                assert isinstance(changed, a.Graph)
                return _of_graphs_that_are_there(changed)
            case a.Exists() | a.Project():
                outside, self._substituted = self._substituted, isinstance(node, a.Exists)
                changed = self._with_parts(node, graph)
                self._substituted = outside
                return changed
            case a.Closure():
                # What is written is the path: its steps are no matter of ours.
                return self._with_length_zero(node, graph) if node.zero else node
            case a.Group() if any(map(_counted_expression, node.aggregates)):
                return self._with_parts(self._with_results_bound(node), graph)
            case a.Extend() if _names_nodes(node):
                return self._with_own_nodes(node, graph)
        return self._with_parts(node, graph)

    def _with_parts(self, node: object, graph: a.Variable | a.Constant | None) -> object:
        if not is_dataclass(node) or isinstance(node, type):
            return node
        changed = {}
        for part in fields(node):
            before = getattr(node, part.name)
            after = self._node(before, graph) if part.compare else before
            if after is not before:
                changed[part.name] = after
        return replace(node, **changed) if changed else node

    def _fresh(self) -> a.Variable:
        return a.Variable(f"_:exact{next(self._numbers)}")

    def _with_results_bound(self, group: a.Group) -> a.Group:
        """The group in which what is counted is a variable, unbound where the expression is an error."""
        pattern = group.pattern
        aggregates = []
        for aggregate in group.aggregates:
            if (expression := _counted_expression(aggregate)) is not None:
                result = self._fresh()
                pattern = a.Extend(pattern, result, expression)
                aggregate = replace(aggregate, argument=result)
            aggregates.append(aggregate)
        return replace(group, pattern=pattern, aggregates=tuple(aggregates))

    def _with_length_zero(self, path: a.Closure, graph: a.Variable | a.Constant | None) -> a.Pattern:
        """The path, and what it gives where the graph does not have the term at one of its ends."""
        terms = {end.text for end in (path.subject, path.object) if isinstance(end, a.Constant)}
        if self._substituted and isinstance(path.subject, a.Variable) and isinstance(path.object, a.Variable):
            return self._with_substituted_ends(path, path.subject, path.object)
        if len(terms) != 1:
            return path
        term = a.Constant(terms.pop())
        row = tuple(term.text for _ in path.variables)
        alone: a.Pattern = a.Filter(a.Values(path.variables, (row,)), self._not_in_graph(term))
        if isinstance(graph, a.Variable):
            # With a sub-select GRAPH ?g is evaluated graph by graph (``protocol.sparql.corrections``), as it has to be:
            # no triple pattern says which graph it is.
            alone = a.Project(alone, path.variables)
        return a.Union(path, alone)

    def _with_substituted_ends(self, path: a.Closure, subject: a.Variable, object_: a.Variable) -> a.Pattern:
        """The path, and what it gives where a solution binds one of its ends to a term that the graph does not have."""
        if subject == object_:
            condition = a.Call("&&", (a.Call("BOUND", (subject,)), self._not_in_graph(subject)))
            return a.Union(path, a.Filter(a.BGP(()), condition))
        unbound = {end: a.Call("!", (a.Call("BOUND", (end,)),)) for end in (subject, object_)}
        same = a.Call("||", (unbound[subject], a.Call("sameTerm", (subject, object_))))
        pattern: a.Pattern = path
        for bound, other, condition in ((object_, subject, same), (subject, object_, unbound[object_])):
            condition = a.Call("&&", (a.Call("BOUND", (bound,)), condition))
            condition = a.Call("&&", (condition, self._not_in_graph(bound)))
            pattern = a.Union(pattern, a.Extend(a.Filter(a.BGP(()), condition), other, bound))
        return pattern

    def _not_in_graph(self, term: a.Constant | a.Variable) -> a.Expression:
        """Whether no triple of the active graph has the term for its subject or object."""
        mentions: a.Pattern = a.BGP((a.TriplePattern(self._fresh(), self._fresh(), term),))
        if isinstance(term, a.Variable) or not term.text.startswith('"'):
            mentions = a.Union(mentions, a.BGP((a.TriplePattern(term, self._fresh(), self._fresh()),)))
        return a.Call("!", (a.Exists(mentions),))

    def _with_own_nodes(self, last: a.Extend, graph: a.Variable | a.Constant | None) -> a.Pattern:
        """A chain of BINDs in which BNODE of a text is told apart by what each solution is given at its beginning."""
        chain: list[a.Extend] = []
        pattern: a.Pattern = last
        while isinstance(pattern, a.Extend):
            chain.append(pattern)
            pattern = pattern.pattern
        solution = self._fresh()
        pattern = a.Extend(self.of(pattern, graph), solution, a.Call("STRUUID", ()))
        for one in reversed(chain):
            expression = _of_solution(self.of(one.expression, graph), solution)
            pattern = a.Extend(pattern, one.variable, expression)
        return pattern


_GRAPHLESS = (a.Values, a.Service, a.Graph)
"""Patterns whose solutions are the same in every graph."""


def _of_graphs_that_are_there(graph: a.Graph) -> a.Pattern:
    """A GRAPH with ``GRAPH name {}`` beside what would have solutions without telling which graph they are in, or in
    one that is not there.
    """
    if not any(isinstance(node, _GRAPHLESS) for node in a.nodes(graph.pattern)):
        return graph
    here = a.Graph(graph.name, a.BGP(()))
    if isinstance(graph.name, a.Constant):
        return graph if a.needs_a_triple(graph.pattern) else a.Join(here, graph)
    told = _told(graph.pattern, here)
    return graph if told is graph.pattern or _is_written_out(graph) else replace(graph, pattern=told)


def _is_written_out(graph: a.Graph) -> bool:
    """Whether it will be evaluated graph by graph (``protocol.sparql.corrections``); then the graphs are there."""
    if any(isinstance(node, a.Project | a.Minus) for node in a.nodes(graph.pattern, (a.Graph, a.Service))):
        return True
    here = a.Graph(graph.name, a.BGP(()))
    mentions = [node for node in a.nodes(graph.pattern) if node in (graph.name, here)]
    # ``here`` has a mention in it, and is no more than that.
    return mentions.count(graph.name) > mentions.count(here)


def _told(pattern: a.Pattern, here: a.Graph) -> a.Pattern:
    """The pattern with ``here`` joined to what does not tell its graph, and is joined with nothing that does.

    What OPTIONAL, FILTER and BIND are of is made to tell, and each side of UNION.
    """
    if _is_graphless(pattern, here):
        return a.Join(pattern, here)
    parts: dict[str, a.Pattern] = {}
    match pattern:
        case a.Join(left, right):
            parts = {side: part for side, part in (("left", left), ("right", right)) if not _is_graphless(part, here)}
        case a.LeftJoin(left, right):
            parts = {"left": left} if _is_graphless(right, here) else {"left": left, "right": right}
        case a.Union(left, right):
            parts = {"left": left, "right": right}
        case a.Filter(inner) | a.Extend(inner):
            parts = {"pattern": inner}
    changed = {name: after for name, part in parts.items() if (after := _told(part, here)) is not part}
    return replace(pattern, **changed) if changed else pattern  # type: ignore[arg-type]  # patterns for patterns


def _is_graphless(pattern: a.Pattern, here: a.Graph) -> bool:
    match pattern:
        case a.Join(left, right):
            return _is_graphless(left, here) and _is_graphless(right, here)
        case a.BGP(()):
            return True
    return isinstance(pattern, _GRAPHLESS) and pattern != here


def _counted_expression(aggregate: a.Aggregate) -> a.Expression | None:
    """What COUNT is of, if that may be an error."""
    is_sure = aggregate.function != "COUNT" or isinstance(aggregate.argument, a.Variable | a.Constant)
    return None if is_sure else aggregate.argument


def _names_nodes(pattern: a.Pattern) -> bool:
    """Whether a chain of BINDs has BNODE of a text in one of its expressions."""
    while isinstance(pattern, a.Extend):
        if any(_is_named_node(node) for node in _expressions(pattern.expression)):
            return True
        pattern = pattern.pattern
    return False


def _is_named_node(node: object) -> bool:
    return isinstance(node, a.Call) and node.name == "BNODE" and bool(node.arguments)


def _expressions(expression: a.Expression) -> list[a.Expression]:
    """An expression and its parts, without what is in EXISTS, which has solutions of its own."""
    if not isinstance(expression, a.Call):
        return [expression]
    return [expression, *(part for argument in expression.arguments for part in _expressions(argument))]


def _of_solution(expression: a.Expression, solution: a.Variable) -> a.Expression:
    if not isinstance(expression, a.Call):
        return expression
    arguments = tuple(_of_solution(argument, solution) for argument in expression.arguments)
    if _is_named_node(expression):
        # MD5 takes what BNODE takes, and any of its results may be part of a label.
        digest = a.Call("MD5", arguments)
        return replace(expression, arguments=(a.Call("CONCAT", (digest, solution)),))
    return replace(expression, arguments=arguments)
