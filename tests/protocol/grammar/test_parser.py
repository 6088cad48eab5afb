from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError, UnsupportedFeature
from protocol.grammar import parser
from protocol.grammar.one_shot import as_standard
from protocol.grammar.parser import parse, parse_live, perhaps_continuous, read_query
from protocol.language.algebra import BGP, Constant, Graph, Project, TriplePattern, Variable, nodes
from protocol.language.model import R2S, ContinuousQuery, Form, OneShotQuery
from protocol.sparql.dataset import DatasetConflict, RequestedGraphs
from protocol.sparql.source import Source, line_starts, place
from protocol.sparql.syntax import query_fault, refuse_misreading
from protocol.sparql.tokens import TokenKind, tokenize
from protocol.windows.spec import CountWindow, LandmarkWindow, NowWindow, StreamWindow, TimeWindow, Unit, WindowSpec

TEN_SECONDS = TimeWindow(10_000, 10_000, -10_000)


def continuous(text: str, base: str | None = None) -> ContinuousQuery:
    query = parse(text, base=base)
    assert isinstance(query, ContinuousQuery)
    assert query.text == text
    return query


def rejects(text: str, kind: type[ProtocolError], said: str, base: str | None = None) -> None:
    """The error is of this kind, says this, and is at the ¦ in the text."""
    with pytest.raises(ProtocolError) as raised:
        parse(text.replace("¦", ""), base=base)
    assert type(raised.value) is kind, raised.value.detail
    assert said in raised.value.detail
    before = re.split("\r\n|\r|\n", text[: text.index("¦")])
    assert (raised.value.line, raised.value.column) == (len(before), len(before[-1]) + 1)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o }",
        "",
        "this is not a query, 'not at all",
        "SELECT ?window ?stream { ?window a ?stream }",
        "PREFIX stream: <http://e/> PREFIX window: <http://e/> SELECT * { stream:a window:register stream: }",
        "PREFIX STREAM: <u:> SELECT * { STREAM:x ?p _:window . _:REGISTER ?p 'x'@stream }",
        "SELECT * { ?s ?p 'FROM STREAM <s> [RANGE 1s]', \"WINDOW <w> {\", '''REGISTER\nSTREAM''' }",
        'SELECT * { ?s ?p """SELECT "RSTREAM" x""" }',
        "# FROM STREAM <u:s> [RANGE 10s]\nSELECT * { ?s ?p ?o } # WINDOW <w> {}",
        "SELECT * FROM <http://e/STREAM> FROM NAMED <http://e/FROM#STREAM> { ?s <http://e/WINDOW> ?o }",
        "SELECT * { ?s ?p 'it\\'s a WINDOW <w>' }",
        "SELECT * { ?s ?p '\\u0022 WINDOW \\u0022' }",
        "SELECT * { FILTER(?a<?stream&&?window>?b) }",
        "SELECT ?total-sensor { ?s ?p ?o } AGGREGATE { (?n, COUNT, {?s}) }",
        "INSERT DATA { <u:s> <u:p> 'STREAM' }",
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ",
    ],
)
def test_a_text_with_no_stream_clause_is_one_shot_and_untouched(text: str) -> None:
    assert parse(text) == OneShotQuery(text)
    assert parse(text, base="http://base/") == OneShotQuery(text)


def test_from_named_window_is_a_declared_named_graph_reached_by_window() -> None:
    text = (
        "PREFIX : <http://ex/>\n"
        "SELECT ?x FROM NAMED WINDOW :w ON STREAM :s [RANGE 10s]\n"
        "  FROM NAMED WINDOW <u:v> ON <u:t> [RANGE 10s STEP 2s]\n"
        "WHERE { WINDOW :w { ?x :p 1 } WINDOW <u:v> { ?x :q 2 } GRAPH :w { ?x :r 3 } }"
    )
    query = continuous(text)
    assert query.windows == (
        StreamWindow("http://ex/s", TEN_SECONDS, "http://ex/w", declared=True),
        StreamWindow("u:t", TimeWindow(10_000, 2_000, -10_000), "u:v", declared=True),
    )
    assert [(window.line, window.column) for window in query.windows] == [(2, 42), (3, 30)]
    assert (query.form, query.operator, query.registration) == (Form.SELECT, R2S.RSTREAM, None)
    assert query.streams == ("http://ex/s", "u:t")
    assert query.expression == read_query(
        "PREFIX : <http://ex/> SELECT ?x WHERE { GRAPH :w { ?x :p 1 } GRAPH <u:v> { ?x :q 2 } GRAPH :w { ?x :r 3 } }"
    )


def test_from_stream_is_the_default_graph_and_from_named_stream_the_graph_of_the_streams_name() -> None:
    query = continuous("select * from stream <u:s> [range 10s] from named stream <u:t> [range 10s] { window <u:t> {} }")
    assert query.windows == (
        StreamWindow("u:s", TEN_SECONDS, None, declared=False),
        StreamWindow("u:t", TEN_SECONDS, "u:t", declared=True),
    )


def test_graphs_of_the_store_stay_in_the_dataset_and_are_listed() -> None:
    query = continuous(
        "BASE <http://b/> PREFIX : <http://ex/>\n"
        "SELECT * FROM :g FROM STREAM <s> [RANGE 10s] FROM NAMED <h> FROM NAMED :i { GRAPH <h> { ?s ?p ?o } }"
    )
    assert (query.from_graphs, query.from_named) == (("http://ex/g",), ("http://b/h", "http://ex/i"))
    assert query.streams == ("http://b/s",)


