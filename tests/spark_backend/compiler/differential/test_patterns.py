"""Graph patterns over a window mean what they mean one-shot."""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions

MIXED = """
:a :p 1, 2.5, 3.0e0, "s", "t"@en, :b, true, "2020-01-01T00:00:00Z"^^xsd:dateTime, "1.5"^^xsd:float, "z"^^:dt ;
   :q "abc", "a b", "a" .
:b :p 5 ; :q "xyz" ; :r :a . :c :p 7, 8 . :d :r :b .
:e :v 1.25e0 . :f :v 2.5e0 . :g :v 3.0e0 ; :w 2 . :h :w 4 . :i :w 1.5 .
_:x :n [ :m 4 ] .
"""
ONE = Content({None: MIXED})

PATTERNS = {
    "all triples": "SELECT * {?s ?p ?v}",
    "one pattern": "SELECT * {?s :p ?v}",
    "a variable twice in a pattern": "SELECT * {?s ?p ?s}",
    "constants everywhere": "SELECT * {:b :p 5}",
    "constants of kinds that have no order": "SELECT * {?a :p 1 . ?a :p 's' . ?a :p :b}",
    "constants that do not match": "SELECT * {:b :p 6}",
    "blank nodes are variables": "SELECT * {?a :n [ :m ?c ]}",
    "a blank node label joins": "SELECT * {_:q :p ?v . _:q :q ?w}",
    "a star": "SELECT * {?s :p ?v ; :q ?q ; :r ?r}",
    "a path of variables": "SELECT * {?a :r ?b . ?b :r ?c}",
    "a product": "SELECT ?a ?b {?a :v ?x . ?b :w ?y}",
    "variables that differ in case": "SELECT ?V ?v {?v :p ?V}",
    "variables named like SQL": "SELECT * {?select :p ?from . ?select :r ?order}",
    "variables named like columns": "SELECT * {?instant :p ?s . ?instant :r ?o . ?rank :r ?instant}",
    "unicode variables": "SELECT * {?größe :p ?名前}",
    "the empty group": "SELECT * {}",
    "an optional": "SELECT * {?s :p ?v OPTIONAL {?s :r ?o}}",
    "an optional without a match": "SELECT * {?s :r ?v OPTIONAL {?s :nope ?o}}",
    "an optional filter over both sides": "SELECT * {?s :p ?v OPTIONAL {?s :r ?o FILTER(?v > 4)}}",
    "an optional filter by the prelude": "SELECT * {?s :p ?v OPTIONAL {?s :q ?o FILTER(regex(?o, 'x'))} "
    "FILTER(!bound(?o))}",
    "an optional filter that fails": "SELECT * {?s :p ?v OPTIONAL {?s :q ?o FILTER(?o > ?v)}}",
    "nested optionals": "SELECT * {?s :p ?v OPTIONAL {?s :r ?o OPTIONAL {?o :q ?x}}}",
    "an optional that is not well designed": "SELECT * {?s :v ?x OPTIONAL {?y :w ?z OPTIONAL {?s :p ?z}}}",
    "an optional after an optional": "SELECT * {?s :q ?v OPTIONAL {?s :r ?o} OPTIONAL {?o :p ?v2}}",
    "a join on what an optional left unbound": "SELECT * {?s :p ?v OPTIONAL {?s :r ?o} ?o :q ?x}",
    "an optional first": "SELECT * {OPTIONAL {?s :r ?o} ?s :q ?x}",
    "an optional of a union": "SELECT * {?s :q ?v OPTIONAL {{?s :r ?o} UNION {?o :r ?s}}}",
    "a union": "SELECT * {{?s :p ?v} UNION {?s :r ?o}}",
    "a union joined": "SELECT * {{?s :p ?v} UNION {?s :r ?o} ?s :q ?w}",
    "unions with different variables joined": "SELECT * {{{?s :p ?v} UNION {?o :r ?s}} {{?s :q ?w} UNION {?o :q ?w}}}",
    "a union with an optional": "SELECT * {{?s :p ?v} UNION {?s :r ?o} OPTIONAL {?o :r ?v}}",
    "a union of three": "SELECT * {{?s :p ?v} UNION {?s :r ?v} UNION {?s :q ?v}}",
    "a union keeps duplicates": "SELECT ?s {{?s :p ?v} UNION {?s :p ?v}}",
    "a union with nothing": "SELECT * {{?s :r ?v} UNION {}}",
    "minus": "SELECT * {?s :p ?v MINUS {?s :r ?o}}",
    "minus without a shared variable": "SELECT * {?s :p ?v MINUS {?x :r ?o}}",
    "minus with an unbound variable": "SELECT * {?s :p ?v OPTIONAL {?s :r ?o} MINUS {?x :r ?o}}",
    "minus of optionals": "SELECT * {?s :q ?v OPTIONAL {?s :r ?o} MINUS {?s :p ?x OPTIONAL {?s :r ?o FILTER(?x > 4)}}}",
    "minus of a literal": "SELECT * {?s :p ?v MINUS {VALUES ?v {1 5 'abc'}}}",
    "a filter on nothing": "SELECT * {?s :p ?v FILTER(?nope = 1)}",
    "a filter that is false": "SELECT * {?s :p ?v FILTER(false)}",
    "a filter that is true": "SELECT * {?s :p ?v FILTER(true)}",
    "a filter that is zero": "SELECT * {?s :p ?v FILTER(0)}",
    "a filter that is the empty string": "SELECT * {?s :p ?v FILTER('')}",
    "a filter that is not zero": "SELECT * {?s :p ?v FILTER(!0)}",
    "a filter that is a string": "SELECT * {?s :p ?v FILTER('0')}",
    "a filter that is minus zero": "SELECT * {?s :p ?v FILTER(-(0))}",
    "a filter that is a negative number": "SELECT * {?s :p ?v FILTER(-1.5)}",
    "an optional filter that is false": "SELECT * {?s :p ?v OPTIONAL {?s :r ?o FILTER(false)}}",
    "two filters, one of them false": "SELECT * {?s :p ?v FILTER(false) FILTER(?v > 1)}",
    "a filter in a nested group does not see outside": "SELECT * {?s :p ?v {FILTER(?v > 4)}}",
    "a filter applies to its whole group": "SELECT * {FILTER(?v > 4) ?s :p ?v}",
    "a filter between triples": "SELECT * {?s :p ?v FILTER(?v > 0) ?s :r ?o}",
    "bind": "SELECT * {?s :p ?v BIND(?v + 1 AS ?z)}",
    "bind of a constant": "SELECT * {?s :r ?v BIND('x' AS ?z)}",
    "bind first": "SELECT * {BIND(:a AS ?s) ?s :r ?v}",
    "bind then join": "SELECT * {?x :p ?v BIND(:b AS ?s) ?s :p ?w}",
    "bind of an unbound variable": "SELECT * {?s :r ?v BIND(?nope AS ?z)}",
    "bind of an error, then joined": "SELECT * {?s :r ?v BIND(1/0 AS ?z) ?y :w ?z}",
    "bind of a bind": "SELECT * {?s :v ?v BIND(?v * 2 AS ?z) BIND(?z - 1 AS ?y) FILTER(?y > 2)}",
    "bind of a filtered bind": "SELECT * {?s :q ?v BIND(CONCAT(?v, '!') AS ?z) FILTER(STRLEN(?z) > 3)}",
    "bind in a group": "SELECT * {?s :v ?v {BIND(?v AS ?z)}}",
    "values of one variable": "SELECT * {VALUES ?v {1 5 'abc'} ?s ?p ?v}",
    "values with UNDEF": "SELECT * {VALUES (?s ?v) {(:a UNDEF) (:b 5) (UNDEF 7)} ?s :p ?v}",
    "values of UNDEF alone": "SELECT * {VALUES ?x {UNDEF} ?s :r ?v}",
    "values of nothing": "SELECT * {VALUES ?s {} ?s :r ?v}",
    "values twice the same": "SELECT * {VALUES ?s {:b :b} ?s :r ?v}",
    "values at the end": "SELECT * {?s :p ?v} VALUES (?s ?v) {(:b UNDEF) (UNDEF 1)}",
    "values at the end after grouping": "SELECT ?s (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?s VALUES ?s {:c :nope}",
    "values with the word UNDEF": "SELECT * {VALUES ?v {'UNDEF' UNDEF} ?s :r ?o}",
    "values of languages": "SELECT * {VALUES ?v {'t'@EN 't'@en-GB} ?s :p ?v}",
    "values of a boolean and a decimal": "SELECT * {VALUES ?v {true 2.5 false} ?s :p ?v}",
    "values without a variable": "SELECT * {VALUES () {() ()} ?s :r ?v}",
    "values without a variable or a row": "SELECT * {VALUES () {} ?s :r ?v}",
    "values without a variable at the end": "SELECT * {?s :r ?v} VALUES () {()}",
    "values without a variable twice": "SELECT * {VALUES () {() ()} VALUES () {() () ()}}",
    "values joined with values": "SELECT * {VALUES (?a ?b) {(1 UNDEF) (2 3)} VALUES (?b ?c) {(3 4) (UNDEF 5)}}",
    "sub-select": "SELECT * {{SELECT ?s {?s :p ?v}} ?s :q ?w}",
    "sub-select hides its variables": "SELECT * {{SELECT ?s {?s :p ?v}} ?s :q ?v}",
    "sub-select with a limit and an order": "SELECT * {{SELECT ?s ?v {?s :v ?v} ORDER BY DESC(?v) LIMIT 2} ?s ?p ?x}",
    "sub-select with an offset": "SELECT * {{SELECT ?v {?s :v ?v} ORDER BY ?v OFFSET 1}}",
    "sub-select with distinct": "SELECT * {{SELECT DISTINCT ?s {?s :p ?v}} ?s :q ?w}",
    "sub-select with a group": "SELECT ?s {{SELECT ?s (MAX(?v) AS ?m) {?s :p ?v} GROUP BY ?s} FILTER(?m > 6)}",
    "sub-select with an implicit group": "SELECT * {?s :w ?w {SELECT (COUNT(*) AS ?n) {?x :v ?v}}}",
    "sub-select in an optional": "SELECT * {?s :q ?q OPTIONAL {SELECT ?s (COUNT(*) AS ?n) {?s :r ?v} GROUP BY ?s}}",
    "sub-select in a sub-select": "SELECT * {{SELECT ?s {{SELECT DISTINCT ?s ?v {?s :p ?v}} FILTER(?v > 4)}}}",
    "sub-select in a minus": "SELECT * {?s :p ?v MINUS {SELECT ?s {?s :r ?o}}}",
    "sub-select of an expression": "SELECT * {{SELECT ?s (?v * 2 AS ?z) {?s :v ?v}} FILTER(?z > 3)}",
    "distinct": "SELECT DISTINCT ?s {?s ?p ?v}",
    "distinct with unbound": "SELECT DISTINCT ?s ?o {?s :p ?v OPTIONAL {?s :r ?o}}",
    "reduced of what has no duplicates": "SELECT REDUCED ?s ?v {?s :p ?v}",
    "a projected variable that is never bound": "SELECT ?s ?nope {?s :r ?v}",
    "a projected expression of a projected expression": "SELECT (?v + 1 AS ?x) (?x * 2 AS ?y) {?s :v ?v}",
    "a limit of zero": "SELECT * {?s :p ?v} LIMIT 0",
    "an offset beyond the end": "SELECT * {?s :r ?v} ORDER BY ?s OFFSET 10",
    "a limit beyond the end": "SELECT * {?s :r ?v} LIMIT 100",
}


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS.keys())
def test_a_pattern_over_a_window_gives_what_it_gives_one_shot(text: str) -> None:
    assert_same_solutions(text, ONE)


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS.keys())
def test_a_pattern_over_the_empty_window_gives_what_it_gives_one_shot(text: str) -> None:
    assert_same_solutions(text, Content({None: ""}))


