"""Hand-picked queries, one for each thing that SQL says differently: DuckDB and Spark SQL agree to the letter."""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.one_shot import Content
from tests.spark_backend.spark_sql.both_sites import BothSites

pytestmark = pytest.mark.spark

XSD = "http://www.w3.org/2001/XMLSchema#"
CONTENT = Content(
    {
        None: r"""
            :x :p :y, :z . :y :p :z . :z :p :x . :x :q 1, 2.50, '3.5e0'^^xsd:double, '0.1'^^xsd:float .
            :y :q 7, 0.1, 'NaN'^^xsd:double, '-0.0'^^xsd:double, 'INF'^^xsd:double . :z :q 9007199254740993, 0.0 .
            :x :r 'a\\b\'c"d$1', 'line\nbreak', 's'@en, 'S'@en-GB, 'é𝄞', '' . :y :r 's', true, :x, '${x}'^^:dt .
            :z :r '2020-01-01T00:00:00Z'^^xsd:dateTime, '2019-12-31T23:00:00-01:00'^^xsd:dateTime, '10', '9' .
            :b :big 123456789012345678901234567890, 0.000000000000000001, 99999999999999.5 .
            :x :d '0.1'^^xsd:double . :y :d '0.2'^^xsd:double . :z :d '0.3'^^xsd:double, '1e16'^^xsd:double .
        """,
        "http://ex/w1": ":x :p :u . :u :p :v . :y :n _:b1 . _:b1 :n 5 . :x :q 2 . :x :g :y .",
        "http://ex/w2": ":x :p :u . :v :q 3 . :y :r 's' .",
    },
    {
        None: ":x :label 'ex' . :y :label 'why' . :x :p :w . :w :p :x . :y :q -0.0e0 .",
        "http://ex/g1": ":x :in :g1 . :x :q 1 . :u :type :T .",
    },
)
QUERIES = [
    # Triple patterns, joins, static data
    "SELECT * { ?a :p ?b . ?b :p ?c }",
    "SELECT * { ?a :label ?l . ?a :p ?b }",
    "SELECT ?a ?p { ?a ?p ?a }",
    r"""SELECT ?a { ?a :r 'a\\b\'c"d$1' }""",
    "SELECT * { ?a :r '${x}'^^:dt }",
    "SELECT * { ?a :p :z ; :q ?n . FILTER(?n > 1) }",
    "ASK { ?a :p ?b }",
    "ASK { ?a :p :nowhere }",
    "CONSTRUCT { ?a :to ?b . ?b :from [ :of ?a ] } { ?a :p ?b }",
    "DESCRIBE ?a { ?a :p :z }",
    # Optional, minus, union, exists
    "SELECT * { ?a :p ?b OPTIONAL { ?b :q ?n } }",
    "SELECT * { ?a :p ?b OPTIONAL { ?b :q ?n FILTER(?n > 1 && ?a != :z) } }",
    "SELECT * { ?a :p ?b OPTIONAL { ?b :r ?n FILTER(REGEX(STR(?n), '^s', 'i') || CONTAINS(STR(?a), 'x')) } }",
    "SELECT * { ?a :p ?b OPTIONAL { ?a :none ?c } OPTIONAL { ?b :q ?c FILTER(STRLEN(STR(?c)) > 2) } }",
    "SELECT * { ?a :p ?b MINUS { ?b :q 1 } }",
    "SELECT * { ?a :p ?b OPTIONAL { ?b :q ?n } MINUS { ?a :q ?n } }",
    "SELECT * { ?a :q ?n OPTIONAL { ?b :q ?m FILTER(?m > ?n + 1 && (STRLEN(STR(?b)) < 9 || ?m = 2 * ?n)) } }",
    "SELECT * { { ?a :p ?b } UNION { ?a :q ?n } }",
    "SELECT DISTINCT ?a { { ?a :p ?b } UNION { ?a :q ?n } }",
    "SELECT * { ?a :p ?b FILTER EXISTS { ?b :q ?n FILTER(?n > 2) } }",
    "SELECT * { ?a :p ?b FILTER NOT EXISTS { ?b :q ?n FILTER(?n = 1 || ?a = :y) } }",
    "SELECT * { ?a :p ?b BIND(EXISTS { ?a :q ?n FILTER(?n < 0.5) } AS ?small) BIND(EXISTS { ?b :p ?a } AS ?back) }",
    "SELECT * { ?a :p ?b OPTIONAL { ?b :q ?n FILTER(EXISTS { ?a :r ?n } || ?n = 1) } }",
    # Graphs and windows
    "SELECT * { GRAPH ?g { ?a :p ?b } }",
    "SELECT * { GRAPH ?g { ?a :q ?n } FILTER(?n > 1) }",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?a ?p ?b } } GROUP BY ?g",
    "SELECT * { GRAPH :w1 { ?a :n ?b . ?b :n ?c } }",
    "SELECT * { GRAPH :g1 { ?u :type ?t } GRAPH :w1 { ?a :p ?u } }",
    "SELECT * { GRAPH ?g { { SELECT (COUNT(*) AS ?c) { ?a :p ?b } } } }",
    "SELECT * { GRAPH :g1 { } }",
    "SELECT * { GRAPH :absent { } }",
    "SELECT * { GRAPH ?g { VALUES ?a { :x } FILTER EXISTS { ?a :q ?n } } }",
    # Paths, on cycles
    "SELECT * { ?a :p+ ?b }",
    "SELECT * { :x :p* ?b }",
    "SELECT * { ?a (:p/:p)+ :x }",
    "SELECT * { ?a :p? ?b }",
    "SELECT * { ?a (^:p|:label)+ ?b FILTER(isLiteral(?b)) }",
    "SELECT * { ?a !(:p|:q|:r) ?b }",
    "SELECT * { GRAPH ?g { ?a :p+ ?b } }",
    "SELECT * { ?a :label ?l FILTER EXISTS { ?a :p+ ?a } }",
    "SELECT * { ?a :label ?l FILTER(?l = 'why' || EXISTS { ?a :p* ?b . ?b :q 7 }) }",
    # Calculations that are compared
    "SELECT ?m ?n (?m - ?n > 1.5 AS ?x) (ABS(?m - ?n) = 1 AS ?y) (?m + 1 <= ?n AS ?z) { ?a :q ?n . ?b :q ?m }",
    "SELECT ?m ?n (?m * 0.5 < ?n AS ?x) (?m / ?n >= 1 AS ?y) (?m * ?n != 0 AS ?z) { ?a :q ?n . ?b :q|:d ?m }",
    "SELECT ?m ?n (?m - ?n < 'PT1H'^^xsd:dayTimeDuration AS ?x) { ?a :r ?n . ?b :r ?m FILTER(?a = :z || ?b = :z) }",
    # Order, slices, distinct
    "SELECT ?o { ?s ?p ?o } ORDER BY ?o",
    "SELECT ?o { ?s ?p ?o } ORDER BY DESC(?o) LIMIT 7 OFFSET 3",
    "SELECT ?a ?n { ?a :p ?b OPTIONAL { ?b :q ?n } } ORDER BY ?n DESC(?a)",
    "SELECT DISTINCT ?n { ?a :q ?n } ORDER BY ?n LIMIT 4",
    "SELECT * { ?a :q ?n } LIMIT 3",
    "SELECT (STR(?n) AS ?t) { ?a :q ?n } ORDER BY STRLEN(STR(?n)) ?t OFFSET 2",
    "SELECT * { { SELECT ?a ?n { ?a :q ?n } ORDER BY DESC(?n) LIMIT 2 } ?a :p ?b }",
    "SELECT DISTINCT ?k { ?a :q ?n BIND(1 / ?n AS ?k) }",
    # Aggregates
    "SELECT ?a (SUM(?n) AS ?s) (AVG(?n) AS ?m) (COUNT(?n) AS ?c) { ?a :q ?n } GROUP BY ?a",
    "SELECT (SUM(?n) AS ?s) (AVG(?n) AS ?m) { ?a :d ?n }",
    "SELECT (SUM(?n) AS ?s) (AVG(?n) AS ?m) { ?a :big ?n }",
    "SELECT ?n (SUM(?n) AS ?s) { ?a :q ?n } GROUP BY ?n HAVING(SUM(?n) > 0.05)",
    "SELECT (SUM(DISTINCT ?n) AS ?s) (COUNT(DISTINCT ?n) AS ?c) { ?a :p ?b . ?b :q ?n FILTER(?n < 10) }",
    "SELECT (MIN(?o) AS ?least) (MAX(?o) AS ?most) { ?s ?p ?o }",
    "SELECT ?p (MIN(?o) AS ?least) (MAX(?o) AS ?most) (SAMPLE(?s) AS ?some) { ?s ?p ?o } GROUP BY ?p",
    "SELECT (MAX(?n + 1) AS ?most) { ?a :q ?n FILTER(?n < 10) }",
    'SELECT (GROUP_CONCAT(?l; SEPARATOR="\'\\\\") AS ?all) { ?a :label ?l . ?a :p ?b }',
    "SELECT ?a (GROUP_CONCAT(DISTINCT ?l) AS ?each) { ?a :label ?l . ?a :p ?b } GROUP BY ?a",
    "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT *) AS ?d) { { ?a :p ?b } UNION { ?a :p ?b } }",
    "SELECT (COUNT(*) AS ?n) { ?a :nothing ?b }",
    "SELECT (SUM(?n) AS ?s) (AVG(?n) AS ?m) (MIN(?n) AS ?l) { ?a :nothing ?n }",
    "SELECT ?a (SUM(?n * 2) AS ?s) { ?a :q ?n } GROUP BY ?a ORDER BY DESC(?s)",
    "SELECT (COUNT(?n / ?m) AS ?c) { ?a :q ?n . ?a :d ?m }",
    # Numbers
    "SELECT ?n (?n + 1 AS ?a) (?n - 0.5 AS ?b) (?n * ?n AS ?c) (-?n AS ?d) { ?x :q ?n }",
    "SELECT ?n (1 / ?n AS ?a) (?n / 0 AS ?b) (1.0e0 / ?n AS ?c) (?n / -0.0e0 AS ?d) { ?x :q ?n }",
    "SELECT ?n ?m (?n / ?m / ?n AS ?k) (?m - ?n AS ?l) { ?a :q ?n . ?a :d ?m }",
    "SELECT * { ?a :q ?n . ?b :q ?m FILTER(?n < ?m) }",
    "SELECT * { ?a :q ?n . ?b :q ?m FILTER(?n = ?m && !sameTerm(?n, ?m)) }",
    "SELECT ?n (ABS(?n) AS ?a) (CEIL(?n) AS ?b) (ROUND(?n) AS ?c) (xsd:integer(?n) AS ?d) { ?x :q ?n }",
    "SELECT ?n (IF(?n > 1, 'more', ?n) AS ?k) (COALESCE(?n / 0, 'none') AS ?l) { ?a :q ?n }",
    # Strings and terms
    "SELECT ?o (STR(?o) AS ?x) (LANG(?o) AS ?l) (DATATYPE(?o) AS ?d) { ?s :r ?o }",
    "SELECT ?o (UCASE(?o) AS ?u) (STRLEN(?o) AS ?n) (SUBSTR(?o, 2) AS ?r) { ?s :r ?o }",
    r"SELECT ?o (REPLACE(?o, 's', '$0\\\\') AS ?x) { ?s :r ?o }",
    'SELECT ?o (CONCAT(STR(?o), "\'") AS ?c) (MD5(STR(?o)) AS ?m) { ?s :r ?o }',
    "SELECT ?o { ?s :r ?o FILTER(?o < 's') }",
    "SELECT ?o { ?s :r ?o FILTER(?o IN ('s', :x, 10, true)) }",
    "SELECT ?o { ?s :r ?o FILTER(?o NOT IN ('s', '9')) }",
    "SELECT ?o { ?s :r ?o FILTER(LANGMATCHES(LANG(?o), 'en') || STRSTARTS(STR(?o), 'a')) }",
    "SELECT * { ?s :r ?o . ?t :r ?u FILTER(CONTAINS(?o, ?u) || STRENDS(STR(?o), STR(?u)) || STRSTARTS(?o, ?u)) }",
    "SELECT ?o (isIRI(?o) AS ?i) (isLiteral(?o) AS ?l) (isNumeric(?o) AS ?n) (BOUND(?u) AS ?b) { ?s :r ?o }",
    "SELECT ?t (YEAR(?t) AS ?y) (NOW() AS ?now) { ?s :r ?t FILTER(?t >= '2020-01-01T00:00:00Z'^^xsd:dateTime) }",
    # Values, bindings, draws
    "SELECT * { VALUES (?a ?n) { (:x UNDEF) (:y 7) (UNDEF 0.1) } ?a :q ?n }",
    "SELECT * { ?a :p ?b } VALUES ?b { :z :y }",
    "SELECT * { ?a :q ?n VALUES (?a ?m) { (:x UNDEF) "
    + " ".join(f"(:y {number}) (UNDEF {number}.5)" for number in range(99))
    + " } FILTER(?m > ?n) }",
    "SELECT * { VALUES () { () () () } ?a :p ?b }",
    "SELECT * { ?a :q ?n BIND(?n * 2 AS ?m) FILTER(?m > 3) BIND(STR(?m) AS ?t) }",
    "SELECT ?a (RAND() AS ?r) (STRUUID() AS ?u) (UUID() AS ?i) (BNODE() AS ?b) (BNODE('k') AS ?k) { ?a :p ?x }",
    "SELECT * { { SELECT DISTINCT ?a { ?a :q ?n } } { SELECT ?a (COUNT(?b) AS ?c) { ?a :p ?b } GROUP BY ?a } }",
    "SELECT ?p (GROUP_CONCAT(DISTINCT ?o) AS ?l) (GROUP_CONCAT(?s) AS ?x) (COUNT(?o + 1) AS ?n) {?s ?p ?o} GROUP BY ?p",
    "SELECT ?a (GROUP_CONCAT(?n) AS ?x) (SAMPLE(?n) AS ?y) { { SELECT * { ?a :q ?n } ORDER BY DESC(?n) } } GROUP BY ?a",
    "SELECT (GROUP_CONCAT(DISTINCT ?n) AS ?x) { { SELECT * { ?a :q ?n } ORDER BY DESC(?n) } BIND(?n + 1 AS ?m) }",
]


