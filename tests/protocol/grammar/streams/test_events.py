"""Event patterns: how operators bind, what an event pattern is, whose interval is asked, what is refused and where."""

from __future__ import annotations

import pytest

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError, UnsupportedFeature
from protocol.grammar.parser import parse
from protocol.language.algebra import BGP, INTERVAL, Call, Filter, Graph, Join, LeftJoin, Pattern, TriplePattern, Union
from protocol.language.algebra import nodes as parts
from protocol.language.model import R2S, ContinuousQuery, OneShotQuery
from protocol.time import BEFORE_ALL
from protocol.windows.spec import ONLY_STREAM, LandmarkWindow, Report, Strategy, TimeWindow

PREFIX = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def read(text: str) -> ContinuousQuery:
    query = parse(PREFIX + text, base="http://ex/")
    assert isinstance(query, ContinuousQuery)
    return query


def shown(pattern: Pattern) -> str:
    """Which groups an operator has, by the local names of their predicates."""
    match pattern:
        case BGP((triple,)):
            return str(getattr(triple.predicate, "text", ""))[-2]
        case Join(left, right):
            return f"({shown(left)} and {shown(right)})"
        case Union(left, right):
            return f"({shown(left)} or {shown(right)})"
        case LeftJoin(left, right):
            return f"({shown(left)} perhaps {shown(right)})"
        case Filter(Join(left, right), Call("<")):
            return f"({shown(left)} then {shown(right)})"
        case Filter(Join(left, right), Call("&&")):
            return f"({shown(left)} with {shown(right)})"
    raise AssertionError(pattern)


def events(query: ContinuousQuery) -> Pattern:
    (found,) = (node for node in parts(query.expression.pattern) if isinstance(node, Graph))
    return found.pattern


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{?x :a 1} SEQ {?x :b 1} SEQ {?x :c 1}", "((a then b) then c)"),
        ("{?x :a 1} OR {?x :b 1} AND {?x :c 1} SEQ {?x :d 1} EQUALS {?x :e 1}", "(a or (b and (c then (d with e))))"),
        ("{?x :a 1} EQUALS {?x :b 1} SEQ {?x :c 1} AND {?x :d 1} OR {?x :e 1}", "((((a with b) then c) and d) or e)"),
        ("{ {?x :a 1} OR {?x :b 1} } SEQ {?x :c 1}", "((a or b) then c)"),
        ("{?x :a 1} seq { {?x :b 1} or {?x :c 1} }", "(a then (b or c))"),
        ("{?x :a 1} OPTIONALSEQ {?x :b 1} EQUALSOPTIONAL {?x :c 1}", "(a perhaps (b perhaps c))"),
        ("{ {?x :a 1} SEQ {?x :b 1} }", "(a then b)"),
        ("{ {?x :a 1} {?x :b 1} }", "(a and b)"),
    ],
)
def test_operators_bind_as_the_language_says(text: str, expected: str) -> None:
    assert shown(events(read(f"SELECT * {{ STREAM <s> {text} }}"))) == expected


def test_each_triple_pattern_has_the_time_of_an_occurrence_of_its_own() -> None:
    triples = list(parts(events(read("SELECT * { STREAM <s> {?x :a 1 ; :a 1} SEQ {?x :a 1} }"))))
    times = [node.time for node in triples if isinstance(node, TriplePattern)]
    assert None not in times
    assert len(set(times)) == 3


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("STREAM <s> {?x :a 1} SEQ {?x :b 1}", LandmarkWindow(BEFORE_ALL, None, None, None)),
        ("STREAM <s> {?x :a 1}", LandmarkWindow(BEFORE_ALL, None, None, None)),
        ("STREAM <s> [RANGE 5s] { {?x :a 1} SEQ {?x :b 1} }", TimeWindow(5000, 1, -5000, None)),
        ("STREAM <s> [RANGE 5s REPORT NON_EMPTY_CONTENT] {?x :a 1} OR {?x :b 1}", TimeWindow(5000, 1, -5000, None)),
    ],
)
def test_an_event_pattern_has_occurrences_as_its_window(text: str, window: object) -> None:
    query = read(f"SELECT * {{ {text} }}")
    (member,) = query.windows
    assert member.occurrences
    assert str(member.window).startswith(str(window).partition("report")[0])
    assert query.operator is R2S.ISTREAM


