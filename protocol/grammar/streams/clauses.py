"""The clauses that make a query continuous: in the dataset, and as graph patterns
(docs/language.md, "Stream clauses").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from protocol.errors import QuerySemanticError, UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.streams.dialects import Declaration, generated_graph
from protocol.grammar.streams.events import OPERATORS, EventPatterns
from protocol.grammar.streams.window_spec import SpecificationReader
from protocol.grammar.streams.written_windows import (
    WrittenCount,
    WrittenNothing,
    WrittenSession,
    WrittenTime,
    WrittenWindow,
)
from protocol.grammar.terms import Terms
from protocol.language.algebra import (
    DURATION,
    END_TIME,
    START_TIME,
    TIMESTAMP,
    VARYING,
    Call,
    Constant,
    Graph,
    Pattern,
    Project,
    Query,
    Variable,
    nodes,
)
from protocol.language.model import Form
from protocol.language.sparql_text import WrittenQuery
from protocol.sparql.iris import is_absolute
from protocol.sparql.tokens import Token, TokenKind
from protocol.windows.spec import ONLY_STREAM, Partition, TriplePart

BARE_WINDOWS = ("RANGE", "ELEMS")
"""What follows WINDOW where it is a window without brackets (Streaming SPARQL)."""

_NOT_OF_A_MESSAGE = VARYING | {"OPTIONAL", "UNION", "MINUS", "GRAPH", "BIND", "VALUES", "SERVICE", "SELECT"}
_NOT_OF_A_MESSAGE |= {"WINDOW", "STREAM", TIMESTAMP, START_TIME, END_TIME, DURATION, *OPERATORS}
"""Words that are no part of a pattern that a message matches or not, whenever it is asked."""


class StreamClauses:
    """Reads the stream clauses of one query, and collects what they declare and use."""

    def __init__(self, cursor: Cursor, terms: Terms) -> None:
        self.declarations: list[Declaration] = []
        self.conditions: list[Pattern] = []
        """What messages have to match, the WHERE of windows."""
        self.from_graphs: list[str] = []
        self.from_named: list[str] = []
        self._cursor = cursor
        self._terms = terms
        self._uses: list[tuple[Token, str | None]] = []
        self._named: dict[str, Token] = {}
        self._windows: set[str] = set()
        """Which of the named graphs are windows."""
        self._graphs: dict[tuple[object, ...], str] = {}
        """Of the windows that graph patterns make, by what makes two of them one."""
        self._generated = 0
        self._in_groups = _windows_in_groups(cursor.tokens) if cursor.liberal else {}
        self._ends: dict[int, int] = {}
        """Where the window of a group ends, by the offset of its WINDOW."""

    def dataset_clause(self, group: Callable[[], Pattern]) -> None:
        """[13] DatasetClause, and ours. ``group`` reads a group, which a window may have."""
        cursor = self._cursor
        cursor.expect("FROM", after="SELECT")
        named = cursor.take("NAMED") is not None
        if cursor.take("STREAM"):
            token, stream = self._iri("the IRI of a stream after STREAM")
            self._declare(stream, token, stream if named else None, token, self._specification(group), declared=named)
        elif cursor.at("WINDOW"):
            if not named:
                raise cursor.error("a window in the dataset is named: write FROM NAMED WINDOW")
            cursor.advance()
            name, graph = self._iri("the IRI of the window after WINDOW")
            cursor.expect("ON", after="the window's name")
            cursor.take("STREAM")
            token, stream = self._iri("the IRI of a stream after ON")
            written = self._specification(group)
            if isinstance(written, WrittenTime):
                written = replace(written, of_now=False)  # SPARQLStream has no such clause
            self._declare(stream, token, graph, name, written, declared=True)
        else:
            token, graph = self._iri(
                "the IRI of a graph" if named else "STREAM, NAMED or the IRI of a graph after FROM"
            )
            if named and graph in self._windows:
                raise self._named_twice(token, graph)
            if named:
                self._named.setdefault(graph, token)
            (self.from_named if named else self.from_graphs).append(graph)

    def pattern(self, group: Callable[[Token, Variable | Constant | None], Pattern], events: EventPatterns) -> Pattern:
        """``WINDOW VarOrIri {…}``, ``STREAM iri [spec] {…}`` or an event pattern ``STREAM iri [spec]? {…} SEQ {…}``.

        The same stream with the same window is one window.
        """
        cursor = self._cursor
        keyword = cursor.advance()
        if keyword.word == "WINDOW":
            token = cursor.token
            name = self._terms.variable_or_iri("a variable or the IRI of a window after WINDOW")
            self._uses.append((token, name.text[1:-1] if isinstance(name, Constant) else None))
            return Graph(name, group(keyword, name), windows_only=not isinstance(name, Constant), place=keyword.start)
        token, stream = self._iri("the IRI of a stream after STREAM")
        brackets = self._cursor.token
        spec = WrittenNothing() if cursor.at_punctuation("{") else self._specification(partial(group, keyword, None))
        occurrences = isinstance(spec, WrittenNothing) or events.is_here
        if occurrences and isinstance(spec, WrittenCount):
            raise cursor.error(
                "an event pattern over the last so many is not evaluated: give it a RANGE", brackets, UnsupportedFeature
            )
        if occurrences and (isinstance(spec, WrittenSession) or (isinstance(spec, WrittenTime) and spec.offset)):
            said = "an event pattern over sessions, or a window with an OFFSET, is not evaluated: give it a RANGE alone"
            raise cursor.error(said, brackets, UnsupportedFeature)
        graph = self._graph_of(
            Declaration(
                stream,
                spec,
                None,
                declared=False,
                pattern=True,
                offset=token.start,
                reference=_relative(token),
                occurrences=occurrences,
            )
        )
        return Graph(graph, events.pattern() if occurrences else group(keyword, None), place=keyword.start)

    def events_of_only_stream(self, events: EventPatterns) -> Pattern:
        """An event pattern in a query that names no stream."""
        start = self._cursor.token.start
        graph = self._graph_of(
            Declaration(
                ONLY_STREAM,
                WrittenNothing(),
                None,
                declared=False,
                pattern=True,
                offset=start,
                occurrences=True,
            )
        )
        return Graph(graph, events.pattern(), place=start)

    def window_in_group(
        self, bracket: Token, around: Token | None, active: Variable | Constant | None
    ) -> Constant | None:
        """The graph that the triple patterns of a group read where a window is the last thing in it: in the place of
        FROM STREAM's, or in GRAPH of that window (Streaming SPARQL, Algorithm 1). ``bracket`` opens the group,
        ``around`` is the keyword by which it is not matched in the default graph, None where it is, and ``active`` the
        name of the graph that it is matched in, if it has one.

        Raises QuerySemanticError where it takes the place of none, and UnsupportedFeature where that is told by a
        variable.
        """
        keyword = self._in_groups.get(bracket.start)
        if keyword is None:
            return None
        name = active.text[1:-1] if isinstance(active, Constant) else None
        named = {known.stream: known for known in self.declarations if name == (known.graph or known.stream)}
        if around is not None and not named:
            rule = "a window in a group takes the place of FROM STREAM's, or in GRAPH <stream> of that stream's"
            if isinstance(active, Variable):
                said = f"{rule}: write GRAPH <stream> for each that ?{active.name} stands for"
                raise self._cursor.error(said, keyword, UnsupportedFeature)
            raise self._cursor.error(f"{rule}, and {around.word} reads neither here", keyword, QuerySemanticError)
        streams = named or {known.stream: known for known in self.declarations if known.graph is None}
        if not streams:
            raise self._cursor.error(
                "a window in a group takes the place of FROM STREAM's: write FROM STREAM <stream> before WHERE",
                keyword,
                QuerySemanticError,
            )
        written, self._ends[keyword.start] = self._bare_window(keyword)
        graph = self._generated_graph()
        for of_stream in streams.values():
            self._add(
                replace(
                    of_stream,
                    written=written,
                    graph=graph,
                    declared=False,
                    offset=keyword.start,
                    in_group=True,
                    instead=not named,
                )
            )
        return Constant(f"<{graph}>", place=keyword.start)

    def end_of_group(self, bracket: Token) -> None:
        """Read the window that is the last thing in the group, if there is one."""
        keyword = self._in_groups.get(bracket.start)
        if keyword is not None and self._cursor.token.start == keyword.start:
            self._cursor.advance_to(self._ends[keyword.start])
            if not self._cursor.at_punctuation("}"):
                raise self._cursor.unexpected("} after the window, which is the last thing in its group")

    def check_uses(self) -> None:
        """Raise QuerySemanticError for the first WINDOW over what no FROM NAMED declares."""
        declared = [known.graph for known in self.declarations if known.declared]
        names = f"declared: {', '.join(f'<{graph}>' for graph in declared)}" if declared else "none is declared"
        right = "write FROM NAMED WINDOW <…> ON <stream> [RANGE 10s STEP 5s] before WHERE"
        for token, iri in self._uses:
            if iri is None and not declared:
                raise self._cursor.error(
                    f"WINDOW {token.text} ranges over the declared windows, and {names}: {right}",
                    token,
                    QuerySemanticError,
                )
            if iri is not None and iri not in declared:
                raise self._cursor.error(
                    f"the window <{iri}> is used but not declared ({names}): {right}", token, QuerySemanticError
                )

        unnamed = next((known for known in self.declarations if known.stream == ONLY_STREAM), None)
        if unnamed is not None and any(known.stream != ONLY_STREAM for known in self.declarations):
            raise self._cursor.error(
                "an event pattern in a query that names a stream says which one it is about: write STREAM <stream> "
                "before it",
                unnamed.offset,
                QuerySemanticError,
            )

    def _graph_of(self, written: Declaration) -> Constant:
        """The graph of a window that a graph pattern makes."""
        graph = self._graphs.get(written.identity)
        if graph is None:
            graph = self._graphs[written.identity] = self._generated_graph()
            self._add(replace(written, graph=graph))
        return Constant(f"<{graph}>")

    def _add(self, declaration: Declaration) -> None:
        self._cursor.count_operation(declaration.offset)
        self.declarations.append(declaration)

    def _generated_graph(self) -> str:
        self._generated += 1
        return generated_graph(self._generated)

    def _iri(self, wanted: str) -> tuple[Token, str]:
        token = self._cursor.expect_iri(wanted)
        return token, self._terms.absolute(token)

    def _declare(
        self, stream: str, iri: Token, graph: str | None, name: Token, written: WrittenWindow, *, declared: bool
    ) -> None:
        if graph is not None:
            if graph in self._named:
                raise self._named_twice(name, graph)
            self._named[graph] = name
            self._windows.add(graph)
        self._add(
            Declaration(
                stream,
                written,
                graph,
                declared=declared,
                pattern=False,
                offset=iri.start,
                reference=_relative(iri),
            )
        )

    def _named_twice(self, token: Token, graph: str) -> Exception:
        line, _ = self._cursor.source.place(self._named[graph].start)
        return self._cursor.error(
            f"the dataset has two graphs named <{graph}> (the other is in line {line}): "
            "give each its own name, with FROM NAMED WINDOW <name> ON <stream>",
            token,
            QuerySemanticError,
        )

    def _specification(self, group: Callable[[], Pattern]) -> WrittenWindow:
        cursor = self._cursor
        if keyword := cursor.take("WINDOW"):
            written, end = self._bare_window(keyword)
            cursor.advance_to(end)
            return written
        if not cursor.at_punctuation("["):
            raise cursor.unexpected("a window specification such as [RANGE 10s STEP 5s] after the stream's IRI")
        reader = SpecificationReader(
            cursor.source,
            self._terms.namespaces,
            cursor.token.start,
            self._partition,
            partial(self._condition, group),
        )
        written = reader.window()
        cursor.advance_to(reader.offset)
        return written

    def _condition(self, group: Callable[[], Pattern], offset: int) -> tuple[str, int]:
        """The group after a window's WHERE as an ASK query, and the offset after it. It is about one message."""
        cursor = self._cursor
        cursor.advance_to(offset)
        bracket = cursor.token
        pattern = group()
        for token in cursor.read_since(bracket):
            if token.word in _NOT_OF_A_MESSAGE:
                said = "a window's WHERE has triple patterns and FILTERs, about nothing but the message"
                raise cursor.error(f"{said}: {token.text} is not evaluated there", token, UnsupportedFeature)
        for node in nodes(pattern):
            if isinstance(node, Call) and node.name == TIMESTAMP:
                said = "timestamp() is not evaluated in a window's WHERE"
                raise cursor.error(said, node.place, UnsupportedFeature)
        self.conditions.append(pattern)
        query = Query(Project(pattern, ()), (), base=self._terms.namespaces.base)
        return WrittenQuery(Form.ASK, query).text, cursor.previous.end

    def _partition(self, offset: int) -> tuple[Partition, int]:
        """The keys of ``PARTITION BY``, from right after PARTITION on, and the offset after them."""
        cursor = self._cursor
        cursor.advance_to(offset)
        cursor.expect("BY", after="PARTITION")
        parts: list[TriplePart] = []
        properties: list[str] = []
        while cursor.at(*TriplePart) or self._terms.at_iri:
            if cursor.at(*TriplePart):
                parts.append(TriplePart(cursor.advance().word))
            else:
                properties.append(self._terms.absolute(cursor.advance()))
        if not parts and not properties:
            wanted = "SUBJECT, PREDICATE, OBJECT or the IRI of a property after PARTITION BY"
            raise cursor.error(f"expected {wanted}, found {cursor.token.shown}")
        return Partition(tuple(sorted({*parts})), tuple(sorted({*properties}))), cursor.previous.end

    def _bare_window(self, keyword: Token) -> tuple[WrittenWindow, int]:
        """The window behind this WINDOW, and the offset after it."""
        reader = SpecificationReader(self._cursor.source, self._terms.namespaces, keyword.end)
        return reader.bare_window(), reader.offset


def _relative(token: Token) -> str | None:
    """The reference that an IRI is, if it is relative."""
    reference = token.text[1:-1] if token.kind is TokenKind.IRI else None
    return None if reference is None or is_absolute(reference) else reference


def _windows_in_groups(tokens: Sequence[Token]) -> dict[int, Token]:
    """WINDOW, where RANGE or ELEMS follows, of each group that has it, by the offset of the group's bracket."""
    found: dict[int, Token] = {}
    opened: list[Token] = []
    for number, token in enumerate(tokens):
        if token.text == "{":
            opened.append(token)
        elif token.text == "}" and opened:
            opened.pop()
        elif (
            opened
            and token.word == "WINDOW"
            and tokens[number + 1].word in BARE_WINDOWS
            and tokens[number - 2].word != "STREAM"  # STREAM <s> WINDOW RANGE … {…}
        ):
            found[opened[-1].start] = token
    return found
