"""What the grammar makes of facts: definitions, CURRENT, and TEF-SPARQL's aggregate."""

from __future__ import annotations

import pytest

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError, UnsupportedFeature
from protocol.grammar.parser import parse
from protocol.language.algebra import (
    BGP,
    Aggregate,
    Constant,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Pattern,
    Project,
    TriplePattern,
    Variable,
    in_scope,
    nodes,
)
from protocol.language.model import ContinuousQuery, Form, OneShotQuery
from protocol.windows.spec import ONLY_STREAM, CountWindow, FactsWindow, Report, Strategy

PREFIX = "PREFIX : <u:> "
SINCE_TILL = "(UNION (SINCE ?u :enter ?r) (TILL ?u :leave ?r))"
DEFINITION = f"CONSTRUCT FACT here {{ ?u :in ?r }} {SINCE_TILL} "
ON_CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))


def read(text: str) -> ContinuousQuery:
    query = parse(PREFIX + text, base="http://h/sparql")
    assert isinstance(query, ContinuousQuery)
    return query


def triple(predicate: str) -> BGP:
    return BGP((TriplePattern(Variable("u"), Constant(f"<u:{predicate}>"), Variable("r")),))


def test_a_definition_is_a_query_that_gives_its_facts() -> None:
    query = read(DEFINITION)
    assert query.form is Form.CONSTRUCT
    assert query.defines is not None
    assert (query.defines.name, query.defines.since, query.defines.till) == ("here", triple("enter"), triple("leave"))
    (window,) = query.windows
    assert (window.stream, window.window.report) == (ONLY_STREAM, ON_CHANGE)
    assert isinstance(window.window, FactsWindow)
    assert window.window.definition == query.defines.key
    assert [node.name for node in nodes(query.expression.pattern) if isinstance(node, Graph)] == [
        Constant(f"<{window.graph}>")
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"CONSTRUCT FACT here FROM STREAM <u:s> {{ ?u :in ?r }} {SINCE_TILL}",
        f"CONSTRUCT FACT here {{ ?u :in ?r }} FROM STREAM <u:s> {SINCE_TILL}",
        f"CONSTRUCT FACT here{{?u :in ?r}}FROM STREAM <u:s>{SINCE_TILL}",
        "construct fact here { ?u :in ?r } from stream <u:s> union (since ?u :enter ?r) (till { ?u :leave ?r . })",
        f"REGISTER FACT n AS CONSTRUCT FACT here FROM STREAM <u:s> {{ ?u :in ?r . }} {SINCE_TILL}",
    ],
)
def test_one_definition_is_written_in_several_ways(text: str) -> None:
    defined = read(text).defines
    assert defined is not None
    assert (defined.stream, defined.key) == ("u:s", read(DEFINITION).definitions[0].key)


def test_a_name_is_a_word_or_an_iri() -> None:
    for written, name in (("my-facts", "my-facts"), (":facts", "u:facts"), ("<facts>", "http://h/facts")):
        for space in (" ", ""):
            query = read(
                DEFINITION.replace("here ", written + space) + f"SELECT * {{ CURRENT {written}{space}{{ ?u :in ?r }} }}"
            )
            assert [one.name for one in query.definitions] == [name]
            assert not query.currents


def test_places_in_the_text_are_no_part_of_a_definition() -> None:
    assert read(f"  {DEFINITION}").definitions == read(DEFINITION).definitions
    other = DEFINITION.replace(":leave", ":go")
    assert read(other).definitions[0].key != read(DEFINITION).definitions[0].key


def test_current_reads_the_definitions_of_the_text_or_else_others() -> None:
    query = read(
        f"{DEFINITION} SELECT * {{ CURRENT {{ ?a ?b ?c }} CURRENT there {{ ?u :in ?r }} CURRENT {{ ?d ?e ?f }} }}"
    )
    assert query.defines is None
    assert len(query.windows) == 1
    assert [(one.name, one.report) for one in query.currents] == [("there", ON_CHANGE)]
    graphs = [node.name for node in nodes(query.expression.pattern) if isinstance(node, Graph)]
    assert graphs.count(Constant(f"<{query.windows[0].graph}>")) == 2
    assert Constant(f"<{query.currents[0].graph}>") in graphs


def test_several_definitions_stand_before_the_query() -> None:
    query = read(f"{DEFINITION} PREFIX x: <u:> {DEFINITION.replace('here', 'there')} ASK {{ CURRENT {{ ?s ?p ?o }} }}")
    assert [one.name for one in query.definitions] == ["here", "there"]
    assert len({window.graph for window in query.windows}) == 1


def test_groups_have_filters_and_bind() -> None:
    query = read(
        "CONSTRUCT FACT f { ?u :in ?x } UNION (SINCE { ?u :enter ?r . ?r :name ?n FILTER(?n > 2) BIND(?r AS ?x) })"
        "(TILL { { ?u :leave ?r } ?r :is :shut })"
    )
    assert isinstance(query.definitions[0].since, Filter)
    assert isinstance(query.definitions[0].till, Join)