def test_graphs_that_a_request_names_take_the_place_of_the_texts_and_leave_the_windows() -> None:
    text = (
        "SELECT * FROM <u:a> FROM STREAM <u:s> [NOW] FROM NAMED <u:b> FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 10s] "
        "{ GRAPH <u:b> { ?s ?p ?o } GRAPH <u:d> { ?s ?p ?o } WINDOW <u:w> { ?s ?p ?o } }"
    )
    own = continuous(text)
    query = parse(text, requested=RequestedGraphs(("u:c",), ("u:d",)))
    assert isinstance(query, ContinuousQuery)
    assert (query.from_graphs, query.from_named) == (("u:c",), ("u:d",))
    assert (query.windows, query.expression) == (own.windows, own.expression)
    assert "FROM NAMED <u:d>" in own.warnings[0]
    assert "FROM NAMED <u:b>" in query.warnings[0], "warnings are of the dataset that there is"
    with pytest.raises(DatasetConflict, match=r"named-graph-uri=u:w is the name of a window .line 1, column 89"):
        parse(text, requested=RequestedGraphs((), ("u:w",)))


def test_a_variable_graph_ranges_over_requested_graphs_and_not_over_an_unnamed_window() -> None:
    text = "SELECT * FROM STREAM <u:s> [RANGE 10s] { GRAPH ?g { ?s ?p ?o } }"
    beside = [
        query.windows[0].also
        for query in (continuous(text), parse(text, requested=RequestedGraphs((), ("u:g",))))
        if isinstance(query, ContinuousQuery)
    ]
    assert beside == ["u:s", None]


def test_window_over_a_variable_ranges_over_the_declared_windows() -> None:
    query = continuous("SELECT * FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 10s] { WINDOW $é { ?s ?p ?o } }")
    inside = BGP((TriplePattern(Variable("s"), Variable("p"), Variable("o")),))
    assert query.expression.pattern == Project(
        Graph(Variable("é"), inside, windows_only=True), tuple(map(Variable, ("é", "s", "p", "o")))
    )


def test_the_variable_of_a_window_may_be_used_anywhere() -> None:
    text = "SELECT ?w (COUNT(*) AS ?n) FROM NAMED STREAM <u:s> [RANGE 1s] { WINDOW ?w { ?s ?p ?o } } GROUP BY ?w"
    assert continuous(text).expression.variables == (Variable("w"), Variable("n"))


def test_a_stream_pattern_is_the_graph_of_its_window() -> None:
    query = continuous("SELECT *\nWHERE { STREAM\r\n <u:s>\n[RANGE 10s\n STEP 5s]\n{ ?s ?p ?o } }")
    assert query.expression == read_query("SELECT * { GRAPH <urn:x-sparql-streams:window:1> { ?s ?p ?o } }")
    (window,) = query.windows
    assert (window.line, window.column) == (3, 2)


@pytest.mark.parametrize(
    "pattern",
    [
        "{ WINDOW <u:w> { ?s ?p ?o } } UNION { GRAPH <u:g> { ?s ?p ?o } }",
        "OPTIONAL { WINDOW <u:w> { { ?s ?p ?o } MINUS { ?s a ?o } } }",
        "FILTER NOT EXISTS { WINDOW <u:w> { ?s ?p ?o } }",
        "{ SELECT ?s { WINDOW <u:w> { ?s ?p ?o } } GROUP BY ?s }",
        "GRAPH <u:g> { WINDOW <u:w> { ?s (<u:p>/^<u:q>)* [ ?p ( 1 2 ) ] } }",
        "WINDOW <u:w> { WINDOW ?w { ?s ?p ?o } }",
        "?s <u:p> 1 . WINDOW<u:w>{?s ?p ?o}.STREAM<u:s>[RANGE 10s]{?s ?p ?o}",
        "FILTER(EXISTS{WINDOW <u:w>{?s ?p 'WINDOW <u:x> {'}}&&?a< ?b&&?c>?d) # STREAM\n",
        "VALUES (?stream ?window) { ('STREAM' UNDEF) } WINDOW <u:w> {}",
    ],
)
def test_windows_stand_wherever_a_graph_pattern_does(pattern: str) -> None:
    continuous(f"SELECT * FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 10s] WHERE {{ {pattern} }}")


