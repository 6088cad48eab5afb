"""Groups and aggregates over a window give what they give one-shot."""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.one_shot import INSTANT, Content, assert_same_solutions, evaluated

GROUPS = Content(
    {
        None: """
:ints :p 1, 2, 3, 4 . :decimals :p 1.5, 2.25, 0.1 . :doubles :p 1.25e0, 2.5e0, -3.0e0 .
:floats :p "1.5"^^xsd:float, "2.25"^^xsd:float .
:mixed :p 1, 2.5, 1.5e0 . :halves :p 1, 2.5 . :single :p "1.5"^^xsd:float, 2, 2.25 . :big :p 9007199254740993, 1 .
:huge :p 9223372036854775807, 1 . :beyond :p 99999999999999999999, 1 .
:vast :p 150000000000000000000.0 . :sum-is-vast :p 60000000000000000000.0, -2.5, 70000000000000000000.0 .
:sum-is-beyond :p 100000000000000000000.0, 110000000000000000000.0 . :large :p 1000000000000.0, 1000000000000.5, 0.25 .
:long :p 0.12345678901234567, 0.00000000000000001 .
:strings :p "a", "b c", "", "x\\"y" . :english :p "a"@en, "b"@en . :languages :p "a"@en, "b"@fr, "c" .
:iris :p :a, :b . :kinds :p 1, :a . :text :p 1, "a" . :other :p "z"^^:dt . :booleans :p true, false .
:infinite :p "INF"^^xsd:double, 1 . :both :p "INF"^^xsd:double, "-INF"^^xsd:double . :nan :p "NaN"^^xsd:double .
:dates :p "2020-01-01T00:00:00Z"^^xsd:dateTime, "2020-01-01T00:30:00+01:00"^^xsd:dateTime .
:ints :q 1 . :mixed :q 2 . :doubles :q 2 . :nothing :q 3 .
"""
    }
)
AGGREGATES = (
    "COUNT(?v)",
    "COUNT(*)",
    "SUM(?v)",
    "AVG(?v)",
    "MIN(?v)",
    "MAX(?v)",
    "COUNT(DISTINCT ?v)",
    "COUNT(DISTINCT *)",
    "SUM(DISTINCT ?v)",
    "AVG(DISTINCT ?v)",
    "MIN(DISTINCT ?v)",
    "MAX(DISTINCT ?v)",
)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_an_aggregate_of_any_group_is_that_of_the_one_shot_query(aggregate: str) -> None:
    assert_same_solutions(f"SELECT ?s ({aggregate} AS ?z) {{?s :p ?v}} GROUP BY ?s", GROUPS)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_an_aggregate_that_is_read_further_is_that_of_the_one_shot_query(aggregate: str) -> None:
    assert_same_solutions(
        f"SELECT ?s ({aggregate} AS ?z) ({aggregate} * 2 AS ?y) {{?s :p ?v}} GROUP BY ?s HAVING ({aggregate} > 1)",
        GROUPS,
    )


@pytest.mark.parametrize("aggregate", [*AGGREGATES, "SAMPLE(?v)", "GROUP_CONCAT(?v)", "GROUP_CONCAT(DISTINCT ?v)"])
def test_an_aggregate_of_nothing_is_that_of_the_one_shot_query(aggregate: str) -> None:
    for text in ("SELECT ({} AS ?z) {{?s :never ?v}}", "SELECT ?s ({} AS ?z) {{?s :never ?v}} GROUP BY ?s"):
        assert_same_solutions(text.format(aggregate), GROUPS)
        assert_same_solutions(text.format(aggregate), Content({None: ""}))


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_an_aggregate_over_unbound_and_errors_is_that_of_the_one_shot_query(aggregate: str) -> None:
    assert_same_solutions(f"SELECT ?q ({aggregate} AS ?z) {{?s :q ?q OPTIONAL {{?s :p ?v}}}} GROUP BY ?q", GROUPS)
    of_expression = aggregate.replace("?v", "?v + 1")
    assert_same_solutions(f"SELECT ?s ({of_expression} AS ?z) {{?s :p ?v}} GROUP BY ?s", GROUPS)


