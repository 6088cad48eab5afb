"""Graph patterns (productions [53] to [69] of SPARQL 1.1 Query section 19.8), by the translation of section 18.2.2."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from protocol.errors import QuerySemanticError, UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.expressions import Expressions
from protocol.grammar.paths import Matching, Paths
from protocol.grammar.streams.clauses import BARE_WINDOWS, StreamClauses
from protocol.grammar.streams.events import EventPatterns
from protocol.grammar.streams.facts import Facts
from protocol.grammar.terms import Terms
from protocol.grammar.triple_terms import Node, TripleTerms, Unfolding, unfold, unfolded, variables_of
from protocol.grammar.triples import Triples, WrittenTriple
from protocol.language.algebra import (
    BGP,
    Constant,
    Expression,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Pattern,
    Service,
    TriplePattern,
    TripleTerm,
    Union,
    Values,
    Variable,
    balanced,
    in_scope,
)
from protocol.sparql.tokens import Token

_NOTHING = Variable("_:nothing")
"""Of solutions that bind nothing, so that they are as many as they are."""


class Groups:
    """Reads groups. ``sub_select`` reads a query inside of one, from its SELECT on."""

    def __init__(self, cursor: Cursor, terms: Terms, streams: StreamClauses, sub_select: Callable[[], Pattern]) -> None:
        self._cursor = cursor
        self._terms = terms
        self._streams = streams
        self._sub_select = sub_select
        self.expressions = Expressions(cursor, terms, self.group)
        self._triples = Triples(cursor, terms, Paths(cursor, terms))
        self._matching = Matching(terms)
        self.events = EventPatterns(cursor, terms, self.expressions, self._triples, self.patterns, self.condition)
        self._graph: Token | None = None
        """The keyword by which the group that is read has a graph of its own."""
        self._active: Variable | Constant | None = None
        """The name of that graph, None for the default graph and what has no name."""
        self.facts = Facts(cursor, terms, self.group, self.group_of_graph, self._bare_triples)

    def group(self) -> Pattern:
        """[53] GroupGraphPattern."""
        pattern, conditions = self._parts()
        return _filtered(pattern, conditions)

    def group_of_graph(self, keyword: Token, name: Variable | Constant | None = None) -> Pattern:
        """The group behind GRAPH or WINDOW, whose graph has this name, or behind STREAM, SERVICE or CURRENT."""
        outer = self._graph, self._active
        self._graph, self._active = keyword, name
        pattern = self.group()
        self._graph, self._active = outer
        return pattern

    def event_pattern(self) -> Pattern:
        """An event pattern that names no stream: it is over the only one."""
        if self._graph is not None:
            raise self._cursor.error(
                f"an event pattern is over occurrences in a stream, not in {self._graph.word}: write STREAM <stream> "
                "before it",
                kind=QuerySemanticError,
            )
        return self._streams.events_of_only_stream(self.events)

    def where(self) -> Pattern:
        """The group of [17] WhereClause; with liberties also ``{…} UNION {…}``, and FILTERs behind it that are its."""
        if not self._cursor.liberal:
            return self.group()
        pattern = self.union()
        while keyword := self._cursor.take("FILTER"):
            self._cursor.count_operation(keyword)
            minus = self._cursor.take("MINUS")
            pattern = Minus(pattern, self.group()) if minus else Filter(pattern, self.condition())
        return pattern

    def union(self) -> Pattern:
        """[67] GroupOrUnionGraphPattern."""
        pattern = self.group()
        while union := self._cursor.take("UNION"):
            self._cursor.count_operation(union)
            pattern = Union(pattern, self.group())
        return pattern

    def _bare_triples(self) -> Pattern:
        """Triple patterns without the braces of a group."""
        self._terms.begin_pattern()
        patterns, unfoldings = self.patterns(self._triples.block())
        links = [triple for pattern in patterns if isinstance(pattern, BGP) for triple in pattern.triples]
        others = [one for one in patterns if not isinstance(one, BGP)]
        return unfolded(reduce(Join, [BGP(tuple(links)), *others]), unfoldings)

    def matching(self, template: list[tuple[Node, Node, Node]]) -> Pattern:
        """The pattern of a CONSTRUCT that is written as its template."""
        written = [WrittenTriple(s, p, o) for s, p, o in template if not isinstance(p, TripleTerm)]
        patterns, unfoldings = self.patterns(written)
        links = [triple for pattern in patterns if isinstance(pattern, BGP) for triple in pattern.triples]
        return unfolded(BGP(tuple(links)), unfoldings)

    def condition(self) -> Expression:
        """What follows FILTER: [69] Constraint."""
        condition = self.expressions.constraint()
        if condition is None:
            raise self._cursor.unexpected("an expression in brackets or a call after FILTER")
        return condition

    @property
    def at_window(self) -> bool:
        """Whether a window is next that is the last thing in its group (Streaming SPARQL)."""
        return self._cursor.liberal and self._cursor.at("WINDOW") and self._cursor.following.word in BARE_WINDOWS

    def _parts(self) -> tuple[Pattern, list[Expression]]:
        """What a group is made of, and its filters: OPTIONAL has these for its own condition."""
        outer = self._terms.pattern
        with self._cursor.nested("{", "}") as bracket:
            self._terms.begin_pattern()
            if self._cursor.at("SELECT"):
                found = self._sub_select(), list[Expression]()
            else:
                found = _Group(self, self._streams.window_in_group(bracket, self._graph, self._active)).read()
                self._streams.end_of_group(bracket)
        self._terms.pattern = outer
        return found

    def patterns(self, triples: list[WrittenTriple]) -> tuple[list[Pattern], list[Unfolding]]:
        """What matches these triples, in their order, once the triple terms in them are unfolded."""
        found: list[Pattern] = []
        unfoldings: list[Unfolding] = []
        for written, predicate, written_object in triples:
            subject, of_subject = unfold(written, self._terms.fresh)
            object_, of_object = unfold(written_object, self._terms.fresh)
            unfoldings += (*of_subject, *of_object)
            if isinstance(predicate, Variable):
                found.append(BGP((TriplePattern(subject, predicate, object_),)))
            else:
                found += self._matching.patterns(predicate, subject, object_)
        return found, unfoldings


class _Group:
    """One group while it is read: [54] GroupGraphPatternSub. ``graph``: what its own triple patterns read, if given."""

    def __init__(self, groups: Groups, graph: Constant | None) -> None:
        self._graph = graph
        self._groups = groups
        self._cursor = groups._cursor
        self._terms = groups._terms
        self._pattern: Pattern | None = None
        self._conditions: list[Expression] = []
        # Of the basic graph pattern that is being read: FILTER does not end it (section 5.1).
        self._links: list[TriplePattern] = []
        self._others: list[Pattern] = []
        self._unfoldings: list[Unfolding] = []
        self._scope: set[Variable] = set()

    def read(self) -> tuple[Pattern, list[Expression]]:
        cursor = self._cursor
        ended = True
        while not (cursor.at_punctuation("}") or self._groups.at_window):
            if self._groups._triples.at_triples:
                if not ended:
                    raise cursor.unexpected(". after a triple, or }")
                self._add(*self._groups.patterns(self._groups._triples.block()))
                ended = cursor.previous.text == "."
            elif self._other():
                cursor.take_punctuation(".")
                ended = True
            else:
                raise cursor.unexpected("a triple pattern, a keyword such as OPTIONAL or FILTER, or }")
        self._end_basic()
        return self._pattern or BGP(()), self._conditions

    def _add(self, patterns: list[Pattern], unfoldings: list[Unfolding]) -> None:
        for unfolding in unfoldings:
            self._cursor.count_operation()
            self._scope |= {one for one in variables_of(unfolding.term) if not one.name.startswith("_:")}
        self._unfoldings += unfoldings
        for pattern in patterns:
            self._cursor.count_operation()
            if isinstance(pattern, BGP):
                self._links += pattern.triples
            else:
                self._others.append(pattern)
            self._scope |= in_scope(pattern)

    def _end_basic(self) -> None:
        """The basic graph pattern is whole: it is joined to what was before."""
        if self._links or self._others:
            parts: list[Pattern] = [BGP(tuple(self._links))] if self._links else []
            basic = unfolded(reduce(Join, [*parts, *self._others]), self._unfoldings)
            self._join(basic if self._graph is None else Graph(self._graph, basic, place=self._graph.place))
            self._links, self._others, self._unfoldings = [], [], []
        self._terms.begin_pattern()

    def _join(self, pattern: Pattern) -> None:
        self._pattern = pattern if self._pattern is None else Join(self._pattern, pattern)
        self._scope |= in_scope(pattern)

    @property
    def _so_far(self) -> Pattern:
        return self._pattern or BGP(())

    def _other(self) -> bool:
        """[56] GraphPatternNotTriples; whether one was there."""
        cursor = self._cursor
        cursor.count_operation()
        if cursor.take("FILTER") and not (cursor.liberal and cursor.at("MINUS")):
            self._conditions.append(self._groups.condition())
            return True
        if cursor.at_punctuation("{"):
            self._end_basic()
            events = self._groups.events.is_first
            self._join(self._groups.event_pattern() if events else self._groups.union())
            return True
        match cursor.token.word:
            case "OPTIONAL":
                self._end_basic()
                cursor.advance()
                right, conditions = self._groups._parts()
                self._pattern = LeftJoin(self._so_far, right, _conjunction(conditions))
                self._scope |= in_scope(right)
            case "MINUS":
                self._end_basic()
                cursor.advance()
                self._pattern = Minus(self._so_far, self._groups.group())
            case "GRAPH":
                self._end_basic()
                keyword = cursor.advance()
                name = self._terms.variable_or_iri("a variable or the IRI of a graph after GRAPH")
                self._join(Graph(name, self._groups.group_of_graph(keyword, name), place=keyword.start))
            case "BIND":
                self._end_basic()
                self._bind()
            case "VALUES":
                self._end_basic()
                cursor.advance()
                self._join(read_values(cursor, self._terms))
            case "WINDOW" | "STREAM":
                self._end_basic()
                self._join(self._groups._streams.pattern(self._groups.group_of_graph, self._groups.events))
            case "CURRENT":
                self._end_basic()
                self._join(self._groups.facts.current())
            case "SERVICE":
                self._end_basic()
                keyword = cursor.advance()
                silent = cursor.take("SILENT") is not None
                name = self._terms.variable_or_iri("a variable or the IRI of a service")
                self._join(Service(name, self._groups.group_of_graph(keyword), silent, place=keyword.start))
            case "LATERAL":
                raise cursor.error("LATERAL is not part of SPARQL", kind=UnsupportedFeature)
            case _:
                return False
        return True

    def _bind(self) -> None:
        """[60] Bind. The variable is new in its group (section 18.2.1)."""
        token, variable, expression = self._groups.expressions.bind()
        if variable in self._scope:
            raise self._cursor.error(f"{token.text} is bound already: BIND needs a new variable", token)
        self._pattern = Extend(self._so_far, variable, expression)
        self._scope.add(variable)


def _filtered(pattern: Pattern, conditions: list[Expression]) -> Pattern:
    condition = _conjunction(conditions)
    return pattern if condition is None else Filter(pattern, condition)


def _conjunction(conditions: list[Expression]) -> Expression | None:
    return balanced("&&", conditions) if conditions else None


def read_values(cursor: Cursor, terms: Terms) -> Values:
    """[62] DataBlock."""
    if terms.at_variable:
        variable = terms.variable()
        rows: list[tuple[str | None, ...]] = []
        with cursor.nested("{", "}"):
            while not cursor.at_punctuation("}"):
                rows.append((_value(cursor, terms),))
        return Values((variable,), tuple(rows))
    variables: dict[Variable, None] = {}
    with cursor.nested("(", ")", "a variable or ( after VALUES"):
        while not cursor.at_punctuation(")"):
            token = cursor.token
            variable = terms.variable("a variable or ) after VALUES (")
            if variable in variables:
                raise cursor.error(f"{token.text} stands twice in VALUES", token)
            variables[variable] = None
    rows = []
    with cursor.nested("{", "}"):
        while not cursor.at_punctuation("}"):
            rows.append(_row(cursor, terms, tuple(variables)))
    if not variables:
        return Values((_NOTHING,), tuple((None,) for _ in rows))
    return Values(tuple(variables), tuple(rows))


def _row(cursor: Cursor, terms: Terms, variables: tuple[Variable, ...]) -> tuple[str | None, ...]:
    row: list[str | None] = []
    with cursor.nested("(", ")", "a row in brackets or }"):
        while not cursor.at_punctuation(")"):
            if len(row) == len(variables):
                raise cursor.unexpected(f") after {len(row)} values, one a variable")
            row.append(_value(cursor, terms))
        if len(row) < len(variables):
            raise cursor.unexpected(f"a value for ?{variables[len(row)].name}")
    return tuple(row)


def _value(cursor: Cursor, terms: Terms) -> str | None:
    """[65] DataBlockValue."""
    if cursor.take("UNDEF"):
        return None
    if terms.at_iri:
        return terms.iri().text
    if terms.at_literal():
        return terms.literal().text
    if (triples := TripleTerms(cursor, terms)).at_term:
        return triples.data().text
    raise cursor.unexpected("an IRI, a literal, a triple term or UNDEF")