# A job takes a second: the ordinary run asks one query in twenty, `make test-sites` the others.
@pytest.mark.parametrize(
    "text",
    [pytest.param(text, marks=[pytest.mark.long] if place % 20 else []) for place, text in enumerate(QUERIES)],
)
def test_a_query_has_the_same_answers_on_both_sites(sites: BothSites, text: str) -> None:
    sites.agree(text, CONTENT)


def test_many_sums_are_the_same_on_both_sites(sites: BothSites) -> None:
    numbers = " ".join(
        f":i{n} :m {n}, {3 * n}, {-7 * n} . :d{n} :m {n}.5, -{n}.25 . :b{n} :m {n}, {n}.25, '{n}'^^xsd:double ."
        for n in range(40)
    )
    query = "SELECT ?a (SUM(?n) AS ?sum) (AVG(?n) AS ?average) { ?a :m ?n } GROUP BY ?a"
    assert sites.agree(query, Content({None: numbers}))


def test_what_differs_in_a_union_of_windows_and_the_store_is_concatenated(sites: BothSites) -> None:
    query = "SELECT ?a (GROUP_CONCAT(DISTINCT STR(?b)) AS ?all) { { ?a :p ?b } UNION { ?a :q ?b } } GROUP BY ?a"
    assert sites.agree(query, CONTENT)


def test_what_fails_is_the_error_of_its_instant(sites: BothSites) -> None:
    _, (answer,) = sites.answers("SELECT * { ?a :p ?b }", CONTENT, instants=(8000,))
    assert answer.error is None
    (lost,) = sites.spark.answers("not-there.json", [8000])
    assert lost.instant == 8000
    assert lost.error is not None
    assert lost.error.startswith("the query could not be prepared: ")


def test_nothing_is_left_behind_by_an_evaluation(sites: BothSites) -> None:
    sites.answers("SELECT * { ?a :p+ ?b FILTER(EXISTS { ?a :q ?n } || ?a = :x) }", CONTENT)
    assert sites.left_behind() == []
