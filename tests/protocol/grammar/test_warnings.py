"""Queries that can be known to answer nothing (docs/language.md, "Warnings")."""

from __future__ import annotations

from itertools import product

import pyoxigraph as ox
import pytest

from conformance.rsp.case import Refusal, case_of, select_cases
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery

PREFIX = "PREFIX : <http://ex/> "
READ = "FROM NAMED WINDOW :w ON :s [NOW]"
FACT = "CONSTRUCT FACT f FROM STREAM :s { ?a :in ?b }"
GROUPS = [
    "?x ?y ?z",
    "?x :p ?y . ?y :q ?z",
    "?x :p+ ?y . ?z :q ?x",
    "?x :p* ?y . ?y ?z ?x",
    "?x (:p|^:q)+ ?y BIND(?x AS ?z)",
    "GRAPH ?x { ?y :p ?z }",
    "{ ?x :p ?y } UNION { ?y :p ?x } BIND(?y AS ?z)",
    "{ ?x :p ?y } UNION { ?x ?y ?z }",
    "?x :p ?y OPTIONAL { ?z :q ?y }",
    "OPTIONAL { ?x :p :none } ?y :q ?x OPTIONAL { ?y ?z 7 }",
    "?x :p ?y MINUS { ?y :q ?x } MINUS { ?z :p 7 }",
    "VALUES (?x ?y) { (5 :a) (:a 5) (UNDEF UNDEF) } OPTIONAL { ?x :q ?z }",
    "{ SELECT ?y { ?x :p ?y } } ?z :q ?x",
    "{ SELECT ?x (COUNT(?y) AS ?z) { ?x :p ?y } GROUP BY ?x } ?y :q ?x",
    "?z :p <<( ?x :p ?y )>>",
    "?z :p ?y BIND(SUBJECT(?y) AS ?x)",
    "?z :p ?x FILTER EXISTS { ?x :q ?y }",
]
CONDITIONS = [
    f"?{one} {sign} {other}" for one in "xy" for sign in ("<", ">=", "=", "!=") for other in ("5", "?x", ":a")
]
CONDITIONS += ["5 > ?x", "'x' = ?y", "5 != ?x", "?z < <<( :a :p 7 )>>", "!(?x = 5)", "!(?x < 7 && ?y = 5)"]
CONDITIONS += ["?x IN (5, 'x')", "?x IN (5, :a)", "?x NOT IN (5)", "?x IN ()", "BOUND(?x)", "STR(?x) > 'a'"]
CONDITIONS += ["?x < 5 || ?y = 5", "?x = 5 || 'x' >= ?x", "?x < 7 && ?y < 7", "(?x < 7) = (?y < 7)"]
CONDITIONS += ["STRLEN(?x) > 0", "!REGEX(?x, 'q')", "REGEX(STR(?x), 'q')", "CONTAINS(LCASE(?y), 'x')", "isLiteral(?x)"]
CONDITIONS += ["?x + ?y > 0", "LANG(?x) = ''", "IF(?y > 3, STRLEN(?x), STRLEN(?x)) > 0", "CONCAT(?x, 'x') != 'y'"]
CONDITIONS += ["COALESCE(?x < 7, true)", "IF(?x = 5, ?x < 7, ?y != 5)", "NOT EXISTS { ?x :p ?y FILTER(?x < 7) }"]


