"""RAND, UUID, STRUUID and BNODE draw from query, instant and solution, and are what the functions are to be."""

from __future__ import annotations

import re

import pytest

from protocol.errors import UnsupportedFeature
from spark_backend.compiler.plan import compile_query
from tests.spark_backend.compiler.one_shot import INSTANT, Content, Row, continuous, evaluated

ONE = Content({None: ":a :p 1, 2, 'x' . :b :p 1, :a ; :q 3 ."})
MANY = Content({None: " ".join(f":s{n} :p {n} ." for n in range(400))})
GRAPHS = Content({"http://ex/w1": ":a :p 1 .", "http://ex/w2": ":a :p 1 ."})
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def rows(text: str, content: Content = ONE, instant: int = INSTANT) -> list[Row]:
    return evaluated(text, content, (instant,))[1][instant]


def column(text: str, content: Content = ONE) -> list[str]:
    return [str(row[0]) for row in rows(text, content)]


def test_random_numbers_are_doubles_from_zero_to_one_of_every_size() -> None:
    numbers = [float(term.split('"')[1]) for term in column("SELECT (RAND() AS ?r) {?s :p ?v}", MANY)]
    assert all('"^^<http://www.w3.org/2001/XMLSchema#double>' in term for term in column("SELECT (RAND() AS ?r) {}"))
    assert len(set(numbers)) == 400
    assert all(0 <= number < 1 for number in numbers)
    assert all(20 < sum(low <= number < low + 0.1 for number in numbers) < 65 for low in (0, 0.2, 0.5, 0.9))


@pytest.mark.parametrize(
    ("call", "pattern"),
    [("UUID()", f"<urn:uuid:{UUID}>"), ("STRUUID()", f'"{UUID}"'), ("BNODE()", r"_:[a-z][0-9a-f]+")],
)
def test_each_solution_has_a_term_of_its_own(call: str, pattern: str) -> None:
    terms = column(f"SELECT ({call} AS ?u) {{?s :p ?v}}")
    assert len(set(terms)) == 5
    assert all(re.fullmatch(pattern, term) for term in terms)


def test_equal_solutions_draw_differently() -> None:
    assert len(set(column("SELECT (UUID() AS ?u) {VALUES ?x {1 1 1}}"))) == 3
    assert len(set(column("SELECT (BNODE('l') AS ?u) {VALUES () {() ()}}"))) == 2


def test_two_calls_in_one_solution_draw_differently() -> None:
    for select in ("(UUID() AS ?a) (UUID() AS ?b)", "(CONCAT(STR(UUID()), '') AS ?a) (CONCAT(STR(UUID()), '') AS ?b)"):
        assert all(row[0] != row[1] for row in rows(f"SELECT {select} {{?s :p ?v}}"))
    assert column("SELECT (UUID() = UUID() AS ?e) {}") == ['"false"^^<http://www.w3.org/2001/XMLSchema#boolean>']
    assert all(
        row[0] != row[1]
        for row in rows("SELECT ?a ?b {?s :p ?v BIND(RAND() AS ?a) FILTER(?a >= 0) BIND(RAND() AS ?b)}")
    )


def test_the_condition_of_optional_draws_for_each_merge_of_both_sides() -> None:
    numbers = " ".join(map(str, range(20)))
    pairs = "SELECT ?a ?b { VALUES ?a { %s } OPTIONAL { VALUES ?b { %s } FILTER(%s) } }"
    merges = {condition: rows(pairs % (numbers, numbers, condition)) for condition in (
        "RAND() >= 0", "RAND() < 0.5", "RAND() < 0.5 && ?b < 10", "RAND() = RAND()", "ISBLANK(BNODE())",
        "BNODE('x') = BNODE('x')", "EXISTS { :a :p 1 } && RAND() < 0.5", "RAND() < 0.5 && ?a = ?b",
    )}  # fmt: skip
    everything, half = merges["RAND() >= 0"], merges["RAND() < 0.5"]
    assert len(everything) == len(set(everything)) == len(merges["ISBLANK(BNODE())"]) == 400
    assert len(merges["BNODE('x') = BNODE('x')"]) == 400
    assert 140 < len(half) < 260
    of_left = {a: frozenset(b for left, b in half if left == a) for a, _ in half}
    assert len(set(of_left.values())) == 20
    assert merges["RAND() = RAND()"] == [(a, None) for a in dict.fromkeys(a for a, _ in everything)]
    assert 60 < len(merges["RAND() < 0.5 && ?b < 10"]) < 140
    assert 140 < len(merges["EXISTS { :a :p 1 } && RAND() < 0.5"]) < 260
    alike = merges["RAND() < 0.5 && ?a = ?b"]
    assert len(alike) == 20
    assert 0 < sum(b is not None for _, b in alike) < 20


