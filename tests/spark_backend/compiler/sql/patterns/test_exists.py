"""EXISTS and NOT EXISTS over windows and graphs mean what they mean one-shot (SPARQL 1.1 Query 8.1, 18.6)."""

from __future__ import annotations

import re

import pytest

from spark_backend.compiler.plan import compile_query
from tests.spark_backend.compiler.one_shot import (
    INSTANT,
    Content,
    assert_same_solutions,
    constructed,
    continuous,
    evaluated,
    expected,
    graph_by_graph,
    one_shot,
)

TRIPLES = """
:a :p :b, 1, 2.5 ; :q "x" ; :r :a . :b :p :c, 5 ; :q :a . :c :p :a ; :r 5, 1 . :d :s :b ; :p "x"@en, true .
_:n :p :a ; :q _:m . _:m :r _:n .
"""
ONE = Content({None: TRIPLES})
GRAPHS = Content(
    {"http://ex/w1": TRIPLES, "http://ex/w2": ":a :q :z . :z :p :y, :b ; :r :a .", None: ":a :p 1 . :c :q :a ."},
    {None: ":b :q 5 . :z :r 1 .", "http://ex/g1": ":a :r :g . :g :p :a ."},
)

GROUPS = {
    "a shared variable": "?s :p ?v FILTER EXISTS {?s :q ?w}",
    "not, of a shared variable": "?s :p ?v FILTER NOT EXISTS {?s :q ?w}",
    "two shared variables": "?s :p ?v FILTER EXISTS {?v :p ?s}",
    "no shared variable": "?s :p ?v FILTER EXISTS {?x :s ?y}",
    "no shared variable, not": "?s :p ?v FILTER NOT EXISTS {?x :nope ?y}",
    "nothing": "?s :p ?v FILTER EXISTS {}",
    "not nothing": "?s :p ?v FILTER NOT EXISTS {}",
    "a constant triple": "?s :p ?v FILTER EXISTS {:a :q 'x'}",
    "a constant triple that is not there": "?s :p ?v FILTER EXISTS {:a :q 'y'}",
    "a constant object": "?s :p ?v FILTER NOT EXISTS {?s :p 5}",
    "several": "?s :p ?v FILTER EXISTS {?s :q ?w} FILTER NOT EXISTS {?s :r ?x} FILTER(isIRI(?v))",
    "both of one pattern": "?s :p ?v FILTER(EXISTS {?s :q ?w} && NOT EXISTS {?s :r ?w})",
    "an alternative of a comparison": "?s :p ?v FILTER(EXISTS {?s :r ?w} || ?v > 3)",
    "an alternative of two": "?s :p ?v FILTER(NOT EXISTS {?s :r ?w} || EXISTS {?v :q ?w})",
    "a conjunction with an error": "?s :p ?v FILTER(EXISTS {?s :r ?w} && ?v + 1 > 0)",
    "a negation": "?s :p ?v FILTER(!(EXISTS {?s :r ?w}))",
    "a double negation": "?s :p ?v FILTER(!(NOT EXISTS {?s :r ?w}))",
    "a comparison": "?s :p ?v FILTER(EXISTS {?s :r ?w} = isIRI(?v))",
    "a choice": "?s :p ?v FILTER(IF(EXISTS {?s :r ?w}, isIRI(?v), ?v > 1))",
    "BIND": "?s :p ?v BIND(EXISTS {?s :r ?w} AS ?e)",
    "BIND of a function": "?s :p ?v BIND(CONCAT(STR(EXISTS {?s :r ?w}), '!') AS ?e)",
    "two in one BIND": "?s :p ?v BIND(CONCAT(STR(EXISTS {?s :r ?w}), STR(NOT EXISTS {?v :q ?s})) AS ?e)",
    "an unbound variable": "?s :p ?v OPTIONAL {?s :q ?w} FILTER EXISTS {?w :p ?x}",
    "an unbound variable, not": "?s :p ?v OPTIONAL {?s :q ?w} FILTER NOT EXISTS {?w :r ?s}",
    "an unbound variable that is read inside": "?s :p ?v OPTIONAL {?s :r ?w} FILTER EXISTS {?x :p ?y FILTER(?y = ?w)}",
    "VALUES with UNDEF": "VALUES (?s ?v) {(:a UNDEF) (UNDEF :c) (:zz UNDEF)} FILTER EXISTS {?s :p ?v}",
    "VALUES inside": "?s :p ?v FILTER EXISTS {VALUES ?v {1 :c :a}}",
    "VALUES with UNDEF inside": "?s :p ?v FILTER EXISTS {VALUES (?s ?v) {(:a UNDEF) (:b 5)}}",
    "a filter inside on a variable outside": "?s :p ?v FILTER EXISTS {?x :r ?y FILTER(?y = ?v)}",
    "a filter inside alone": "?s :p ?v FILTER EXISTS {FILTER(?v > 1)}",
    "a filter in a group inside": "?s :p ?v FILTER EXISTS {{?x :q ?y FILTER(?x = ?s)} ?y :p ?z}",
    "a filter inside by the prelude": "?s :p ?v FILTER EXISTS {?x :q ?y FILTER(REGEX(STR(?x), STR(?s)))}",
    "a filter inside on a comparison": "?s :p ?v FILTER NOT EXISTS {?x :p ?y FILTER(?y > ?v)}",
    "BIND inside": "?s :p ?v FILTER EXISTS {?x :p ?y BIND(?v + 1 AS ?z) FILTER(?y >= ?z)}",
    "BIND inside joined": "?s :p ?v FILTER EXISTS {BIND(?s AS ?z) ?z :q ?w}",
    "OPTIONAL inside": "?s :p ?v FILTER EXISTS {?s :q ?w OPTIONAL {?w :p ?x} FILTER(!BOUND(?x))}",
    "OPTIONAL inside that reads outside": "?s :p ?v FILTER EXISTS {?x :q ?y OPTIONAL {?s :r ?z} FILTER(BOUND(?z))}",
    "OPTIONAL condition inside that reads outside": "?s :p ?v FILTER EXISTS {?x :q ?y "
    "OPTIONAL {?x :p ?z FILTER(?z = ?v)} "
    "FILTER(!BOUND(?z))}",
    "UNION inside": "?s :p ?v FILTER EXISTS {{?s :q ?w} UNION {?v :s ?s} UNION {?y :s ?v}}",
    "UNION inside that reads outside": "?s :p ?v FILTER EXISTS {{?s :q ?w} UNION {?x :r ?y FILTER(?y = ?v)}}",
    "a sub-select inside": "?s :p ?v FILTER EXISTS {SELECT ?s {?s :q ?w}}",
    "a sub-select inside hides": "?s :p ?v FILTER EXISTS {SELECT ?w {?s :q ?w}}",
    "a sub-select inside does not see outside": "?s :p ?v FILTER EXISTS {SELECT ?x {?x :q ?w FILTER(?x = ?s)}}",
    "a sub-select inside sees what it projects": "?s :p ?v FILTER EXISTS {SELECT ?s {?x :q ?w FILTER(?x = ?s)}}",
    "a group inside": "?s :p ?v FILTER EXISTS {SELECT ?s {?s :p ?w} GROUP BY ?s HAVING(COUNT(*) > 1)}",
    "a count of nothing inside": "?s :p ?v FILTER EXISTS {SELECT (COUNT(*) AS ?n) {?s :nope ?w}}",
    "a distinct sub-select inside": "?s :p ?v FILTER EXISTS {SELECT DISTINCT ?s ?w {?s :q ?w FILTER(?v = 1)}}",
    "a limit inside": "?s :p ?v FILTER EXISTS {SELECT ?s {?s :r ?w} ORDER BY ?w LIMIT 1}",
    "a filter beside a sub-select": "?s :p ?v FILTER EXISTS {{SELECT ?s {?s :q ?w}} FILTER(?v = 5)}",
    "a filter beside a sub-select of others": "?s :p ?v FILTER NOT EXISTS {{SELECT ?x {?x :q ?w}} FILTER(?x = ?s)}",
    "a filter beside a count": "?s :p ?v FILTER EXISTS "
    "{{SELECT ?s (COUNT(?w) AS ?n) {?s :p ?w} GROUP BY ?s} FILTER(?v <= ?n)}",
    "a filter beside a limit": "?s :p ?v FILTER EXISTS "
    "{{SELECT ?w {?x :p ?w} ORDER BY DESC(?w) LIMIT 2} FILTER(?w = ?v)}",
    "BIND beside a sub-select": "?s :p ?v FILTER EXISTS {{SELECT ?s {?s :q ?w}} BIND(?v + 1 AS ?z) FILTER(?z > 5)}",
    "OPTIONAL beside a sub-select": "?s :p ?v FILTER EXISTS {{SELECT ?s {?s :q ?w}} "
    "OPTIONAL {{SELECT ?y {?x :p ?y}} FILTER(?y = ?v && isIRI(?v))} FILTER(BOUND(?y))}",
    "OPTIONAL that asks, beside a sub-select": "?s :p ?v FILTER EXISTS {{SELECT ?s {?s :q ?w}} "
    "OPTIONAL {{SELECT ?y {?x :p ?y}} FILTER(?y = ?v && EXISTS {?a :p ?b})} FILTER(BOUND(?y))}",
    "nested beside a sub-select": "?s :p ?v FILTER EXISTS {{SELECT ?s {?s :q ?w}} FILTER EXISTS {?x :r ?v}}",
    "nested": "?s :p ?v FILTER EXISTS {?v :p ?w FILTER EXISTS {?w :p ?x}}",
    "nested, not": "?s :p ?v FILTER NOT EXISTS {?v :p ?w FILTER NOT EXISTS {?w :q ?x}}",
    "nested that reads outside": "?s :p ?v FILTER EXISTS {?x :q ?y FILTER NOT EXISTS {?s :r ?x}}",
    "nested with filters that read outside": "?s :p ?v FILTER EXISTS {?x :q ?y FILTER EXISTS "
    "{?a :p ?b FILTER(?b = ?v && ?x != "
    "?s)}}",
    "nested thrice": "?s :p ?v FILTER EXISTS {?s :p ?w FILTER EXISTS {?w :p ?x FILTER EXISTS {?x :p ?y "
    "FILTER(?y != ?v)}}}",
    "in OPTIONAL": "?s :p ?v OPTIONAL {?s :r ?w FILTER EXISTS {?w :p ?x}}",
    "in OPTIONAL, with a comparison": "?s :p ?v OPTIONAL {?s :r ?w FILTER(EXISTS {?s :q ?x} || ?w > ?v)}",
    "in OPTIONAL, of both sides": "?s :p ?v OPTIONAL {?x :q ?w FILTER EXISTS {?v :p ?x}}",
    "in OPTIONAL, of the left side": "?s :p ?v OPTIONAL {?x :q ?w FILTER NOT EXISTS {?v :p ?z}}",
    "in OPTIONAL, of both sides, with filters": "?s :p ?v OPTIONAL {?x :q ?w "
    "FILTER(NOT EXISTS {?y :p ?z FILTER(?z = ?v && ?y = ?x)} && isIRI(?v))}",
    "in OPTIONAL, of what may be unbound": "?s :p ?v OPTIONAL {?s :r ?w} "
    "OPTIONAL {?w :q ?x FILTER(EXISTS {?w :p ?z} || EXISTS {?s :q ?w})}",
    "in OPTIONAL in EXISTS": "?s :p ?v FILTER EXISTS {?x :q ?y OPTIONAL {?y :p ?z FILTER EXISTS {?s :r ?q FILTER(?q = "
    "?x)}} FILTER(!BOUND(?z))}",
    "in UNION": "{?s :p ?v FILTER EXISTS {?s :q ?x}} UNION {?s :r ?v FILTER NOT EXISTS {?s :q ?x}}",
    "in MINUS": "?s :p ?v MINUS {?s :q ?w FILTER EXISTS {?w :p ?z}}",
    "in a sub-select": "?s :q ?w {SELECT ?s (COUNT(*) AS ?n) {?s :p ?v FILTER NOT EXISTS {?v :p ?x}} GROUP BY ?s}",
    "a path inside": "?s :p ?v FILTER EXISTS {?s :p+ ?v}",
    "a path of length zero inside": "?s :p ?v FILTER EXISTS {?s :nope* ?v}",
    "a path of length zero between": "?s :p ?v . ?x :q ?y FILTER EXISTS {?v (:p|:q)* ?x}",
    "a path to one variable inside": "?s :p ?v FILTER EXISTS {?v :p? ?v}",
    "a path inside with a filter": "?s :p ?v FILTER EXISTS {?s :p+ ?x FILTER(?x = ?v || ?x > ?v)}",
    "a path backwards inside": "?s :p ?v FILTER EXISTS {?x (:q|:r)* ?s FILTER(?x != ?s && ?v > 0)}",
    "a blank node inside": "?s :p ?v FILTER EXISTS {?s :q [ :r ?x ]}",
}
FORMS = {
    "HAVING": "SELECT ?s (COUNT(?v) AS ?n) {?s :p ?v} GROUP BY ?s HAVING EXISTS {?s :q ?z}",
    "HAVING, of what is no key": "SELECT ?s {?s :p ?v} GROUP BY ?s HAVING NOT EXISTS {?v :p ?z}",
    "HAVING with an aggregate": "SELECT ?s {?s :p ?v} GROUP BY ?s HAVING (COUNT(?v) > 1 || EXISTS {?s :q ?z})",
    "the projection": "SELECT ?s (EXISTS {?s :q ?z} AS ?e) {?s :p ?v}",
    "the projection of a group": "SELECT ?s (EXISTS {?s :q ?z} AS ?e) (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?s",
    "an aggregate": "SELECT (SUM(IF(EXISTS {?s :q ?z}, 1, 0)) AS ?n) (COUNT(*) AS ?all) {?s :p ?v}",
    "a key of a group": "SELECT ?e (COUNT(*) AS ?n) {?s :p ?v} GROUP BY (EXISTS {?s :q ?z} AS ?e)",
    "DISTINCT": "SELECT DISTINCT ?s {?s :p ?v FILTER(EXISTS {?s :q ?z} || ?v = 5)}",
    "COUNT(DISTINCT *)": "SELECT (COUNT(DISTINCT *) AS ?n) {?s :p ?v BIND(EXISTS {?s :q ?z} AS ?e)}",
}


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS.keys())
def test_exists_over_a_window_gives_what_it_gives_one_shot(group: str) -> None:
    assert_same_solutions(f"SELECT * {{ {group} }}", ONE)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_exists_in_any_place_gives_what_it_gives_one_shot(form: str) -> None:
    assert_same_solutions(form, ONE)


