"""The queries of the W3C page *RSP Query Features*, over its sample of people in rooms, a minute for each tick.

         minute  2  3  4  5  6  7  8  9
    Axel         a  a  a  .  b  b  b  b
    Darko        .  a  a  a  .  .  b  b

Where that page differs from docs/language.md, the latter holds: GROUP BY is two words.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from protocol.errors import QuerySemanticError
from tests.spark_backend.surface.asking import Element, answers, documents, quad, solutions

MINUTE = 60_000
AXEL = {2: "a", 3: "a", 4: "a", 6: "b", 7: "b", 8: "b", 9: "b"}
DARKO = {3: "a", 4: "a", 5: "a", 8: "b", 9: "b"}
NOTHING: Counter[tuple[str | None, ...]] = Counter()


def sample(axel: dict[int, str], darko: dict[int, str]) -> list[Element]:
    """The stream, an element for each triple, Axel's before Darko's."""
    return [
        ("fb", minute * MINUTE, f":{who} :isIn :{rooms[minute]} .")
        for minute in range(1, 10)
        for who, rooms in (("axel", axel), ("darko", darko))
        if minute in rooms
    ]


FB = sample(AXEL, DARKO)


def by_minute(found: dict[int, Counter[tuple[str | None, ...]]]) -> dict[int, Counter[tuple[str | None, ...]]]:
    return {at // MINUTE: rows for at, rows in found.items()}


def rooms(*names: str) -> Counter[tuple[str | None, ...]]:
    return solutions(*((name,) for name in names))


@pytest.mark.parametrize(
    "clauses",
    [
        "REGISTER QUERY TrackAxelSliding AS SELECT ?room FROM STREAM :fb [RANGE 10m SLIDE 1m] WHERE",
        "register query TrackAxelSliding as select ?room from stream :fb [range 10M slide 1Min] where",
        "Register Query <http://ex/TrackAxelSliding> As Select RStream ?room From Stream :fb [Range PT10M Step 60000]",
    ],
)
def test_s2r_a_sliding_window_is_evaluated_when_it_closes(tmp_path: Path, clauses: str) -> None:
    query = clauses + " { :axel :isIn ?room }"
    # (t - 10, t] at every minute that is not empty: a is in it from 2 to 13, b from 6 to 18; at 19 nothing is.
    expected = {t: rooms(*(["a"] if t < 14 else []), *(["b"] if t >= 6 else [])) for t in range(2, 19)}
    assert by_minute(answers(tmp_path, query, FB, 20 * MINUTE)) == expected


def test_s2r_cqels_evaluates_a_sliding_window_when_its_content_changes_and_streams_what_is_new(tmp_path: Path) -> None:
    query = "SELECT ?room WHERE { STREAM :fb [RANGE 10m SLIDE 1m] {:axel :isIn ?room}}"
    expected = {2: rooms("a"), 3: NOTHING, 4: NOTHING, 5: NOTHING, 6: rooms("b"), 7: NOTHING, 8: NOTHING, 9: NOTHING}
    assert by_minute(answers(tmp_path, query, FB, 20 * MINUTE)) == expected


def test_s2r_a_tumbling_window_is_evaluated_when_it_closes(tmp_path: Path) -> None:
    query = """REGISTER QUERY TrackAxelTumbling AS SELECT ?room FROM STREAM :fb [RANGE 10m TUMBLING]
    WHERE { :axel :isIn ?room }"""
    # (0, 10] has both rooms, (10, 20] nothing.
    assert by_minute(answers(tmp_path, query, FB, 20 * MINUTE)) == {10: rooms("a", "b")}


def test_s2r_cqels_evaluates_a_tumbling_window_when_its_content_changes(tmp_path: Path) -> None:
    query = "SELECT RSTREAM ?room WHERE { STREAM :fb [RANGE 5m TUMBLING] {:axel :isIn ?room}}"
    # The present window: (0, 5] up to 5, then (5, 10], each cut at t.
    expected = {t: rooms("a") if t <= 5 else rooms("b") for t in (2, 3, 4, 5, 6, 7, 8, 9)}
    assert by_minute(answers(tmp_path / "1", query, FB, 20 * MINUTE)) == expected
    # Without an operator it is ISTREAM: b at 6 was not among the solutions of 5.
    query = query.replace("RSTREAM ", "")
    expected = {t: rooms("a") if t == 2 else rooms("b") if t == 6 else NOTHING for t in range(2, 10)}
    assert by_minute(answers(tmp_path / "2", query, FB, 20 * MINUTE)) == expected


def test_s2r_a_window_of_triples_holds_the_last_three_however_often_they_are_the_same(tmp_path: Path) -> None:
    query = (
        "REGISTER QUERY Track3latest AS SELECT ?who ?room FROM STREAM :fb [RANGE TRIPLES 3] WHERE { ?who :isIn ?room }"
    )
    axel_a, darko_a, axel_b, darko_b = ("axel", "a"), ("darko", "a"), ("axel", "b"), ("darko", "b")
    assert by_minute(answers(tmp_path, query, FB, 20 * MINUTE)) == {
        2: solutions(axel_a),
        3: solutions(axel_a, darko_a),  # axel 2, axel 3, darko 3
        4: solutions(darko_a, axel_a),  # darko 3, axel 4, darko 4
        5: solutions(axel_a, darko_a),  # axel 4, darko 4, darko 5
        6: solutions(darko_a, axel_b),  # darko 4, darko 5, axel 6
        7: solutions(darko_a, axel_b),  # darko 5, axel 6, axel 7
        8: solutions(axel_b, darko_b),  # axel 7, axel 8, darko 8
        9: solutions(darko_b, axel_b),  # darko 8, axel 9, darko 9
    }


# Who is where in the last minute, (t - 1, t]: each column of the table.
WHO = {
    minute: [(who[minute], name) for name, who in (("axel", AXEL), ("darko", DARKO)) if minute in who]
    for minute in range(2, 10)
}


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("RSTREAM", WHO),
        # What the minute before had not, and what it had and this one has not.
        ("ISTREAM", {2: [("a", "axel")], 3: [("a", "darko")], 6: [("b", "axel")], 8: [("b", "darko")]}),
        ("DSTREAM", {5: [("a", "axel")], 6: [("a", "darko")]}),
    ],
)
def test_r2s_operators_choose_among_the_solutions_of_one_evaluation_and_the_one_before(
    tmp_path: Path, operator: str, expected: dict[int, list[tuple[str, str]]]
) -> None:
    query = (
        f"SELECT {operator} ?room ?person FROM STREAM :fb [RANGE 1 MINUTES SLIDE 1 MINUTES] {{ ?person :isIn ?room . }}"
    )
    found = by_minute(answers(tmp_path, query, FB, 12 * MINUTE))
    assert found == {minute: solutions(*expected.get(minute, [])) for minute in range(2, 10)}


def test_r2s_what_leaves_last_is_streamed_if_empty_windows_are_reported(tmp_path: Path) -> None:
    query = "SELECT DSTREAM ?room ?person FROM STREAM :fb [RANGE 1m REPORT ON_WINDOW_CLOSE] { ?person :isIn ?room . }"
    found = by_minute(answers(tmp_path, query, FB, 12 * MINUTE))
    assert found[10] == solutions(("b", "axel"), ("b", "darko"))
    assert found[11] == found[12] == NOTHING


@pytest.mark.parametrize("window", ["1 MINUTES SLIDE 1 MINUTES", "FROM NOW - 1 MINUTES TO NOW STEP 1 MINUTES"])
@pytest.mark.parametrize("pattern", ["?person :isIn ?room", "GRAPH :fb { ?person :isIn ?room }"])
def test_r2s_what_sparqlstream_names_is_matched_in_the_default_graph_and_by_its_name(
    tmp_path: Path, window: str, pattern: str
) -> None:
    query = f"SELECT ISTREAM ?room ?person FROM NAMED STREAM :fb [{window}] {{ {pattern} }}"
    ours = "SELECT ISTREAM ?room ?person FROM STREAM :fb [RANGE 1m] { ?person :isIn ?room }"
    found = answers(tmp_path / "printed", query, FB, 12 * MINUTE)
    assert any(found.values())
    assert found == answers(tmp_path / "ours", ours, FB, 12 * MINUTE)


def test_r2s_a_named_stream_is_the_graph_of_its_name(tmp_path: Path) -> None:
    query = "SELECT ISTREAM ?room FROM NAMED STREAM :fb [RANGE 1m] { GRAPH :fb { :axel :isIn ?room } }"
    found = by_minute(answers(tmp_path / "1", query, FB, 12 * MINUTE))
    assert found == {t: rooms("a") if t == 2 else rooms("b") if t == 6 else NOTHING for t in range(2, 10)}
    query = "SELECT ISTREAM ?room FROM NAMED STREAM :fb [RANGE 1m] { :axel :isIn ?room }"
    found = by_minute(answers(tmp_path / "2", query, FB, 12 * MINUTE))
    assert found == dict.fromkeys(range(2, 10), NOTHING)


def test_q1_cqels_tells_who_has_come_as_soon_as_they_come(tmp_path: Path) -> None:
    query = "SELECT ?room ?person WHERE { STREAM :fb [RANGE 1m] {?person :isIn ?room} }"
    arrived = {2: [("a", "axel")], 3: [("a", "darko")], 6: [("b", "axel")], 8: [("b", "darko")]}
    found = by_minute(answers(tmp_path, query, FB, 12 * MINUTE))
    # Continuously (t - 1 min, t], so that those of the minute before have just left.
    assert found == {minute: solutions(*arrived.get(minute, [])) for minute in range(2, 10)}


def test_q2_people_are_grouped(tmp_path: Path) -> None:
    query = """SELECT ?person (count(distinct ?room) AS ?rooms) FROM STREAM :fb [RANGE 5m STEP 1m]
    WHERE { ?person :isIn ?room } GROUP BY ?person HAVING(count(distinct ?room) >= 2)"""
    found = by_minute(answers(tmp_path, query, FB, 12 * MINUTE))
    # Axel has a up to 4 and b from 6: both are in (t - 5, t] for t = 6, 7, 8. Darko a up to 5, b from 8: t = 8, 9.
    two = {6: ["axel"], 7: ["axel"], 8: ["axel", "darko"], 9: ["darko"]}
    assert found == {t: solutions(*((who, "2") for who in two.get(t, []))) for t in range(2, 13)}


def test_q3_a_graph_of_who_is_with_whom(tmp_path: Path) -> None:
    query = """REGISTER STREAM WhoIsWithWhom AS CONSTRUCT {?p1 :isWith ?p2} FROM STREAM :fb [RANGE 3m SLIDE 1m]
    WHERE { ?p1 :isIn ?room. ?p2 :isIn ?room. FILTER(?p1 != ?p2) }"""
    found = {at // MINUTE: set(data.splitlines()) for at, data in documents(tmp_path, query, FB, 13 * MINUTE).items()}
    both = {
        b"<http://ex/axel> <http://ex/isWith> <http://ex/darko> .",
        b"<http://ex/darko> <http://ex/isWith> <http://ex/axel> .",
    }
    # (4, 7] has Axel in b and Darko in a; (9, 12] is empty.
    assert found == {t: both if t not in (2, 7) else set() for t in range(2, 12)}


def test_q4_optional_people_of_two_rooms(tmp_path: Path) -> None:
    query = """REGISTER QUERY Q4 AS SELECT ?person1 ?person2 FROM STREAM :fb [RANGE 5m TUMBLING]
    WHERE { OPTIONAL {?person1 :isIn :a} OPTIONAL {?person2 :isIn :b} FILTER(bound(?person1) || bound(?person2)) }"""
    assert by_minute(answers(tmp_path / "1", query, FB, 12 * MINUTE)) == {
        5: solutions(("axel", None), ("darko", None)),
        10: solutions((None, "axel"), (None, "darko")),
    }
    query = """SELECT RSTREAM ?person1 ?person2 WHERE { OPTIONAL { STREAM :fb [RANGE 2m] {?person1 :isIn :a} }
    OPTIONAL { STREAM :fb [RANGE 1m] {?person2 :isIn :b} } FILTER(bound(?person1) || bound(?person2)) }"""
    found = by_minute(answers(tmp_path / "2", query, FB, 12 * MINUTE))
    assert found[6] == solutions(("darko", "axel"))  # a in (4, 6]: Darko at 5; b in (5, 6]: Axel
    assert found[8] == solutions((None, "axel"), (None, "darko"))


def test_q5_people_without_a_doctorate(tmp_path: Path) -> None:
    query = """SELECT ?person FROM STREAM :fb [RANGE 5m TUMBLING] FROM NAMED :profile
    WHERE { ?person :isIn :a MINUS { GRAPH :profile { ?person :hasDegree :doctorate } } }"""
    static = [quad("axel", "hasDegree", "doctorate", "profile")]
    assert by_minute(answers(tmp_path, query, FB, 12 * MINUTE, static)) == {5: rooms("darko"), 10: NOTHING}


def test_q6_pairs_of_rooms_in_which_two_were_together_one_after_the_other(tmp_path: Path) -> None:
    query = """REGISTER QUERY Q6 AS SELECT DISTINCT ?x ?y FROM STREAM :fb [RANGE 5m SLIDE 1m] FROM NAMED :floorplan
    WHERE {
      GRAPH :floorplan { ?x :sameLevelWith ?y }
      :axel :isIn ?x . :darko :isIn ?x . :axel :isIn ?y . :darko :isIn ?y .
      FILTER (timestamp(:axel :isIn ?x) = timestamp(:darko :isIn ?x) &&
              timestamp(:axel :isIn ?y) = timestamp(:darko :isIn ?y) &&
              timestamp(:axel :isIn ?x) < timestamp(:darko :isIn ?y))
    }"""
    static = [quad("a", "sameLevelWith", "b", "floorplan"), quad("b", "sameLevelWith", "a", "floorplan")]
    # In the sample Darko's last minute in a (5) is not Axel's (4).
    found = by_minute(answers(tmp_path / "1", query, FB, 12 * MINUTE, static))
    assert found == dict.fromkeys(range(2, 13), NOTHING)
    # If he leaves when Axel does: at 8, (3, 8] has a at 4 and b at 8, for both; at 9, (4, 9] has no a.
    together = sample(AXEL, {minute: room for minute, room in DARKO.items() if minute != 5})
    found = by_minute(answers(tmp_path / "2", query, together, 12 * MINUTE, static))
    assert found == {t: solutions(("a", "b")) if t == 8 else NOTHING for t in range(2, 13)}


def test_q6_who_has_not_gone_from_one_room_to_another_within_three_minutes(tmp_path: Path) -> None:
    query = """SELECT RSTREAM ?who WHERE { ?who :is :here FILTER NOT EXISTS {
        STREAM :fb { ?who :isIn :a } SEQ { ?who :isIn :b } FILTER (getDURATION() < "PT3M"^^xsd:duration) } }"""
    # Axel goes from a (4) to b (6); Darko, from a (5) to b (8), takes three minutes.
    here = [quad("axel", "is", "here"), quad("darko", "is", "here")]
    found = answers(tmp_path, query, FB, 9 * MINUTE, here)
    assert by_minute(found) == {t: rooms("darko", *(["axel"] if t < 6 else [])) for t in range(2, 10)}


@pytest.mark.parametrize(
    ("prologue", "stream"),
    [("", "<fb>"), ("BASE <http://other/a/b>", "<fb>"), ("BASE <http://other/>", "<./fb>"), ("", "<streams/fb>")],
)
def test_a_relative_stream_is_one_of_the_endpoints_where_the_base_has_none(
    tmp_path: Path, prologue: str, stream: str
) -> None:
    query = f"{prologue} SELECT ?room FROM STREAM {stream} [RANGE 1m] {{ :axel :isIn ?room }}"
    found = answers(tmp_path, query, FB, 12 * MINUTE)
    assert found == answers(tmp_path / "2", query.replace(stream, ":fb"), FB, 12 * MINUTE)


def test_a_relative_stream_that_is_nowhere_is_refused_by_the_name_that_the_base_gives(tmp_path: Path) -> None:
    query = "BASE <http://other/> SELECT ?room FROM STREAM <nothing> [RANGE 1m] { :axel :isIn ?room }"
    with pytest.raises(QuerySemanticError, match="there is no stream <http://other/nothing>"):
        answers(tmp_path, query, FB, 12 * MINUTE)