def test_windows_stand_in_expressions_of_the_projection_too() -> None:
    query = continuous("SELECT (EXISTS { WINDOW <u:w> {} } AS ?b) FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] {}")
    assert query.expression == read_query("SELECT (EXISTS { GRAPH <u:w> {} } AS ?b) {}")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("ASK FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o }", Form.ASK),
        ("ASK { STREAM <u:s> [RANGE 1s] { ?s ?p ?o } }", Form.ASK),
        ("CONSTRUCT RSTREAM { ?s ?p [] } FROM STREAM <u:s> [RANGE 1s] WHERE { ?s ?p ?o }", Form.CONSTRUCT),
        ("CONSTRUCT FROM STREAM <u:s> [RANGE 1s] WHERE { ?s ?p ?o }", Form.CONSTRUCT),
        ("CONSTRUCT DSTREAM {} FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o } LIMIT 1", Form.CONSTRUCT),
        ("DESCRIBE <u:x> FROM STREAM <u:s> [RANGE 1s]", Form.DESCRIBE),
        ("DESCRIBE ?s FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o } ORDER BY ?s LIMIT 1", Form.DESCRIBE),
        ("DESCRIBE <u:x> FROM STREAM <u:s> [RANGE 1s] LIMIT 1", Form.DESCRIBE),
        ("SELECT DISTINCT ?s FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o } ORDER BY DESC(?s) OFFSET 1", Form.SELECT),
        ("SELECT ISTREAM REDUCED * FROM STREAM <u:s> [RANGE 1s] { } VALUES ?x { 1 }", Form.SELECT),
    ],
)
def test_all_query_forms_are_read(text: str, form: Form) -> None:
    query = continuous(text)
    assert query.form is form
    assert [window.stream for window in query.windows] == ["u:s"]


C_SPARQL = """{registration}
PREFIX c: <http://linkedurbandata.org/city#>
PREFIX t: <http://linkedurbandata.org/traffic#>
{head}
FROM STREAM <http://streams.org/citytollgates.trdf>
[RANGE 30m STEP 5m]
WHERE {{ ?tollgate t:registers ?car .
        ?tollgate c:placedIn ?street .
        ?district c:contains ?street . }}
"""


def test_c_sparql_puts_the_registration_before_the_prologue() -> None:
    query = continuous(
        C_SPARQL.format(
            registration="REGISTER STREAM CarsEnteringCityCenterPerDistrict\nCOMPUTED EVERY 5m AS",
            head="CONSTRUCT {?district t:has-entering-cars ?car}",
        )
    )
    assert query.registration is not None
    assert query.registration.name == "CarsEnteringCityCenterPerDistrict"
    window = query.windows[0].window
    assert isinstance(window, TimeWindow)
    assert (window.width, window.slide) == (1_800_000, 300_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM STREAM <u:s> [RANGE 1s] { ¦WINDOW <u:w> {} }", "(none is declared)"),
        ("SELECT * { GRAPH <u:g> {\n ¦WINDOW <u:w> { ?s ?p ?o } } }", "the window <u:w> is used but not declared"),
        (
            "ASK FROM NAMED WINDOW <u:v> ON <u:s> [RANGE 1s] FROM NAMED STREAM <u:t> [RANGE 2s] { ¦WINDOW <u:w> {} }",
            "<u:w> is used but not declared (declared: <u:v>, <u:t>): write FROM NAMED WINDOW",
        ),
        ("SELECT * FROM NAMED WINDOW <u:v> ON <u:s> [RANGE 1s] { ¦WINDOW <u:s> {} }", "<u:s> is used but not declared"),
        (
            "SELECT * { STREAM <u:s> [RANGE 1s] {} ¦WINDOW <urn:x-sparql-streams:window:1> {} }",
            "is used but not declared (none is declared)",
        ),
        ("SELECT * { ¦WINDOW ?w {} }", "WINDOW ?w ranges over the declared windows, and none is declared"),
        ("SELECT * FROM STREAM <u:s> [RANGE 1s] { ¦WINDOW ?w {} }", "none is declared"),
    ],
)
def test_a_window_that_is_not_declared_is_named_with_those_that_are(text: str, said: str) -> None:
    # The place is that of the window's name, right after its keyword.
    rejects(text.replace("¦WINDOW ", "WINDOW ¦"), QuerySemanticError, said)


@pytest.mark.parametrize(
    "text",
    [
        "FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s]\nFROM NAMED WINDOW ¦<u:w> ON <u:t> [RANGE 1s]",
        "FROM NAMED STREAM <u:w> [RANGE 1s]\nFROM NAMED STREAM ¦<u:w> [RANGE 2s]",
        "FROM NAMED STREAM <u:w> [RANGE 1s]\nFROM NAMED WINDOW ¦<u:w> ON <u:t> [RANGE 1s]",
        "FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s]\nFROM NAMED ¦<u:w>",
        "FROM NAMED <u:w>\nFROM NAMED WINDOW ¦<u:w> ON <u:s> [RANGE 1s]",
    ],
)
def test_two_graphs_of_the_dataset_cannot_have_one_name(text: str) -> None:
    rejects(f"SELECT * {text} {{}}", QuerySemanticError, "two graphs named <u:w> (the other is in line 1)")


def test_a_stream_may_be_read_through_any_number_of_unnamed_windows() -> None:
    query = continuous("SELECT * FROM STREAM <u:s> [RANGE 1s] FROM STREAM <u:s> [RANGE 1s] FROM <u:s> FROM <u:s> {}")
    assert [window.graph for window in query.windows] == [None, None]