def test_solutions_come_in_the_order_of_exists() -> None:
    text = "SELECT ?s {?s :r ?v} ORDER BY DESC(EXISTS {?s :q ?z}) ?s"
    assert_same_solutions(text, Content({None: ":a :r 1 . :b :r 1 ; :q 2 . :c :r 1 ."}), ordered=True)


@pytest.mark.parametrize(
    "group",
    [
        "GRAPH :w1 { ?s :p ?v FILTER EXISTS {?s :q ?w} }",
        "GRAPH ?g { ?s :p ?v FILTER EXISTS {?s :q ?w} }",
        "GRAPH ?g { ?s :p ?v FILTER(EXISTS {?s :q ?w} || ?v = 1) }",
        "GRAPH ?g { ?s :p ?v FILTER EXISTS {?x :q ?w FILTER(?x = ?s)} }",
        "GRAPH ?g { ?s :p ?v FILTER NOT EXISTS {?x :r ?w FILTER(?w = ?v)} }",
        "GRAPH ?g { ?s :p ?v FILTER EXISTS {?s :p* ?w FILTER(?w != ?v)} }",
        "?s :p ?v FILTER EXISTS { GRAPH ?g {?s :q ?w} }",
        "?s :q ?v FILTER EXISTS { GRAPH ?g {?s :q ?w FILTER(?w != ?v)} }",
        "?s :q ?v FILTER NOT EXISTS { GRAPH :w2 {?s :q ?w FILTER(?w != ?v)} }",
        "?s :q ?v FILTER EXISTS { GRAPH ?g {?x :p+ ?w FILTER(?w = ?s)} }",
        "?s :q ?v FILTER EXISTS { GRAPH :g1 {?s :r/:p ?w} }",
        "GRAPH ?g { ?s :p ?v } FILTER EXISTS { GRAPH ?g {?v :q ?w} }",
        "GRAPH ?g { ?s :p ?v } FILTER EXISTS { GRAPH ?g {?x :q ?w FILTER(?w = ?s || ?x = ?s)} }",
        "GRAPH ?g { ?s :p ?v } FILTER NOT EXISTS { ?s :q ?w }",
        "?s :q ?v FILTER EXISTS {?s :p|:q ?w}",
    ],
)
def test_exists_in_graphs_and_over_windows_and_store_gives_what_it_gives_one_shot(group: str) -> None:
    text = f"SELECT * {{ {group} }}"
    assert_same_solutions(text, GRAPHS, oracle=graph_by_graph(text, GRAPHS))


