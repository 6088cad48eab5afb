"""Turtle and TriG by columns, against the parser."""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.errors import InvalidMessage
from protocol.formats.media_types import RdfSyntax
from protocol.formats.reading_time import LONG
from protocol.messages.body_type import parse_content_type
from protocol.terms import XSD
from spark_backend.ingest import turtle_statements
from spark_backend.ingest.bodies import read_statements
from spark_backend.ingest.parsing.documents import IN_PROCESS
from spark_backend.ingest.terms import turtle_terms
from spark_backend.ingest.turtle_statements import FORMATS, read_turtle_statements
from tests.spark_backend.ingest.rows import Row, parsed_rows, rows_of

BASE = "http://base/a/b"
DECLARED = (
    "@prefix : <http://ex/> .\n@prefix e: <http://ex/x#> .\nPREFIX u: <urn:a:>\n@prefix port: <http://ex:> .\n"
    f"@prefix xsd: <{XSD}> .\n# declared\n@base <http://other/c/d> .\n"
)


@pytest.fixture(autouse=True, scope="module")
def _any_length() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turtle_statements, "SHORT", 0)
        yield


def parsed(text: str, format: RdfSyntax) -> list[Row] | None:
    try:
        return parsed_rows(text, format.oxigraph, BASE)
    except SyntaxError:
        return None


def found(text: str, format: RdfSyntax) -> list[Row] | None:
    statements = read_turtle_statements(text.encode(), format, BASE)
    return None if statements is None else rows_of(statements.quads)


usual_iris = st.sampled_from(["<http://ex/a>", "<http://ex/x#b>", ":a", "e:b", "e:", ":", ":a-b.c", ":a:b", "u:1"])
STRINGS = ('""', '"a"', '"a b"', '"é"', '"# . ; <x> MESSAGE"', '"it\'s"', '"a"@en', '"a"@en-gb')
TYPED = (f'"1"^^<{XSD}integer>', '"1"^^xsd:integer', '"a"^^e:', '"a"^^<http://ex/x#>', '"2"^^:a.b')
NUMBERS = ("1", "-1", "+1", "007", "1.5", "-.5", "+0.10", "1e5", "1.5E-3", ".5e1", "1.e5", "true", "false")
usual_literals = st.sampled_from([*STRINGS, *TYPED, *NUMBERS])
usual_blanks = st.sampled_from(["_:b", "_:b0", "_:0a.b-c", "_:_"])
usual = st.one_of(usual_iris, usual_blanks, usual_literals)
"""Terms that are read by columns."""

IRIS = ("<urn:a:é>", "<mailto:a@b>", "u:é-1", "port:8", "port:a", "x:y", "<b>", "<http://ex/./b>", "<urn:.>")
NODES = ("_:é", "<<( :a :b :c )>>")
LITERALS = ('"a\tb"', '"a"@EN', '"a"@en--ltr', '"a"^^xsd:string', '"\\u0041"', '"""a"""', "'a'")
unusual = st.sampled_from([*IRIS, *NODES, *LITERALS])


