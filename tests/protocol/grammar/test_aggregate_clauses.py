"""C-SPARQL's AGGREGATE: what it means, and what is wrong with one."""

from __future__ import annotations

import pytest

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError
from protocol.grammar.parser import parse
from protocol.language.algebra import (
    BGP,
    Aggregate,
    Aggregation,
    Call,
    Filter,
    OrderBy,
    Pattern,
    Project,
    TriplePattern,
    Variable,
    nodes,
)
from protocol.language.model import ContinuousQuery, OneShotQuery

WHERE = BGP((TriplePattern(Variable("x"), Variable("p"), Variable("y")),))
HEAD = "SELECT * FROM STREAM <u:s> [RANGE 1s]\nWHERE { ?x ?p ?y }"


def pattern_of(clauses: str, head: str = HEAD) -> Pattern:
    """The pattern under the projection."""
    query = parse(f"{head} {clauses}")
    assert isinstance(query, ContinuousQuery)
    assert isinstance(query.expression.pattern, Project)
    return query.expression.pattern.pattern


def counted(pattern: Pattern, keys: str, function: str, argument: str | None, result: str) -> Aggregation:
    return Aggregation(
        pattern,
        tuple(map(Variable, keys)),
        Aggregate(function, None if argument is None else Variable(argument), Variable(result)),
    )


def rejects(text: str, kind: type[ProtocolError], said: str) -> None:
    """The error is of this kind, says this, and is at the ¦."""
    with pytest.raises(ProtocolError) as raised:
        parse(text.replace("¦", ""))
    assert type(raised.value) is kind, raised.value.detail
    assert said in raised.value.detail
    before = text[: text.index("¦")].split("\n")
    assert (raised.value.line, raised.value.column) == (len(before), len(before[-1]) + 1)


@pytest.mark.parametrize(
    ("clauses", "keys", "function", "argument"),
    [
        ("AGGREGATE { (?n, COUNT, {?x}) }", "x", "COUNT", None),
        ("aggregate {(?n,count,?x)}", "x", "COUNT", None),
        ("Aggregate { ( ?n , Count ( ?y ) , { ?x , ?p } ) }", "xp", "COUNT", "y"),
        ("AGGREGATE { (?n, SUM(?y), ?x) }", "x", "SUM", "y"),
        ("AGGREGATE { ($n, Avg($y), {$x}) }", "x", "AVG", "y"),
        ("AGGREGATE { (?n, MIN(?y), ?x) }", "x", "MIN", "y"),
        ("AGGREGATE { (?n, MAX(?y), ?p) }", "p", "MAX", "y"),
    ],
)
def test_a_clause_is_an_aggregate_over_the_solutions_of_the_where(
    clauses: str, keys: str, function: str, argument: str | None
) -> None:
    assert pattern_of(clauses) == counted(WHERE, keys, function, argument, "n")


def test_filters_behind_an_aggregate_see_it() -> None:
    pattern = pattern_of("AGGREGATE { (?n, COUNT, ?x) FILTER(?n > 5) FILTER REGEX(?p, 'x') }")
    assert isinstance(pattern, Filter)
    assert isinstance(pattern.pattern, Filter)
    assert pattern.pattern.pattern == counted(WHERE, "x", "COUNT", None, "n")
    names = [one.condition.name for one in (pattern.pattern, pattern) if isinstance(one.condition, Call)]
    assert names == [">", "REGEX"]


@pytest.mark.parametrize(
    "clauses",
    [
        "AGGREGATE { (?n, COUNT, ?x) FILTER(?n > 1) }\nAGGREGATE { (?m, COUNT, {?y}) FILTER(?m < ?n) }",
        "AGGREGATE { (?n, COUNT, ?x) FILTER(?n > 1) (?m, COUNT, ?y) FILTER(?m < ?n) }",
    ],
)
def test_what_is_aggregated_later_is_over_the_where_too(clauses: str) -> None:
    pattern = pattern_of(clauses)
    both = counted(counted(WHERE, "x", "COUNT", None, "n"), "y", "COUNT", None, "m")
    # No filter takes a solution away before all is counted.
    while isinstance(pattern, Filter):
        pattern = pattern.pattern
    assert pattern == both


