"""Where Oxigraph departs from the text of SPARQL 1.1 Query, and which of the two a continuous query follows.

It follows Oxigraph, so that a query means the same over a window as one-shot, except where that would
make windows useless (GRAPH ?g), and in property paths and EXISTS, where it follows the standard
(test_property_paths.py, test_exists.py).
"""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.one_shot import INSTANT, Content, assert_same_solutions, evaluated, expected

ONE = Content({None: ":a :p 1, 'x' ."})
TRUE, FALSE = (f'"{truth}"^^<http://www.w3.org/2001/XMLSchema#boolean>' for truth in ("true", "false"))


@pytest.mark.parametrize(
    ("expression", "oxigraph", "standard"),
    [
        # 17.3: A <= B is defined for numbers, simple literals, xsd:string, xsd:boolean and xsd:dateTime.
        (":a <= :a", TRUE, "a type error"),
        (":a < :a", FALSE, "a type error"),
        ("'x'@en < 'y'@en", TRUE, "a type error"),
        ("'2020-01-01'^^xsd:date < '2020-01-02'^^xsd:date", TRUE, "a type error"),
        # 17.3: op:boolean-less-than.
        ("false < true", None, "true"),
        # 17.3: op:numeric-less-than and op:numeric-equal of a NaN are false, and so <= of one is.
        ("'NaN'^^xsd:double < 1", None, "false"),
        ("'NaN'^^xsd:double <= 'NaN'^^xsd:double", TRUE, "false"),
        # 17.1: xsd:integer is of any size.
        ("99999999999999999999 > 5", None, "true"),
        ("9223372036854775807 + 1", None, "9223372036854775808"),
        # 17.2.2: the effective boolean value of a plain literal with a language tag, and of an ill-typed number.
        ("!''@en", None, "true"),
        ("!'abc'^^xsd:integer", None, "true"),
        # 17.4.1.9: IN of nothing is false, whatever its left side.
        (":a IN ()", None, "false"),
    ],
)
def test_an_expression_is_what_oxigraph_makes_of_it(expression: str, oxigraph: str | None, standard: str) -> None:
    text = f"SELECT ({expression} AS ?z) {{}}"
    assert expected(text, ONE, ["z"]) == [(oxigraph,)], f"Oxigraph has changed; the standard says {standard}"
    assert_same_solutions(text, ONE)


@pytest.mark.parametrize(
    "argument",
    ["IF(?v = 1, ?nope, 2)", "IF(?v > 0, 1, ?nope)", "IF(true, 1/0, 1)", "IF(?v > 0, ?v + 1, 1)", "IF(?nope, 1, 1)",
     "IF(?v = 1, IF(1/0, 1, 2), 1)", "COALESCE(?nope)", "COALESCE(?nope, ?nope)", "COALESCE(?v + 1)", "?nope", "1",
     "COALESCE(?v + 1, ?nope)", "1/0", "STRLEN(?v)", "?v && true"],
)  # fmt: skip
def test_a_count_leaves_out_errors_and_what_selects_no_term(argument: str) -> None:
    """To Oxigraph an IF of variables whose condition is an error is unbound; by 17.4.1.2 it is an error."""
    for distinct in ("", "DISTINCT "):
        assert_same_solutions(f"SELECT (COUNT({distinct}{argument}) AS ?z) {{?s :p ?v}}", ONE)


def test_a_sub_select_in_any_graph_is_one_for_each_graph_as_the_standard_has_it() -> None:
    """18.6: eval(D(G), Graph(var, P)) is the union of P over each named graph. Oxigraph counts all of them as one."""
    content = Content({"http://ex/w1": ":a :p 1 .", "http://ex/w2": ":a :p 1, 2 ."})
    text = "SELECT ?g ?n {GRAPH ?g {SELECT (COUNT(*) AS ?n) {?s :p ?v}}}"
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert expected(text, content, ["g", "n"]) == [(None, f'"3"{integer}')]
    _, answers = evaluated(text, content)
    assert answers[INSTANT] == [("<http://ex/w1>", f'"1"{integer}'), ("<http://ex/w2>", f'"2"{integer}')]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {GRAPH <http://ex/none> {}}",
        "SELECT * {GRAPH <http://ex/none> {BIND(1 AS ?x)}}",
        "SELECT (COUNT(*) AS ?n) {GRAPH <http://ex/none> {?s ?p ?o}}",
        "SELECT * {GRAPH <http://ex/g> {}}",
        "SELECT * {GRAPH <http://ex/w> {}}",
        "SELECT * FROM NAMED <http://ex/g> {GRAPH <http://ex/g> {}}",
    ],
)
def test_a_graph_that_is_not_there_has_not_even_the_empty_solution(text: str) -> None:
    assert_same_solutions(text, Content({"http://ex/w": ":a :p 1 ."}, {"http://ex/g": ":x :p 2 .", None: ":d :p 3 ."}))


@pytest.mark.parametrize(
    "pattern", ["{SELECT (COUNT(*) AS ?x) {?s ?p ?o}}", "VALUES ?x {1}", "OPTIONAL {?s ?p ?o} BIND(1 AS ?x)"]
)
def test_nothing_is_in_a_graph_that_is_not_there_as_the_standard_has_it(pattern: str) -> None:
    """18.6: eval(D(G), Graph(IRI, P)) is the empty multiset if IRI names no graph of D."""
    _, answers = evaluated(f"SELECT ?x {{GRAPH <http://ex/none> {{{pattern}}}}}", Content({"http://ex/w": ":a :p 1 ."}))
    assert answers[INSTANT] == []


@pytest.mark.parametrize(
    ("text", "one_shot", "over_a_window"),
    [
        # Oxigraph counts each triple where an end is free, and one for all of them where both are bound.
        ("SELECT (COUNT(*) AS ?z) {?d :q ?a . ?d !:p ?a}", "1", "3"),
        # 18.6, substitute: ?d is a term on both sides, and no variable is left that they share.
        ("SELECT (COUNT(*) AS ?z) {?d :q ?a FILTER EXISTS {?d :r ?x MINUS {?d :s ?y}}}", "0", "1"),
    ],
)
def test_what_oxigraph_has_another_answer_to_is_told_in_the_documentation(
    text: str, one_shot: str, over_a_window: str
) -> None:
    """docs/language.md, "The same in both kinds"."""
    content = Content({None: ":a :p 1 ; :q :b ; :r :b ; :s :b ."})
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert expected(text, content, ["z"]) == [(f'"{one_shot}"{integer}',)]
    _, answers = evaluated(text, content)
    assert answers[INSTANT] == [(f'"{over_a_window}"{integer}',)]
