"""The queries of *An Execution Environment for C-SPARQL Queries* (EDBT 2010), over data small enough to count.

Where the paper differs from docs/language.md, the latter holds: a query without a stream is not ours to read (section
2.2: tests/protocol/grammar/test_aggregate_clauses.py). A variable of SPARQL has no hyphen.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from protocol.evaluations import Failed
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend
from tests.spark_backend.surface.asking import PREFIXES, Element, answers, quad, rows, solutions

MINUTE = 60_000

# Tollgates: cars by the minute. Gate 1 is placed in the street :oak, gates 2 and 3 in :elm.
CARS: list[Element] = [
    ("gates", 1 * MINUTE, ":gate1 :registers :car1 ."),
    ("gates", 2 * MINUTE, ":gate1 :registers :car2 . :gate2 :registers :car1 ."),
    ("gates", 4 * MINUTE, ":gate3 :registers :car3 ."),
    ("gates", 7 * MINUTE, ":gate1 :registers :car1 ."),
    ("gates", 11 * MINUTE, ":gate2 :registers :car2 ."),
]
CITY = [
    quad("gate1", "placedIn", "oak"),
    quad("gate2", "placedIn", "elm"),
    quad("gate3", "placedIn", "elm"),
    quad("north", "contains", "oak"),
    quad("south", "contains", "elm"),
]


def test_2_3_passages_of_each_gate_in_a_sliding_window(tmp_path: Path) -> None:
    query = """SELECT DISTINCT ?gate ?passages FROM STREAM :gates [RANGE 10m STEP 1m] WHERE { ?gate :registers ?car . }
    AGGREGATE { (?passages, COUNT, {?gate}) }"""
    found = answers(tmp_path, query, CARS, 12 * MINUTE)
    # Windows (t - 10, t] close at every minute; :car1 at gate 1 in minutes 1 and 7 is one triple while both are there.
    expected = {
        1: {"gate1": 1},
        2: {"gate1": 2, "gate2": 1},
        4: {"gate1": 2, "gate2": 1, "gate3": 1},
        # (1, 11]: minute 1 is out; the triple of :car1 is there by minute 7, :gate2 has :car1 and :car2.
        11: {"gate1": 2, "gate2": 2, "gate3": 1},
        # (2, 12]: minute 2 is out.
        12: {"gate1": 1, "gate2": 1, "gate3": 1},
    }
    assert list(found) == [minute * MINUTE for minute in range(1, 13)]
    for minute, passages in expected.items():
        assert found[minute * MINUTE] == solutions(*((gate, str(count)) for gate, count in passages.items())), minute


def test_aggregate_adds_a_binding_to_each_solution_and_reduces_nothing(tmp_path: Path) -> None:
    query = """SELECT ?gate ?car ?passages FROM STREAM :gates [RANGE 10m TUMBLING] WHERE { ?gate :registers ?car }
    AGGREGATE { (?passages, COUNT, {?gate}) }"""
    assert answers(tmp_path, query, CARS, 10 * MINUTE) == {
        10 * MINUTE: solutions(
            ("gate1", "car1", "2"), ("gate1", "car2", "2"), ("gate2", "car1", "1"), ("gate3", "car3", "1")
        )
    }


def test_several_aggregates_are_independent_and_each_may_be_filtered(tmp_path: Path) -> None:
    query = """SELECT ?gate ?car ?ofGate ?ofCar FROM STREAM :gates [RANGE 10m TUMBLING] WHERE { ?gate :registers ?car }
    AGGREGATE { (?ofGate, COUNT, {?gate}) FILTER(?ofGate > 1 || ?ofCar > 1) }
    AGGREGATE { (?ofCar, COUNT, ?car) }"""
    # :car1 is at two gates, and gate 1 has two cars: what is counted is the WHERE, before any filter.
    assert answers(tmp_path, query, CARS, 10 * MINUTE) == {
        10 * MINUTE: solutions(("gate1", "car1", "2", "2"), ("gate1", "car2", "2", "1"), ("gate2", "car1", "1", "2"))
    }


def test_a_filter_of_the_where_comes_before_the_aggregate_and_one_of_the_clause_after_it(tmp_path: Path) -> None:
    query = """SELECT ?gate ?car ?n FROM STREAM :gates [RANGE 10m TUMBLING]
    WHERE { ?gate :registers ?car FILTER(?car != :car2) } AGGREGATE { (?n, COUNT, ?gate) FILTER(?gate = :gate1) }"""
    assert answers(tmp_path, query, CARS, 10 * MINUTE) == {10 * MINUTE: solutions(("gate1", "car1", "1"))}


def test_the_functions_have_an_argument_and_unbound_keys_are_a_group(tmp_path: Path) -> None:
    stream = [("s", 1000, ":a :v 1 ; :in :x . :b :v 4 ; :in :x . :c :v 2 . :d :v 6 .")]
    query = """SELECT ?s ?sum ?avg ?min ?max ?n FROM STREAM :s [RANGE 10s] { ?s :v ?v OPTIONAL { ?s :in ?k } }
    AGGREGATE { (?sum, SUM(?v), ?k) (?avg, AVG(?v), {?k}) (?min, MIN(?v), ?k) (?max, MAX(?v), ?k) }
    AGGREGATE { (?n, COUNT(?k), ?k) }"""
    # Of :x 1 + 4; of those in nothing 2 + 6, of whom no ?k is counted.
    assert answers(tmp_path, query, stream, 10_000)[10_000] == solutions(
        ("a", "5", "2.5", "1", "4", "2"),
        ("b", "5", "2.5", "1", "4", "2"),
        ("c", "8", "4", "2", "6", "0"),
        ("d", "8", "4", "2", "6", "0"),
    )


def test_of_an_aggregate_over_nothing_there_is_nothing(tmp_path: Path) -> None:
    query = """SELECT * FROM STREAM :gates [RANGE 1m TUMBLING REPORT ON_WINDOW_CLOSE] { ?gate :registers ?car }
    AGGREGATE { (?n, COUNT, {?gate}) }"""
    found = answers(tmp_path, query, CARS, 4 * MINUTE)
    assert found[3 * MINUTE] == Counter()
    assert found[4 * MINUTE] == solutions(("gate3", "car3", "1"))


def test_aggregates_inside_of_windows_at_many_instants_are_of_one_instant_each(tmp_path: Path) -> None:
    query = """SELECT ?gate ?n FROM NAMED WINDOW :w ON :gates [RANGE 2m STEP 1m] { WINDOW :w { ?gate :registers ?car } }
    AGGREGATE { (?n, COUNT, {?gate}) } ORDER BY ?gate LIMIT 1"""
    # Windows (t - 2, t]: of minutes 1; 1 and 2; 2; 4; 4; 7; 7.
    gates = {1: ("gate1", "1"), 2: ("gate1", "2"), 3: ("gate1", "1"), 4: ("gate3", "1"), 5: ("gate3", "1")}
    gates |= {7: ("gate1", "1"), 8: ("gate1", "1")}
    assert answers(tmp_path, query, CARS, 9 * MINUTE) == {t * MINUTE: solutions(row) for t, row in gates.items()}


DISTRICTS = """FROM STREAM :gates [RANGE 30m STEP 5m]
WHERE { ?gate :registers ?car . ?gate :placedIn ?street . ?district :contains ?street . }"""


def test_2_4_a_registered_query_joins_static_knowledge_and_is_computed_at_its_period(tmp_path: Path) -> None:
    query = f"""REGISTER QUERY CarsEnteringCityCenterPerDistrict COMPUTED EVERY 5m AS
    SELECT DISTINCT ?district ?passages {DISTRICTS} AGGREGATE {{(?passages, COUNT, {{?district}})}}"""
    query = "PREFIX q: <u:>" + query  # a prologue on both sides of REGISTER
    assert answers(tmp_path, query, CARS, 15 * MINUTE, CITY) == {
        5 * MINUTE: solutions(("north", "2"), ("south", "2")),
        10 * MINUTE: solutions(("north", "2"), ("south", "2")),
        15 * MINUTE: solutions(("north", "2"), ("south", "3")),
    }


def test_2_5_a_registered_stream_is_read_by_another_query(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, Graphs(CITY))
    stepped.event_stream("gates", "http://ex/gates")
    stepped.register(
        "entering",
        f"""{PREFIXES} REGISTER STREAM <http://ex/entering> COMPUTED EVERY 5m AS
        CONSTRUCT {{ ?district :entering ?passages }} {DISTRICTS} AGGREGATE {{(?passages, COUNT, {{?district}})}}""",
    )
    stepped.register(
        "reader",
        f"{PREFIXES} SELECT ?district ?n FROM STREAM <http://ex/entering> [RANGE 5m] {{ ?district :entering ?n }}",
    )
    for name, at, triples in CARS:
        stepped.post(name, PREFIXES + triples, at)
    stepped.backend.advance("gates", 16 * MINUTE)
    stepped.run()  # what the first publishes is due for the second, which runs on
    assert not [notice for notice in stepped.notices if isinstance(notice, Failed)]
    lines = {at: set(document.splitlines()) for at, document in stepped.answers("entering").items()}
    read = {at: rows(document) for at, document in stepped.answers("reader").items()}
    stepped.close()
    count = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    assert lines[15 * MINUTE] == {
        f"<http://ex/{district}> <http://ex/entering> {count.format(n)}".encode()
        for district, n in (("north", 2), ("south", 3))
    }
    assert read[5 * MINUTE] == solutions(("north", "2"), ("south", "2"))
    assert read[15 * MINUTE] == solutions(("north", "2"), ("south", "3"))


@pytest.mark.parametrize("named", ["", "NAMED"])
def test_2_6_two_streams_are_summed_up_against_static_capacities(tmp_path: Path, named: str) -> None:
    query = f"""REGISTER QUERY FullStreets AS SELECT DISTINCT ?street ?passages
    FROM {named} STREAM :gates [RANGE 5m TUMBLING] FROM {named} STREAM :cameras [RANGE 5m TUMBLING]
    WHERE {{
      ?street :hasCapacity ?capacity .
      {{ GRAPH :gates {{ ?gate :registers ?car }} ?gate :placedIn ?street }}
      UNION
      {{ GRAPH :cameras {{ ?camera :registers ?car }} ?camera :placedAt ?light . ?light :crossing ?street }}
    }}
    AGGREGATE {{ (?passages, COUNT, {{?street}}) FILTER(?passages > (0.8 * ?capacity)) }}"""
    integer = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    static = [
        *CITY,
        quad("oak", "hasCapacity", integer.format(3)),
        quad("elm", "hasCapacity", integer.format(3)),
        quad("camera", "placedAt", "light"),
        quad("light", "crossing", "oak"),
    ]
    seen = [*CARS, ("cameras", 3 * MINUTE, ":camera :registers :car1 , :car9 .")]
    found = answers(tmp_path, query, seen, 5 * MINUTE, static)
    # :oak: car1, car2 at the gate, car1 and car9 at the camera: 4 > 2.4. :elm: car1 and car3: 2 is not.
    assert found == {5 * MINUTE: solutions(("oak", "4"))}


def test_2_7_cars_that_turn_are_seen_by_one_camera_before_the_other(tmp_path: Path) -> None:
    query = """REGISTER STREAM AllCarsTurningFromPalmIntoOak COMPUTED EVERY 1m AS
    SELECT DISTINCT ?car1 FROM STREAM :cameras [RANGE 5m STEP 1m]
    WHERE {
      ?camera1 :monitors :oak . ?camera2 :monitors :palm . ?camera1 :placedAt ?light . ?camera2 :placedAt ?light .
      ?camera1 :registers ?car1 . ?camera2 :registers ?car2 .
      FILTER (timestamp(?car1) > timestamp(?car2) && ?car1 = ?car2)
    }"""
    static = [
        quad("c1", "monitors", "oak"),
        quad("c2", "monitors", "palm"),
        quad("c1", "placedAt", "light"),
        quad("c2", "placedAt", "light"),
    ]
    seen = [
        ("cameras", 1 * MINUTE, ":c2 :registers :a . :c1 :registers :b ."),  # :a on Palm, :b on Oak
        ("cameras", 2 * MINUTE, ":c1 :registers :a . :c2 :registers :b ."),  # :a turned into Oak, :b the other way
        ("cameras", 3 * MINUTE, ":c1 :registers :c . :c2 :registers :c ."),  # both at once: neither is first
    ]
    assert answers(tmp_path, query, seen, 7 * MINUTE, static) == {
        1 * MINUTE: Counter(),
        2 * MINUTE: solutions(("a",)),
        3 * MINUTE: solutions(("a",)),
        4 * MINUTE: solutions(("a",)),
        5 * MINUTE: solutions(("a",)),
        6 * MINUTE: Counter(),  # (1, 6] leaves minute 1 out
        7 * MINUTE: Counter(),
    }


def test_3_4_the_amounts_of_swiss_brokers_are_summed_over_each_day(tmp_path: Path) -> None:
    day = 24 * 60 * MINUTE
    query = """REGISTER QUERY TotalAmountPerDayAndBroker AS
    PREFIX x: <http://ex/>
    SELECT DISTINCT ?broker ?total FROM :brokers FROM STREAM :market [RANGE 24h TUMBLING]
    WHERE { ?broker x:from ?country . ?broker x:does ?tx . ?tx x:with ?amount .
            FILTER(?country = 'CH' && ?amount >= 10) }
    AGGREGATE { (?total, SUM(?amount), ?broker) }"""
    static = [
        quad(name, "from", f'"{country}"', "brokers") for name, country in (("a", "CH"), ("b", "CH"), ("c", "IT"))
    ]
    seen = [
        ("market", 1 * MINUTE, ":a :does :t1 . :t1 :with 10 . :c :does :t2 . :t2 :with 99 ."),
        (
            "market",
            9 * MINUTE,
            ":a :does :t3 . :t3 :with 9 . :b :does :t4 . :t4 :with 20 . :a :does :t5 . :t5 :with 15 .",
        ),
        ("market", day + 1, ":b :does :t6 . :t6 :with 11 ."),
    ]
    assert answers(tmp_path, query, seen, 2 * day, static) == {
        day: solutions(("a", "25"), ("b", "20")),
        2 * day: solutions(("b", "11")),
    }


def test_a_window_of_triples_holds_the_last_ones(tmp_path: Path) -> None:
    query = "REGISTER QUERY q AS SELECT ?gate ?car FROM STREAM :gates [RANGE TRIPLES 2] WHERE { ?gate :registers ?car }"
    found = answers(tmp_path, query, CARS, 12 * MINUTE)
    assert found == {
        1 * MINUTE: solutions(("gate1", "car1")),
        2 * MINUTE: solutions(("gate1", "car2"), ("gate2", "car1")),
        4 * MINUTE: solutions(("gate2", "car1"), ("gate3", "car3")),
        7 * MINUTE: solutions(("gate3", "car3"), ("gate1", "car1")),
        11 * MINUTE: solutions(("gate1", "car1"), ("gate2", "car2")),
    }


def test_5_2_a_graph_with_a_variable_ranges_over_the_streams(tmp_path: Path) -> None:
    query = """REGISTER QUERY SellerMarketMovementsPerDay AS
    FROM :brokers FROM STREAM :here [RANGE 24 hours TUMBLING] FROM STREAM :there [RANGE 24 hours TUMBLING]
    SELECT DISTINCT ?seller, ?market, ?tot
    WHERE { GRAPH ?market { ?transaction :seller ?seller . ?transaction :with ?amount . } }
    AGGREGATE { (?tot, SUM(?amount), {?seller, ?market}) }"""
    sold: list[Element] = [
        ("here", 1 * MINUTE, ":t1 :seller :ann ; :with 10 ."),
        ("here", 2 * MINUTE, ":t2 :seller :ann ; :with 5 . :t3 :seller :bob ; :with 1 ."),
        ("there", 3 * MINUTE, ":t4 :seller :ann ; :with 7 ."),
    ]
    # The store's graphs are not ranged over: the query has a FROM and no FROM NAMED.
    static = [quad("t5", "seller", "cat", "brokers"), quad("t5", "with", "old", "brokers")]
    assert answers(tmp_path, query, sold, 24 * 60 * MINUTE, static) == {
        24 * 60 * MINUTE: solutions(("ann", "here", "15"), ("bob", "here", "1"), ("ann", "there", "7"))
    }


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("FROM NAMED :plan", [("old", "plan")]),
        ("FROM NAMED WINDOW :w ON :there [RANGE 5m]", [("t2", "w"), ("old", "plan")]),
        ("FROM NAMED :plan FROM NAMED STREAM :there [RANGE 5m]", [("t2", "there"), ("old", "plan")]),
        ("", [("t1", "here"), ("old", "plan")]),
    ],
)
def test_a_graph_with_a_variable_is_what_the_dataset_names_beside_a_stream_by_its_name(
    tmp_path: Path, named: str, found: list[tuple[str, str]]
) -> None:
    query = f"""SELECT ?x ?g FROM STREAM :here [RANGE 5m TUMBLING] {named}
    WHERE {{ GRAPH :here {{ :t1 :with 10 }} GRAPH ?g {{ ?x :with ?y }} }}"""
    sold: list[Element] = [("here", 1 * MINUTE, ":t1 :with 10 ."), ("there", 2 * MINUTE, ":t2 :with 20 .")]
    expected = {5 * MINUTE: solutions(*found)}
    assert answers(tmp_path, query, sold, 5 * MINUTE, [quad("old", "with", '"30"', "plan")]) == expected


def test_the_window_of_a_graph_pattern_is_no_graph_that_a_variable_stands_for(tmp_path: Path) -> None:
    query = """SELECT RSTREAM ?g ?gate ?x FROM STREAM :gates [RANGE 5m TUMBLING]
    WHERE { GRAPH ?g { ?gate :registers :car1 } STREAM :lights [RANGE 5m TUMBLING] { ?x :is :red } }"""
    seen = [
        ("gates", 1 * MINUTE, ":g1 :registers :car1 ."),
        ("lights", 2 * MINUTE, ":l1 :is :red . :l1 :registers :car1 ."),
    ]
    found = answers(tmp_path, query, [*seen, ("gates", 5 * MINUTE, ":g2 :registers :car2 .")], 5 * MINUTE)
    assert found[5 * MINUTE] == solutions(("gates", "g1", "l1"))