@pytest.mark.parametrize("operator", R2S)
def test_an_operator_goes_with_a_query_form_with_solutions(operator: R2S) -> None:
    rejects(f"ASK ¦{operator} {{ ?s ?p ?o }}", QuerySyntaxError, "goes with SELECT and CONSTRUCT; ASK has none")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT DISTINCT ¦RSTREAM * FROM STREAM <u:s> [RANGE 1s] {}", "RSTREAM goes right after the SELECT"),
        ("SELECT * FROM STREAM <u:s> [RANGE 1s] { { SELECT ¦istream * {} } }", "ISTREAM goes right after the SELECT"),
        ("SELECT RSTREAM ¦ISTREAM * FROM STREAM <u:s> [RANGE 1s] {}", "ISTREAM goes right after"),
        ("SELECT * { { SELECT * ¦FROM STREAM <u:s> [RANGE 1s] {} } }", "before the WHERE of the outermost query"),
        ("SELECT * { ?s ?p ?o } ¦FROM STREAM <u:s> [RANGE 1s]", "before the WHERE of the outermost query"),
        ("SELECT ?x FROM STREAM <u:s> [RANGE 1s] ¦?y { ?x ?p ?y }", "FROM, WHERE or {, found ?y"),
        ("DESCRIBE ¦FROM STREAM <u:s> [RANGE 1s] <u:x>", "*, a variable or an IRI after DESCRIBE"),
        ("SELECT * FROM ¦WINDOW <u:w> ON <u:s> [RANGE 1s] {}", "write FROM NAMED WINDOW"),
        ("SELECT * FROM NAMED WINDOW ¦?w ON <u:s> [RANGE 1s] {}", "the IRI of the window after WINDOW"),
        ("SELECT * FROM NAMED WINDOW <u:w> ¦<u:s> [RANGE 1s] {}", "expected ON after the window's name"),
        ("SELECT * FROM NAMED WINDOW <u:w> ON ¦[RANGE 1s] {}", "the IRI of a stream after ON"),
        ("SELECT * FROM STREAM ¦s [RANGE 1s] {}", "the IRI of a stream after STREAM, as <IRI> or prefix:name"),
        ("SELECT * FROM STREAM ¦ex:s [RANGE 1s] {}", "the prefix ex: is not declared"),
        ("SELECT * FROM STREAM ¦<s> [RANGE 1s] {}", "<s> is relative"),
        ("SELECT * FROM STREAM <u:s> ¦{ ?s ?p ?o }", "a window specification such as [RANGE 10s STEP 5s]"),
        ("SELECT * FROM STREAM <u:s> ¦RANGE 1s {}", "a window specification"),
        ("SELECT * { STREAM <u:s> [RANGE 1s] ¦?s ?p ?o }", "expected {, found ?s"),
        ("SELECT * { STREAM ¦?s [RANGE 1s] {} }", "the IRI of a stream"),
        (
            "SELECT * FROM NAMED STREAM <u:s> [RANGE 1s] { WINDOW <u:s> ¦?s ?p ?o }",
            "expected {, found ?s",
        ),
        ("SELECT * FROM NAMED STREAM <u:s> [RANGE 1s] { WINDOW ¦'u:s' {} }", "a variable or the IRI of a window"),
        ("SELECT * FROM NAMED STREAM <u:s> [RANGE 1s] ¦WINDOW <u:s> {}", "WINDOW goes inside a group"),
        ("SELECT * FROM NAMED STREAM <u:s> [RANGE 1s] { FILTER(¦WINDOW <u:s> {}) }", "WINDOW goes inside a group"),
        ("CONSTRUCT { ¦WINDOW <u:s> {} } FROM NAMED STREAM <u:s> [RANGE 1s] {}", "WINDOW goes inside a group"),
        ("CONSTRUCT WHERE { ¦STREAM <u:s> [RANGE 1s] { ?s ?p ?o } }", "STREAM goes inside a group"),
        ("¦INSERT { ?s ?p ?o } WHERE { STREAM <u:s> [RANGE 1s] { ?s ?p ?o } }", "begins an update: POST it to /sparql"),
        ("¦STREAM", "STREAM goes inside a group"),
        ("SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p ¦}", "expected a variable or an RDF term, found }"),
        ("SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o¦", "expected } for the { of line 1, column 39"),
        (
            "SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p (1 2 ¦} }",
            "expected a variable or an RDF term, found }",
        ),
        ("SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o } ¦}", "} closes nothing"),
        ("SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p ¦'abc }", "is not closed"),
        ("SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p 1 ¦% 2 }", "'%' starts nothing"),
        ("PREFIX ¦stream <u:> SELECT * FROM STREAM <u:s> [RANGE 1s] {}", "a prefix that ends with a colon"),
        ("BASE ¦u: SELECT * FROM STREAM <u:s> [RANGE 1s] {}", "<IRI> after BASE"),
    ],
)
def test_what_is_no_query_is_a_syntax_error_that_says_what_belongs_there(text: str, said: str) -> None:
    rejects(text, QuerySyntaxError, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM STREAM <u:s> [RANGE ¦0s] {}", "lasts no time"),
        ("SELECT * { STREAM <u:s> [RANGE 1s STEP ¦PT0S] {} }", "STEP PT0S lasts no time"),
    ],
)
def test_a_window_without_extent_or_step_is_a_semantic_error(text: str, said: str) -> None:
    rejects(text, QuerySemanticError, said)


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("TRIPLES 3", CountWindow(3, Unit.TRIPLES)),
        ("ELEMENTS 3 STEP 2", CountWindow(3, Unit.ELEMENTS, 2)),
        ("NOW", NowWindow()),
        ("LANDMARK", LandmarkWindow(None, None, None)),
    ],
)
def test_all_kinds_of_windows_are_read_in_every_clause(written: str, window: WindowSpec) -> None:
    for clause in (
        "FROM STREAM <u:s> [{}] {{}}",
        "FROM NAMED STREAM <u:s> [{}] {{}}",
        "FROM NAMED WINDOW <u:w> ON <u:s> [{}] {{}}",
        "{{ STREAM <u:s> [{}] {{}} }}",
    ):
        query = parse("SELECT * " + clause.format(written))
        assert isinstance(query, ContinuousQuery)
        assert [replace(member.window, report=None) for member in query.windows] == [window]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_an_error_after_rewriting_is_at_its_place_in_the_original(line_end: str) -> None:
    lines = [
        r"PREFIX ex: <http://\u0065x/> # é 😀",
        "REGISTER QUERY q AS",
        "SELECT ?x",
        "FROM NAMED WINDOW ex:w",
        "  ON <s> [RANGE 10s]",
        r"WHERE { STREAM <\u0073> [RANGE",
        r" 10s] { ?x ex:p '\u0027é' } WINDOW ?w { <r> ?y ?z } WINDOW ex:w { ?x ¦foo:bar 3 } }",
    ]
    rejects(line_end.join(lines), QuerySyntaxError, "the prefix foo: is not declared", base="http://base/")


