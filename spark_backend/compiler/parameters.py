"""Lifting constants: queries that differ in constants only are one statement, evaluated for all of them together.

A lifted constant is a Parameter of the algebra, and its term a column of the table of *members*: the
queries of one shape. What the shape is made of decides how a statement is planned (predicates, kinds of
numbers, what a function is called with); what is lifted is only ever compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from protocol.language import algebra as a
from protocol.terms import TermKind, comparable_facets, facets
from spark_backend.compiler.passes.split_monotone import slides
from spark_backend.compiler.sql.dataset import DEFAULT_GRAPH, ActiveGraph, QueryDataset


@dataclass
class Lifting:
    """Lifts the constants of one query; ``terms`` are those lifted so far, by the number of their parameter.

    ``identity`` is the query's own, one more constant where random terms are drawn from it.
    """

    dataset: QueryDataset
    identity: str
    terms: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._slides = slides(self.dataset.query)

    def query(self, query: a.Query) -> a.Query:
        """The query with parameters for its compared values, and for subjects and objects where only streams match.

        Where the store has no match for them now, the dataset's ``statics`` say of what.
        """
        pattern = self._pattern(query.pattern, DEFAULT_GRAPH)
        if any(isinstance(node, a.Draw) for node in a.nodes(pattern)):
            self.terms.append(f'"{self.identity}"')
            pattern = _draw_by(pattern, a.Parameter(len(self.terms) - 1, int(TermKind.STRING)))
        return replace(query, pattern=pattern)

    def _pattern(self, pattern: a.Pattern, graph: ActiveGraph) -> a.Pattern:
        match pattern:
            case a.BGP(triples):
                return a.BGP(tuple(self._triple(triple, graph) for triple in triples))
            case a.Graph(name, inner):
                active = ActiveGraph(iri=name.text[1:-1]) if isinstance(name, a.Constant) else None
                # Ranging over graphs, a pattern is matched in the store as well.
                return pattern if active is None else replace(pattern, pattern=self._pattern(inner, active))
            case a.Filter(inner, condition):
                return a.Filter(self._pattern(inner, graph), self._condition(condition))
            case a.Join(left, right) | a.LeftJoin(left, right) | a.Union(left, right) | a.Minus(left, right):
                return replace(pattern, left=self._pattern(left, graph), right=self._pattern(right, graph))
            case a.Closure(subject, object_):
                if not self.dataset.only_streams(graph):
                    return pattern
                return replace(pattern, subject=self._lift(subject), object=self._lift(object_))
            case a.Values() | a.ServiceSolutions():
                return pattern
            case a.MarkJoin(inner, _, exists):
                return replace(pattern, pattern=self._pattern(inner, graph), exists=self._pattern(exists, graph))
        return replace(pattern, pattern=self._pattern(pattern.pattern, graph))

    def _triple(self, triple: a.TriplePattern, graph: ActiveGraph) -> a.TriplePattern:
        if not self._is_only_streamed(triple, graph):
            return triple
        return replace(triple, subject=self._lift(triple.subject), object=self._lift(triple.object))

    def _is_only_streamed(self, triple: a.TriplePattern, graph: ActiveGraph) -> bool:
        """Whether neither the store nor the schema has anything that makes matches: what they have is matched there by
        the constants of the pattern.
        """
        if self.dataset.is_entailed(triple, graph):
            return False
        if self.dataset.only_streams(graph):
            return True
        # In windows that slide a constant leaves less to be kept (``passes.split_monotone``).
        return not (self._slides or self.dataset.only_store(graph) or self.dataset.has_static(triple, graph))

    def _condition(self, expression: a.Expression) -> a.Expression:
        match expression:
            case a.Call("&&" | "||" | "!" as name, arguments):
                return a.Call(name, tuple(map(self._condition, arguments)))
            case a.Call(name, (left, right)) if name in a.COMPARISONS:
                if isinstance(left, a.Constant) and isinstance(right, a.Constant):
                    return expression
                return a.Call(name, (self._operand(left, name), self._operand(right, name)))
        return expression

    def _operand(self, operand: a.Expression, operator: str) -> a.Expression:
        if not isinstance(operand, a.Constant):
            return operand
        kind, number = comparable_facets(operand.text)
        numeric = kind <= TermKind.DOUBLE and number is not None
        if numeric or (operator in a.EQUALITIES and kind in (TermKind.IRI, TermKind.STRING)):
            return self._lift(operand)
        return operand

    def _lift(self, part: a.Variable | a.Constant | a.Parameter) -> a.Variable | a.Constant | a.Parameter:
        if not isinstance(part, a.Constant):
            return part
        kind, _ = facets(part.text)
        self.terms.append(part.text)
        return a.Parameter(len(self.terms) - 1, int(kind))


def _draw_by(node: Any, identity: a.Parameter) -> Any:
    """The pattern, all random terms in it drawn from the query's identity."""
    if isinstance(node, tuple):
        return tuple(_draw_by(part, identity) for part in node)
    if not is_dataclass(node) or isinstance(node, type | a.Variable | a.Constant):
        return node
    rest = {field.name: _draw_by(getattr(node, field.name), identity) for field in fields(node)}
    return replace(node, **(rest | {"identity": identity} if isinstance(node, a.Draw) else rest))