def mostly(usual: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Of sixty terms one that is read otherwise, or not at all."""
    return st.integers(0, 59).flatmap(lambda number: usual if number else unusual)


iris, blanks, objects = mostly(usual_iris), mostly(usual_blanks), mostly(usual)
spaces = st.sampled_from([" ", "  ", "\n", "\r\n", "\t", "\n\n    ", "\r"])
ends = st.sampled_from([" ", "\n", ""])


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """Triples of one subject, with as many spaces as there have to be."""
    parts = [draw(st.one_of(iris, blanks)), draw(spaces)]
    for number in range(draw(st.integers(1, 3))):
        parts += [draw(ends), ";", draw(spaces)] if number else []
        parts += [draw(st.one_of(iris, st.just("a"))), draw(spaces), draw(objects)]
        for _ in range(draw(st.integers(0, 2))):
            parts += [draw(ends), ",", draw(spaces), draw(objects)]
    return "".join(parts)


@st.composite
def documents(draw: st.DrawFn, format: RdfSyntax) -> str:
    """A document whose tokens stand apart."""
    parts = [DECLARED]
    for _ in range(draw(st.integers(0, 5))):
        if format is RdfSyntax.TRIG and draw(st.booleans()):
            of_graph: list[str] = draw(st.lists(blocks(), max_size=3))
            last = draw(st.sampled_from([" . ", ".", ""])) if of_graph else ""
            parts += [draw(st.one_of(iris, blanks, st.just(""))), " {", draw(spaces), " . ".join(of_graph), last, " }"]
        else:
            parts += [draw(blocks()), draw(ends), "."]
        parts.append(draw(spaces))
    return "".join(parts)


formats = st.sampled_from(FORMATS)


@settings(max_examples=1_500, deadline=None)
@given(st.data(), formats)
def test_a_document_says_what_the_parser_finds(data: st.DataObject, format: RdfSyntax) -> None:
    text = data.draw(documents(format))
    rows = found(text, format)
    assert rows is None or rows == parsed(text, format)


QUOTES = ('"""', "'''", '"', "'", '# "', '.#"', "# a", "#", "\\", "\\u0041", "^^", "^^xsd:int", "@en")
BRACKETS = ("<<( )>>", "<<", "~", "{|", "|}", "[]", "()", *"<>[](){}")
STOPS = (*".;,", " . ", " ; ", " , ", " { ", " } ", "; ;", "; .")
DIRECTIVES = ("@prefix : <http://new/> .", "PREFIX e: <http://new/>", "@base <http://new/> .", "BASE <http://new/>")
WORDS = (
    "GRAPH",
    "MESSAGE",
    "@message",
    " a ",
    "true",
    "=",
    "=>",
    "-",
    "%41",
    "$x",
    "?x",
    "_",
    ":",
    " ",
    "\x00",
    "\x7f",
)
odd = st.one_of(unusual, st.sampled_from([*QUOTES, *BRACKETS, *STOPS, *DIRECTIVES, *WORDS]))


@settings(max_examples=3_000, deadline=None)
@given(st.data(), formats)
def test_whatever_is_changed_in_a_document_it_says_no_other_thing_than_the_parser_finds(
    data: st.DataObject, format: RdfSyntax
) -> None:
    text = data.draw(documents(format))
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = min(len(text), begin + data.draw(st.integers(0, 4)))
        text = text[:begin] + data.draw(st.one_of(odd, st.just(""))) + text[end:]
    rows = found(text, format)
    assert rows is None or rows == parsed(text, format)


phrases = st.tuples(
    st.lists(st.one_of(usual_iris, usual_iris, usual_iris, st.just("a"), usual), max_size=4),
    st.sampled_from([".", ".", ".", ";", ",", "{", "}", ""]),
)


@settings(max_examples=3_000, deadline=None)
@given(st.lists(phrases, max_size=4), spaces, formats)
@example([([":a", ":b", '"a".#"'], "."), ([":a", ":b", '"'], ".")], " ", RdfSyntax.TURTLE)
@example([([":a", ":b", ":c"], ";")], " ", RdfSyntax.TURTLE)
@example([(["_:b", ":a", "1"], "}"), ([], "."), ([], "{")], " ", RdfSyntax.TRIG)
def test_no_order_of_tokens_says_another_thing_than_the_parser_finds(
    phrases: list[tuple[list[str], str]], space: str, format: RdfSyntax
) -> None:
    text = DECLARED + "".join(f"{space.join([*terms, end])}{space}" for terms, end in phrases)
    rows = found(text, format)
    assert rows is None or rows == parsed(text, format)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        (RdfSyntax.TURTLE, ':a a e:T ; :p "x" , "y"@en ; :q 1.5 .\n<http://ex/b> :p _:b .\n'),
        (RdfSyntax.TURTLE, ':a a e:T ;\n    :p "x y",\n        "z" ;\n    :q true, 1, -2e5.\n\n'),
        (RdfSyntax.TRIG, ":a :p :b .\n:g {\n  :a a :T ; :p 1 .\n  :b :p 2\n}\n{ :a :p :c . }\n_:g { }\n:h :p :i ."),
        (RdfSyntax.TURTLE, '<http://ex/a> :a "1"^^xsd:integer , 1 , "1"^^<http://www.w3.org/2001/XMLSchema#integer> .'),
    ],
)
def test_what_programs_write_is_read_by_columns(format: RdfSyntax, text: str) -> None:
    rows = found(DECLARED + text, format)
    assert rows is not None
    assert rows == parsed(DECLARED + text, format)