def warned(text: str) -> tuple[str, ...]:
    query = parse(PREFIX + text)
    assert isinstance(query, ContinuousQuery)
    return query.warnings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM :g FROM STREAM :s [NOW] { ¦GRAPH :h { ?a ?b ?c } }", "GRAPH <http://ex/h> never matches"),
        ("SELECT * FROM :g FROM STREAM :s [NOW] { ¦GRAPH :g { ?a ?b ?c } }", "write FROM NAMED <http://ex/g>"),
        (
            f"SELECT * FROM :g {READ} {{ WINDOW :w {{}} OPTIONAL {{ ¦GRAPH :s {{ ?a ?b ?c }} }} }}",
            "GRAPH <http://ex/s>",
        ),
        ("SELECT * FROM :g { STREAM :s [NOW] {} ¦GRAPH ?g { ?a ?b ?c } }", "GRAPH ?g never matches"),
        (
            f"SELECT * {READ} {{ WINDOW :w {{}} ¦GRAPH :s {{ ?a ?b ?c }} }}",
            "the stream's window is the graph <http://ex/w>",
        ),
        ("SELECT * FROM NAMED WINDOW :w ON ¦:s [NOW] { ?a ?b ?c }", "no pattern reads the window <http://ex/w>"),
        ("SELECT * FROM NAMED STREAM ¦:s [NOW] { ?a ?b ?c }", "or FROM STREAM <http://ex/s> for the default graph"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(¦?d > 3) }", "?d is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c { FILTER(¦?c > 3) } }", "?c is never bound here"),
        ("SELECT * FROM STREAM :s [ELEMENTS 1 WHERE { ?a :p ?v FILTER(?v > ¦?d) }] { ?a :q ?d }", "?d is never bound"),
        (f"{FACT} (UNION (SINCE ?a :p ?b) (TILL {{ ?a :p ?c FILTER(?c != ¦?b) }}))", "?b is never bound here"),
        (
            f"{FACT} (UNION (SINCE {{ ?a :p ?b FILTER(¦?a > 3) }}) (TILL ?a :q 1)) SELECT * {{ CURRENT {{ ?a ?b 3 }}}}",
            "?a is an IRI or a blank node here",
        ),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c OPTIONAL { ?c ?e ?f FILTER(BOUND(¦?d)) } }", "?d is never bound"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(!(¦?d = 3) && ?c > 1) }", "?d is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(¦?d = 3 || ?d = 4) }", "?d is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?a HAVING (¦?c > 3)", "?c is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?a HAVING (SUM(?c) > ¦?d)", "?d is never bound here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c } AGGREGATE { (?n, COUNT, ?a) FILTER(?n > ¦?m) }", "?m is never"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(?c > 1 && ¦?a < 5) }", "?a is an IRI or a blank node here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(?a = :a) FILTER(¦?a <= 5) }", "?a is an IRI or a blank"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(?c > ¦?b || ?b = 'x') }", "?b is an IRI or a blank node"),
        (
            "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER('x' = ¦?a || 5 <= ?a || 7 >= ?a) }",
            "?a is an IRI or a blank node here",
        ),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(¦?b IN ('x', 'y'@en)) }", "?b is an IRI or a blank node"),
        (f"SELECT ?a {READ} {{ WINDOW ?w {{ ?a ?b ?c }} FILTER(¦?w > 'x') }}", "?w is an IRI or a blank node here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a :p ?c OPTIONAL { ?c :q ?f FILTER(?f > ¦?a) } }", "?a is an IRI or a"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a :p ?c OPTIONAL { ?c :q ?f FILTER(¦?c = 5) } }", "?c is an IRI or a"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a :p ?c { VALUES ?a { 1 :a } } FILTER(¦?a < 5) }", "?a is an IRI or a"),
        ("SELECT ?a FROM STREAM :s [NOW] { << ?a :p ?c >> :q ?d FILTER(¦?a < ?d) }", "?a is an IRI or a blank node"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?a HAVING (¦?a < 3)", "?a is an IRI or a blank node"),
        ("SELECT (?a AS ?x) FROM STREAM :s [NOW] { ?a ?b ?c } HAVING (¦?x < 3)", "?x is an IRI or a blank node here"),
        ("SELECT ?a { STREAM :s [NOW] { ?a :p ?b } SEQ { ?b :q ?c FILTER(¦?b > 3) } }", "?b is an IRI or a blank"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(REGEX(¦?a, 'x')) }", "never holds: write STR(?a) (line"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(!CONTAINS(LCASE(¦?a), 'x')) }", "write STR(?a) (line"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(IF(?c, STRLEN(¦?a), STRLEN(?a)) > 1) }", "write STR(?a)"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(isLiteral(¦?a)) }", "?a is an IRI or a blank node here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(-¦?a + ?c > 3) }", "?a is an IRI or a blank node here"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(LANG(¦?b) IN ('en')) }", "?b is an IRI or a blank node"),
        ("SELECT ?a ¦?d FROM STREAM :s [NOW] { ?a ?b ?c }", "?d is never bound here, so that no solution has it"),
        ("SELECT ?d FROM STREAM :s [NOW] { { SELECT ¦?d { ?a ?b ?c } } }", "?d is never bound here"),
        ("SELECT (¦?d * 2 AS ?e) FROM STREAM :s [NOW] { ?a ?b ?c }", "?d is never bound here, so that this expression"),
        ("SELECT ?e FROM STREAM :s [NOW] { ?a ?b ?c BIND(STR(¦?d) AS ?e) }", "this expression never has a value"),
        ("SELECT ?e FROM STREAM :s [NOW] { ?a ?b ?c BIND(¦?f AS ?e) BIND(?c AS ?f) }", "?f is never bound here"),
        ("SELECT (SUM(¦?d) AS ?n) FROM STREAM :s [NOW] { ?a ?b ?c }", "?d is never bound here, so that this aggregate"),
        ("SELECT (COUNT(?c) AS ?n) FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?a ¦?d", "it tells no groups apart"),
        ("SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c } ORDER BY ?a DESC(STRLEN(¦?d))", "so that it orders nothing"),
        ("CONSTRUCT { ?a :p ?c, ¦?d } FROM STREAM :s [NOW] { ?a ?b ?c }", "so that this triple is never made"),
        ("CONSTRUCT { ?a :p <<( ?a :q ¦?d )>> } FROM STREAM :s [NOW] { ?a ?b ?c }", "?d is never bound"),
        ("SELECT ?a FROM STREAM ¦:s [RANGE 2 REPORT NON_EMPTY_CONTENT] { ?a ?b ?c }", "write REPORT ON_CONTENT_CHANGE"),
        ("SELECT ?a FROM STREAM ¦:s [ELEMENTS 1 REPORT NON_EMPTY_CONTENT] { ?a ?b ?c }", "at every millisecond"),
        ("SELECT ?a FROM STREAM ¦:s [LANDMARK 0 REPORT NON_EMPTY_CONTENT] { ?a ?b ?c }", "at every millisecond"),
        ("DESCRIBE ¦?d FROM STREAM :s [NOW] { ?a ?b ?c }", "?d is never bound here"),
    ],
)
def test_what_never_answers_is_said_at_its_place(text: str, said: str) -> None:
    (warning,) = warned(text.replace("¦", ""))
    assert said in warning
    assert warning.endswith(f" (line 1, column {len(PREFIX) + text.index('¦') + 1})")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM STREAM :s [NOW] { GRAPH :g { ?a ?b ?c } }",  # the store may get one
        "SELECT * FROM STREAM :s [NOW] { GRAPH :s { ?a ?b ?c } GRAPH ?g { ?a ?b ?c } }",
        "SELECT * FROM :g FROM STREAM :s [NOW] { GRAPH ?g { ?a ?b ?c } }",
        "SELECT * FROM NAMED :g FROM STREAM :s [NOW] { GRAPH ?g { ?a ?b ?c } }",
        f"SELECT * FROM NAMED :g {READ} {{ WINDOW ?w {{ ?a ?b ?c }} GRAPH :g {{ ?a ?b ?c }} }}",
        f"SELECT * {READ} {{ ?a ?b ?c FILTER NOT EXISTS {{ GRAPH :w {{ ?a ?b ?c FILTER(?d > ?c) }} }} }}",
        "SELECT * FROM NAMED STREAM :s [1m SLIDE 1m] { ?a ?b ?c }",
        "SELECT * FROM :g { STREAM :s [NOW] { ?a ?b ?c } }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(!BOUND(?d) || ?d > 3) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(IF(BOUND(?d), ?d, ?c) IN (1, COALESCE(?d, 3))) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c OPTIONAL { ?c ?e ?f FILTER(?a = ?e) } FILTER(?f > 3) }",
        "SELECT ?a (COUNT(?c) AS ?n) FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?a HAVING (?n > 3 && SUM(?c) > 2)",
        "SELECT ?a FROM STREAM :s [NOW] { ?a (:p|!:q)/:r* ?c FILTER(?c > 3) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(timestamp(?a ?b ?c) < NOW()) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(?a = :a && ?b IN (1, :b) && ?a <= ?c && ?a != 5) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(?a < 5 || ?c < 5) FILTER(!(?a = 5)) FILTER(BOUND(?a)) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(COALESCE(?a < 5, ?c < 5) && IF(?a = 5, ?a < 5, ?c < 5)) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c BIND(?a < 5 AS ?d) BIND(STR(?a) AS ?e) FILTER(?d || ?e < 'x') }",
        "SELECT ?a FROM STREAM :s [NOW] { ?c :p ?d OPTIONAL { ?a :p ?d } FILTER(?a < 5 || ?d < 5) }",
        "SELECT ?a FROM STREAM :s [NOW] { OPTIONAL { ?a :p ?d } ?c :p ?a FILTER(?a < 5) }",
        "SELECT ?a FROM STREAM :s [NOW] { { ?a :p ?c } UNION { ?c :q ?a } FILTER(?a < 5) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?c :q ?a MINUS { ?a :p ?c } FILTER(?a < 5) }",
        "SELECT ?a FROM STREAM :s [NOW] { { SELECT ?c { ?a :p ?c } } ?d :q ?a FILTER(?a < 5) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a :p* ?c FILTER(?a < 5 && ?c < 5) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?d :q ?a FILTER EXISTS { ?a :p ?c } FILTER(?a < 5) }",
        "SELECT ?d FROM STREAM :s [NOW] { ?d :q ?a FILTER NOT EXISTS { ?a :p ?c FILTER(?a < 5) } }",
        "SELECT ?a FROM STREAM :s [NOW] { ?d :q ?e SERVICE :s { ?a :p ?c FILTER(?a < 5) } }",
        "SELECT ?a FROM STREAM :s [NOW] { ?d :q ?e SERVICE :s { ?a :p ?c } FILTER(?a < 5) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?d :q <<( ?c :p ?a )>> FILTER(?a < 5) }",
        "SELECT (MAX(?c) AS ?a) FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY ?b HAVING (MAX(?c) < 5)",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(REGEX(STR(?a), 'x') || STRLEN(?c) > 3) }",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER(COALESCE(STRLEN(?a), 3) = 3 && !isLiteral(?a)) }",
        "SELECT ?a ?d (?c AS ?e) FROM STREAM :s [NOW] { ?a ?b ?c OPTIONAL { ?c :p ?d } } ORDER BY ?e COALESCE(?x, ?a)",
        "SELECT (COALESCE(?x, IF(BOUND(?y), ?y, ?c)) AS ?z) FROM STREAM :s [NOW] { ?a ?b ?c }",
        "SELECT (COUNT(*) AS ?n) (STR(?k) AS ?l) FROM STREAM :s [NOW] { ?a ?b ?c } GROUP BY (?a AS ?k) ORDER BY ?n",
        "SELECT ?a FROM STREAM :s [NOW] { ?a ?b ?c FILTER EXISTS { ?a ?b ?d BIND(?c AS ?e) FILTER(?d = ?e) } }",
        "CONSTRUCT { ?a :p [ :q ?d ] } FROM STREAM :s [NOW] { { ?a ?b ?c } UNION { ?a ?b ?d } }",
        "SELECT ?a FROM STREAM :s [RANGE 2 REPORT NON_EMPTY_CONTENT PERIODIC 2] { ?a ?b ?c }",
        "SELECT ?a FROM STREAM :s [NOW REPORT NON_EMPTY_CONTENT] FROM STREAM :t [RANGE 1 STEP 5] { ?a ?b ?c }",
        "SELECT ?a FROM STREAM :s [SESSION 5 REPORT NON_EMPTY_CONTENT] { ?a ?b ?c }",
        "DESCRIBE ?a :b FROM STREAM :s [NOW] { ?a ?b ?c }",
        "SELECT * FROM STREAM :s [NOW] { VALUES ?v { UNDEF } ?a ?b ?c }",
        f"{FACT} (UNION (SINCE {{ ?a :p ?b FILTER(?b > 3) }}) (TILL {{ ?a :p ?c BIND(?c AS ?b) FILTER(?b < 3) }}))",
    ],
)
def test_nothing_is_said_of_what_may_answer(text: str) -> None:
    assert warned(text) == ()


