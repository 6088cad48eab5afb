"""Event patterns in the engine: the only stream, what is left to DuckDB, and answers found from what is new."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from protocol.errors import QuerySemanticError, Unavailable, UnsupportedFeature
from protocol.streams import StreamSettings, TimeKind
from spark_backend.log import writer
from spark_backend.site import Site, SiteChoice
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

PREFIX = "PREFIX : <http://ex/> "
SEQUENCE = "{ ?x :p ?y } SEQ { ?x :q ?y }"


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    made = SteppedBackend(tmp_path)
    made.event_stream("s", "http://ex/s")
    yield made
    made.close()


def rows(stepped: SteppedBackend, name: str) -> dict[int, int]:
    """How many rows each answer has, of those that have some."""
    found = {t: len(json.loads(data)["results"]["bindings"]) for t, data in stepped.answers(name).items()}
    return {t: count for t, count in found.items() if count}


def post(stepped: SteppedBackend, *sent: tuple[int, str]) -> None:
    for time, triple in sent:
        stepped.post("s", f"@prefix : <http://ex/> . {triple} .", time)
        stepped.run()


def test_who_names_no_stream_reads_the_only_one_also_after_a_restart(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    stepped.register("q", PREFIX + f"SELECT * {{ {SEQUENCE} }}")
    stepped.event_stream("another", "http://ex/another")
    stepped.close()
    again = SteppedBackend(tmp_path)
    post(again, (1, ":a :p 1"), (2, ":a :q 1"), (3, ":a :p 2"))
    assert rows(again, "q") == {2: 1}
    again.close()


def test_where_there_are_several_streams_their_names_are_said(stepped: SteppedBackend) -> None:
    stepped.event_stream("another", "http://ex/another")
    with pytest.raises(QuerySemanticError) as refused:
        stepped.register("q", PREFIX + f"SELECT * {{ {SEQUENCE} }}")
    assert "<http://ex/another>, <http://ex/s>" in refused.value.detail
    assert refused.value.column == len(PREFIX) + len("SELECT * { ") + 1


def test_spark_sql_alone_refuses_an_event_pattern(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, sites=SiteChoice(Site.SPARK))
    stepped.event_stream("s", "http://ex/s")
    with pytest.raises(UnsupportedFeature, match="DuckDB alone"):
        stepped.register("q", PREFIX + f"SELECT * {{ STREAM :s {SEQUENCE} }}")
    stepped.close()


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (f"SELECT * {{ STREAM :s {SEQUENCE} }}", True),
        (f"SELECT ?x {{ STREAM :s [RANGE 5] {SEQUENCE} ?x :static ?z FILTER(?y > 0) BIND(?y AS ?w) }}", True),
        (f"SELECT RSTREAM * {{ STREAM :s {SEQUENCE} }}", False),
        (f"SELECT DISTINCT ?x {{ STREAM :s {SEQUENCE} }}", False),
        (f"SELECT (COUNT(*) AS ?n) {{ STREAM :s {SEQUENCE} }}", False),
        (f"SELECT * {{ STREAM :s {SEQUENCE} FILTER(NOW() > ?y) }}", False),
        (f"SELECT * {{ STREAM :s {SEQUENCE} STREAM :s [NOW] {{ ?x :r ?z }} }}", False),
        ("SELECT * { STREAM :s { ?x :p ?y } OPTIONALSEQ { ?x :q ?y } }", False),
        ("SELECT * { STREAM :s { ?x :p ?y FILTER(?z > 0) } SEQ { ?x :q ?z } }", False),
        ("SELECT * { STREAM :s { ?x :p ?y FILTER(STR(timestamp(?x)) > '') } SEQ { ?x :q ?z } }", False),
        (f"SELECT * {{ STREAM :s {SEQUENCE} FILTER(STR(timestamp(?x)) > '') }}", True),
    ],
)
def test_what_is_answered_by_its_new_matches_alone(stepped: SteppedBackend, text: str, new: bool) -> None:
    stepped.register("q", PREFIX + text)
    assert stepped.running("q").plan.new_matches is new


@pytest.mark.parametrize("static", ["?y :near ?z", "GRAPH ?g { ?y :near ?z }", "{ ?y :near ?z } UNION { ?z :far ?y }"])
def test_the_time_of_what_the_store_binds_too_is_that_of_its_occurrence(tmp_path: Path, static: str) -> None:
    near = [(graph, "<http://ex/b>", "<http://ex/near>", "<http://ex/c>") for graph in ("", "<http://ex/g>")]
    stepped = SteppedBackend(tmp_path, Graphs(near))
    stepped.event_stream("s", "http://ex/s")
    text = f"SELECT ?z (timestamp(?y) AS ?t) {{ STREAM :s {{ ?x :p ?y }} SEQ {{ ?x :q ?y }} {static} }}"
    stepped.register("q", PREFIX + text)
    assert stepped.running("q").plan.new_matches
    post(stepped, (1, ":a :p :b"), (2, ":a :q :b"), (3, ":a :p :d"), (4, ":a :q :d"))
    answers = {t: json.loads(data)["results"]["bindings"] for t, data in stepped.answers("q").items()}
    told = {t: [(row["z"]["value"], row["t"]["value"]) for row in found] for t, found in answers.items() if found}
    assert told == {2: [("http://ex/c", "1970-01-01T00:00:00.002Z")]}
    stepped.close()


@pytest.mark.parametrize("negated", ["", "NOT "])
def test_in_exists_an_interval_is_that_of_the_event_pattern_there(stepped: SteppedBackend, negated: str) -> None:
    other = "STREAM :s { ?w :p ?y } SEQ { ?w :q ?z } FILTER(?w != ?x && getDURATION() > ?d)"
    text = f"{{ STREAM :s {SEQUENCE} BIND(getDURATION() AS ?d) FILTER {negated}EXISTS {{ {other} }} }}"
    stepped.register("q", f"{PREFIX}SELECT RSTREAM ?x {text}".replace("?x :q ?y", "?x :q ?z"))
    post(stepped, (1, ":a :p 1"), (2, ":b :p 1"), (3, ":b :q 3"), (4, ":a :q 3"), (5, ":c :p 1"))
    told = {
        t: [row["x"]["value"][-1] for row in json.loads(data)["results"]["bindings"]]
        for t, data in stepped.answers("q").items()
    }
    assert {t: found for t, found in told.items() if found} == ({3: ["b"], 4: ["a"]} if negated else {4: ["b"]})


@pytest.mark.parametrize("negated", ["", "NOT "])
def test_in_exists_an_interval_is_that_of_the_event_pattern_around_where_none_is_there(
    tmp_path: Path, negated: str
) -> None:
    limits = {"a": "PT0.004S", "b": "PT0.01S"}
    duration = "<http://www.w3.org/2001/XMLSchema#dayTimeDuration>"
    static = [("", f"<http://ex/{x}>", "<http://ex/limit>", f'"{limit}"^^{duration}') for x, limit in limits.items()]
    stepped = SteppedBackend(tmp_path, Graphs(static))
    stepped.event_stream("s", "http://ex/s")
    longer = f"FILTER {negated}EXISTS {{ ?x :limit ?limit FILTER(getDURATION() > ?limit) }}"
    stepped.register("q", f"{PREFIX}SELECT ?x {{ STREAM :s {SEQUENCE} {longer} }}")
    post(stepped, (1, ":a :p 1"), (2, ":b :p 1"), (7, ":a :q 1"), (8, ":b :q 1"), (9, ":c :p 1"))
    assert rows(stepped, "q") == ({8: 1} if negated else {7: 1})
    stepped.close()


def test_at_its_first_instant_a_query_answers_what_had_happened_before(stepped: SteppedBackend) -> None:
    post(stepped, (1, ":a :p 1"), (2, ":a :q 1"), (3, ":b :p 1"))
    stepped.register("late", PREFIX + f"SELECT * {{ STREAM :s {SEQUENCE} }}")
    post(stepped, (4, ":a :q 1"), (5, ":b :q 1"), (6, ":c :p 1"))
    assert rows(stepped, "late") == {3: 1, 4: 1, 5: 1}


def test_from_before_the_start_a_match_is_answered_once_as_well(stepped: SteppedBackend) -> None:
    text = PREFIX + f"SELECT * {{ STREAM :s {SEQUENCE} }}"
    stepped.register("always", text)
    post(stepped, (1, ":a :p 1"), (2, ":a :q 1"), (3, ":b :p 1"))
    stepped.register("late", text)
    post(stepped, (4, ":a :q 1"), (5, ":b :q 1"), (6, ":c :p 1"))
    always = stepped.answers("always")
    assert stepped.replayed("late") == always
    assert stepped.replayed("late", 1) == {t: data for t, data in always.items() if t > 1}
    start = stepped.running("late").registered.start
    assert stepped.replayed("late", start) == stepped.answers("late")


def test_a_replay_of_new_matches_whose_query_has_ended_meanwhile_is_unavailable(
    stepped: SteppedBackend, tmp_path: Path
) -> None:
    stepped.register("q", PREFIX + f"SELECT * {{ STREAM :s {SEQUENCE} }}", since=0)
    post(stepped, (1, ":a :p 1"), (2, ":a :q 1"))
    replay = stepped.backend.replay("q", None, 9)
    (file,) = (tmp_path / "queries").glob("q.*-*.json")
    file.unlink()
    with pytest.raises(Unavailable, match="ended meanwhile"):
        list(replay)


def test_without_a_window_what_is_kept_at_an_instant_is_matched_however_far_time_is_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer.StreamLog, "open", partial(writer.StreamLog.open, segment_bytes=1))
    stepped = SteppedBackend(tmp_path)
    stepped.backend.create_stream("s", StreamSettings("http://ex/s", TimeKind.EVENT, retention=20))
    stepped.register("q", PREFIX + f"SELECT * {{ STREAM :s {SEQUENCE} }}")
    post(stepped, (1, ":a :p 1"), (2, ":b :p 1"))
    for time, triple in ((20, ":a :q 1"), (100, ":c :p 1")):
        stepped.post("s", f"@prefix : <http://ex/> . {triple} .", time)
        stepped.backend._progress.say()
    stepped.run()
    assert rows(stepped, "q") == {20: 1}
    stepped.backend._progress.say()
    assert stepped.backend._streams.retained_from("s.1") == 20, "what no evaluation to come is about is not kept"
    stepped.close()


def test_what_comes_late_ends_a_match_or_is_in_the_middle_of_one(stepped: SteppedBackend) -> None:
    stepped.register("q", PREFIX + f"SELECT * {{ STREAM :s {SEQUENCE} }}")
    post(stepped, (2, ":a :p 1"), (8, ":a :q 1"), (4, ":a :p 1"), (5, ":a :q 1"), (9, ":b :p 1"), (10, ":b :p 2"))
    # At 8 both that came late take part: they met the watermark 7.
    assert rows(stepped, "q") == {8: 4}


@pytest.mark.parametrize("operator", ["ISTREAM", "RSTREAM"])
@pytest.mark.parametrize("asked", ["timestamp(?x)", "timestamp(?x :p ?y)"])
def test_a_filter_in_a_group_asks_the_time_of_the_groups_own_triples(
    stepped: SteppedBackend, operator: str, asked: str
) -> None:
    same = f"FILTER({asked} = getENDTIME())"
    stepped.register("q", f"{PREFIX} SELECT {operator} ?x {{ {{ ?x :p ?y {same} }} SEQ {{ ?x :p ?y ; :q ?y }} }}")
    post(stepped, (1, ":a :p 1"), (2, ":a :p 1"), (3, ":a :q 1"), (4, ":c :d 1"))
    assert rows(stepped, "q") == {3: 1}


@pytest.mark.parametrize("around", ["{}", "GRAPH :g {{ {} }}", "GRAPH ?g {{ {} }}"])
def test_a_match_is_told_apart_by_its_own_occurrences_whatever_is_around_it(tmp_path: Path, around: str) -> None:
    stepped = SteppedBackend(tmp_path, Graphs([("<http://ex/g>", "<http://ex/a>", "<http://ex/a>", "<http://ex/a>")]))
    stepped.event_stream("s", "http://ex/s")
    within = f"STREAM :s [RANGE 9] {{ ?x :r ?z }} STREAM :s {SEQUENCE}"
    stepped.register("q", f"{PREFIX} SELECT ?x {{ {around.format(within)} }}")
    # What is beside the match at 3 is other at 4, and its variable is not selected.
    post(stepped, (1, ":a :p 1"), (2, ":a :r 1"), (3, ":a :q 1"), (4, ":a :r 2"), (5, ":a :r 3"), (6, ":b :r 3"))
    assert rows(stepped, "q") == {3: 1}
    stepped.close()