def test_a_step_says_when_an_event_pattern_is_evaluated_and_not_what_it_holds() -> None:
    (member,) = read("SELECT * { STREAM <s> [RANGE 5s STEP 2s] {?x :a 1} SEQ {?x :b 1} }").windows
    beat = Report(frozenset({Strategy.PERIODIC, Strategy.NON_EMPTY_CONTENT}), 2000)
    assert member.window == TimeWindow(5000, 1, -5000, beat)


def test_a_stream_pattern_without_operators_holds_a_set() -> None:
    (member,) = read("SELECT * { STREAM <s> [RANGE 5s] {?x :a 1} }").windows
    assert not member.occurrences


def test_who_names_no_stream_reads_the_only_one() -> None:
    (member,) = read("SELECT * { {?x :a 1} SEQ {?x :b 1} }").windows
    assert (member.stream, member.occurrences) == (ONLY_STREAM, True)


@pytest.mark.parametrize(
    "text", ["SELECT * { ?or :and ?seq FILTER(?or = 'x} SEQ {') }", "SELECT * { {?x :a 1} UNION {?x :or 1} }"]
)
def test_words_alone_make_no_event_pattern(text: str) -> None:
    assert isinstance(parse(PREFIX + text), OneShotQuery)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("SELECT (getDURATION() AS ?d) { STREAM <s> {?x :a 1} SEQ {?x :b 1} }", 2),
        ("SELECT * { STREAM <s> {?x :a 1} SEQ {?x :b 1 FILTER(getENDTIME() > ?t)} }", 1),
        ("SELECT * { STREAM <s> { {?x :a 1} SEQ {?x :b 1 ; :c 1} BIND(getstarttime() AS ?t) } }", 3),
        ("SELECT * { STREAM <s> {?x :a 1} SEQ {?x :b 1} } FILTER(getDURATION() < ?t)", 2),
        ("SELECT * { {STREAM <s> {?x :a 1}} UNION {STREAM <s> {?x :b 1}} } ORDER BY getENDTIME()", 2),
        ("SELECT (MAX(getDURATION()) AS ?d) { STREAM <s> {?x :a 1} SEQ {?x :b 1} } GROUP BY ?x", 2),
        ("SELECT * { ?x :c 1 FILTER(?x = 1 || EXISTS { {?x :a 1} SEQ {?x :b 1} FILTER(getDURATION() < ?t) }) }", 2),
        ("SELECT * { {?x :a 1} SEQ {?x :b 1} FILTER EXISTS { ?x :c ?t FILTER(getDURATION() < ?t) } }", 2),
        ("SELECT * { {?x :a 1} SEQ {?x :b 1} FILTER EXISTS { CURRENT {?x :c ?t} FILTER(getSTARTTIME() < ?t) } }", 0),
        (
            "SELECT * { {?x :a 1} SEQ {?x :b 1} FILTER EXISTS { {?x :c 1} OR {?x :d 1,2} FILTER(getDURATION() < 3) } }",
            3,
        ),
        ("SELECT * { ?x :c 1 MINUS { {?x :a 1} EQUALS {?x :b 1; :c 1} FILTER(getDURATION() < ?t) } }", 3),
        ("SELECT * { {?x :a 1} SEQ {?x :b 1} OPTIONAL { {?x :c 1} OR {?x :d 1,2} FILTER(getDURATION() < ?t) } }", 3),
        ("SELECT * { {?x :a 1} SEQ {?x :b 1} OPTIONAL { ?x :c 1 FILTER(getDURATION() < ?t) } }", 2),
        ("SELECT * { GRAPH :g { ?x :c 1 STREAM <s> {?x :a 1} SEQ {?x :b 1} FILTER(getDURATION() < ?t) } }", 2),
    ],
)
def test_an_interval_is_that_of_the_innermost_event_pattern(text: str, times: int) -> None:
    asked = [node for node in parts(read(text).expression.pattern) if isinstance(node, Call) and node.name in INTERVAL]
    assert times in [len(call.arguments) for call in asked if call.place is not None]