def test_a_byte_order_mark_is_white_space() -> None:
    query = continuous("\ufeffSELECT * FROM STREAM <u:s> [RANGE 1s] {}", base="http://b/")
    assert query.windows[0].column == 23


def test_codepoint_escapes_count_in_names_and_stay_strings_in_strings() -> None:
    query = continuous(r"SELECT * FROM STREAM <u:\u00e9> [RANGE 1s] { ?s ?p 'a\u0027\u0022\U0001F600' }")
    assert query.streams == ("u:é",)
    assert Constant('"a\'\\"😀"') in set(nodes(query.expression.pattern))


def test_relative_iris_are_resolved() -> None:
    text = "PREFIX : <#> SELECT * FROM NAMED WINDOW <w> ON <../s> [RANGE 1s] { WINDOW <w> { <a> :b <http://c/> } }"
    query = continuous(text, base="http://h/x/y?z")
    assert query.windows == (StreamWindow("http://h/s", TimeWindow(1000, 1000, -1000), "http://h/x/w", declared=True),)
    assert query.expression == read_query(
        "SELECT * { GRAPH <http://h/x/w> { <http://h/x/a> <http://h/x/y?z#b> <http://c/> } }", "http://h/x/y?z"
    )


def test_a_base_in_the_query_comes_before_the_one_given_and_each_counts_from_there_on() -> None:
    text = "BASE <b/> PREFIX p: <p#> BASE <c/> SELECT * FROM STREAM p:s [RANGE 1s] FROM STREAM <s> [RANGE 1s] {}"
    query = continuous(text, base="http://h/")
    assert query.streams == ("http://h/b/p#s", "http://h/b/c/s")
    assert query.expression.base == "http://h/b/c/"


XML_SCHEMA = "http://www.w3.org/2001/XMLSchema"


@pytest.mark.parametrize(
    ("prologue", "duration"),
    [
        ("", "xsd:duration"),
        (f"PREFIX xsd: <{XML_SCHEMA}#>", "xsd:duration"),
        (f"PREFIX x: <{XML_SCHEMA}#> PREFIX xsd: <http://other/>", "x:duration"),
        (f"PREFIX é: <{XML_SCHEMA}#day>", "é:TimeDuration"),
        (f"PREFIX : <{XML_SCHEMA}#duration>", ":"),
        (f"BASE <{XML_SCHEMA}>", "<#duration>"),
        ("", f"# >\n<{XML_SCHEMA}#duration>"),
    ],
)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM STREAM <u:s> [RANGE %s] {}",
        "SELECT * FROM STREAM <u:s> WINDOW RANGE %s {}",
        "SELECT * { STREAM <u:s> [PT1M STEP 1s REPORT PERIODIC %s] {} }",
        "REGISTER QUERY q COMPUTED EVERY %s AS SELECT * FROM STREAM <u:s> [RANGE PT1M] {}",
        "SELECT ?s AS s (AGGREGATE ?s, COUNT ?o WHERE (CURRENT ?s ?p ?o) GROUP BY ?s EVERY %s)",
    ],
)
def test_the_datatype_of_a_quoted_duration_is_what_its_prefix_says(prologue: str, duration: str, query: str) -> None:
    read = continuous(f"{prologue} {query}" % f'"PT1M"^^{duration}')
    bare = continuous(query % "PT1M")
    shapes = [(one.window, one.graph) for one in read.windows]
    assert shapes == [(one.window, one.graph) for one in bare.windows]
    assert [one.report for one in read.currents] == [one.report for one in bare.currents]


@pytest.mark.parametrize(
    ("prologue", "literal", "said"),
    [
        ("PREFIX xsd: <http://other/>", '"PT1M"^^xsd:duration', "but of <http://other/duration>"),
        (f"PREFIX x: <{XML_SCHEMA}#>", '"PT1M"^^x:Duration', "but of Duration: write ^^x:duration"),
        (f"PREFIX x: <{XML_SCHEMA}#>", '"PT1M"^^x:string', '"PT1M"^^x:string is no xsd:duration'),
    ],
)
def test_what_has_another_datatype_is_no_duration(prologue: str, literal: str, said: str) -> None:
    rejects(f"{prologue} SELECT * FROM STREAM <u:s> [RANGE ¦{literal}] {{}}", QuerySyntaxError, said)


