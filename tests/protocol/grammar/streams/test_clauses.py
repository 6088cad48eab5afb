"""The clauses of streams by themselves: what each declares, what pattern it is, and where it is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError, UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.groups import Groups
from protocol.grammar.streams.clauses import StreamClauses
from protocol.grammar.streams.dialects import Declaration, generated_graph
from protocol.grammar.streams.written_windows import WrittenCount, WrittenNow, WrittenTime
from protocol.grammar.terms import Terms
from protocol.language.algebra import BGP, Constant, Graph, Pattern, Variable
from protocol.sparql.iris import Namespaces
from protocol.sparql.source import Source
from protocol.sparql.tokens import Token, TokenKind
from protocol.windows.spec import Unit

BASE = "http://b/"
TEN_SECONDS = WrittenTime(10_000)


class Clauses:
    """A text of nothing but clauses, read by one reader."""

    def __init__(self, text: str, base: str | None = BASE) -> None:
        self.cursor = Cursor(Source(text))
        terms = Terms(self.cursor, Namespaces(self.cursor.source, base))
        self.reader = StreamClauses(self.cursor, terms)
        self._events = Groups(self.cursor, terms, self.reader, lambda: BGP(())).events
        self.patterns: list[Pattern] = []

    def read(self) -> Clauses:
        """Read dataset clauses and graph patterns, whose groups hold patterns only, up to the end."""
        while self.cursor.token.kind is not TokenKind.END:
            if self.cursor.at("FROM"):
                self.reader.dataset_clause(self.group)
            elif self.cursor.at("WINDOW", "STREAM"):
                self.patterns.append(self.pattern())
            else:
                self.cursor.advance()
        return self

    def pattern(self) -> Pattern:
        return self.reader.pattern(lambda *_: self.group(), self._events)

    def group(self) -> Pattern:
        with self.cursor.nested("{", "}"):
            return self.pattern() if self.cursor.at("WINDOW", "STREAM") else BGP(())

    @property
    def declarations(self) -> list[Declaration]:
        return self.reader.declarations


def graph(iri: str) -> Graph:
    return Graph(Constant(f"<{iri}>"), BGP(()))


def rejects(text: str, kind: type[ProtocolError], said: str, *, checked: bool = False) -> None:
    """The error is of this kind, says this, and is at the ¦; ``checked``: it is found after all was read."""
    clauses = Clauses(text.replace("¦", ""))
    if checked:
        clauses.read()
    with pytest.raises(kind) as caught:
        clauses.reader.check_uses() if checked else clauses.read()
    assert said in caught.value.detail
    offset = text.index("¦")
    column = offset - text.rfind("\n", 0, offset)
    assert (caught.value.line, caught.value.column) == (text.count("\n", 0, offset) + 1, column)


@pytest.mark.parametrize(
    ("text", "stream", "graph", "declared"),
    [
        ("FROM STREAM <u:s> [RANGE 10s]", "u:s", None, False),
        ("from stream <s>[RANGE 10s]", "http://b/s", None, False),
        ("FROM NAMED STREAM <u:s> [RANGE 10s]", "u:s", "u:s", True),
        ("FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 10s]", "u:s", "u:w", True),
        ("FROM NAMED WINDOW <w> ON STREAM <s> [RANGE 10s]", "http://b/s", "http://b/w", True),
    ],
)
def test_a_dataset_clause_declares_a_window(text: str, stream: str, graph: str | None, declared: bool) -> None:
    clauses = Clauses(f"{text} WHERE").read()
    (declaration,) = clauses.declarations
    assert (declaration.stream, declaration.graph, declaration.declared) == (stream, graph, declared)
    assert (declaration.written, declaration.pattern) == (TEN_SECONDS, False)
    assert text[declaration.offset :].startswith(("<s>", "<u:s>"))
    assert clauses.patterns == []


def test_graphs_of_the_store_are_listed() -> None:
    clauses = Clauses("FROM <g> FROM STREAM <u:s> [NOW] FROM NAMED <u:h> FROM <u:i>").read()
    assert (clauses.reader.from_graphs, clauses.reader.from_named) == (["http://b/g", "u:i"], ["u:h"])
    assert [declaration.written for declaration in clauses.declarations] == [WrittenNow()]


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        ("WINDOW <u:w> { }", graph("u:w")),
        ("WINDOW <w> { }", graph("http://b/w")),
        ("WINDOW ?w { }", Graph(Variable("w"), BGP(()), windows_only=True)),
        ("WINDOW $w{ }", Graph(Variable("w"), BGP(()), windows_only=True)),
    ],
)
def test_a_window_pattern_is_a_graph_pattern(written: str, pattern: Pattern) -> None:
    clauses = Clauses(written).read()
    assert clauses.patterns == [pattern]
    assert clauses.declarations == []


def test_a_stream_pattern_is_a_graph_pattern_over_a_window_of_its_own() -> None:
    clauses = Clauses("STREAM <s> [RANGE 10s] { } STREAM <u:t> [TRIPLES 3] { }").read()
    assert clauses.patterns == [graph(generated_graph(1)), graph(generated_graph(2))]
    assert [(one.stream, one.written, one.graph, one.pattern, one.declared) for one in clauses.declarations] == [
        ("http://b/s", TEN_SECONDS, generated_graph(1), True, False),
        ("u:t", WrittenCount(3, Unit.TRIPLES), generated_graph(2), True, False),
    ]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["<u:s>", "<u:t>"]), st.sampled_from(["[RANGE 10s]", "[RANGE 10000 STEP 1]", "[NOW]"])
        ),
        max_size=8,
    )
)  # fmt: skip
def test_patterns_over_the_same_window_of_the_same_stream_share_its_graph(patterns: list[tuple[str, str]]) -> None:
    clauses = Clauses(" ".join(f"STREAM {stream} {window} {{ }}" for stream, window in patterns)).read()
    # In a graph pattern the step is one millisecond where none is written.
    meant = [(stream, window.replace("10s", "10000 STEP 1")) for stream, window in patterns]
    distinct = list(dict.fromkeys(meant))
    assert len(clauses.declarations) == len(distinct)
    assert clauses.patterns == [graph(generated_graph(distinct.index(one) + 1)) for one in meant]


@pytest.mark.parametrize(
    "text",
    [
        "FROM STREAM <u:s> [NOW] FROM NAMED STREAM <u:s> [NOW] FROM NAMED WINDOW <u:w> ON ¦<u:s> [NOW]",
        "FROM STREAM <u:s> [NOW] STREAM <u:s> [NOW] { } STREAM <u:s> [NOW] { } STREAM ¦<u:s> [TRIPLES 1] { }",
    ],
)
def test_each_window_counts_among_the_operators(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.grammar.cursor.MOST_OPERATIONS", 2)
    rejects(text, UnsupportedFeature, "more than 2 operators, patterns and windows")


def test_no_condition_of_a_window_walks_over_the_tokens_of_the_query() -> None:
    class Walked(list[Token]):
        times = 0

        def __iter__(self) -> Iterator[Token]:
            self.times += 1
            return super().__iter__()

    clauses = Clauses("FROM STREAM <u:s> [ELEMENTS 1 WHERE { }] " * 3)
    clauses.cursor.tokens = walked = Walked(clauses.cursor.tokens)
    assert len(clauses.read().declarations) == 3
    assert walked.times == 0


def test_a_window_of_the_dataset_is_not_that_of_a_pattern() -> None:
    clauses = Clauses("FROM STREAM <u:s> [RANGE 10s STEP 1] STREAM <u:s> [RANGE 10s] { }").read()
    assert [declaration.graph for declaration in clauses.declarations] == [None, generated_graph(1)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROM STREAM ¦?s [RANGE 1s]", "the IRI of a stream after STREAM"),
        ("FROM STREAM <u:s>\n¦WHERE", "a window specification such as"),
        ("FROM ¦WINDOW <u:w> ON <u:s> [RANGE 1s]", "write FROM NAMED WINDOW"),
        ("FROM NAMED WINDOW ¦ON <u:s> [RANGE 1s]", "the IRI of the window after WINDOW"),
        ("FROM NAMED WINDOW <u:w> ¦<u:s> [RANGE 1s]", "ON after the window's name"),
        ("FROM NAMED WINDOW <u:w> ON ¦[RANGE 1s]", "the IRI of a stream after ON"),
        ("FROM NAMED ¦{", "the IRI of a graph"),
        ("FROM ¦{", "STREAM, NAMED or the IRI of a graph after FROM"),
        ("FROM STREAM ¦ex:s [RANGE 1s]", "the prefix ex: is not declared"),
        ("WINDOW ¦{ }", "a variable or the IRI of a window after WINDOW"),
        ("WINDOW <u:w> ¦?s", "expected {"),
        ("STREAM ¦?s [RANGE 1s] { }", "the IRI of a stream after STREAM"),
        ("STREAM <u:s> ¦{ }", "an event pattern has a triple pattern in each of its groups"),
        ("STREAM <u:s> [RANGE 1s]\n ¦. }", "expected {"),
    ],
)
def test_what_is_missing_is_named_at_what_is_there_instead(text: str, said: str) -> None:
    rejects(text, QuerySyntaxError, said)


@pytest.mark.parametrize(
    "text",
    [
        "FROM NAMED STREAM <u:s> [NOW]\nFROM NAMED STREAM ¦<u:s> [NOW]",
        "FROM NAMED STREAM <u:s> [NOW]\nFROM NAMED WINDOW ¦<u:s> ON <u:t> [NOW]",
        "FROM NAMED <u:s>\nFROM NAMED STREAM ¦<u:s> [NOW]",
        "FROM NAMED STREAM <u:s> [NOW]\nFROM NAMED ¦<u:s>",
    ],
)
def test_two_graphs_of_one_name_are_refused_with_the_line_of_the_other(text: str) -> None:
    rejects(text, QuerySemanticError, "two graphs named <u:s> (the other is in line 1)")


def test_a_graph_of_the_store_may_be_named_twice_and_a_stream_be_in_the_default_graph_twice() -> None:
    clauses = Clauses("FROM NAMED <u:g> FROM NAMED <u:g> FROM STREAM <u:s> [NOW] FROM STREAM <u:s> [NOW]").read()
    assert len(clauses.declarations) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROM NAMED STREAM <u:s> [NOW]\nWINDOW ¦<u:w> { }", "<u:w> is used but not declared (declared: <u:s>)"),
        ("FROM STREAM <u:s> [NOW]\nWINDOW ¦<u:s> { }", "<u:s> is used but not declared (none is declared)"),
        ("STREAM <u:s> [NOW] { WINDOW ¦?w { } }", "WINDOW ?w ranges over the declared windows, and none is declared"),
        ("WINDOW ¦<u:v> { } WINDOW <u:w> { }", "<u:v> is used"),
    ],
)
def test_a_window_that_nothing_declares_cannot_be_used(text: str, said: str) -> None:
    rejects(text, QuerySemanticError, said, checked=True)


def test_declared_windows_can_be_used_by_name_and_by_variable() -> None:
    clauses = Clauses("FROM NAMED WINDOW <w> ON <s> [NOW] WINDOW <http://b/w> { } WINDOW ?w { }").read()
    clauses.reader.check_uses()
    assert len(clauses.patterns) == 2