def test_exists_in_a_graph_is_asked_in_that_graph() -> None:
    text = "SELECT ?g ?s {GRAPH ?g { ?s :p ?v FILTER EXISTS { GRAPH :w2 {?s :q ?w FILTER(?w != ?v)} } }}"
    content = Content({"http://ex/w1": ":a :p 1 . :b :p 1 .", "http://ex/w2": ":a :q 2 . :z :p 2 ."})
    _, answers = evaluated(text, content)
    assert answers[INSTANT] == [("<http://ex/w1>", "<http://ex/a>")]


def test_what_exists_in_one_instant_exists_in_each() -> None:
    text = "SELECT * {?s :p ?v FILTER(EXISTS {?x :r ?y FILTER(?y = ?v)} || NOT EXISTS {?s :q ?z})}"
    _, together = evaluated(text, ONE, (1000, 2000, 3000))
    _, alone = evaluated(text, ONE, (2000,), reverse=True)
    assert together[1000] == together[2000] == together[3000] == alone[2000]
    assert alone[2000]


def test_a_construct_takes_solutions_for_which_something_exists() -> None:
    lines = constructed("CONSTRUCT {?s :found ?v} WHERE {?s :p ?v FILTER EXISTS {?s :s ?w}}", ONE)
    assert {line.split(" ")[0] for line in lines} == {"<http://ex/d>"}