def test_the_datatype_of_a_quoted_time_is_what_its_prefix_says() -> None:
    text = "PREFIX %s: <http://www.w3.org/2001/XMLSchema#> SELECT * FROM STREAM <u:s> [RANGE 5 T0 ¦'7'^^x:long] {}"
    (window,) = continuous(text.replace("¦", "") % "x").windows
    assert window.window == TimeWindow(5, 5, 7)
    rejects((text % "y").replace("¦'7'^^", "'7'^^¦"), QuerySyntaxError, "the prefix x: is not declared")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{" * 5_000 + "}" * 5_000, "nested more than 100 deep"),
        ("{ FILTER" + "(" * 5_000 + "1" + ")" * 5_000 + " }", "nested more than 100 deep"),
        ("{ FILTER" + "(STR" * 5_000 + "(1)" + ")" * 5_000 + " }", "nested more than 100 deep"),
        ("{ ?s " + "(^" * 5_000 + "<u:p>" + ")*" * 5_000 + " ?o }", "nested more than 100 deep"),
        ("{ ?s <u:p> " + "(" * 5_000 + "1" + ")" * 5_000 + " }", "nested more than 100 deep"),
        ("{ ?s ?p ?o " + "OPTIONAL { ?s ?p ?o " * 5_000 + "}" * 5_001, "nested more than 100 deep"),
        ("{ ?s ?p ?o " + "FILTER NOT EXISTS { ?s ?p ?o " * 4_900 + "}" * 4_901, "nested more than 100 deep"),
        ("{ " + "{SELECT * { ?s ?p ?o " * 3_000 + "}}" * 3_000 + " }", "nested more than 100 deep"),
        ("{ FILTER(" + "!" * 5_000 + "1) }", "more than 2000 operators"),
        ("{ FILTER(1" + "+1" * 5_000 + ") }", "more than 2000 operators"),
        ("{ FILTER(1" + "||1" * 5_000 + ") }", "more than 2000 operators"),
        ("{ " + "OPTIONAL { ?s ?p ?o } " * 5_000 + "}", "more than 2000 operators, patterns and windows"),
        ("{ " + "{ ?s ?p ?o } UNION " * 5_000 + "{} }", "more than 2000 operators, patterns and windows"),
        ("{ ?s " + "<u:p>|" * 5_000 + "<u:p> ?o }", "more than 2000 operators, patterns and windows"),
        ("{ ?s ?p ?o . " + "?s <u:p> ?o ; <u:q> 1 . " * 5_000 + "}", "more than 2000 operators, patterns and windows"),
        ("FROM STREAM <u:s> [RANGE 1s] " * 3_000 + "{}", "more than 2000 operators, patterns and windows"),
        ("FROM STREAM <u:s> [ELEMENTS 1 WHERE {}] " * 2_500 + "{}", "more than 2000 operators, patterns and windows"),
        ("{ VALUES ?x { " + "1 " * 2_000_000 + "} }", "more than 40000 words and signs"),
        ("{ ?s ?p " + "[" * 2_000_000, "more than 40000 words and signs"),
        ("{ ?s ?p '" + "\\u0031" * 70_000 + "' ¦\"", "the string that begins"),
        ("{ ?s ?p '" + "\\t" * 200_000 + "' ¦\"", "the string that begins"),
        ("{ ?s ?p " + "\r\n" * 2_000_000 + ' ¦"', "the string that begins"),
        ("{ ?s ?p " + "'" * 4_000_000, "more than 40000 words and signs|expected"),
        ("{ FILTER(?x" + "-" * 4_000_000 + "1) }", "more than 40000 words and signs"),
    ],
)
def test_what_nests_5000_deep_or_has_4_megabytes_is_refused(body: str, message: str) -> None:
    text = f"SELECT * FROM STREAM <u:s> [RANGE 1s] {body}"
    with pytest.raises(ProtocolError, match=message):
        parse(text.replace("¦", ""))


def test_the_windows_of_a_group_count_among_the_operators_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.grammar.cursor.MOST_OPERATIONS", 9)
    text = "SELECT * FROM STREAM <u:s> [NOW] FROM STREAM <u:t> [NOW] { { ?s ?p ?o WINDOW ELEMS 1 } { ?s ?p ?o %s } }"
    continuous(text % "")
    rejects(text % "¦WINDOW ELEMS 2", UnsupportedFeature, "more than 9 operators, patterns and windows")


def test_what_is_just_within_the_limits_is_read() -> None:
    head = "SELECT * FROM STREAM <u:s> [RANGE 1s] "
    assert isinstance(parse(head + "{" * 100 + "}" * 100), ContinuousQuery)
    rejects(head + "{" * 100 + "¦{" + "}" * 101, UnsupportedFeature, "nested more than 100 deep")
    values = " ".join(f"<u:{number}>" for number in range(20_000))
    assert isinstance(parse(head + f"{{ VALUES ?x {{ {values} }} }}"), ContinuousQuery)
    assert isinstance(parse(head + "{ ?s ?p '" + "x" * 4_000_000 + "' }"), ContinuousQuery)
    assert isinstance(parse(head + "{ FILTER(1" + "||1" * 1_998 + ") }"), ContinuousQuery)
    assert len(continuous(head + "FROM STREAM <u:s> [NOW] " * 1_999 + "{}").windows) == 2_000