def test_no_condition_that_is_warned_of_ever_holds() -> None:
    """Of the one-shot engine's data, where terms of all kinds stand wherever they can."""
    told = "?p :a, :p, _:b, 3, 5, 'x', 'x'@en, true, <<( :a :p 5 )>>, <<( _:b :p :a )>>"
    about = " . ".join(f"{one} {told.replace('?p', two)}" for one in (":a", ":p", "_:b") for two in (":p", ":q"))
    store = ox.Store()
    store.update(f"{PREFIX} INSERT DATA {{ {about} GRAPH :a {{ {about} }} }}")
    held = said = 0
    for group, condition in product(GROUPS, CONDITIONS):
        where = f"{{ {group} FILTER({condition}) }}"
        warnings = warned(f"SELECT * FROM STREAM :s [NOW] {where}")
        holds = bool(store.query(f"{PREFIX} ASK {where}"))
        assert not (holds and warnings), where
        held += holds
        said += any("is an IRI or a blank node" in warning for warning in warnings)
    assert held > 250
    assert said > 120


def test_several_are_told_in_the_order_of_the_text() -> None:
    told = warned("SELECT *\nFROM NAMED STREAM :s [NOW]\nFROM NAMED STREAM :t [NOW]\n{ ?a ?b ?c FILTER(?e > ?d) }")
    assert [warning.rpartition("(")[2] for warning in told] == [
        "line 2, column 19)",
        "line 3, column 19)",
        "line 4, column 19)",
        "line 4, column 24)",
    ]


def test_of_the_cases_that_answer_two_are_warned_of() -> None:
    """Which are about just that: a named window is no part of the default graph, and a report that says no time."""
    cases = [case for case in map(case_of, select_cases()) if not isinstance(case.expected, Refusal)]
    queries = [(case, parse(case.query, base="http://ex/sparql")) for case in cases]
    warned_of = {case.query_file for case, query in queries if isinstance(query, ContinuousQuery) and query.warnings}
    assert len(queries) > 300
    assert warned_of == {"not-in-the-default-graph.rq", "non-empty.rq"}