@pytest.mark.parametrize(
    ("counted", "count"),
    [("?v + 1", 2), ("DISTINCT ?v * 0.0", 1), ("IF(?v > 1, 1, 1)", 2), ("COALESCE(?v, ?q)", 3), ("1 / 0", 0)],
)
def test_count_leaves_errors_out(counted: str, count: int) -> None:
    content = Content({None: ':s :p 1, 2.5, "x" .'})
    _, answers = evaluated(f"SELECT (COUNT({counted}) AS ?n) {{?s :p ?v OPTIONAL {{?s :q ?q}}}}", content)
    assert answers[INSTANT] == [(f'"{count}"^^<http://www.w3.org/2001/XMLSchema#integer>',)]
    assert_same_solutions(f"SELECT ?v (COUNT({counted}) AS ?n) {{?s :p ?v OPTIONAL {{?s :q ?q}}}} GROUP BY ?v", content)


@pytest.mark.parametrize("group", ["strings", "english", "languages", "ints", "kinds", "iris", "dates"])
def test_a_concatenation_is_a_simple_literal(group: str) -> None:
    """In the order of the terms: arrival does not matter. One-shot, any order will do."""
    text = f"SELECT (STRLEN(GROUP_CONCAT(?v; separator=', ')) AS ?n) (LANG(GROUP_CONCAT(?v)) AS ?l) {{:{group} :p ?v}}"
    assert_same_solutions(text, GROUPS)


def test_strings_are_concatenated_in_the_order_of_their_terms() -> None:
    content = Content({None: ':s :p "b", "a", "c" .'})
    for reverse in (False, True):
        _, answers = evaluated("SELECT (GROUP_CONCAT(?v) AS ?z) {?s :p ?v}", content, reverse=reverse)
        assert answers[INSTANT] == [('"a b c"',)]
        columns = "(GROUP_CONCAT(?v; separator='') AS ?y) (GROUP_CONCAT(DISTINCT ?v; separator=', \"') AS ?z)"
        _, answers = evaluated(f"SELECT {columns} {{?s :p ?v}}", content, reverse=reverse)
        assert answers[INSTANT] == [('"abc"', '"a, \\"b, \\"c"')]


def test_what_is_concatenated_are_the_strings_of_terms() -> None:
    content = Content({None: ':s :p 2, "b"@en, "b"@fr, "a", 1.50, :c, 2.'})
    _, answers = evaluated("SELECT (GROUP_CONCAT(?v; separator=',') AS ?z) {?s :p ?v}", content)
    assert answers[INSTANT] == [('"1.50,2,a,b,b,http://ex/c"',)]
    _, answers = evaluated("SELECT (GROUP_CONCAT(DISTINCT ?v; separator=',') AS ?z) {?s :p ?v . ?t :p ?w}", content)
    assert answers[INSTANT] == [('"1.50,2,a,b,b,http://ex/c"',)]
    for text in ("{?s :p ?v FILTER(!isIRI(?v))}", "{?s :p ?i OPTIONAL {?s :p ?v FILTER(?v > ?i)}}"):
        _, answers = evaluated(f"SELECT (GROUP_CONCAT(?v) AS ?z) {text}", Content({None: ":s :p 1, :c, [] ."}))
        assert answers[INSTANT] == [(None,)]