def test_the_lines_of_a_text_are_found_once_however_many_windows_have_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []

    def of(text: str) -> Sequence[int]:
        found.append(text)
        return line_starts(text)

    monkeypatch.setattr("protocol.sparql.source.line_starts", of)
    text = "SELECT *\n" + "FROM STREAM <u:s> [NOW]\n" * 50 + "{}"
    assert [window.line for window in continuous(text).windows] == list(range(2, 52))
    assert found == [text]


def test_a_stream_word_after_more_than_a_query_may_have_makes_no_continuous_query() -> None:
    assert isinstance(parse("SELECT * { VALUES ?x { " + "1 " * 50_000 + "} WINDOW ?w {} }"), OneShotQuery)


@pytest.mark.parametrize("pattern", ["LATERAL {}", "BIND(ADJUST(?v) AS ?a)"])
def test_what_is_not_sparql_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedFeature, match="is not part of SPARQL"):
        parse(f"SELECT * FROM STREAM <u:s> [RANGE 1s] {{ {pattern} }}")


@pytest.mark.parametrize("base", [None, "http://b/"])
def test_an_iri_between_variables_is_no_comparison_here_as_in_a_query_of_the_store(base: str | None) -> None:
    right = "FILTER((?a< ?b)&&?c>?d)"
    for text in (f"SELECT * FROM STREAM <u:s> [RANGE 1s]\n{{ {right} }}", f"SELECT *\n{{ {right} }}"):
        wrong = text.replace("< ?", "<?")
        if "STREAM" in text:
            continuous(text, base=base)
            with pytest.raises(QuerySyntaxError) as caught:
                parse(wrong, base=base)
        else:
            refuse_misreading(text, base)
            with pytest.raises(QuerySyntaxError) as caught:
                refuse_misreading(wrong, base)
        assert caught.value.detail == (
            "from here to the next > is one IRI (the longest match, Query section 19.8): write a space after < "
            "(line 2, column 13)"
        )


@pytest.mark.parametrize(
    "text",
    [
        r"SELECT * FROM STREAM <u:s> [RANGE 10s] { ?s ¦\U0000003Fp ?o }",
        r"SELECT * FROM STREAM <u:\u0073> [RANGE 10s] { ?s ?p '\u0041' . ?s¦\u0062 ?p ?o }",
        "SELECT * # \\u0041 \n FROM STREAM <u:s> # \\u0042\r\n[RANGE 10s]¦\\u0020{ ?s ?p ?o }",
        r"PREFIX e: <u:> SELECT * FROM STREAM <u:s> [RANGE 10s] { ?s e:a¦\u0062c ?o }",
    ],
)
def test_codepoint_escapes_stand_in_iris_strings_and_comments_only(text: str) -> None:
    """As in SPARQL 1.2 (Query section 19.2), in continuous queries and in those that are asked once."""
    for asked, read in ((text, parse), (text.replace("STREAM ", "").replace("[RANGE 10s]", ""), as_standard)):
        with pytest.raises(QuerySyntaxError, match="codepoint escapes are read in IRIs and strings only") as caught:
            read(asked.replace("¦", ""))
        before = asked.partition("¦")[0]
        assert (caught.value.line, caught.value.column) == place(before, len(before))


