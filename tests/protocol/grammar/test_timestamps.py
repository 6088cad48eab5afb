"""Calls of ``timestamp()``: what they are in the algebra, and what is no call of it."""

from __future__ import annotations

import pytest

from protocol.errors import ProtocolError, QuerySyntaxError, UnsupportedFeature
from protocol.grammar.parser import parse, read_query
from protocol.language.algebra import TIMESTAMP, Call, Expression, TriplePattern, Variable, nodes
from protocol.language.model import ContinuousQuery, OneShotQuery

HEAD = "PREFIX : <u:> PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>\nSELECT * FROM STREAM <u:s> [RANGE 1s]\n"


def arguments(expression: str, base: str | None = None) -> tuple[Expression, ...]:
    """The arguments of the call that an expression in a FILTER is."""
    query = parse(f"{HEAD}{{ ?x ?p ?y FILTER({expression} > ?z) }}", base=base)
    assert isinstance(query, ContinuousQuery)
    (call,) = (node for node in nodes(query.expression.pattern) if isinstance(node, Call) and node.name == TIMESTAMP)
    return call.arguments


def rejects(expression: str, kind: type[ProtocolError], said: str) -> None:
    """The error is of this kind, says this, and is at the ¦."""
    before = f"{HEAD}{{ ?x ?p ?y\nFILTER("
    with pytest.raises(ProtocolError) as raised:
        parse(f"{before}{expression.replace('¦', '')} > ?z) }}")
    assert type(raised.value) is kind, raised.value.detail
    assert said in raised.value.detail
    assert (raised.value.line, raised.value.column) == (4, len("FILTER(") + expression.index("¦") + 1)


@pytest.mark.parametrize(
    "written",
    ["timestamp(?x)", "TIMESTAMP (?x)", "TimeStamp( # of it\n?x )", "f:timestamp(?x)",
     "<urn:x-sparql-streams:timestamp>(?x)",
     "<http://larkc.eu/csparql/sparql/jena/ext#timestamp>(?x)", "timestamp($x)"],
)  # fmt: skip
def test_a_call_is_read_in_any_case_and_under_the_iri_of_c_sparqls_engine(written: str) -> None:
    assert arguments(written) == (Variable("x"),)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("timestamp(:Axel :isIn ?x)", ":Axel :isIn ?x"),
        ("timestamp(:Axel, :isIn, ?x)", ":Axel :isIn ?x"),
        ("timestamp(?x a <u:T>)", "?x a <u:T>"),
        ("timestamp(<#x> :p <y>)", "<http://b/#x> :p <http://b/y>"),
        ("timestamp(?x :p 'a'@en)", "?x :p 'a'@en"),
        ("timestamp(?x :p 'a'^^<d>)", "?x :p 'a'^^<http://b/d>"),
        ("timestamp(?x :p -1.5)", "?x :p -1.5"),
        ("timestamp(?x :p true)", "?x :p true"),
    ],
)
def test_a_triple_pattern_is_three_arguments(written: str, same_as: str) -> None:
    (pattern,) = (
        node
        for node in nodes(read_query(f"PREFIX : <u:> ASK {{ {same_as} }}").pattern)
        if isinstance(node, TriplePattern)
    )
    assert arguments(written, "http://b/") == (pattern.subject, pattern.predicate, pattern.object)


def test_it_may_stand_wherever_an_expression_does() -> None:
    query = parse(
        "SELECT (MAX(timestamp(?x)) AS ?t) FROM STREAM <u:s> [RANGE 1s] { ?x ?p ?y BIND(timestamp(?x) AS ?u) "
        "OPTIONAL { ?y ?q ?z FILTER(timestamp(?z) > ?u) } } GROUP BY ?p HAVING(MAX(timestamp(?y)) > 1) "
        "ORDER BY MAX(timestamp(?x))"
    )
    assert isinstance(query, ContinuousQuery)
    assert (
        sum(isinstance(node, Call) and node.name == TIMESTAMP for node in nodes(query.expression.pattern)) == 4
    )  # the same aggregate twice is one


@pytest.mark.parametrize(
    ("expression", "kind", "said"),
    [
        ("timestamp(¦)", QuerySyntaxError, "write timestamp(?variable)"),
        ("timestamp(¦:x)", QuerySyntaxError, "write timestamp(?variable)"),
        ("timestamp(¦5)", QuerySyntaxError, "write timestamp(?variable)"),
        ("timestamp(?x¦ ", QuerySyntaxError, ""),
        ("timestamp(¦_:b :p ?x)", QuerySyntaxError, "_:b cannot stand in timestamp"),
        ("timestamp(¦[] :p ?x)", QuerySyntaxError, "[ cannot stand in timestamp"),
        ("timestamp(?x ¦^:p ?x)", QuerySyntaxError, "^ cannot stand in timestamp"),
        ("timestamp(¦STR(?x))", QuerySyntaxError, "STR cannot stand in timestamp"),
        ("timestamp(?x, ¦, ?y)", QuerySyntaxError, ", cannot stand in timestamp"),
        ("timestamp(?x :p ?y ¦?z)", QuerySyntaxError, "expected ) after the three parts"),
        ("timestamp(?x, ¦<u:s>)", UnsupportedFeature, "one stream alone"),
        ("timestamp(¦:x :p)", QuerySyntaxError, "write timestamp(?variable)"),
    ],
)
def test_what_is_no_variable_and_no_triple_pattern_is_an_error_at_its_place(
    expression: str, kind: type[ProtocolError], said: str
) -> None:
    if said:
        rejects(expression, kind, said)
    else:
        with pytest.raises(kind):
            parse(f"{HEAD}{{ FILTER({expression.replace('¦', '')}")


def test_the_word_alone_is_no_call() -> None:
    query = parse(
        "PREFIX timestamp: <u:> SELECT ?timestamp FROM STREAM <u:s> [RANGE 1s] "
        "{ timestamp:timestamp ?p 'timestamp(?x)' }"
    )
    assert isinstance(query, ContinuousQuery)
    assert not any(isinstance(node, Call) for node in nodes(query.expression.pattern))


def test_a_query_without_a_stream_goes_to_the_store_untouched() -> None:
    text = "SELECT * { ?x ?p ?y FILTER(timestamp(?x) > 5) }"
    assert parse(text) == OneShotQuery(text)