RANKING = Content(
    {None: ":a :v 3 ; :w 1 . :b :v 1 ; :w 2 . :c :v 2 ; :w 2 . :d :v 10 ; :w 1 . :e :v 3 ; :w 3 ."},
    {None: ":a :k :x . :b :k :x . :c :k :y . :d :k :y . :e :k :x ."},
)
SEQUENCES = {
    "ascending": "{ SELECT ?v ?w { ?s :v ?v ; :w ?w } ORDER BY ?v ?w }",
    "descending": "{ SELECT ?v ?w { ?s :v ?v ; :w ?w } ORDER BY DESC(?v) DESC(?w) }",
    "by what is not projected": "{ SELECT ?v { ?s :v ?v } ORDER BY DESC(?s) }",
    "by an expression": "{ SELECT ?v ?w { ?s :v ?v ; :w ?w } ORDER BY (?v - 3 * ?w) }",
    "the first": "{ SELECT ?v { ?s :v ?v } ORDER BY DESC(?s) LIMIT 3 }",
    "all but the first": "{ SELECT ?v { ?s :v ?v } ORDER BY DESC(?s) OFFSET 1 }",
    "each once": "{ SELECT DISTINCT ?v { ?s :v ?v } ORDER BY DESC(?v) }",
    "of a union": "{ SELECT ?v { { ?s :v ?v } UNION { ?s :w ?v } } ORDER BY ?s DESC(?v) }",
    "that are optional": "{ SELECT ?v { ?s :w ?w OPTIONAL { ?s :v ?v FILTER(?v > 1) } } ORDER BY DESC(?w) ?s }",
    "of groups": "{ SELECT (MAX(?n) AS ?v) { ?s :v ?n ; :k ?k } GROUP BY ?k ORDER BY DESC(?v) }",
    "some of them": "{ SELECT ?v ?w { ?s :v ?v ; :w ?w } ORDER BY ?w DESC(?v) } FILTER(?v + ?w < 6)",
    "with more": "{ SELECT (?n AS ?m) ?w { ?s :v ?n ; :w ?w } ORDER BY ?w DESC(?n) } BIND(?m + 1 AS ?v)",
    "that are there": "{ SELECT ?v ?w { ?s :v ?v ; :w ?w } ORDER BY ?w DESC(?v) } FILTER EXISTS { ?t :w ?v }",
    "that are not there": "{ SELECT ?v ?w { ?s :v ?v ; :w ?w } ORDER BY ?w DESC(?v) } FILTER NOT EXISTS { ?t :w ?v }",
    "that are there or large": "{ SELECT ?v { ?s :v ?v } ORDER BY DESC(?s) } FILTER(EXISTS { ?t :w ?v } || ?v > 2)",
    "some of them there": "{ SELECT ?n { ?s :v ?n } ORDER BY DESC(?s) } BIND(IF(EXISTS { ?t :w ?n }, ?n, 0) AS ?v)",
    "in one another": "{ SELECT ?v { { SELECT ?v { ?s :v ?v } ORDER BY ?v } } ORDER BY DESC(?v) }",
}


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
def test_a_sequence_is_concatenated_as_its_sub_select_has_it(sequence: str) -> None:
    columns = "(GROUP_CONCAT(?v; separator=',') AS ?x) (GROUP_CONCAT(DISTINCT ?v * 2) AS ?y) (SAMPLE(?v) AS ?z)"
    assert_same_solutions(f"SELECT {columns} {{ {sequence} }}", RANKING)


@pytest.mark.parametrize(
    "sequence",
    [
        "{ SELECT ?v { GRAPH :g { ?s :k ?v } } ORDER BY DESC(?v) } BIND(STR(?v) AS ?q) FILTER(STRLEN(?q) < 3)",
        "{ SELECT ?v { GRAPH :g { ?s :k ?v } } ORDER BY DESC(?s) LIMIT 3 } FILTER EXISTS { ?t :v ?v }",
        "{ SELECT (SUM(?n) AS ?v) { GRAPH :g { ?s :k ?n } } GROUP BY ?s ORDER BY DESC(?v) } FILTER EXISTS { ?t :v ?v }",
        "{ SELECT DISTINCT ?v { VALUES ?v { 1 10 2 } } ORDER BY ?v } BIND(STR(?v) AS ?q) FILTER(STRLEN(?q) < 3)",
    ],
)
def test_a_sequence_of_the_store_is_concatenated_in_its_order(sequence: str) -> None:
    content = Content({None: ":x :v 1, 2, 10 ."}, {"http://ex/g": ":a :k 10 . :b :k 1 . :c :k 2 ."})
    assert_same_solutions(f"SELECT (GROUP_CONCAT(?v) AS ?x) (SAMPLE(?v) AS ?y) {{ {sequence} }}", content)