def test_no_place_is_looked_for_where_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes as long as the text is: for each of many rows that would be the square of their number."""

    def place(source: Source, offset: int) -> tuple[int, int]:
        raise AssertionError(f"line and column of {offset} in {source.text}")

    monkeypatch.setattr(Source, "place", place)
    read_query("SELECT * { VALUES (?x ?y) { (1 2) (3 4) } { ?x ?p [ ?q ( ?y ) ] FILTER(?x + (?y) > 1) } }")


WORDS = [
    "SELECT", "RSTREAM", "*", "?x", "FROM", "NAMED", "STREAM", "WINDOW", "<u:s>", "ON", "[", "RANGE", "10s", "STEP",
    "5s", "]", "[RANGE 10s]", "WHERE", "{", "}", "REGISTER", "QUERY", "q", "AS", "COMPUTED", "EVERY", "'", "#", "\n",
    "CONSTRUCT", "(", ")", "FILTER", "?s ?p ?o", "\\u0053", "PREFIX", "ex:", "REPORT", "T0", "1", ";", "é",
    "AGGREGATE", "{(?n, COUNT, {?x})}", "(?n, SUM(?x), ?x)", "timestamp", "timestamp(?x)", "timestamp(?s ?p 1)",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_any_text_is_one_shot_or_continuous_or_an_error_with_a_place(text: str) -> None:
    error = None
    try:
        query = parse(text)
    except ProtocolError as raised:
        error = raised
    assert perhaps_continuous(text) or error is None
    if error is None:
        assert perhaps_continuous(text) or isinstance(query, OneShotQuery)
        assert query.text == text
        if isinstance(query, ContinuousQuery):
            assert query.windows
        return
    lines = text.split("\n")
    assert error.line is not None
    assert error.column is not None
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    assert error.detail.endswith(f"(line {error.line}, column {error.column})")


@given(st.data())
def test_a_keyword_in_codepoint_escapes_is_none(data: st.DataObject) -> None:
    keyword = data.draw(st.sampled_from(["FROM", "STREAM", "RANGE", "SELECT", "WHERE"]))
    text = "SELECT * FROM STREAM <u:s> [RANGE 10s] WHERE { ?s ?p ?o }"
    forms = st.sampled_from([r"\u{:04x}", r"\U{:08X}"])
    place = data.draw(st.integers(0, len(keyword) - 1))
    escaped = keyword[:place] + data.draw(forms).format(ord(keyword[place])) + keyword[place + 1 :]
    asked = text.replace(keyword, escaped)
    with pytest.raises(QuerySyntaxError, match="codepoint escapes are read in IRIs and strings only") as caught:
        parse_live(asked)
    assert (caught.value.line, caught.value.column) == (1, asked.index("\\") + 1)


@given(st.lists(st.sampled_from(["", " ", "\n", "\r\n", " # STREAM {\n", "\t"]), min_size=40, max_size=40))
def test_white_space_and_comments_between_tokens_change_nothing(gaps: list[str]) -> None:
    text = (
        "PREFIX : <u:> REGISTER QUERY q AS SELECT ISTREAM ?w FROM NAMED WINDOW :w ON STREAM :s [ RANGE 10s STEP 5 ] "
        "WHERE { WINDOW ?w { ?s ?p 'x' } }"
    )
    tokens = text.split(" ")
    spread = parse("".join(f"{token} {gap}" for token, gap in zip(tokens, gaps, strict=False)))
    plain = parse(text)
    assert isinstance(spread, ContinuousQuery)
    assert isinstance(plain, ContinuousQuery)
    assert (spread.windows, spread.operator, spread.registration) == (plain.windows, plain.operator, plain.registration)
    assert spread.expression == plain.expression


W3C = Path(__file__).parents[4] / "shared/w3c/sparql"


def with_stream(text: str) -> str | None:
    """The query with a stream in its dataset; None where there is no place for one."""
    tokens = tokenize(text)
    depth, form, groups = 0, "", 0
    for token, following in itertools.pairwise(tokens):
        if not form and token.word in tuple(Form):
            form, groups = token.word, 1 if token.word == "CONSTRUCT" and following.text == "{" else 0
        elif form and depth == 0 and (token.word in ("FROM", "WHERE") or token.text == "{"):
            if groups == 0 or token.word:
                return f"{text[: token.start]} FROM STREAM <http://s/> [RANGE 10s] {text[token.start :]}"
            groups = 0
        if token.kind is TokenKind.PUNCTUATION:
            depth += (token.text in ("{", "(", "[")) - (token.text in ("}", ")", "]"))
    return None


@pytest.mark.shared
@pytest.mark.skipif(not W3C.is_dir(), reason="the W3C test suites are not here")
def test_the_queries_of_the_w3c_suites_are_judged_with_a_stream_as_without() -> None:
    base = "http://example.org/base/"
    judged = 0
    for file in sorted((*W3C.glob("sparql10/**/*.rq"), *W3C.glob("sparql11/**/*.rq"))):
        text = file.read_bytes().decode()
        assert parse(text, base=base) == OneShotQuery(text)
        streaming = with_stream(text)
        if streaming is None:
            continue
        valid = query_fault(f"BASE <{base}>\n{text}") is None
        judged += 1
        if valid:
            assert isinstance(parse(streaming, base=base), ContinuousQuery)
        else:
            with pytest.raises(ProtocolError):
                parse(streaming, base=base)
    assert judged > 500


def test_a_long_text_is_searched_in_pieces_between_which_other_threads_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Searched:
        """Notes how long the pieces are."""

        longest = 0

        def search(self, text: str, start: int = 0, end: int | None = None) -> object:
            self.longest = max(self.longest, (len(text) if end is None else end) - start)
            return pattern.search(text, start, len(text) if end is None else end)

    pattern, searched = parser._OPERATOR_TEXT, Searched()
    monkeypatch.setattr(parser, "_OPERATOR_TEXT", searched)
    assert not perhaps_continuous("{" * 1_000_000)
    assert 0 < searched.longest < 70_000
    assert not perhaps_continuous("")
    for word in ("register", "OptionalSeq", "CURRENT", "or", "And", "SEQ"):
        for before in range(parser._PIECE - len(word), parser._PIECE + 1):
            assert perhaps_continuous("{" * before + word + "{" * parser._PIECE)
    for word in ("org", "Android", "sequel"):
        for before in range(parser._PIECE - 8, parser._PIECE + 8):
            assert not perhaps_continuous("{" * before + word + "{" * parser._PIECE)


def test_a_word_within_another_is_no_operator() -> None:
    pattern = re.compile(r"\b(?:seq|and|or)\b", re.IGNORECASE)
    letters = ["x", "_", "é", " ", "}", ""]
    for word, before, after in itertools.product(("seq", "AND", "Or", "nor", "a1"), letters, letters):
        for text in (before + word + after, f"{{{before}x{word}{after}", f"{before}{word}{after} or{after}"):
            assert perhaps_continuous(text) is (pattern.search(text) is not None)
