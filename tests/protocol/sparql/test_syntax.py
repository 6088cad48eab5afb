from __future__ import annotations

import pytest

from protocol.sparql.syntax import find_fault


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o }",
        "ASK { SERVICE <http://localhost:1/sparql> { ?s ?p ?o } }",
        "SELECT * FROM <http://localhost:1/graph> { ?s ?p 'é'@en, '1'^^<http://e/t> }",
        "ASK { " + "".join(f"VALUES ?v{i} {{ 1 2 3 4 5 6 7 8 9 }} " for i in range(30)) + "FILTER(false) }",
    ],
)
def test_a_query_is_accepted_and_never_evaluated(text: str) -> None:
    assert find_fault(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * WHERE { ?s ?p ¦}", "unexpected }: expected a variable"),
        ("SELECT * {\r\n 'é😀' ?p 3 . ?s ?p ¦] }", "unexpected ]"),
        ("SELECT ?x ¦WERE { ?x ?y ?z }", "unexpected WERE"),
        ("SELECT ?x { ?x ?y ?z ¦FLTER(?x) }", "unexpected FLTER"),
        ("SELECT ?x { FILTER(?x + ¦) }", "unexpected )"),
        ("SELECT ?x { FILTER(¦FOO(?x)) }", "unexpected FOO"),
        ("SELECT ?x { ?x ?y ?z } ORDER ¦?x", "unexpected ?x"),
        ("SELECT ?x { ?x ?y ?z } LIMIT ¦x", "unexpected x"),
        ("SELECT * { ?s ¦foo:x 3 }", "the prefix foo: is not declared: write PREFIX foo: <…>"),
        ("SELECT * { ¦<x> ?p 3 }", "<x> is relative"),
        ("SELECT * { _:a ?p 1 . { ¦_:a ?p 2 } }", "unexpected _:a"),
        ("SELECT * { ?s ?p 1 ¦", "unexpected the end of the query"),
        ("¦", "unexpected the end of the query"),
        ("SELECT ?s (COUNT(?p) AS ?c) { ?s ?p ?o }¦", "The SELECT contains a variable that is unbound"),
        ("SELECT * { ?x ?y ?z } GROUP BY ?x¦", "SELECT * is not authorized with GROUP BY"),
    ],
)
def test_a_fault_is_located_at_the_token_that_does_not_fit(text: str, said: str) -> None:
    fault = find_fault(text.replace("¦", ""))
    assert fault is not None
    assert fault.offset == text.index("¦")
    assert said in fault.detail