def test_windows_beside_facts_report_as_they_would_without() -> None:
    beside = "FROM STREAM <u:s> [ELEMENTS 2 STEP 2{}] {{ ?a ?b ?c CURRENT {{ ?d ?e ?f }} }}"
    window, facts = read(f"{DEFINITION} SELECT * {beside.format('')}").windows
    assert isinstance(window.window, CountWindow)
    assert window.window.report == Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.NON_EMPTY_CONTENT}))
    assert facts.window.report == ON_CHANGE
    window, facts = read(f"REGISTER QUERY q COMPUTED EVERY 5 AS {DEFINITION} SELECT * {beside.format('')}").windows
    assert window.window.report == facts.window.report == Report(frozenset({Strategy.PERIODIC}), 5)


def test_the_paper_counts_facts() -> None:
    query = read(
        f"PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> {DEFINITION} SELECT ?r AS ROOM, ?u as USER "
        '(AGGREGATE ?r, COUNT ?u WHERE (CURRENT ?u :in ?r) GROUP BY ?r EVERY "PT3S"^^xsd:duration)'
    )
    assert [variable.name for variable in query.expression.variables] == ["ROOM", "USER"]
    assert [window.window.report for window in query.windows] == [Report(frozenset({Strategy.PERIODIC}), 3000)]
    named = read("SELECT ?u AS u (AGGREGATE ?r, SUM ?u WHERE (CURRENT here { ?u :in ?r }) GROUP BY ?r EVERY 5s)")
    assert [(one.name, one.report.period) for one in named.currents] == [("here", 5000)]


@pytest.mark.parametrize(
    ("selected", "answer"),
    [
        ("?a AS x, ?b AS y, ?c AS n", {"x": "a", "y": "b", "n": "count"}),
        ("?a AS b, ?b AS a, ?c AS n", {"b": "a", "a": "b", "n": "count"}),
        ("?a AS b", {"b": "a"}),
        ("?c AS a, ?a AS c", {"a": "count", "c": "a"}),
        ("?a AS a, ?b AS c, ?c AS b", {"a": "a", "c": "b", "b": "count"}),
    ],
)
def test_a_new_name_in_the_counting_form_may_be_that_of_another_key(selected: str, answer: dict[str, str]) -> None:
    def of(pattern: Pattern) -> dict[Variable, str]:
        """The solution, where each variable of the facts has its name as its value."""
        match pattern:
            case Project(inner, variables):
                found = of(inner)
                return {variable: found[variable] for variable in variables}
            case Extend(inner, variable, Variable() as source):
                found = of(inner)
                assert variable not in found
                return found | {variable: found[source]}
            case Group(inner, keys, (Aggregate(_, Variable() as argument, result),)):
                found = of(inner)
                assert found[argument] == "c"
                return {key: found[key] for key in keys or ()} | {result: "count"}
            case _:
                assert isinstance(pattern, Graph)
                return {variable: variable.name for variable in in_scope(pattern)}

    query = read(f"SELECT {selected} (AGGREGATE ?a ?b, COUNT ?c WHERE (CURRENT ?a ?b ?c) GROUP BY ?a ?b EVERY 3s)")
    assert {variable.name: value for variable, value in of(query.expression.pattern).items()} == answer


def test_words_of_facts_are_no_words_of_one_shot_queries() -> None:
    for text in ("SELECT * { ?fact <u:current> ?current }", "PREFIX fact: <u:> ASK { fact:a fact:current 'CURRENT' }"):
        assert isinstance(parse(text), OneShotQuery)


