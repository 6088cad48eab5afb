"""From the text of a query to its model (docs/language.md, "Grammar"; productions [1] to [17] of SPARQL 1.1 Query)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from protocol.errors import ProtocolError, QuerySemanticError, UnsupportedFeature
from protocol.formats.media_types import SPARQL_UPDATE
from protocol.grammar.aggregate_clauses import AggregateClauses
from protocol.grammar.cursor import MOST_TOKENS, Cursor
from protocol.grammar.foreign import foreign
from protocol.grammar.groups import Groups
from protocol.grammar.solutions import Selection, Solutions
from protocol.grammar.streams.clauses import StreamClauses
from protocol.grammar.streams.dialects import (
    contradicting,
    facts_report,
    graphs_beside,
    reports,
    stream_window,
    undecidable,
)
from protocol.grammar.streams.events import OPERATORS
from protocol.grammar.streams.registration import WrittenRegistration, read_registration
from protocol.grammar.terms import Terms
from protocol.grammar.triple_terms import Node
from protocol.grammar.triples import Triples
from protocol.grammar.warnings import warnings
from protocol.language.algebra import (
    BGP,
    Constant,
    Distinct,
    Pattern,
    Project,
    Query,
    Slice,
    Variable,
)
from protocol.language.describe import described
from protocol.language.model import R2S, ContinuousQuery, Form, OneShotQuery
from protocol.language.sparql_text import WrittenQuery
from protocol.sparql.dataset import NONE_REQUESTED, DatasetConflict, RequestedGraphs
from protocol.sparql.iris import Namespaces
from protocol.sparql.source import Source, blanked
from protocol.sparql.tokens import Token, TokenKind, tokens
from protocol.time import Milliseconds

# None of these is a keyword of SPARQL 1.1: a text with one of them as a token is not for the store's parser.
_STREAM_WORDS = frozenset({"REGISTER", "STREAM", "WINDOW", "FACT", "CURRENT", *R2S})
_UPDATES = ("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")
"""How the operations of SPARQL 1.1 Update begin."""
_IN_STREAM_TEXTS = ("register", "stream", "window", "fact", "current", "optionalseq", "equals")
_OPERATOR_TEXT = re.compile(r"(?:seq(?<!\w{4})|and(?<!\w{4})|or(?<!\w{3}))\b")
"""``seq``, ``and`` or ``or`` as a word. What is before it is looked at where it is found, and not at each place. That
each alternative begins with its letters lets ``re`` pass over all places that have none of them, in half the time.
"""
_PIECE = 65_536
"""Characters that are searched at once: as long as that takes, no other thread of the process goes on."""
_LONGEST_OPERATOR = 3


def perhaps_continuous(text: str) -> bool:
    """Whether ``parse`` may take the text for anything but a ``OneShotQuery``: a look at it that costs next to nothing.

    Where this is false ``parse`` need not be asked.
    """
    lowered = text.lower()
    if any(word in lowered for word in _IN_STREAM_TEXTS):
        return True
    return any(_has_operator(lowered, start) for start in range(0, len(lowered), _PIECE))


def _has_operator(text: str, start: int) -> bool:
    """Whether a word that begins in the piece from ``start`` on is one of ``_OPERATOR_TEXT``."""
    end = start + _PIECE + _LONGEST_OPERATOR
    found = _OPERATOR_TEXT.search(text, start, end)
    # What ends with what was looked at may go on behind it, as ``or`` does in an IRI of example.org. It is the next
    # piece's, which sees its end.
    return found is not None and (found.end() < end or end >= len(text))


def parse(
    text: str, *, base: str | None = None, requested: RequestedGraphs = NONE_REQUESTED
) -> OneShotQuery | ContinuousQuery:
    """Read a query of the language.

    ``base`` (an absolute IRI) resolves relative IRIs where the text has no BASE. A text without any
    stream clause, registration or relation-to-stream keyword is a ``OneShotQuery``, whether or not it
    is a query at all: that is for the store's own parser to say. Anything else is a
    ``ContinuousQuery`` or raises QuerySyntaxError, QuerySemanticError (it parses but means nothing) or
    UnsupportedFeature, with the place in ``text``. ``requested`` are its graphs of the store instead of those of FROM
    and FROM NAMED; DatasetConflict where one of them has the name of a window.
    """
    if not perhaps_continuous(text):
        return OneShotQuery(text)
    source = Source(text)
    if not _names_streams(source):
        return OneShotQuery(text)
    cursor = Cursor(source, continuous=True)
    try:
        query = QueryReader(cursor, base).continuous_query(requested)
        if query.one_shot is None:
            return query
        # The store answers it, by the standard: there HAVING does not see what SELECT names.
        cursor = Cursor(source, liberal=True)
        return QueryReader(cursor, base).continuous_query(requested)
    except RecursionError:
        raise cursor.error("the query is too long or nests too deeply up to here", kind=UnsupportedFeature) from None


def parse_live(text: str, *, base: str | None = None, requested: RequestedGraphs = NONE_REQUESTED) -> ContinuousQuery:
    """Read a query that is asked as a stream, also one without any word of streams. Raises as ``parse``."""
    query = parse(text, base=base, requested=requested)
    if isinstance(query, ContinuousQuery):
        return query
    cursor = Cursor(Source(text), liberal=True)
    try:
        return QueryReader(cursor, base).continuous_query(requested)
    except RecursionError:
        raise cursor.error("the query is too long or nests too deeply up to here", kind=UnsupportedFeature) from None


def _names_streams(source: Source) -> bool:
    """Whether there is a word of streams, or an operator of event patterns behind a group."""
    before = ""
    for token in islice(tokens(source.text), MOST_TOKENS):
        if token.word in _STREAM_WORDS or (before == "}" and token.word in OPERATORS):
            return True
        before = token.text
    return False


def read_query(text: str, base: str | None = None) -> Query:
    """The algebra of a query of standard SPARQL 1.1. Raises as ``parse``."""
    return QueryReader(Cursor(Source(text)), base).query()


class QueryReader:
    """Reads one query."""

    def __init__(self, cursor: Cursor, base: str | None) -> None:
        self._cursor = cursor
        self._base = base
        self._namespaces = Namespaces(cursor.source, base)
        self._operator: Token | None = None
        self._beyond_standard: list[tuple[int, int]] = []
        """Where the registration and the operator are, which a query of the store is asked without."""
        self._described: Pattern | None = None
        self._resources: Sequence[Variable | Constant] = ()
        """What DESCRIBE describes, and the pattern that binds it."""
        self._terms = Terms(cursor, self._namespaces)
        self._streams = StreamClauses(cursor, self._terms)
        self._groups = Groups(cursor, self._terms, self._streams, self._sub_select)
        self._facts = self._groups.facts

    def continuous_query(self, requested: RequestedGraphs = NONE_REQUESTED) -> ContinuousQuery:
        """QueryUnit of the language, over the graphs that its request names, if it names any."""
        cursor = self._cursor
        self._prologue()
        registration = None
        if cursor.at("REGISTER"):
            registration = read_registration(cursor, self._namespaces)
            self._beyond_standard.append((registration.keyword.start, cursor.previous.end))
            self._prologue()
        while self._facts.at_definition:
            self._facts.definition()
            self._prologue()
        alone = bool(self._facts.definitions) and cursor.token.kind is TokenKind.END
        if alone:
            form, expression = Form.CONSTRUCT, self._defined()
        else:
            self._dataset()
            form, expression = self._form(registration), self.query()
            expression = replace(expression, pattern=self._groups.events.resolved(expression.pattern))
        operator = self._chosen_operator(registration)
        self._check_streams(registration, form)
        declarations = self._streams.declarations
        graphs, named = self._graphs(requested)
        every = self._period(registration)
        contradicted = contradicting(declarations, every)
        if contradicted is not None:
            raise cursor.error(
                "COMPUTED EVERY is PERIODIC on every window, and this one has another period: write one of them",
                contradicted.offset,
                QuerySemanticError,
            )
        query = ContinuousQuery(
            text=cursor.source.original,
            expression=expression,
            form=form,
            operator=operator,
            windows=(
                *(
                    stream_window(declaration, report, cursor.source.place(declaration.offset), also)
                    for declaration, report, also in zip(
                        declarations,
                        reports(declarations, every, beside_facts=self._facts.are_read),
                        graphs_beside(declarations, expression.pattern, named),
                        strict=True,
                    )
                ),
                *self._facts.windows(facts_report(every)),
            ),
            from_graphs=graphs,
            from_named=named,
            registration=registration.resolved(self._namespaces) if registration else None,
            definitions=tuple(self._facts.definitions),
            currents=tuple(self._facts.currents(facts_report(every))),
            defines=self._facts.definitions[0] if alone else None,
            one_shot=self._one_shot(),
            requested=requested,
        )
        undecided = undecidable(query.windows, beside_facts=bool(query.currents))
        if undecided is not None:
            window, other = undecided
            raise cursor.error(
                f"a window with WHERE cannot close by its count beside {other}: write REPORT ON_CONTENT_CHANGE",
                declarations[query.windows.index(window)].offset,
                UnsupportedFeature,
            )
        return replace(query, warnings=warnings(query, cursor.source, self._streams.conditions))

    def one_shot_query(self) -> WrittenQuery:
        """A query that reads no stream, as it is written."""
        self._prologue()
        self._dataset()
        form = Form(self._cursor.token.word) if self._cursor.at(*Form) else None
        query = self.query()
        assert form is not None  # else query has raised
        pattern = query.pattern if self._described is None else self._described
        streams = self._streams
        return WrittenQuery(
            form, replace(query, pattern=pattern), streams.from_graphs, streams.from_named, self._resources
        )

    def query(self) -> Query:
        """[2] Query, to the end of the text."""
        cursor = self._cursor
        self._prologue()
        match cursor.token.word:
            case "SELECT":
                found = self._select()
            case "CONSTRUCT":
                found = self._construct()
            case "ASK":
                found = self._ask()
            case "DESCRIBE":
                found = self._describe()
            case _:
                raise self._no_form()
        if cursor.token.kind is not TokenKind.END:
            raise cursor.unexpected("the end of the query")
        return found

    def _prologue(self) -> None:
        """[4] Prologue."""
        cursor = self._cursor
        while keyword := cursor.take("BASE", "PREFIX", "VERSION"):
            if keyword.word == "VERSION":
                if cursor.token.kind is not TokenKind.STRING or cursor.token.text[:3] in ('"""', "'''"):
                    raise cursor.unexpected('a version in quotation marks, as in VERSION "1.2"')
                cursor.advance()
                continue
            if keyword.word == "PREFIX":
                prefix = cursor.token
                if prefix.kind is not TokenKind.PREFIXED_NAME or prefix.text.find(":") != len(prefix.text) - 1:
                    raise cursor.unexpected("a prefix that ends with a colon, as in PREFIX name: <IRI>")
                cursor.advance()
            if cursor.token.kind is not TokenKind.IRI:
                raise cursor.unexpected(f"<IRI> after {keyword.word}")
            iri = cursor.advance()
            if keyword.word == "PREFIX":
                self._namespaces.declare(prefix, iri)
            else:
                self._namespaces.base = self._terms.absolute(iri)

    # Query forms

    def _select(self) -> Query:
        """[7] SelectQuery."""
        if self._facts_are_counted:
            self._cursor.advance()
            self._r2s()
            pattern, variables = self._facts.counting()
            return Query(pattern, variables, base=self._namespaces.base)
        solutions = self._solutions()
        selection = solutions.selection(self._r2s)
        self._dataset()
        pattern = self._rest(solutions, selection, outermost=True)
        return Query(pattern, _projection(pattern), base=self._namespaces.base)

    def _sub_select(self) -> Pattern:
        """[8] SubSelect."""
        solutions = self._solutions()
        return self._rest(solutions, solutions.selection())

    def _construct(self) -> Query:
        """[10] ConstructQuery."""
        cursor = self._cursor
        cursor.advance()
        self._r2s()
        if cursor.at_punctuation("{"):
            template = self._template()
            self._dataset()
            pattern = self._rest(self._solutions(), None, outermost=True)
        else:
            self._dataset()
            cursor.expect("WHERE", after="CONSTRUCT without a template")
            template = self._template()
            if cursor.at("AGGREGATE"):
                raise cursor.error("AGGREGATE needs a CONSTRUCT with a template: write CONSTRUCT { … } before WHERE")
            solutions = self._solutions()
            pattern = solutions.solutions(self._groups.matching(template), None)
        return Query(pattern, _projection(pattern), tuple(template), self._namespaces.base)

    def _template(self) -> list[tuple[Node, Node, Node]]:
        """[73] ConstructTemplate."""
        with self._cursor.nested("{", "}"):
            found = Triples(self._cursor, self._terms).template()
            if not self._cursor.at_punctuation("}"):
                raise self._cursor.unexpected("a triple of the template or }")
        self._terms.forget_labels()
        return found

    def _ask(self) -> Query:
        """[12] AskQuery."""
        self._cursor.advance()
        self._no_r2s(Form.ASK)
        self._dataset()
        pattern = self._rest(self._solutions(), None, outermost=True)
        return Query(pattern, _projection(pattern), base=self._namespaces.base)

    def _describe(self) -> Query:
        """[11] DescribeQuery."""
        cursor, terms = self._cursor, self._terms
        cursor.advance()
        self._no_r2s(Form.DESCRIBE)
        resources: list[Variable | Constant] = []
        everything = cursor.take_punctuation("*") is not None
        while not everything and (terms.at_variable or terms.at_iri or not resources):
            resources.append(terms.variable_or_iri("*, a variable or an IRI after DESCRIBE"))
        self._dataset()
        solutions = self._solutions()
        pattern = None
        if cursor.at("WHERE") or cursor.at_punctuation("{"):
            pattern = self._rest(solutions, None, outermost=True)
            resources = list(_projection(pattern)) if everything else resources
        else:
            self._described = solutions.solutions(BGP(()), None)
        self._described, self._resources = pattern or self._described, tuple(dict.fromkeys(resources))
        query = described(pattern, self._resources)
        return Query(query.pattern, query.variables, query.template, self._namespaces.base)

    def _rest(self, solutions: Solutions, selection: Selection | None, *, outermost: bool = False) -> Pattern:
        """[17] WhereClause, [18] SolutionModifier and [28] ValuesClause."""
        cursor = self._cursor
        cursor.take("WHERE")
        if not cursor.at_punctuation("{"):
            raise cursor.unexpected("FROM, WHERE or {" if outermost else "WHERE or {")
        pattern = self._groups.where()
        if outermost and cursor.liberal:
            pattern = AggregateClauses(cursor, self._terms, self._groups.expressions).over(pattern)
        return solutions.solutions(pattern, selection)

    def _solutions(self) -> Solutions:
        return Solutions(self._cursor, self._terms, self._groups.expressions)

    def _dataset(self) -> None:
        while self._cursor.at("FROM"):
            self._streams.dataset_clause(self._groups.group)

    # Facts

    def _defined(self) -> Query:
        """What a definition is by itself: a CONSTRUCT of its facts."""
        if len(self._facts.definitions) > 1:
            raise self._cursor.unexpected("the query that reads the facts, behind several definitions of them")
        pattern, variables, template = self._facts.defined()
        return Query(pattern, variables, template, self._namespaces.base)

    def _form(self, registration: WrittenRegistration | None) -> Form:
        """The form of the query that is next."""
        cursor = self._cursor
        if registration is not None and registration.kind.word == "FACT":
            raise cursor.unexpected("CONSTRUCT FACT, and nothing behind it, after REGISTER FACT … AS")
        if not cursor.at(*Form):
            raise self._no_form()
        return Form(cursor.token.word)

    def _no_form(self) -> ProtocolError:
        """The error where a query is to begin, and none does."""
        cursor = self._cursor
        if cursor.at(*_UPDATES) and foreign(cursor.source.text, cursor.tokens) is None:
            sent = f"POST it to /sparql as {SPARQL_UPDATE}, or as its parameter update"
            return cursor.error(f"{cursor.token.text} begins an update: {sent}")
        return cursor.unexpected("SELECT, CONSTRUCT, ASK, DESCRIBE or REGISTER")

    @property
    def _facts_are_counted(self) -> bool:
        """Whether TEF-SPARQL's SELECT is next, which has its aggregate in brackets."""
        cursor = self._cursor
        if not cursor.continuous:
            return False
        first = 2 if cursor.following.word in tuple(R2S) else 1
        return cursor.ahead(first).kind is TokenKind.VARIABLE and cursor.ahead(first + 1).word == "AS"

    def _period(self, registration: WrittenRegistration | None) -> Milliseconds | None:
        """That of COMPUTED EVERY, or of TEF-SPARQL's EVERY."""
        every, counted = registration.every if registration else None, self._facts.every
        if registration is not None and every is not None and counted not in (None, every):
            raise self._cursor.error(
                "COMPUTED EVERY has another period than the EVERY of the aggregate: write one of them",
                registration.keyword,
                QuerySemanticError,
            )
        return every if counted is None else counted

    # What makes it continuous

    def _graphs(self, requested: RequestedGraphs) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The graphs of the store that are its default graph, and its named ones: the text's, unless requested."""
        if not requested:
            return tuple(self._streams.from_graphs), tuple(self._streams.from_named)
        for known in self._streams.declarations:
            if known.declared and known.graph in requested.named:
                line, column = self._cursor.source.place(known.offset)
                raise DatasetConflict(
                    f"named-graph-uri={known.graph} is the name of a window (line {line}, column {column}):"
                    " a dataset has one graph of a name; leave the parameter out, or name the window otherwise"
                )
        return requested.default, requested.named

    def _one_shot(self) -> OneShotQuery | None:
        """What the store is asked by a query that reads nothing else."""
        if self._streams.declarations or self._facts.are_read or self._facts.definitions:
            return None
        return OneShotQuery(blanked(self._cursor.source.text, self._beyond_standard), self._base)

    def _r2s(self) -> None:
        self._operator = self._cursor.take(*R2S)
        if self._operator is not None:
            self._beyond_standard.append((self._operator.start, self._operator.end))

    def _no_r2s(self, form: Form) -> None:
        if self._cursor.at(*R2S):
            raise self._cursor.error(f"{self._cursor.token.word} goes with SELECT and CONSTRUCT; {form} has none")

    def _chosen_operator(self, registration: WrittenRegistration | None) -> R2S:
        registered, written = registration.operator if registration else None, self._operator
        if written is not None:
            if registered is not None and registered != written.word:
                raise self._cursor.error(
                    f"{written.word} contradicts REGISTER {registered}: write one of them", written, QuerySemanticError
                )
            return R2S(written.word)
        if registered is not None:
            return registered
        return R2S.ISTREAM if any(known.pattern for known in self._streams.declarations) else R2S.RSTREAM

    def _check_streams(self, registration: WrittenRegistration | None, form: Form) -> None:
        self._streams.check_uses()
        if self._streams.declarations or self._facts.are_read or registration is None:
            return
        if registration.every is not None:
            only = "COMPUTED EVERY is for queries over streams: this one is evaluated whenever the store changes"
        elif registration.kind.word != "QUERY" and form in (Form.CONSTRUCT, Form.DESCRIBE):
            only = "only a query over streams makes a stream: write REGISTER QUERY"
        else:
            return
        right = "or add a stream clause, such as FROM STREAM <stream> [RANGE 10s STEP 5s]"
        raise self._cursor.error(f"{only}, {right}", registration.keyword, QuerySemanticError)


def _projection(pattern: Pattern) -> tuple[Variable, ...]:
    """The variables of the outermost projection."""
    while isinstance(pattern, Slice | Distinct):
        pattern = pattern.pattern
    assert isinstance(pattern, Project)
    return pattern.variables