def test_the_condition_of_optional_draws_the_same_in_another_evaluation_of_the_instant() -> None:
    text = "SELECT ?s ?v { ?s :p ?v OPTIONAL { ?v ?q ?w FILTER(RAND() < 0.5) } }"
    assert rows(text, MANY) == rows(text, MANY)


def test_aggregates_of_drawn_terms_are_not_one() -> None:
    ((one, other, known, same),) = rows(
        "SELECT (SUM(RAND()) AS ?a) (SUM(RAND()) AS ?b) (SUM(?v) AS ?c) (SUM(?v) AS ?d) {?s :p ?v}", MANY
    )
    assert one != other
    assert known == same


def test_a_labelled_blank_node_is_the_same_in_one_solution_and_another_in_the_next() -> None:
    """17.4.2.9."""
    found = rows("SELECT (BNODE('x') AS ?a) (BNODE(CONCAT('x', '')) AS ?b) (BNODE('y') AS ?c) {?s :p ?v}")
    assert all(row[0] == row[1] != row[2] for row in found)
    assert len({row[0] for row in found}) == len(found) == 5


def test_a_blank_node_of_what_is_no_string_is_an_error() -> None:
    found = rows("SELECT ?v (BNODE(?v) AS ?b) {:a :p ?v}")
    assert [term is not None for _, term in found] == [str(v).endswith('"') for v, _ in found]
    assert sum(term is not None for _, term in found) == 1


def test_a_term_drawn_is_what_functions_see() -> None:
    select = (
        "(ISBLANK(BNODE()) AS ?b) (ISIRI(UUID()) AS ?i) (STRLEN(STRUUID()) AS ?n) (RAND() < 1 AS ?r) "
        "(DATATYPE(RAND()) AS ?d)"
    )
    true = '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
    ((blank, iri, length, less, datatype),) = rows(f"SELECT {select} {{}}")
    assert (blank, iri, less) == (true, true, true)
    assert length == '"36"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert datatype == "<http://www.w3.org/2001/XMLSchema#double>"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s (UUID() AS ?u) {?s :p ?v}",
        "SELECT * {?s :p ?v FILTER(RAND() < 0.5)}",
        "SELECT (SUM(RAND()) AS ?n) {?s :p ?v}",
        "SELECT ?s {?s :p ?v} GROUP BY ?s HAVING(RAND() < 0.5)",
        "SELECT ?s ?v {?s :p ?v} ORDER BY RAND()",
        "SELECT * {?s :p ?v OPTIONAL {?s :q ?w BIND(BNODE() AS ?b)}}",
        "SELECT * {{SELECT ?s (RAND() AS ?r) {?s :p ?v} LIMIT 3} FILTER(?r < 0.7)}",
        "SELECT * {?s :p ?v BIND(IF(EXISTS {?s :q ?w}, STRUUID(), 'none') AS ?u)}",
    ],
)
def test_every_replay_draws_the_same_in_any_order_and_company(text: str) -> None:
    alone = evaluated(text, ONE, (5000,))[1]
    together = evaluated(text, ONE, (1000, 5000, 9000), reverse=True)[1]
    assert together[5000] == alone[5000]


def test_another_instant_and_another_query_draw_other_terms() -> None:
    text = "SELECT (UUID() AS ?u) {?s :p ?v}"
    drawn = evaluated(text, ONE, (1000, 2000))[1]
    assert not set(drawn[1000]) & set(drawn[2000])
    assert not set(drawn[1000]) & set(rows(text + " #", instant=1000))


def test_queries_that_draw_have_one_shape() -> None:
    plans = [compile_query(continuous(f"SELECT (UUID() AS ?u) {{?s :p ?v FILTER(?v > {n})}}", ONE)) for n in (1, 2)]
    assert plans[0].shape == plans[1].shape
    assert plans[0].parameters != plans[1].parameters


def test_each_graph_has_terms_of_its_own() -> None:
    found = rows("SELECT ?g ?u {GRAPH ?g {?s :p ?v BIND(UUID() AS ?u)}}", GRAPHS)
    assert len({term for _, term in found}) == len(found) == 2


def test_drawing_inside_of_exists_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="RAND"):
        compile_query(continuous("SELECT * {?s :p ?v FILTER EXISTS {?s :q ?w FILTER(RAND() < 0.5)}}", ONE))
