"""``timestamp()`` (docs/language.md, "Time in queries"), worked out by hand over one stream.

The window (0 s, 10 s] of most tests holds

    1 s  :axel :isIn :a      2 s  :darko :isIn :a      3 s  :axel :saw :darko
    4 s  :axel :isIn :a      5 s  :darko :isIn :b

so the triple of 1 s and 4 s is there once, and its time is 4 s.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from protocol.errors import ProtocolError, QuerySyntaxError, UnsupportedFeature
from tests.spark_backend.stepped_backend import SteppedBackend
from tests.spark_backend.surface.asking import PREFIXES, Element, answers, documents, quad, rows, second, solutions

SEEN: list[Element] = [
    ("s", 1000, ":axel :isIn :a ."),
    ("s", 2000, ":darko :isIn :a ."),
    ("s", 3000, ":axel :saw :darko ."),
    ("s", 4000, ":axel :isIn :a ."),
    ("s", 5000, ":darko :isIn :b ."),
]
FROM = "FROM STREAM :s [RANGE 10s]"
Solutions = Counter[tuple[str | None, ...]]


def asked(directory: Path, query: str, elements: list[Element] = SEEN) -> Solutions:
    """The solutions at 10 s."""
    return answers(directory, query, elements, 10_000)[10_000]


def test_it_is_the_latest_time_of_the_triple_that_binds_the_variable(tmp_path: Path) -> None:
    # :axel in :a at 1 s and 4 s: the same triple twice counts once, at the latest time.
    query = f"SELECT ?who ?room (timestamp(?who) AS ?t) {FROM} {{ ?who :isIn ?room }}"
    assert asked(tmp_path, query) == solutions(
        ("axel", "a", second(4)), ("darko", "a", second(2)), ("darko", "b", second(5))
    )


def test_of_several_triples_that_bind_it_the_latest_counts(tmp_path: Path) -> None:
    # ?who = :axel is bound by :isIn (4 s) and by :saw (3 s); ?other = :darko by :saw (3 s) and its :isIn (2 s, or 5 s).
    query = f"""SELECT ?other ?room (timestamp(?who) AS ?t) (timestamp(?other) AS ?u) {FROM}
    {{ ?who :isIn :a ; :saw ?other . ?other :isIn ?room }}"""
    assert asked(tmp_path, query) == solutions(
        ("darko", "a", second(4), second(3)), ("darko", "b", second(4), second(5))
    )


def test_a_variable_as_predicate_or_twice_in_a_triple_is_bound_by_it(tmp_path: Path) -> None:
    stream = [("s", 1000, ":a :p :b . "), ("s", 2000, ":c :q :c .")]
    query = f"SELECT ?p (timestamp(?p) AS ?t) {FROM} {{ ?x ?p ?x }}"
    assert asked(tmp_path / "1", query, stream) == solutions(("q", second(2)))
    query = f"SELECT ?p (timestamp(?p) AS ?t) {FROM} {{ :a ?p ?x }}"
    assert asked(tmp_path / "2", query, stream) == solutions(("p", second(1)))


def test_elements_outside_of_the_window_do_not_count(tmp_path: Path) -> None:
    # At 10 s the window of 4 s holds (6 s, 10 s]; at 6 s it holds (2 s, 6 s]: :axel at 4 s, not at 1 s.
    query = "SELECT ?who (timestamp(?who) AS ?t) FROM STREAM :s [RANGE 4s STEP 2s] { ?who :isIn :a }"
    assert answers(tmp_path, query, SEEN, 10_000) == {
        2000: solutions(("axel", second(1)), ("darko", second(2))),
        4000: solutions(("axel", second(4)), ("darko", second(2))),
        6000: solutions(("axel", second(4))),  # :darko in :a was at 2 s, which (2 s, 6 s] leaves out
        8000: Counter(),
    }


def test_a_triple_that_comes_again_later_has_another_time_at_the_next_evaluation(tmp_path: Path) -> None:
    # Several instants in one batch, none of them alone: the sliding window's contents are made together.
    query = "SELECT (timestamp(?who) AS ?t) FROM STREAM :s [RANGE 10s STEP 1s] { ?who :isIn :a FILTER(?who = :axel) }"
    found = answers(tmp_path, query, SEEN, 6000)
    assert found == {at * 1000: solutions((second(1 if at < 4 else 4),)) for at in (1, 2, 3, 4, 5, 6)}


def test_in_a_count_window_it_is_the_time_of_the_last_triples(tmp_path: Path) -> None:
    # At 10 s the last three are those of 3 s, 4 s and 5 s.
    query = "SELECT ?who (timestamp(?who) AS ?t) FROM STREAM :s [TRIPLES 3] { ?who :isIn ?room }"
    found = answers(tmp_path, query, SEEN, 10_000)
    assert found[5000] == solutions(("axel", second(4)), ("darko", second(5)))
    assert found[3000] == solutions(("axel", second(1)), ("darko", second(2)))


def test_static_triples_have_no_time_and_do_not_hide_that_of_streamed_ones(tmp_path: Path) -> None:
    static = [quad("axel", "isIn", "a"), quad("axel", "knows", "darko"), quad("eve", "isIn", "a")]
    query = f"SELECT ?who (timestamp(?who) AS ?t) {FROM} {{ ?who :isIn :a }}"
    found = answers(tmp_path / "1", query, SEEN, 10_000, static)
    # The default graph is the merge: :axel :isIn :a is in both and once; :eve is static only.
    assert found == {10_000: solutions(("axel", second(4)), ("darko", second(2)), ("eve", None))}
    query = (
        f"SELECT ?other (timestamp(?other) AS ?t) (timestamp(?who) AS ?u) {FROM} {{ ?who :knows ?other ; :isIn :a }}"
    )
    assert answers(tmp_path / "2", query, SEEN, 10_000, static)[10_000] == solutions(("darko", None, second(4)))


def test_of_two_windows_in_the_default_graph_the_later_time_counts(tmp_path: Path) -> None:
    stream = [("s", 1000, ":x :p 1 ."), ("u", 3000, ":x :p 1 . :y :p 1 .")]
    query = "SELECT ?x (timestamp(?x) AS ?t) FROM STREAM :s [RANGE 10s] FROM STREAM :u [RANGE 10s] { ?x :p 1 }"
    assert asked(tmp_path, query, stream) == solutions(("x", second(3)), ("y", second(3)))


def test_each_named_window_has_its_own_times_and_its_name_has_none(tmp_path: Path) -> None:
    stream = [("s", 1000, ":x :p 1 ."), ("u", 3000, ":x :p 1 .")]
    windows = "FROM NAMED WINDOW :v ON :s [RANGE 10s] FROM NAMED WINDOW :w ON :u [RANGE 10s]"
    query = f"SELECT ?g (timestamp(?x) AS ?t) (timestamp(?g) AS ?none) {windows} {{ WINDOW ?g {{ ?x :p 1 }} }}"
    assert asked(tmp_path / "1", query, stream) == solutions(("v", second(1), None), ("w", second(3), None))
    query = f"SELECT (timestamp(?x) AS ?t) {windows} {{ WINDOW :v {{ ?x :p 1 }} GRAPH :w {{ ?x :p ?n }} }}"
    assert asked(tmp_path / "2", query, stream) == solutions((second(3),))


def test_optional_adds_the_times_of_what_it_matched_and_its_filter_sees_both_sides(tmp_path: Path) -> None:
    query = f"""SELECT ?who ?other (timestamp(?who) AS ?t) (timestamp(?other) AS ?u) {FROM}
    {{ ?who :isIn :a OPTIONAL {{ ?who :saw ?other }} }}"""
    assert asked(tmp_path / "1", query) == solutions(
        ("axel", "darko", second(4), second(3)), ("darko", None, second(2), None)
    )
    # Axel saw Darko (3 s) before he was in :a (4 s): no match. So it is his own time alone.
    query = f"""SELECT ?who ?other {FROM}
    {{ ?who :isIn :a OPTIONAL {{ ?who :saw ?other FILTER(timestamp(?other) >= timestamp(?who)) }} }}"""
    # ?who is bound by :isIn (4 s) and :saw (3 s) in the merged solution: 3 s >= 4 s fails.
    assert asked(tmp_path / "2", query) == solutions(("axel", None), ("darko", None))


def test_union_has_the_times_of_the_branch(tmp_path: Path) -> None:
    query = f"SELECT ?x (timestamp(?x) AS ?t) {FROM} {{ {{ ?x :isIn :a }} UNION {{ :axel :saw ?x }} }}"
    assert asked(tmp_path, query) == solutions(("axel", second(4)), ("darko", second(2)), ("darko", second(3)))


def test_minus_and_exists_add_no_times(tmp_path: Path) -> None:
    query = f"SELECT ?x (timestamp(?x) AS ?t) {FROM} {{ ?x :isIn :a MINUS {{ ?x :saw :axel }} }}"
    assert asked(tmp_path / "1", query) == solutions(("axel", second(4)), ("darko", second(2)))
    query = f"SELECT ?x (timestamp(?x) AS ?t) {FROM} {{ ?x :isIn :a FILTER EXISTS {{ ?x :isIn :b }} }}"
    assert asked(tmp_path / "2", query) == solutions(("darko", second(2)))


def test_inside_of_exists_the_times_of_both_solutions_can_be_compared(tmp_path: Path) -> None:
    # The latest room of each: no later :isIn of the same person.
    query = f"""SELECT ?who ?room {FROM} {{ ?who :isIn ?room
    FILTER NOT EXISTS {{ ?who :isIn ?other FILTER(timestamp(?other) > timestamp(?room)) }} }}"""
    assert asked(tmp_path / "1", query) == solutions(("axel", "a"), ("darko", "b"))
    # Over a parameter's value, beside another condition.
    query = f"""SELECT ?who ?room {FROM} {{ ?who :isIn ?room
    FILTER(EXISTS {{ ?who :isIn ?other FILTER(timestamp(?other) < timestamp(?room)) }} || ?who = :axel) }}"""
    assert asked(tmp_path / "2", query) == solutions(("axel", "a"), ("darko", "b"))


def test_what_bind_or_values_binds_has_no_time_from_there(tmp_path: Path) -> None:
    query = f"SELECT ?y (timestamp(?y) AS ?t) {FROM} {{ ?x :saw ?z BIND(?z AS ?y) }}"
    assert asked(tmp_path / "1", query) == solutions(("darko", None))
    query = f"SELECT ?y (timestamp(?y) AS ?t) {FROM} {{ VALUES ?y {{ :axel :eve }} OPTIONAL {{ ?y :isIn :a }} }}"
    assert asked(tmp_path / "2", query) == solutions(("axel", second(4)), ("eve", None))


def test_of_a_group_it_is_the_latest_for_a_key(tmp_path: Path) -> None:
    query = f"SELECT ?who (timestamp(?who) AS ?t) (COUNT(*) AS ?n) {FROM} {{ ?who :isIn ?room }} GROUP BY ?who"
    assert asked(tmp_path / "1", query) == solutions(("axel", second(4), "1"), ("darko", second(5), "2"))
    query = f"""SELECT ?room (MIN(timestamp(?who)) AS ?first) (MAX(timestamp(?who)) AS ?last) {FROM}
    {{ ?who :isIn ?room }} GROUP BY ?room HAVING(MAX(timestamp(?who)) < "{second(5)}"^^xsd:dateTime)"""
    assert asked(tmp_path / "2", query) == solutions(("a", second(2), second(4)))
    query = (
        f"SELECT ?who {FROM} {{ ?who :isIn ?room }} GROUP BY ?who HAVING(timestamp(?who) = '{second(5)}'^^xsd:dateTime)"
    )
    assert asked(tmp_path / "3", query) == solutions(("darko",))


def test_out_of_a_sub_select_come_the_times_of_what_it_projects(tmp_path: Path) -> None:
    inner = "SELECT ?who { ?who :isIn ?room }"
    query = f"SELECT ?who (timestamp(?who) AS ?t) {FROM} {{ {{ {inner} }} }}"
    assert asked(tmp_path / "1", query) == solutions(("axel", second(4)), ("darko", second(2)), ("darko", second(5)))
    # Of the two solutions that become one: the latest. It is compared after that.
    distinct = inner.replace("SELECT", "SELECT DISTINCT")
    query = f"SELECT ?who (timestamp(?who) AS ?t) {FROM} {{ {{ {distinct} }} }}"
    assert asked(tmp_path / "2", query) == solutions(("axel", second(4)), ("darko", second(5)))
    query = f"SELECT ?who {FROM} {{ {{ {distinct} }} FILTER(timestamp(?who) < '{second(5)}'^^xsd:dateTime) }}"
    assert asked(tmp_path / "3", query) == solutions(("axel",))
    # The latest one by LIMIT, and of DISTINCT in the order of appearance.
    query = f"SELECT ?who (timestamp(?who) AS ?t) {FROM} {{ {{ {inner} ORDER BY DESC(timestamp(?room)) LIMIT 1 }} }}"
    assert asked(tmp_path / "4", query) == solutions(("darko", second(5)))
    query = f"SELECT ?who (timestamp(?who) AS ?t) {FROM} {{ {{ {distinct} ORDER BY timestamp(?room) LIMIT 1 }} }}"
    assert asked(tmp_path / "5", query) == solutions(("darko", second(5)))
    # Of solutions that differ in their times only, LIMIT without ORDER BY takes the earlier: the same at every replay.
    query = f"SELECT (timestamp(?who) AS ?t) {FROM} {{ {{ SELECT ?who {{ ?who :isIn ?r . ?who :isIn :b }} LIMIT 1 }} }}"
    assert asked(tmp_path / "7", query) == solutions((second(5),))
    query = f"SELECT ?who (timestamp(?who) AS ?t) {FROM} {{ {{ {inner} OFFSET 1 LIMIT 1 }} }}"
    assert asked(tmp_path / "8", query) == solutions(("darko", second(2)))
    # ?room is another variable outside.
    query = f"SELECT (timestamp(?room) AS ?t) {FROM} {{ {{ {inner} }} ?x :saw ?who }}"
    assert asked(tmp_path / "6", query) == solutions((None,), (None,))


def test_it_orders_solutions_and_is_a_value_like_others(tmp_path: Path) -> None:
    query = f"SELECT ?who ?room {FROM} {{ ?who :isIn ?room }} ORDER BY DESC(timestamp(?who))"
    document = documents(tmp_path / "1", query, SEEN, 10_000)[10_000]
    places = [document.index(part) for part in (b'"http://ex/b"', b'"http://ex/axel"')]
    assert places == sorted(places)
    query = f"SELECT (SECONDS(timestamp(?x)) AS ?s) (BOUND(?x) && timestamp(?x) < NOW() AS ?b) {FROM} {{ ?x :saw ?y }}"
    assert asked(tmp_path / "2", query) == solutions(("3", "true"))
    query = f"SELECT (timestamp(?y) - timestamp(?x) AS ?d) {FROM} {{ ?x :saw :darko . ?y :isIn :b }}"
    assert asked(tmp_path / "3", query) == solutions(("PT2S",))


def test_it_can_be_constructed_by_bind_and_asked_for(tmp_path: Path) -> None:
    query = f"CONSTRUCT {{ ?x :at ?t }} {FROM} {{ ?x :saw ?y BIND(timestamp(?x) AS ?t) }}"
    assert documents(tmp_path / "1", query, SEEN, 10_000)[10_000] == (
        b'<http://ex/axel> <http://ex/at> "1970-01-01T00:00:03Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    )
    query = f"ASK {FROM} {{ ?x :isIn ?y FILTER(timestamp(?x) = '{second(5)}'^^xsd:dateTime) }}"
    assert b'"boolean":true' in documents(tmp_path / "2", query, SEEN, 10_000)[10_000].replace(b" ", b"")
    query = f"DESCRIBE ?x {FROM} {{ ?x :isIn ?y FILTER(timestamp(?x) = '{second(5)}'^^xsd:dateTime) }}"
    assert set(documents(tmp_path / "3", query, SEEN, 10_000)[10_000].split(b" .\n")) == {
        b"<http://ex/darko> <http://ex/isIn> <http://ex/a>",
        b"<http://ex/darko> <http://ex/isIn> <http://ex/b>",
        b"",
    }


def test_of_a_triple_pattern_it_is_the_time_of_that_very_triple(tmp_path: Path) -> None:
    query = f"""SELECT ?x ?y (timestamp(:axel :isIn ?x) AS ?a) (timestamp(:darko, :isIn, ?y) AS ?d) {FROM}
    {{ :axel :isIn ?x . :darko :isIn ?y }}"""
    assert asked(tmp_path / "1", query) == solutions(("a", "a", second(4), second(2)), ("a", "b", second(4), second(5)))
    # Whatever pattern has matched it, and unbound where none has: ?p ?q ?o is :axel :isIn :a in one solution of three.
    query = f"SELECT ?s ?o (timestamp(:axel <http://ex/isIn> ?o) AS ?a) {FROM} {{ ?s ?p ?o FILTER(?p = :isIn) }}"
    assert asked(tmp_path / "2", query) == solutions(
        ("axel", "a", second(4)), ("darko", "a", None), ("darko", "b", None)
    )
    # A literal, and the keyword a.
    stream = [("s", 1000, ":x a :T ; :p 'x'@en , 5 .")]
    query = "SELECT (timestamp(?x a ?c) AS ?t) (timestamp(?x :p 'x'@en) AS ?u) (timestamp(?x :p 5) AS ?v) "
    query += f"{FROM} {{ ?x a ?c ; :p 'x'@en }}"
    assert asked(tmp_path / "3", query, stream) == solutions((second(1), second(1), None))


def test_it_goes_through_a_window_clause_that_the_expression_is_outside_of(tmp_path: Path) -> None:
    query = """SELECT ?who (timestamp(?who :isIn :a) AS ?t) FROM NAMED WINDOW :w ON :s [RANGE 10s]
    { WINDOW :w { ?who :isIn :a } FILTER(timestamp(?who) > '1970-01-01T00:00:03Z'^^xsd:dateTime) }"""
    assert asked(tmp_path, query) == solutions(("axel", second(4)))


def test_steps_of_a_path_are_triple_patterns_but_for_those_of_any_length(tmp_path: Path) -> None:
    query = f"SELECT ?room (timestamp(?room) AS ?t) {FROM} {{ :axel :saw/:isIn ?room }}"
    assert asked(tmp_path / "1", query) == solutions(("a", second(2)), ("b", second(5)))
    query = f"SELECT ?x (timestamp(?x) AS ?t) {FROM} {{ :darko ^:saw|:isIn ?x }}"
    assert asked(tmp_path / "2", query) == solutions(("axel", second(3)), ("a", second(2)), ("b", second(5)))
    query = f"SELECT ?x\n(timestamp(?x) AS ?t) {FROM} {{ :axel :saw* ?x }}"
    with pytest.raises(UnsupportedFeature, match="write out the triple patterns") as refused:
        documents(tmp_path / "3", query, SEEN, 10_000)
    assert (refused.value.line, refused.value.column) == (3, 2)
    # Of another variable, it does not matter.
    query = f"SELECT ?x (timestamp(?who) AS ?t) {FROM} {{ ?who :isIn :b . :axel :saw+ ?x }}"
    assert asked(tmp_path / "4", query) == solutions(("darko", second(5)))


def test_the_function_of_c_sparqls_engine_is_the_same(tmp_path: Path) -> None:
    query = f"SELECT (TimeStamp(?x) AS ?t) (f:timestamp(?y) AS ?u) {FROM} {{ ?x :saw ?y }}"
    prefix = "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> "
    assert asked(tmp_path, prefix + query) == solutions((second(3), second(3)))


def test_it_is_the_same_whatever_constants_the_query_has_and_for_several_queries_at_once(tmp_path: Path) -> None:
    # Both queries have one shape, and are evaluated together.
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    for name in ("axel", "darko"):
        query = f"SELECT ?room (timestamp(?room) AS ?t) {FROM} {{ :{name} :isIn ?room }}"
        stepped.register(name, PREFIXES + query)
    for _, at, triples in SEEN:
        stepped.post("s", PREFIXES + triples, at)
    stepped.backend.advance("s", 10_000)
    stepped.run()
    found = {name: rows(stepped.answers(name)[10_000]) for name in ("axel", "darko")}
    stepped.close()
    assert found == {
        "axel": solutions(("a", second(4))),
        "darko": solutions(("a", second(2)), ("b", second(5))),
    }


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        ("timestamp(¦)", QuerySyntaxError, "write timestamp(?variable)"),
        ("timestamp(¦:x)", QuerySyntaxError, "write timestamp(?variable)"),
        ("timestamp(?x, ¦:s)", UnsupportedFeature, "one stream alone"),
        ("timestamp(¦[] :p ?x)", QuerySyntaxError, "cannot stand in timestamp"),
        ("timestamp(?x :p¦* ?x)", QuerySyntaxError, "cannot stand in timestamp"),
        ("timestamp(?x :p ?y ¦?z)", QuerySyntaxError, "expected )"),
    ],
)
def test_what_is_no_variable_and_no_triple_is_an_error_with_its_place(
    tmp_path: Path, call: str, kind: type[ProtocolError], said: str
) -> None:
    before, after = call.split("¦")
    query = f"SELECT *\n{FROM}\n{{ ?x :p ?y FILTER({before}{after} > 5) }}"
    with pytest.raises(kind) as refused:
        documents(tmp_path, query, SEEN, 10_000)
    assert said in refused.value.detail
    assert (refused.value.line, refused.value.column) == (4, len("{ ?x :p ?y FILTER(") + len(before) + 1)