EX = rdflib.Namespace("http://example.org/")


def example_graph() -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.bind("ex", EX)
    for number in range(3):
        item = EX[f"o{number}"]
        graph.add((item, rdflib.RDF.type, EX.Observation))
        graph.add((item, EX.value, rdflib.Literal(number + 0.5)))
        graph.add((item, EX.value, rdflib.Literal("a text")))
        graph.add((item, EX.time, rdflib.Literal("2026-01-01T00:00:00Z", datatype=rdflib.XSD.dateTime)))
    return graph


@pytest.mark.parametrize("format", ["turtle", "longturtle"])
def test_what_rdflib_writes_is_read_by_columns(format: str) -> None:
    text = example_graph().serialize(format=format)
    rows = found(text, RdfSyntax.TURTLE)
    assert rows is not None
    assert rows == parsed(text, RdfSyntax.TURTLE)


@pytest.mark.parametrize("format", FORMATS)
def test_what_oxigraph_writes_is_read_by_columns(format: RdfSyntax) -> None:
    triples = [quad.triple for quad in ox.parse(example_graph().serialize(format="nt"), ox.RdfFormat.N_TRIPLES)]
    quads = [ox.Quad(triple.subject, triple.predicate, triple.object) for triple in triples]
    if format is RdfSyntax.TRIG:
        graph = ox.NamedNode(EX.g)
        quads += [ox.Quad(triple.subject, triple.predicate, triple.object, graph) for triple in triples]
    written = ox.serialize(quads, format=format.oxigraph, prefixes={"ex": str(EX)})
    assert written is not None
    rows = found(written.decode(), format)
    assert rows is not None
    assert rows == parsed(written.decode(), format)


def test_what_declares_too_many_prefixes_is_left_to_the_parser() -> None:
    declared = "".join(f"@prefix p{number}: <http://ex/{number}/> .\n" for number in range(65))
    assert found(declared + "p1:a p2:a p3:a .", RdfSyntax.TURTLE) is None


def test_prefixes_that_would_make_much_of_little_are_left_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turtle_terms, "_MOST_ADDED", 150)
    declared = f"@prefix : <http://ex/{'a' * 90}> .\n"
    assert found(f"{declared}:a :a :a .", RdfSyntax.TURTLE) is not None
    assert found(f"{declared}:a :a :b , :c .", RdfSyntax.TURTLE) is None


def test_a_long_body_is_read_by_columns_unless_something_in_it_is_unusual() -> None:
    usual = DECLARED + "".join(f':s{number} :p {number} , "x" .\n' for number in range(4_000))
    unusual = f"{usual}[] :p [] .\n"
    content_type = parse_content_type("text/turtle", has_context=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turtle_statements, "SHORT", LONG)
        patch.setattr(IN_PROCESS, "statements", lambda *arguments: pytest.fail("parsed"), raising=False)
        statements = read_statements(usual.encode(), content_type, BASE)
        assert statements.counts == [8_000]
    statements = read_statements(unusual.encode(), content_type, BASE)
    assert statements.counts == [8_001]


delimiters = st.sampled_from(["MESSAGE", "MESSAGE", "MESSAGE", "message", "@message .", "MESSAGE ;"])


@settings(max_examples=500, deadline=None)
@given(st.data(), formats)
def test_messages_are_those_that_are_found_without_columns(data: st.DataObject, format: RdfSyntax) -> None:
    parts = [data.draw(st.sampled_from(["", DECLARED, "MESSAGE\n"]))]
    for _ in range(data.draw(st.integers(0, 4))):
        parts += [data.draw(documents(format)), data.draw(delimiters), data.draw(spaces)]
    body = ("".join(parts) + data.draw(documents(format))).encode()
    content_type = parse_content_type(f"{format}; version=1.2-messages", has_context=False)
    read: list[object] = []
    for short in (0, len(body) + 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(turtle_statements, "SHORT", short)
            try:
                statements = read_statements(body, content_type, BASE)
            except InvalidMessage as error:
                read.append(str(error))
                continue
        lines = [statements.line_of(message) for message in range(len(statements.counts))]
        read.append(([column.to_pylist() for column in statements.quads.columns], statements.counts, lines))
    assert read[0] == read[1]