@pytest.mark.parametrize(
    ("group", "subjects"),
    [
        ("FILTER EXISTS {?s :q ?k MINUS {?s :p ?o}}", ["a", "b"]),
        ("FILTER EXISTS {?s :q ?k MINUS {?z :nope ?n}}", ["a", "b"]),
        ("FILTER EXISTS {?s :q ?k MINUS {?x :s ?n}}", ["a", "b"]),
        ("FILTER EXISTS {?s :q ?k MINUS {?x :q ?k FILTER(?x = ?s)}}", []),
        ("FILTER EXISTS {?s :q ?k MINUS {?x :q ?k FILTER(?x != ?s)}}", ["a", "b"]),
    ],
)
def test_minus_inside_of_exists_does_not_share_what_is_substituted(group: str, subjects: list[str]) -> None:
    """18.6, substitute: a term stands where the variable was, and Minus (18.5) looks at domains of variables.

    To Oxigraph all variables of outside are in the domain of both sides.
    """
    content = Content({None: ":a :p 1 ; :q 1 . :b :p 2 ; :q 2 . :c :p 3 ; :s 1 ."})
    _, answers = evaluated(f"SELECT ?s {{ ?s :p ?o {group} }}", content)
    assert answers[INSTANT] == [(f"<http://ex/{name}>",) for name in subjects]
    departs = expected("SELECT ?s { ?s :p ?o FILTER EXISTS {?s :q ?k MINUS {?x :s ?n}} }", content, ["s"])
    assert departs == []