@pytest.mark.parametrize("key", ["?k", "(?w * 2 AS ?g)"])
def test_each_group_has_its_part_of_a_sequence(key: str) -> None:
    sequence = "{ SELECT ?k ?v ?w { ?s :v ?v ; :w ?w ; :k ?k } ORDER BY DESC(?w) ?v }"
    columns = f"{key.split()[-1].rstrip(')')} (GROUP_CONCAT(?v) AS ?x) (SAMPLE(?v) AS ?y) (SUM(?v) AS ?z)"
    assert_same_solutions(f"SELECT {columns} {{ {sequence} }} GROUP BY {key}", RANKING)


QUERIES = {
    "by an expression": "SELECT ?g (COUNT(*) AS ?n) {?s :p ?v} GROUP BY (isNumeric(?v) AS ?g)",
    "by an expression without a name": "SELECT (COUNT(*) AS ?n) {?s :p ?v} GROUP BY isNumeric(?v)",
    "by a function without a name": "SELECT (COUNT(*) AS ?n) {?s :p ?v} GROUP BY DATATYPE(?v) STR(?s)",
    "by a key that may be unbound": "SELECT ?q (COUNT(*) AS ?n) {?s :p ?v OPTIONAL {?s :q ?q}} GROUP BY ?q",
    "by a key that is never bound": "SELECT ?nope (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?nope",
    "by an error": "SELECT ?g (COUNT(*) AS ?n) {?s :p ?v} GROUP BY (?v + 1 AS ?g)",
    "by two keys": "SELECT ?s ?q (COUNT(*) AS ?n) {?s :p ?v ; :q ?q} GROUP BY ?s ?q",
    "by a key twice": "SELECT ?s (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?s ?s",
    "without an aggregate": "SELECT ?s {?s :p ?v} GROUP BY ?s",
    "a key in an expression": "SELECT (STRLEN(STR(?s)) AS ?l) (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?s",
    "a key renamed": "SELECT (?s AS ?t) (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?s",
    "having": "SELECT ?s {?s :p ?v} GROUP BY ?s HAVING (COUNT(*) > 2)",
    "having twice": "SELECT ?s {?s :p ?v} GROUP BY ?s HAVING (COUNT(*) > 1) (COUNT(*) < 4)",
    "having an aggregate that is not projected": "SELECT ?s (SUM(?v) AS ?z) {?s :p ?v} GROUP BY ?s HAVING (MAX(?v) < "
    "3)",
    "having an alias": "SELECT ?s (COUNT(?v) AS ?n) {?s :p ?v} GROUP BY ?s HAVING (COUNT(?v) > 1 && ?s != :ints)",
    "having false": "SELECT ?s {?s :p ?v} GROUP BY ?s HAVING (false)",
    "having an error": "SELECT ?s {?s :p ?v} GROUP BY ?s HAVING (SUM(?v))",
    "having without a group": "SELECT (COUNT(*) AS ?n) {?s :p ?v} HAVING (COUNT(*) > 1000)",
    "expressions over aggregates": "SELECT ?s (AVG(?v) * 2 AS ?x) (COUNT(*) > 1 AS ?y) (MAX(?v) - MIN(?v) "
    "AS ?z) {?s :p ?v} GROUP BY ?s",
    "aggregates of expressions": "SELECT ?s (SUM(?v * 2) AS ?x) (MAX(DATATYPE(?v)) AS ?y) {?s :p ?v} GROUP BY ?s",
    "an aggregate in a function": "SELECT ?s (IF(COUNT(*) > 2, 'many', 'few') AS ?x) {?s :p ?v} GROUP BY ?s",
    "an aggregate in a concatenation": "SELECT ?s (CONCAT('n=', STR(COUNT(*))) AS ?x) {?s :p ?v} GROUP BY ?s",
    "an aggregate of a projected aggregate": "SELECT (MAX(?n) AS ?m) {SELECT ?s (COUNT(*) AS ?n) {?s :p ?v} GROUP "
    "BY ?s}",
    "an average of averages": "SELECT (AVG(?a) AS ?b) {{SELECT ?s (AVG(?v) AS ?a) {?s :p ?v "
    "FILTER(isNumeric(?v))} GROUP BY ?s} FILTER(?a < 100)}",
    "a sum of filtered groups": "SELECT ?s (SUM(?v) AS ?z) {?s :p ?v FILTER(isNumeric(?v))} GROUP BY ?s",
    "all of it in one implicit group": "SELECT (COUNT(*) AS ?a) (COUNT(?v) AS ?b) (COUNT(DISTINCT ?s) AS ?c) "
    "(MIN(?s) AS ?d) {?s :p ?v}",
    "an error in one aggregate only": "SELECT (SUM(?v) AS ?a) (COUNT(?v) AS ?b) {?s :p ?v}",
    "a coalesced error": "SELECT ?s (COALESCE(SUM(?v), 0) AS ?a) {?s :p ?v} GROUP BY ?s",
    "the same sum twice": "SELECT ?s (SUM(?v) AS ?a) (SUM(?v) AS ?b) {?s :p ?v} GROUP BY ?s",
    "distinct values of a computed variable": "SELECT (SUM(DISTINCT ?x) AS ?z) {?s :p ?v BIND(1 AS ?x)}",
    "distinct values of an expression": "SELECT (COUNT(DISTINCT DATATYPE(?v)) AS ?z) {?s :p ?v}",
    "distinct sums": "SELECT DISTINCT (SUM(?v) AS ?z) {?s :p ?v FILTER(?s != :both)} GROUP BY ?s",
    "a count of solutions with blank nodes": "SELECT (COUNT(*) AS ?n) {?s :p []}",
    "joined with its source": "SELECT * {?s :q ?q {SELECT ?s (SUM(?v) AS ?z) {?s :p ?v} GROUP BY ?s}}",
    "aggregates of a union": "SELECT ?s (COUNT(*) AS ?n) (SUM(?v) AS ?z) {{?s :p ?v} UNION {?s :q ?v}} GROUP BY ?s",
    "groups of the first solutions": "SELECT ?s (COUNT(*) AS ?n) (MAX(STR(?v)) AS ?z) "
    "{{SELECT ?s ?v {?s :p ?v FILTER(isNumeric(?v))} ORDER BY STR(?s) STR(?v) LIMIT 5 OFFSET 1}} GROUP BY ?s",
    "groups of solutions in order": "SELECT ?s (SUM(DISTINCT ?v) AS ?z) "
    "{{SELECT DISTINCT ?s ?v {?s :q ?v} ORDER BY DESC(?v)}} GROUP BY ?s HAVING(COUNT(*) > 0)",
    "aggregates of values": "SELECT (SUM(?x) AS ?z) (AVG(?x) AS ?a) {VALUES ?x {1 2 2 3.5}}",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
def test_a_grouped_query_gives_what_it_gives_one_shot(text: str) -> None:
    assert_same_solutions(text, GROUPS)


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
def test_a_grouped_query_of_the_empty_window_gives_what_it_gives_one_shot(text: str) -> None:
    assert_same_solutions(text, Content({None: ""}))


ORDERED = {
    "by an aggregate": "SELECT ?s (SUM(?v) AS ?z) {?s :p ?v FILTER(isNumeric(?v) && ?v < 100 "
    "&& ?s != :halves)} GROUP BY ?s ORDER BY ?z ?s",
    "by an aggregate, cut": "SELECT ?s (AVG(?v) AS ?z) {?s :p ?v FILTER(isNumeric(?v) && ?v < "
    "100)} GROUP BY ?s ORDER BY DESC(?z) ?s LIMIT 3",
    "by the key": "SELECT ?s (AVG(?v) AS ?z) {?s :p ?v} GROUP BY ?s ORDER BY DESC(?s)",
    "by an expression over an aggregate": "SELECT ?s {?s :p ?v} GROUP BY ?s ORDER BY (0 - COUNT(*)) ?s",
}


@pytest.mark.parametrize("text", ORDERED.values(), ids=ORDERED.keys())
def test_groups_come_in_the_order_that_the_query_decides(text: str) -> None:
    assert_same_solutions(text, GROUPS, ordered=True)