ORDERED = {
    "by number": "SELECT ?v {?s :v ?v} ORDER BY ?v",
    "by number descending": "SELECT ?v {?s :v ?v} ORDER BY DESC(?v)",
    "by string": "SELECT ?v {?s :q ?v} ORDER BY ?v",
    "by IRI": "SELECT DISTINCT ?s {?s :p ?v} ORDER BY ?s",
    "by two conditions": "SELECT ?s ?v {?s :q ?v} ORDER BY DESC(?s) ?v",
    "by an expression": "SELECT ?v {?s :v ?v} ORDER BY (-?v)",
    "by a function": "SELECT ?v {?s :q ?v} ORDER BY DESC(STRLEN(?v)) ?v",
    "by an aggregate that is not projected": "SELECT ?s {?s :q ?v} GROUP BY ?s ORDER BY DESC(COUNT(?v))",
    "by an alias": "SELECT ?s (COUNT(?v) AS ?n) {?s :q ?v} GROUP BY ?s ORDER BY ?n",
    "by a variable that is not projected": "SELECT ?s {?s :v ?v} ORDER BY DESC(?v)",
    "unbound first": "SELECT DISTINCT ?s ?o {?s :q ?v OPTIONAL {?s :r ?o}} ORDER BY ?o ?s",
    "kinds": "SELECT ?v {VALUES ?v {:b 'x' UNDEF 1 :a} } ORDER BY ?v",
    "kinds descending": "SELECT ?v {VALUES ?v {:b 'x' UNDEF 1.5 :a} } ORDER BY DESC(?v)",
    "otherwise than a sub-select": "SELECT ?v {{SELECT ?v {?s :v ?v} ORDER BY DESC(?v) LIMIT 2}} ORDER BY ?v",
    "otherwise than one, minus something": "SELECT ?v {{SELECT ?v {?s :v ?v} ORDER BY DESC(?v) LIMIT 2} "
    "MINUS {?v :r ?o}} ORDER BY ?v",
    "otherwise than one, distinct": "SELECT DISTINCT ?v {{SELECT ?v {?s :v ?v} ORDER BY DESC(?v) LIMIT 2}} ORDER BY ?v",
    "by what is the same for all": "SELECT ?k ?v {?s :v ?v BIND(7 AS ?k)} ORDER BY DESC(?k) DESC(?v)",
    "distinct, limit and offset": "SELECT DISTINCT ?p {?s ?p ?v} ORDER BY DESC(?p) LIMIT 2 OFFSET 1",
    "numbers of different kinds": "SELECT ?v {VALUES ?v {2 1.5 10 1e0 -3.25}} ORDER BY ?v",
    "big integers": "SELECT ?v {VALUES ?v {9007199254740993 9007199254740992 "
    "9007199254740995 -9007199254740993}} ORDER BY ?v",
    "durations": "SELECT ?v {VALUES ?v {'PT1M'^^xsd:duration 'PT59.9S'^^xsd:duration 'P1D'^^xsd:duration}} ORDER BY ?v",
    "dates of zones": "SELECT ?v {VALUES ?v {'2026-01-02Z'^^xsd:date '2026-01-02-05:00'^^xsd:date}} ORDER BY DESC(?v)",
    "longest duration": "SELECT (MAX(?v) AS ?a) (MIN(?v) AS ?b) {VALUES ?v {'PT1M'^^xsd:dayTimeDuration "
    "'PT59.9S'^^xsd:dayTimeDuration 'PT1H'^^xsd:dayTimeDuration}}",
    "long decimals": "SELECT ?v {VALUES ?v {0.12345678901234567 0.12345678901234566 0.12345678901234568}} ORDER BY ?v",
    "strings that begin alike": "SELECT ?v {VALUES ?v {'a b' 'a' 'a!' 'a\\n' 'ab' ''}} ORDER BY ?v",
    "strings beyond ASCII": "SELECT ?v {VALUES ?v {'é' 'z' '😀' 'a' '￿'}} ORDER BY ?v",
    "dateTimes": "SELECT ?v {VALUES ?v {'2020-01-01T00:00:00Z'^^xsd:dateTime '2020-01-01T00:30:00+01:00'^^xsd:dateTime "
    "'2020-01-01T00:00:00.1234567Z'^^xsd:dateTime '2020-01-01T00:00:00.1234568Z'^^xsd:dateTime}} ORDER BY ?v",
    "far years": "SELECT ?v {VALUES ?v {'300000-01-01T00:00:00Z'^^xsd:dateTime '2020-01-01T00:00:00Z'^^xsd:dateTime "
    "'-7000000-01-01T00:00:00Z'^^xsd:dateTime '-66000000-01-01T00:00:00Z'^^xsd:dateTime}} ORDER BY ?v",
}


@pytest.mark.parametrize("text", ORDERED.values(), ids=ORDERED.keys())
def test_solutions_come_in_the_order_that_the_query_decides(text: str) -> None:
    assert_same_solutions(text, ONE, ordered=True)


@pytest.mark.parametrize("text", ["SELECT ?s {?s :p ?v} ORDER BY ?s", "SELECT ?s {?s :p ?v} ORDER BY DESC(?s) LIMIT 3"])
def test_iris_are_ordered_by_their_characters(text: str) -> None:
    content = Content({None: ":s1 :p 1 . :s10 :p 1 . :s19 :p 1 . :s2 :p 1 . :s :p 1 . <http://ex/s1/a> :p 1 ."})
    assert_same_solutions(text, content, ordered=True)


def test_the_least_and_the_greatest_iri_are_so_by_their_characters() -> None:
    content = Content({None: ":a :p :s1, :s10, :s, :s9, <http://ex/s-> ."})
    assert_same_solutions("SELECT (MIN(?o) AS ?least) (MAX(?o) AS ?most) {?a :p ?o}", content)