def test_a_path_of_length_zero_inside_is_there_at_a_term_that_is_in_no_triple() -> None:
    """18.6 and 18.4: substituted, the end of the path is a term, at which a path of length zero always is."""
    text = "SELECT ?s {VALUES ?s {:zz :a} FILTER EXISTS {?s :p* ?k}}"
    _, answers = evaluated(text, ONE)
    assert answers[INSTANT] == [("<http://ex/a>",), ("<http://ex/zz>",)]
    assert sorted(expected(text, ONE, ["s"])) == answers[INSTANT]


@pytest.mark.parametrize("negation", ["", "NOT "])
@pytest.mark.parametrize(
    "group",
    [
        "?w :r ?x MINUS {?w :t ?y}",
        "?w :r ?x MINUS {?w :t ?x}",
        "?w :r ?x . ?u :r ?k MINUS {?w :t ?y . ?u :t ?z}",
        "?w :r ?x MINUS {?w :t ?y MINUS {?u :t ?y}}",
        "?x :r ?y OPTIONAL {?w :t ?y} MINUS {?x :r ?y OPTIONAL {?w :r ?y}}",
        "{SELECT ?x {?w :r ?x MINUS {?w :t ?y}}}",
        "?w :r ?x MINUS {?w :t ?y} MINUS {?u :t ?y}",
        "?w :r ?x MINUS {?w :t ?y FILTER(?y = 1)}",
    ],
)
def test_minus_inside_of_exists_over_what_may_be_unbound_outside(group: str, negation: str) -> None:
    """18.6: where it is bound a term stands in its place, where it is not it is a variable, which both sides share."""
    content = Content(
        {
            None: ":a :p 1 ; :q :w1 . :b :p 2 . :c :p 3 ; :q :w2 ; :s :w1 . :d :p 4 ; :s :w2 . :e :p 5 ; :q :none . "
            ":w1 :r 1 ; :t 1 . :w2 :r 2 . :w3 :r 1 ; :t 2 ."
        }
    )
    outside = "?s :p ?v OPTIONAL {?s :q ?w} OPTIONAL {?s :s ?u}"
    plan, answers = evaluated(f"SELECT * {{{outside}}}", content)
    wanted = []
    for row in answers[INSTANT]:
        terms = {name: term for name, term in zip(plan.variables, row, strict=True) if term is not None}
        # A sub-select's own variables are not seen.
        inside = group if "SELECT" in group else re.sub(r"\?(\w+)", lambda v: terms.get(v[1], v[0]), group)  # noqa: B023
        if bool(one_shot(f"ASK {{{inside}}}", content)) != bool(negation):
            wanted.append((terms["s"],))
    text = f"SELECT ?s {{{outside} FILTER {negation}EXISTS {{{group}}}}}"
    assert sorted(evaluated(text, content)[1][INSTANT]) == sorted(wanted)


def test_a_plan_with_exists_is_the_same_each_time() -> None:
    text = "SELECT * {?s :p ?v FILTER(CONCAT(STR(EXISTS {?s :q ?w}), STR(EXISTS {?v :q [ :p ?w ]})) = 'x')}"
    assert len({compile_query(continuous(text, ONE)).to_json() for _ in range(4)}) == 1