def test_filters_of_the_where_stay_in_it_and_modifiers_follow() -> None:
    head = "SELECT * FROM STREAM <u:s> [RANGE 1s] WHERE { ?x ?p ?y FILTER(?y > 3) }"
    pattern = pattern_of("AGGREGATE { (?n, COUNT, ?x) } ORDER BY ?n", head)
    assert isinstance(pattern, OrderBy)
    assert isinstance(pattern.pattern, Aggregation)
    assert isinstance(pattern.pattern.pattern, Filter)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (f"{HEAD}\nAGGREGATE ¦(?n, COUNT, ?x)", QuerySyntaxError, "expected { after AGGREGATE"),
        (f"{HEAD}\nAGGREGATE {{ ¦}}", QuerySyntaxError, "expected an aggregate such as"),
        (f"{HEAD}\nAGGREGATE {{ (¦COUNT, ?x) }}", QuerySyntaxError, "expected a new variable"),
        (f"{HEAD}\nAGGREGATE {{ (?n ¦COUNT, ?x) }}", QuerySyntaxError, "expected , after the new variable"),
        (f"{HEAD}\nAGGREGATE {{ (?n, ¦MEDIAN(?y), ?x) }}", QuerySyntaxError, "COUNT, SUM, AVG, MIN or MAX"),
        (f"{HEAD}\nAGGREGATE {{ (?n, SUM¦, ?x) }}", QuerySyntaxError, "expected ( and a variable after SUM"),
        (f"{HEAD}\nAGGREGATE {{ (?n, SUM(¦5), ?x) }}", QuerySyntaxError, "expected the variable of SUM"),
        (f"{HEAD}\nAGGREGATE {{ (?n, COUNT¦) }}", QuerySyntaxError, "expected , after the function"),
        (f"{HEAD}\nAGGREGATE {{ (?n, COUNT, {{¦}}) }}", QuerySyntaxError, "expected a variable to group by"),
        (f"{HEAD}\nAGGREGATE {{ (?n, COUNT, ?x ¦}}", QuerySyntaxError, "expected ) for the ("),
        (
            f"{HEAD}\nAGGREGATE {{ (?n, COUNT, ?x) FILTER(?n > ¦) }}",
            QuerySyntaxError,
            "expected an expression, found )",
        ),
        (f"{HEAD}\nAGGREGATE {{ (?n, COUNT, ?x)¦", QuerySyntaxError, "the end of the query"),
        (f"{HEAD}\nAGGREGATE {{ (¦?x, COUNT, ?y) }}", QuerySemanticError, "?x is bound already"),
        (f"{HEAD}\nAGGREGATE {{ (?n, COUNT, ?x) (¦?n, COUNT, ?y) }}", QuerySemanticError, "?n is bound already"),
        (f"{HEAD}\nAGGREGATE {{ (?n, COUNT, ¦?z) }}", QuerySemanticError, "?z is not a variable of the WHERE"),
        (f"{HEAD}\nAGGREGATE {{ (?n, SUM(¦?n), ?x) }}", QuerySemanticError, "?n is not a variable of the WHERE"),
        (
            f"{HEAD}\nAGGREGATE {{ (?n, COUNT, ?x) }} AGGREGATE {{ (?m, COUNT, {{?x, ¦?n}}) }}",
            QuerySemanticError,
            "another AGGREGATE's variable cannot be used",
        ),
        (f"{HEAD}\nORDER BY ?x ¦AGGREGATE {{ (?n, COUNT, ?x) }}", QuerySyntaxError, "right after the WHERE"),
        (
            "SELECT * FROM STREAM <u:s> [RANGE 1s] { { ?x ?p ?y } ¦AGGREGATE { (?n, COUNT, ?x) } }",
            QuerySyntaxError,
            "right after the WHERE",
        ),
        (
            "CONSTRUCT FROM STREAM <u:s> [RANGE 1s] WHERE { ?x ?p ?y } ¦AGGREGATE { (?n, COUNT, ?x) }",
            QuerySyntaxError,
            "needs a CONSTRUCT with a template",
        ),
    ],
)
def test_a_wrong_clause_is_an_error_at_its_place(text: str, kind: type[ProtocolError], said: str) -> None:
    rejects(text, kind, said)


def test_every_query_form_takes_it() -> None:
    for form in ("SELECT ?n", "ASK", "CONSTRUCT { ?x ?p ?n }", "DESCRIBE ?x"):
        query = parse(f"{form} FROM STREAM <u:s> [RANGE 1s] {{ ?x ?p ?y }} AGGREGATE {{ (?n, COUNT, ?x) }}")
        assert isinstance(query, ContinuousQuery)
        assert any(isinstance(node, Aggregation) for node in nodes(query.expression.pattern))


def test_a_query_without_a_stream_goes_to_the_store_untouched() -> None:
    text = "SELECT ?x ?n { ?x ?p ?y } AGGREGATE { (?n, COUNT, {?x}) FILTER(?n > 5) }"
    assert parse(text) == OneShotQuery(text)
