"""What cannot be compiled is refused by name, before anything runs; what can be is compiled whatever its size."""

from __future__ import annotations

from contextlib import suppress

import pytest

from protocol.errors import QuerySyntaxError, UnsupportedFeature
from spark_backend.compiler.plan import compile_query
from spark_backend.compiler.sql.tree.nodes import named
from tests.spark_backend.compiler.one_shot import (
    INSTANT,
    PREFIXES,
    Content,
    assert_same_solutions,
    continuous,
    evaluated,
)

EMPTY = Content({None: ""})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT (:custom(?v) AS ?r) {?s :p ?v}", "<http://ex/custom>"),
        ("SELECT * {?s :p ?v FILTER EXISTS {SERVICE <http://ex/> {?s :p ?v}}}", "SERVICE"),
    ],
)
def test_what_is_not_compiled_yet_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(UnsupportedFeature, match=named):
        compile_query(continuous(text, EMPTY))


@pytest.mark.parametrize(
    "text", ["SELECT * {?s :p }", "SELECT * {?s :p ?v", "SELECT ?x {?s nope:p ?v}", "SELECT * {?s :p ?v FILTER(?v >)}"]
)
def test_what_is_no_query_is_a_syntax_error(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        compile_query(continuous(text, EMPTY))


def test_sixty_nested_groups_are_answered() -> None:
    text = "SELECT * " + "{ " * 60 + "?s :p ?v" + " }" * 60
    assert_same_solutions(text, Content({None: ":a :p 1 ."}))


def test_forty_nested_optionals_are_answered() -> None:
    text = "SELECT * {?s :p ?v0 " + " ".join(f"OPTIONAL {{ ?s :p ?v{n}" for n in range(1, 41)) + " }" * 41
    assert_same_solutions(text, Content({None: ":a :p 1 ."}))


def test_two_hundred_triple_patterns_are_answered() -> None:
    chain = " . ".join(f"?n{place} :next ?n{place + 1}" for place in range(200))
    ring = " ".join(f":n{place} :next :n{(place + 1) % 3} ." for place in range(3))
    _, answers = evaluated(f"SELECT ?n0 ?n200 {{ {chain} }}", Content({None: ring}))
    assert len(answers[INSTANT]) == 3


def test_a_long_chain_of_operators_is_answered() -> None:
    content = Content({None: ":a :p 1, 2, 300 ."})
    assert_same_solutions(
        "SELECT * {?s :p ?v FILTER(" + " || ".join(f"?v = {n}" for n in range(2, 200)) + ")}", content
    )
    assert_same_solutions("SELECT (?v" + " + 1" * 100 + " AS ?z) {?s :p ?v}", content)
    assert_same_solutions("SELECT * {?s :p ?v FILTER(?v IN (" + ", ".join(map(str, range(2, 300))) + "))}", content)
    assert_same_solutions(
        "SELECT * {?s :p ?v FILTER(?s NOT IN (" + ", ".join(f":x{n}" for n in range(300)) + "))}", content
    )


def test_a_chain_is_not_deep_however_long() -> None:
    text = "SELECT * {?s :p ?v FILTER(" + " || ".join(f"?v = {n}" for n in range(600)) + ")}"
    assert_same_solutions(text, Content({None: ":a :p 1, 2000 ."}))


def test_expressions_that_nest_too_deeply_are_refused_before_they_run() -> None:
    text = "SELECT * {?s :p ?v FILTER(" + "COALESCE(!" * 400 + "?v" + ")" * 401 + "}"
    with suppress(UnsupportedFeature):
        evaluated(text, Content({None: ":a :p 1 ."}))


def test_many_binds_that_read_one_another_stay_small() -> None:
    binds = " ".join(f"BIND(IF(?v{n} > 100, ?v{n}, ?v{n} * 2) AS ?v{n + 1})" for n in range(25))
    text = f"SELECT ?v25 {{?s :p ?v0 {binds} }}"
    assert len(named(compile_query(continuous(text, EMPTY)).sql)) < 200_000
    assert_same_solutions(text, Content({None: ":a :p 1, 3.0e0 ."}))


def test_a_query_too_deep_for_any_stack_is_refused() -> None:
    text = "SELECT * {?s :p ?v FILTER(" + "(" * 20_000 + "?v" + ")" * 20_000 + ")}"
    with pytest.raises((UnsupportedFeature, QuerySyntaxError)):
        compile_query(continuous(text, EMPTY))


def test_the_recursion_limit_of_the_process_is_left_as_it_was() -> None:
    import sys
    import threading

    before = sys.getrecursionlimit(), threading.stack_size()
    compile_query(continuous("SELECT * {?s :p ?v}", EMPTY))
    with pytest.raises(QuerySyntaxError):
        compile_query(continuous("SELECT * {", EMPTY))
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


@pytest.mark.parametrize(
    "literal",
    [
        "'it\\'s'",
        '"a \\"quoted\\" word"',
        "'back\\\\slash'",
        "'line\\nbreak\\r\\ttab'",
        "'''long\n'quoted' string'''",
        "'é 😀 \\u00e9'",
        "'--; DROP TABLE x; /* '",
        "'{braces} %s $1 :p ?v #no comment'",
        f"'{'long ' * 20_000}'",
        "'\\u0001'",
        "''",
    ],
)
def test_any_literal_matches_itself(literal: str) -> None:
    content = Content({None: f":a :p {literal} ; :q 'other' ."})
    for text in (
        f"SELECT * {{?s :p {literal}}}",
        f"SELECT * {{?s :p ?v FILTER(?v = {literal})}}",
        f"SELECT * {{VALUES ?v {{ {literal} }} ?s :p ?v}}",
        f"SELECT (CONCAT(?v, {literal}) AS ?z) (STRLEN({literal}) AS ?l) {{?s :p ?v}}",
    ):
        assert_same_solutions(text, content)
        _, answers = evaluated(text, content)
        assert len(answers[INSTANT]) == 1


@pytest.mark.parametrize("constant", ["01", "1.0", "-3.0e0", "+5", "-2.50", "1e0", "'01'^^xsd:integer", "-7"])
def test_a_constant_is_the_term_that_is_written(constant: str) -> None:
    """Two literals of one value are two terms; Oxigraph's store makes them one."""
    _, answers = evaluated(
        f"SELECT ?s {{?s :p {constant}}}", Content({None: ":a :p 1, '1'^^xsd:decimal, 2.5, 3.0, -7 ."})
    )
    assert answers[INSTANT] == ([("<http://ex/a>",)] if constant == "-7" else [])


def test_columns_of_select_star_come_in_the_order_of_appearance() -> None:
    text = "SELECT * {?z :p ?a . OPTIONAL {?m :q ?z} BIND(?a AS ?B) VALUES (?c ?b) {(1 2)} FILTER(?nope = '?x')}"
    plan = compile_query(continuous(text, EMPTY))
    assert plan.variables == ("z", "a", "m", "B", "c", "b")


def test_compiling_the_same_text_gives_the_same_plan() -> None:
    text = "CONSTRUCT {_:x :q ?v . [] :r ?s} {?s :p ?v ; :q [ :r ?w ] FILTER(REGEX(?v, 'x') && ?w > NOW())}"
    plans = {compile_query(continuous(text, EMPTY)).to_json() for _ in range(3)}
    assert len(plans) == 1
    assert PREFIXES not in plans.pop()