@pytest.mark.parametrize(
    ("text", "kind", "said", "column"),
    [
        ("CONSTRUCT FACT {…", QuerySyntaxError, "a name after CONSTRUCT FACT", 16),
        ("CONSTRUCT FACT f UNION", QuerySyntaxError, "{ before the template", 18),
        ("CONSTRUCT FACT f { }", QuerySemanticError, "a fact needs a triple", 20),
        ("CONSTRUCT FACT f FROM <u:g> { ?u :in ?r }", QuerySyntaxError, "FROM STREAM <stream>, found <u:g>", 23),
        ("CONSTRUCT FACT f FROM STREAM <u:s> [RANGE 5] {", QuerySyntaxError, "its stream has no window here", 36),
        ("CONSTRUCT FACT f FROM STREAM <u:s> { ?u :in ?r } FROM STREAM <u:s>", QuerySyntaxError, "one stream", 50),
        ("CONSTRUCT FACT f { ?u :in ?r } (SINCE", QuerySyntaxError, "expected UNION after the template", 33),
        ("CONSTRUCT FACT f { ?u :in ?r } UNION (TILL", QuerySyntaxError, "expected SINCE after (", 39),
        ("CONSTRUCT FACT f { ?u :in ?r } UNION (SINCE)", QuerySemanticError, "SINCE needs a triple pattern", 39),
        (f"{DEFINITION.rstrip()[:-1]}", QuerySyntaxError, ") for the ( of line 1", None),
        (DEFINITION.replace("?u :in ?r", "?u :in ?x"), QuerySemanticError, "?x is not bound by SINCE", 30),
        (DEFINITION.replace("?u :in ?r", "_:u :in ?r"), UnsupportedFeature, "a blank node in the template", 21),
        (f"{DEFINITION}{DEFINITION}SELECT", QuerySemanticError, "here is defined twice", None),
        (f"{DEFINITION}{DEFINITION.replace('here', 'f')}", QuerySyntaxError, "the query that reads the facts", None),
        ("REGISTER FACT f AS SELECT * { CURRENT { ?a ?b ?c } }", QuerySyntaxError, "expected CONSTRUCT FACT", 20),
        ("SELECT * { CURRENT { {?a ?b ?c} SEQ {?d ?e ?f} } }", QuerySemanticError, "in a stream, not in CURRENT", 22),
        ("SELECT * { ?a ?b ?c CURRENT }", QuerySyntaxError, "a name or { after CURRENT", 29),
        ("SELECT * { CURRENT here ?a ?b ?c }", QuerySyntaxError, "{ after the name", 25),
        ("SELECT * FROM CURRENT { ?a ?b ?c }", QuerySyntaxError, "CURRENT goes inside a group", 15),
        (
            "SELECT ?r AS R (AGGREGATE ?r, COUNT ?u WHERE { CURRENT { ?u :in ?r } })",
            QuerySyntaxError,
            "( and CURRENT",
            46,
        ),
        ("SELECT ?u AS U AGGREGATE ?u WHERE (CURRENT", QuerySyntaxError, "expected ( and AGGREGATE", None),
        ("SELECT ?u AS ?who FROM STREAM <u:s> [NOW] { ?u ?p ?o }", QuerySyntaxError, "write (?u AS ?who)", 8),
        (
            "SELECT ?x AS R (AGGREGATE ?r, COUNT ?u WHERE (CURRENT ?u :in ?r) GROUP BY ?r EVERY 3s)",
            QuerySemanticError,
            "?x is neither a key nor what is aggregated",
            8,
        ),
        (
            "SELECT ?r AS R (AGGREGATE ?r, COUNT ?u WHERE (CURRENT ?u :in ?r) GROUP BY ?u EVERY 3s)",
            QuerySemanticError,
            "GROUP BY has other variables",
            75,
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(
    text: str, kind: type[ProtocolError], said: str, column: int | None
) -> None:
    with pytest.raises(kind) as refused:
        read(text)
    assert said in refused.value.detail
    assert column is None or refused.value.column == len(PREFIX) + column


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("?u :enter ?r OPTIONAL { ?r :a ?x }", "OPTIONAL is not evaluated in SINCE"),
        ("{ ?u :enter ?r } UNION { ?u :come ?r }", "UNION is not evaluated in SINCE"),
        ("?u :enter ?r MINUS { ?u :come ?r }", "MINUS is not evaluated in SINCE"),
        ("GRAPH <u:g> { ?u :enter ?r }", "a pattern over a graph, a window or facts is not"),
        ("?u :enter+ ?r", "a path with *, + or ? is not"),
        ("?u :enter ?r FILTER EXISTS { ?r ?p ?o }", "EXISTS is not evaluated in SINCE"),
        ("?u :enter ?r VALUES ?r { :a }", "VALUES is not evaluated in SINCE"),
        ("{ SELECT ?u ?r { ?u :enter ?r } }", "a sub-select is not evaluated in SINCE"),
    ],
)
def test_what_is_not_evaluated_in_since_is_named(group: str, said: str) -> None:
    with pytest.raises(UnsupportedFeature) as refused:
        read(DEFINITION.replace("?u :enter ?r", f"{{ {group} }}"))
    assert said in refused.value.detail
    assert refused.value.column is not None


def test_what_depends_on_the_instant_is_refused_in_till() -> None:
    with pytest.raises(QuerySemanticError) as refused:
        read(DEFINITION.replace("?u :leave ?r", "{ ?u :leave ?r FILTER(NOW() > ?r) }"))
    assert refused.value.detail.startswith("NOW has no meaning in TILL")


@pytest.mark.parametrize("call", ["getSTARTTIME()", "getENDTIME()", "getDURATION()"])
@pytest.mark.parametrize("since", ["?u :enter ?r FILTER(BOUND(?u) && STR({}) > '')", "?u :enter ?r BIND({} AS ?at)"])
def test_the_interval_of_a_match_is_refused_in_since_which_is_no_event_pattern(since: str, call: str) -> None:
    with pytest.raises(QuerySemanticError) as refused:
        read(DEFINITION.replace("?u :enter ?r", f"{{ {since.format(call)} }}"))
    assert refused.value.detail.startswith(f"{call.upper()} is that of the event pattern around it, and SINCE is none")
    assert refused.value.column is not None