def test_white_space_in_a_duration_collapses() -> None:
    query = read('SELECT * { STREAM <s> {?x :a 1} } FILTER(getDURATION() < " PT3S "^^xsd:duration)')
    assert '"PT3S"^^<http://www.w3.org/2001/XMLSchema#duration>' in str(query.expression)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("SELECT * { STREAM <s> {?x :a 1} SEQ ¦?x :b 1 }", QuerySyntaxError, "a group { … } after SEQ"),
        ("SELECT * { STREAM <s> {?x :a 1} SEQ ¦{} }", QuerySyntaxError, "a triple pattern in each of its groups"),
        ("SELECT * { STREAM <s> {?x :a 1 ¦SEQ ?x :b 1} }", QuerySyntaxError, "SEQ goes between the groups"),
        ("SELECT * { STREAM <s> {?x :a 1} SEQ {?x :b 1} FILTER(?x ¦AND ?x) }", QuerySyntaxError, "AND goes between"),
        ("SELECT * { STREAM <s> {?x :a 1} SEQ {¦OPTIONAL {?x :b 1}} }", QuerySyntaxError, "OPTIONAL stands behind"),
        ("SELECT * { STREAM <s> {?x :a 1 ¦OPTIONAL {?x :b 1}} }", QuerySyntaxError, "as in STREAM <…> [RANGE 10s]"),
        ("SELECT * { STREAM <s> {¦SELECT ?x {?x :a 1}} }", QuerySyntaxError, "as in STREAM <…> [RANGE 10s]"),
        ("SELECT * { STREAM <s> {?x :a 1 . {?x :b 1} ¦SEQ {?x :c 1}} }", QuerySyntaxError, "write braces around"),
        ("SELECT * { STREAM <s> {?x :a 1} SEQ {?x :b 1} ¦UNION {?x :c 1} }", QuerySyntaxError, "write OR"),
        ("SELECT * { STREAM <s> {?x :a 1} SEQ {¦?x :b* 1} }", UnsupportedFeature, "has no property paths"),
        ("SELECT * { STREAM <s> {?x :a 1 FILTER ¦EXISTS {?x :b 1}} }", UnsupportedFeature, "write the FILTER behind"),
        ("SELECT * { STREAM <s> ¦[TRIPLES 5] {?x :a 1} SEQ {?x :b 1} }", UnsupportedFeature, "give it a RANGE"),
        ("SELECT * { STREAM <s> ¦[SESSION 5s] {?x :a 1} SEQ {?x :b 1} }", UnsupportedFeature, "give it a RANGE alone"),
        ("SELECT * { STREAM <s> ¦[RANGE 5s OFFSET 1s] {?x :a 1} SEQ {?x :b 1} }", UnsupportedFeature, "OFFSET"),
        ("SELECT * { STREAM <s> {?x :a ?y BIND(1 AS ¦?y)} }", QuerySyntaxError, "BIND needs a new variable"),
        ("SELECT * { GRAPH ?g { ¦{?x :a 1} SEQ {?x :b 1} } }", QuerySemanticError, "not in GRAPH"),
        (
            "SELECT * { STREAM <s> [NOW] {?x :a 1} ¦{?x :a 1} SEQ {?x :b 1} }",
            QuerySemanticError,
            "which one it is about",
        ),
        ("SELECT (¦getDURATION() AS ?d) { STREAM <s> [NOW] {?x :a 1} }", QuerySemanticError, "there is none"),
        (
            "SELECT * { STREAM <s> [NOW] {?x :a 1} FILTER EXISTS { ?x :b 1 FILTER(¦getDURATION() < ?t) } }",
            QuerySemanticError,
            "there is none",
        ),
        (
            "SELECT * { STREAM <s> {?x :a 1} FILTER EXISTS { SELECT ?x { ?x :b 1 FILTER(¦getDURATION() < ?t) } } }",
            QuerySemanticError,
            "there is none",
        ),
        (
            "SELECT (¦getDURATION() AS ?d) { STREAM <s> {?x :a 1} STREAM <s> {?x :b 1} }",
            QuerySemanticError,
            "there are 2",
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_place(text: str, kind: type[ProtocolError], said: str) -> None:
    with pytest.raises(kind) as refused:
        read(text.replace("¦", ""))
    assert said in refused.value.detail
    assert refused.value.column == len(PREFIX) + text.index("¦") + 1
