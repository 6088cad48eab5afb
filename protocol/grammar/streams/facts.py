"""Facts (docs/language.md, "Facts"; TEF-SPARQL): their definitions, what matches those that hold, what counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from protocol.errors import QuerySemanticError, UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.streams.quantities import QuantityReader
from protocol.grammar.streams.registration import read_name
from protocol.grammar.terms import Terms
from protocol.grammar.triple_terms import Node
from protocol.grammar.triples import Triples
from protocol.language.algebra import (
    BGP,
    INTERVAL,
    TIMESTAMP,
    VARYING,
    Aggregate,
    Call,
    Closure,
    Constant,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Parameter,
    Pattern,
    Project,
    Service,
    TriplePattern,
    TripleTerm,
    Union,
    Values,
    Variable,
    in_scope,
    needs_a_triple,
    nodes,
)
from protocol.language.model import Current, FactDefinition, FactTriple
from protocol.sparql.iris import is_absolute
from protocol.sparql.tokens import Token, TokenKind
from protocol.time import Milliseconds
from protocol.windows.spec import Report, StreamWindow

_GRAPH = "urn:x-sparql-streams:facts:"
_FORM = "CONSTRUCT FACT name { template } (UNION (SINCE pattern) (TILL pattern))"
_AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX")

_MADE_OF = (BGP, TriplePattern, Join, Filter, Extend, Call, Variable, Constant, Parameter)
_NAMES: dict[type, str] = {
    LeftJoin: "OPTIONAL",
    Union: "UNION",
    Minus: "MINUS",
    Graph: "a pattern over a graph, a window or facts",
    Service: "SERVICE",
    Values: "VALUES",
    Closure: "a path with *, + or ?",
    Exists: "EXISTS",
}
_OF_AN_INSTANT = VARYING | {TIMESTAMP}


@dataclass(frozen=True)
class _Use:
    """A CURRENT of the text: its ``name`` as it is told in the model, the graph that it reads, and where it stands."""

    name: str | None
    graph: str
    place: Token


class Facts:
    """Reads what is about facts in one query, and collects it.

    ``group`` reads a group, ``group_of_graph`` one that is not matched in the default graph, behind the keyword that
    says so, and ``triples`` bare triples.
    """

    def __init__(
        self,
        cursor: Cursor,
        terms: Terms,
        group: Callable[[], Pattern],
        group_of_graph: Callable[[Token], Pattern],
        triples: Callable[[], Pattern],
    ) -> None:
        self.definitions: list[FactDefinition] = []
        self.every: Milliseconds | None = None
        """The period that the counting form asks for."""
        self._cursor = cursor
        self._terms = terms
        self._group = group
        self._group_of_graph = group_of_graph
        self._triples = triples
        self._uses: dict[str | None, _Use] = {}

    # Definitions

    @property
    def at_definition(self) -> bool:
        """Whether CONSTRUCT FACT is next."""
        return self._cursor.at("CONSTRUCT") and self._cursor.following.word == "FACT"

    def definition(self) -> None:
        """``CONSTRUCT FACT name Dataset? { template } Dataset? ( UNION ( SINCE pattern ) ( TILL pattern ) )``."""
        cursor = self._cursor
        cursor.advance()
        cursor.advance()
        place = cursor.token
        name = self._name("CONSTRUCT FACT")
        if name in {known.name for known in self.definitions}:
            raise cursor.error(f"{place.text} is defined twice: give each its own name", place, QuerySemanticError)
        stream = self._stream(None)
        brace = cursor.token
        template = self._template()
        stream = self._stream(stream)
        if cursor.at_punctuation("("):
            with cursor.nested("(", ")"):
                since, till = self._union()
        else:
            since, till = self._union()
        self._terms.forget_labels()
        self._check_template(template, since, brace)
        triples, since = _with_triple_terms_bound(template, since)
        line, column = cursor.source.place((stream or place).start)
        self.definitions.append(
            FactDefinition(
                name,
                None if stream is None else self._terms.absolute(stream),
                since,
                till,
                triples,
                self._terms.namespaces.base,
                line,
                column,
                reference=None if stream is None else _relative(stream),
            )
        )

    def _stream(self, known: Token | None) -> Token | None:
        """``FROM STREAM iri``, without a window."""
        cursor = self._cursor
        while keyword := cursor.take("FROM"):
            if known is not None:
                raise cursor.error("a fact has one stream: write FROM STREAM <stream> once", keyword)
            if not cursor.take("STREAM"):
                raise cursor.error(
                    f"a fact is defined over a stream: write FROM STREAM <stream>, found {cursor.token.shown}"
                )
            known = cursor.expect_iri("the IRI of a stream after STREAM")
            if cursor.at_punctuation("[") or cursor.at("WINDOW"):
                raise cursor.error("a fact holds from SINCE until TILL: its stream has no window here")
        return known

    def _template(self) -> list[tuple[Node, Node, Node]]:
        cursor = self._cursor
        with cursor.nested("{", "}", f"{{ before the template, as in {_FORM}"):
            found = Triples(cursor, self._terms).template()
            if not cursor.at_punctuation("}"):
                raise cursor.unexpected("a triple of the template or }")
        if not found:
            raise cursor.error("a fact needs a triple in its template", cursor.previous, QuerySemanticError)
        self._terms.forget_labels()
        return found

    def _union(self) -> tuple[Pattern, Pattern]:
        """``UNION ( SINCE pattern ) ( TILL pattern )``."""
        self._cursor.expect("UNION", after="the template, as in " + _FORM)
        return self._part("SINCE"), self._part("TILL")

    def _part(self, keyword: str) -> Pattern:
        """``( SINCE pattern )`` or ``( TILL pattern )``."""
        cursor = self._cursor
        with cursor.nested("(", ")", f"( before {keyword}, as in {_FORM}"):
            word = cursor.expect(keyword, after="(")
            pattern = self._group() if cursor.at_punctuation("{") else self._triples()
        self._check_pattern(pattern, word)
        return pattern

    def _check_pattern(self, pattern: Pattern, keyword: Token) -> None:
        """What begins and ends facts is matched among occurrences: the same ones, whatever the instant."""
        for node in nodes(pattern):
            if isinstance(node, Call) and node.name in _OF_AN_INSTANT:
                raise self._cursor.error(
                    f"{node.name} has no meaning in {keyword.word}, which is the same at every instant",
                    node.place,
                    QuerySemanticError,
                )
            if isinstance(node, Call) and node.name in INTERVAL:
                raise self._cursor.error(
                    f"{node.name}() is that of the event pattern around it, and {keyword.word} is none: when a fact "
                    "began is told by getSTARTTIME() beside CURRENT",
                    node.place,
                    QuerySemanticError,
                )
            if not (node is None or isinstance(node, (*_MADE_OF, tuple, str, int))):
                construct = next((told for kind, told in _NAMES.items() if isinstance(node, kind)), "a sub-select")
                raise self._cursor.error(
                    f"{construct} is not evaluated in {keyword.word}: write triple patterns, FILTER and BIND",
                    getattr(node, "place", None) or keyword,
                    UnsupportedFeature,
                )
        if not needs_a_triple(pattern):
            raise self._cursor.error(f"{keyword.word} needs a triple pattern", keyword, QuerySemanticError)

    def _check_template(self, template: Sequence[tuple[Node, Node, Node]], since: Pattern, brace: Token) -> None:
        bound = in_scope(since)
        for part in (part for triple in template for part in nodes(triple) if isinstance(part, Variable)):
            if part.name.startswith("_:"):
                raise self._cursor.error(
                    "a blank node in the template of a fact is not evaluated: use a variable of SINCE, or an IRI",
                    brace,
                    UnsupportedFeature,
                )
            if part not in bound:
                raise self._cursor.error(
                    f"?{part.name} is not bound by SINCE, so that the fact would have no such triple",
                    part.place,
                    QuerySemanticError,
                )

    # What reads them

    def current(self, *, bare: bool = False) -> Pattern:
        """``CURRENT name? {…}``; if ``bare``, the braces may be missing."""
        cursor = self._cursor
        keyword = cursor.advance()
        name, place = None, keyword
        if cursor.token.kind is TokenKind.WORD or (self._terms.at_iri and cursor.following.text == "{"):
            place = cursor.token
            name = self._name("CURRENT")
        if not bare and not cursor.at_punctuation("{"):
            raise cursor.unexpected("{ after the name" if name is not None else "a name or { after CURRENT")
        use = self._uses.setdefault(name, _Use(name, f"{_GRAPH}{len(self._uses) + 1}", place))
        pattern = self._group_of_graph(keyword) if cursor.at_punctuation("{") else self._triples()
        return Graph(Constant(f"<{use.graph}>"), pattern, facts=True, place=keyword.start)

    def defined(self) -> tuple[Pattern, tuple[Variable, ...], tuple[tuple[Variable, Variable, Variable], ...]]:
        """The pattern, the variables and the template of what a definition is by itself: its facts as they hold."""
        s, p, o = (Variable(name) for name in ("subject", "predicate", "object"))
        (definition,) = self.definitions
        use = self._uses.setdefault(definition.name, _Use(definition.name, f"{_GRAPH}1", self._cursor.token))
        graph = Graph(Constant(f"<{use.graph}>"), BGP((TriplePattern(s, p, o),)), facts=True)
        return Project(graph, (s, p, o)), (s, p, o), ((s, p, o),)

    @property
    def are_read(self) -> bool:
        """Whether the query reads facts."""
        return bool(self._uses)

    def windows(self, report: Report) -> Iterator[StreamWindow]:
        """The facts of the text's own definitions, as graphs."""
        for use in self._uses.values():
            for definition in self._meant(use):
                yield definition.window(use.graph, report)

    def currents(self, report: Report) -> Iterator[Current]:
        """What is to be found among the definitions that others have registered."""
        for use in self._uses.values():
            if not self._meant(use):
                yield Current(use.name, use.graph, report, *self._cursor.source.place(use.place.start))

    def _meant(self, use: _Use) -> list[FactDefinition]:
        return [one for one in self.definitions if use.name in (None, one.name)]

    # TEF-SPARQL's aggregates

    def counting(self) -> tuple[Pattern, tuple[Variable, ...]]:
        """``?k AS K, ?v AS V ( AGGREGATE ?k , COUNT ?v WHERE ( CURRENT triple ) GROUP BY ?k EVERY duration )``.

        The pattern of the whole, and its variables.
        """
        cursor = self._cursor
        selected: dict[Variable, Variable] = {}
        while self._terms.at_variable:
            variable = self._terms.variable()
            cursor.expect("AS", after=f"?{variable.name}")
            if variable in selected:
                raise cursor.error(f"?{variable.name} is selected already", variable.place, QuerySemanticError)
            selected[variable] = self._new_name(set(selected.values()))
            cursor.take_punctuation(",")
        if not cursor.at("AGGREGATE") and not cursor.at_punctuation("("):
            variable, name = next(iter(selected.items()))
            said = f"?{variable.name} AS ?{name.name}"
            raise cursor.error(f"{said} stands in brackets: write ({said})", variable.place)
        with cursor.nested("(", ")", "( and AGGREGATE after what is selected"):
            cursor.expect("AGGREGATE", after="(")
            keys = self._variables()
            function = cursor.expect(*_AGGREGATES, after="the keys of AGGREGATE")
            distinct = cursor.take("DISTINCT") is not None
            argument = self._terms.variable(f"the variable of {function.word}")
            cursor.expect("WHERE", after="the aggregate")
            with cursor.nested("(", ")", "( and CURRENT after WHERE"):
                if not cursor.at("CURRENT"):
                    raise cursor.unexpected("CURRENT and a triple pattern")
                pattern = self.current(bare=True)
            cursor.expect("GROUP", after="WHERE ( … )")
            cursor.expect("BY", after="GROUP")
            groups = self._variables()
            if groups != keys:
                raise cursor.error("GROUP BY has other variables than AGGREGATE", groups[0].place, QuerySemanticError)
            cursor.expect("EVERY", after="GROUP BY")
            reader = QuantityReader(cursor.source, self._terms.namespaces, cursor.token.start)
            self.every = reader.duration("EVERY")
            cursor.advance_to(reader.offset)
        for variable in (*keys, argument):
            if variable not in in_scope(pattern):
                raise cursor.error(f"?{variable.name} is not bound in WHERE", variable.place, QuerySemanticError)
        result = self._terms.fresh("aggregate")
        # Grouped by what nobody can name: a new name may be that of another key.
        grouped = {key: self._terms.fresh("key") for key in keys}
        for key, variable in grouped.items():
            pattern = Extend(pattern, variable, key)
        pattern = Group(pattern, tuple(grouped.values()), (Aggregate(function.word, argument, result, distinct),))
        found = grouped | {argument: result}
        for variable, name in selected.items():
            if variable not in found:
                raise cursor.error(
                    f"?{variable.name} is neither a key nor what is aggregated", variable.place, QuerySemanticError
                )
            pattern = Extend(pattern, name, found[variable])
        names = tuple(selected.values())
        return Project(pattern, names), names

    def _variables(self) -> list[Variable]:
        found = [self._terms.variable("a variable to group by")]
        self._cursor.take_punctuation(",")
        while self._terms.at_variable:
            found.append(self._terms.variable())
            self._cursor.take_punctuation(",")
        return found

    def _new_name(self, taken: set[Variable]) -> Variable:
        """What stands behind AS: a word or a variable."""
        cursor = self._cursor
        token = cursor.token
        if not self._terms.at_variable and token.kind is not TokenKind.WORD:
            raise cursor.unexpected("a name after AS")
        cursor.advance()
        name = Variable(token.text.lstrip("?$"), place=token.start)
        if name in taken:
            raise cursor.error(f"{token.text} is selected already: AS needs a new name", token)
        self._terms.order.setdefault(name, len(self._terms.order))
        return name

    def _name(self, after: str) -> str:
        """A word, or an absolute IRI."""
        name = read_name(self._cursor, after)
        return name if isinstance(name, str) else self._terms.absolute(name)


def _relative(token: Token) -> str | None:
    """The reference that an IRI is, if it is relative."""
    reference = token.text[1:-1] if token.kind is TokenKind.IRI else None
    return None if reference is None or is_absolute(reference) else reference


def _with_triple_terms_bound(
    template: Sequence[tuple[Node, Node, Node]], since: Pattern
) -> tuple[tuple[FactTriple, ...], Pattern]:
    """The template with a variable for each triple term that has variables, and the pattern that binds it.

    Nobody can write the name: a space is in it.
    """
    terms = dict.fromkeys(part for triple in template for part in triple if isinstance(part, TripleTerm))
    bound = {term: Variable(f"triple term {place}") for place, term in enumerate(terms)}
    for term, variable in bound.items():
        since = Extend(since, variable, _made(term))

    def told(part: Node) -> Variable | Constant:
        return bound[part] if isinstance(part, TripleTerm) else part

    return tuple((told(s), told(p), told(o)) for s, p, o in template), since


def _made(part: Node) -> Expression:
    if isinstance(part, TripleTerm):
        return Call("TRIPLE", (_made(part.subject), _made(part.predicate), _made(part.object)))
    return part
