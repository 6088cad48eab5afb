"""The clauses that make a query continuous: in the dataset, and as graph patterns
(docs/language.md, "Stream clauses").
"""

from __future__ import annotations

from dataclasses import replace

from protocol.errors import QuerySemanticError
from protocol.grammar.cursor import Cursor
from protocol.grammar.dialects import Declaration, generated_graph
from protocol.grammar.rewrite import Rewriter
from protocol.grammar.window_spec import SpecificationReader, WrittenWindow
from protocol.language.model import WINDOW_VARIABLE_PREFIX
from protocol.sparql.iris import Namespaces, is_absolute
from protocol.sparql.tokens import Token, TokenKind


class StreamClauses:
    """Reads the stream clauses of one query, collects what they declare and use, and rewrites them."""

    def __init__(self, cursor: Cursor, namespaces: Namespaces, rewriter: Rewriter) -> None:
        self.declarations: list[Declaration] = []
        self.from_graphs: list[str] = []
        self.from_named: list[str] = []
        self.uses: list[tuple[Token, str | None]] = []
        """Each WINDOW pattern: its name's token, and the IRI, or None for a variable."""
        self._cursor = cursor
        self._namespaces = namespaces
        self._rewriter = rewriter
        self._named: dict[str, Token] = {}
        self._specification_end = 0

    def dataset_clause(self) -> None:
        """``FROM …``; those of the store's graphs stay, those of streams are removed."""
        cursor = self._cursor
        start = cursor.advance()
        named = cursor.take("NAMED") is not None
        if cursor.take("STREAM"):
            iri = cursor.expect_iri("the IRI of a stream after STREAM")
            stream = self._namespaces.iri(iri)
            self._declare(stream, iri, stream if named else None, iri, declared=named)
        elif cursor.at("WINDOW"):
            if not named:
                raise cursor.error("a window in the dataset is named: write FROM NAMED WINDOW")
            cursor.advance()
            name = cursor.expect_iri("the IRI of the window after WINDOW")
            graph = self._namespaces.iri(name)
            cursor.expect("ON", after="the window's name")
            cursor.take("STREAM")
            iri = cursor.expect_iri("the IRI of a stream after ON")
            self._declare(self._namespaces.iri(iri), iri, graph, name, declared=True)
        else:
            iri = cursor.expect_iri("the IRI of a graph" if named else "STREAM, NAMED or the IRI of a graph after FROM")
            graph = self._namespaces.iri(iri)
            if named and graph in {declaration.graph for declaration in self.declarations}:
                raise self._named_twice(iri, graph)
            if named:
                self._named.setdefault(graph, iri)
            (self.from_named if named else self.from_graphs).append(graph)
            self.make_absolute(iri)
            return
        self._rewriter.remove(start.start, self._specification_end)

    def window_pattern(self) -> None:
        """``WINDOW VarOrIri {…}``, up to its group."""
        cursor = self._cursor
        keyword = cursor.advance()
        name = cursor.token
        if name.kind is TokenKind.VARIABLE:
            cursor.advance()
            self.uses.append((name, None))
            self._rewriter.replace(name.start, name.end, f"?{WINDOW_VARIABLE_PREFIX}{name.text[1:]}", name.text)
        else:
            cursor.expect_iri("a variable or the IRI of a window after WINDOW")
            self.uses.append((name, self._namespaces.iri(name)))
            self.make_absolute(name)
        self._rewriter.replace(keyword.start, keyword.end, "GRAPH ")
        self._expect_group("the window's name")

    def stream_pattern(self) -> None:
        """``STREAM iri [spec] {…}``, up to its group. The same stream with the same window is one window."""
        cursor = self._cursor
        keyword = cursor.advance()
        iri = cursor.expect_iri("the IRI of a stream after STREAM")
        declaration = Declaration(
            self._namespaces.iri(iri), self._specification(), None, declared=False, pattern=True, offset=iri.start
        )
        graph = self._pattern_graph(declaration)
        if graph is None:
            graph = generated_graph(sum(known.pattern for known in self.declarations) + 1)
            self.declarations.append(replace(declaration, graph=graph))
        self._rewriter.replace(keyword.start, self._specification_end, f"GRAPH <{graph}>")
        self._expect_group("the window specification")

    def make_absolute(self, iri: Token) -> None:
        """Write a relative IRI out in full, so that nothing later has to resolve it."""
        if iri.kind is TokenKind.IRI and not is_absolute(iri.text[1:-1]) and self._namespaces.base is not None:
            self._rewriter.replace(iri.start, iri.end, f"<{self._namespaces.iri(iri)}>")

    def check_uses(self) -> None:
        """Raise QuerySemanticError for the first WINDOW over what no FROM NAMED declares."""
        declared = [known.graph for known in self.declarations if known.declared]
        names = f"declared: {', '.join(f'<{graph}>' for graph in declared)}" if declared else "none is declared"
        right = "write FROM NAMED WINDOW <…> ON <stream> [RANGE 10s STEP 5s] before WHERE"
        for token, iri in self.uses:
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

    def _declare(self, stream: str, iri: Token, graph: str | None, name: Token, *, declared: bool) -> None:
        if graph is not None:
            if graph in self._named:
                raise self._named_twice(name, graph)
            self._named[graph] = name
        self.declarations.append(
            Declaration(stream, self._specification(), graph, declared=declared, pattern=False, offset=iri.start)
        )

    def _named_twice(self, token: Token, graph: str) -> Exception:
        line, _ = self._cursor.source.place(self._named[graph].start)
        return self._cursor.error(
            f"the dataset has two graphs named <{graph}> (the other is in line {line}): "
            "give each its own name, with FROM NAMED WINDOW <name> ON <stream>",
            token,
            QuerySemanticError,
        )

    def _specification(self) -> WrittenWindow:
        cursor = self._cursor
        if not cursor.at_punctuation("["):
            raise cursor.unexpected("a window specification such as [RANGE 10s STEP 5s] after the stream's IRI")
        reader = SpecificationReader(cursor.source, cursor.token.start)
        written = reader.window()
        cursor.advance_to(reader.offset)
        self._specification_end = reader.offset
        return written

    def _pattern_graph(self, declaration: Declaration) -> str | None:
        for known in self.declarations:
            if known.pattern and known.identity == declaration.identity:
                return known.graph
        return None

    def _expect_group(self, after: str) -> None:
        if not self._cursor.at_punctuation("{"):
            raise self._cursor.unexpected(f"{{ after {after}")
