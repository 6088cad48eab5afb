"""C-SPARQL's AGGREGATE: how it is carried through standard SPARQL, and what is wrong with one."""

from __future__ import annotations

import re

import pytest

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError
from protocol.grammar.parser import parse
from protocol.language.model import AGGREGATE_FUNCTION, ContinuousQuery, OneShotQuery
from protocol.sparql.syntax import query_fault
from protocol.sparql.tokens import tokenize

HEAD = "SELECT * FROM STREAM <u:s> [RANGE 1s]\nWHERE { ?x ?p ?y }"


def standard(clauses: str, head: str = HEAD) -> str:
    """What becomes of the WHERE and the clauses, the function's IRI shortened."""
    query = parse(f"{head} {clauses}")
    assert isinstance(query, ContinuousQuery)
    assert query_fault(query.standard) is None
    tokens = [token.text for token in tokenize(query.standard)]
    return " ".join(tokens[tokens.index("WHERE") + 1 : -1]).replace(AGGREGATE_FUNCTION, "")


def rejects(text: str, kind: type[ProtocolError], said: str) -> None:
    """The error is of this kind, says this, and is at the ¦."""
    with pytest.raises(ProtocolError) as raised:
        parse(text.replace("¦", ""))
    assert type(raised.value) is kind, raised.value.detail
    assert said in raised.value.detail
    before = text[: text.index("¦")].split("\n")
    assert (raised.value.line, raised.value.column) == (len(before), len(before[-1]) + 1)


@pytest.mark.parametrize(
    ("clauses", "carried"),
    [
        ("AGGREGATE { (?n, COUNT, {?x}) }", "BIND ( <COUNT-ALL> ( ?x ) AS ?n )"),
        ("aggregate {(?n,count,?x)}", "BIND ( <COUNT-ALL> ( ?x ) AS ?n )"),
        ("Aggregate { ( ?n , Count ( ?y ) , { ?x , ?p } ) }", "BIND ( <COUNT> ( ?y , ?x , ?p ) AS ?n )"),
        ("AGGREGATE { (?n, SUM(?y), ?x) }", "BIND ( <SUM> ( ?y , ?x ) AS ?n )"),
        ("AGGREGATE { ($n, Avg($y), {$x}) }", "BIND ( <AVG> ( ?y , ?x ) AS ?n )"),
        ("AGGREGATE { (?n, MIN(?y), ?x) FILTER(?n > 5) }", "BIND ( <MIN> ( ?y , ?x ) AS ?n ) FILTER ( ?n > 5 )"),
        (
            "AGGREGATE { (?n, MAX(?y), ?x) FILTER REGEX(?p, 'x') FILTER NOT EXISTS { ?n ?n ?x } }",
            "BIND ( <MAX> ( ?y , ?x ) AS ?n ) FILTER REGEX ( ?p , 'x' ) FILTER NOT EXISTS { ?n ?n ?x }",
        ),
        (
            "AGGREGATE { (?n, COUNT, ?x) FILTER(?n > 1) }\nAGGREGATE { (?m, COUNT, {?y}) FILTER(?m < ?n) }",
            "BIND ( <COUNT-ALL> ( ?x ) AS ?n ) FILTER ( ?n > 1 ) BIND ( <COUNT-ALL> ( ?y ) AS ?m ) FILTER ( ?m < ?n )",
        ),
        (
            "AGGREGATE { (?n, COUNT, ?x) (?m, COUNT, ?y) FILTER(?m < ?n) }",
            "BIND ( <COUNT-ALL> ( ?x ) AS ?n ) BIND ( <COUNT-ALL> ( ?y ) AS ?m ) FILTER ( ?m < ?n )",
        ),
    ],
)
def test_a_clause_is_a_bind_around_the_where_with_its_filter_behind_it(clauses: str, carried: str) -> None:
    assert standard(clauses) == f"{{ {{ ?x ?p ?y }} {carried} }}"


def test_filters_of_the_where_stay_in_it_and_modifiers_follow() -> None:
    head = "SELECT * FROM STREAM <u:s> [RANGE 1s] WHERE { ?x ?p ?y FILTER(?y > 3) }"
    assert standard("AGGREGATE { (?n, COUNT, ?x) } ORDER BY ?n LIMIT 2", head) == (
        "{ { ?x ?p ?y FILTER ( ?y > 3 ) } BIND ( <COUNT-ALL> ( ?x ) AS ?n ) } ORDER BY ?n LIMIT 2"
    )


def test_lines_keep_their_numbers() -> None:
    query = parse(f"{HEAD}\nAGGREGATE {{ (?n,\nCOUNT,\n?x) }}\n# the end\nORDER BY ?n")
    assert isinstance(query, ContinuousQuery)
    assert query.standard.split("\n")[6] == "ORDER BY ?n"


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
        (f"{HEAD}\nAGGREGATE {{ (?n, COUNT, ?x ¦}}", QuerySyntaxError, "expected ) after the keys"),
        (f"{HEAD}\nAGGREGATE {{ (?n, COUNT, ?x) FILTER(?n > ¦) }}", QuerySyntaxError, "unexpected )"),
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
        assert query_fault(query.standard) is None
        assert re.search(r"BIND\(.*COUNT-ALL>\(\?x\) AS \?n\)", query.standard)


def test_a_query_without_a_stream_goes_to_the_store_untouched() -> None:
    text = "SELECT ?x ?n { ?x ?p ?y } AGGREGATE { (?n, COUNT, {?x}) FILTER(?n > 5) }"
    assert parse(text) == OneShotQuery(text)
