"""Facts among the registered queries: who reads whose, what that forbids, and that restarts change nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from endpoint.live.registration import query_identity
from protocol.errors import Conflict, NotFound, QuerySemanticError, UnsupportedFeature
from protocol.evaluations import Ended, Gone
from protocol.functions.python_functions import PythonFunctions
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.streams import StreamSettings, TimeKind
from spark_backend.site import Site, SiteChoice
from tests.spark_backend.stepped_backend import BASE, SteppedBackend

PREFIX = "PREFIX : <http://example.org/> "
DEFINITION = f"{PREFIX}CONSTRUCT FACT Present {{ ?u :in ?r }} (UNION (SINCE ?u :enter ?r) (TILL ?u :leave ?r))"
READER = f"{PREFIX}SELECT ?u ?r (getSTARTTIME() AS ?t) {{ CURRENT Present {{ ?u :in ?r }} }}"
HOUSE = ((2, ":a :enter :A"), (3, ":b :enter :A"), (5, ":c :d :e"), (6, ":a :leave :A"), (8, ":a :enter :B"))


def posted(stepped: SteppedBackend, elements: Iterable[tuple[int, str]]) -> None:
    for time, triple in elements:
        stepped.post("s", f"@prefix : <http://example.org/> . {triple} .", time)
        stepped.run()


@pytest.fixture
def stepped(tmp_path: Path) -> SteppedBackend:
    made = SteppedBackend(tmp_path)
    made.event_stream("s", "http://ex/s")
    return made


def test_a_name_that_nobody_defines_is_told_with_those_there_are(stepped: SteppedBackend) -> None:
    with pytest.raises(QuerySemanticError) as refused:
        stepped.register("q", READER)
    assert "none named Present" in refused.value.detail
    assert "(none yet)" in refused.value.detail
    assert (refused.value.line, refused.value.column) == (1, READER.index("Present") + 1)
    stepped.register("d", DEFINITION.replace("Present", "Absent"))
    with pytest.raises(QuerySemanticError) as refused:
        stepped.register("q", READER)
    assert "Absent of the query d" in refused.value.detail
    stepped.register("e", DEFINITION.replace("Present", "Absent"))
    with pytest.raises(QuerySemanticError, match="define Absent"):
        stepped.register("q", READER.replace("Present", "Absent"))


def same(term: object) -> object:
    return term


def test_facts_that_a_query_reads_stay_as_they_are_also_while_it_cannot_be_evaluated(tmp_path: Path) -> None:
    first = SteppedBackend(tmp_path, functions=PythonFunctions.of({"http://ex/same": same}))
    first.event_stream("s", "http://ex/s")
    first.register("d", DEFINITION)
    first.register("q", READER.replace("getSTARTTIME()", "<http://ex/same>(getSTARTTIME())"))
    first.close()
    without = SteppedBackend(tmp_path)
    assert without.backend.dormant() == {"q"}
    with pytest.raises(Conflict, match="read by q"):
        without.backend.remove("d")
    with pytest.raises(Conflict, match="read by q"):
        without.register("d", DEFINITION.replace(":leave", ":left"))
    without.backend.remove("q")
    without.backend.remove("d")
    without.close()


@pytest.mark.parametrize(
    ("exists", "told"),
    [
        ("{ CURRENT Present { ?v :in ?r FILTER(?v != ?u && EARLY) } }", {3: ["b"]}),
        ("{ CURRENT Present { ?v :in ?r } FILTER(?v != ?u && EARLY) }", {3: ["b"]}),
        (
            "{ CURRENT Present { ?v :in ?r FILTER(?v != ?u) } FILTER EXISTS { VALUES ?one { 1 } FILTER(EARLY) } }",
            {3: ["b"]},
        ),
        ("{ VALUES ?one { 1 } FILTER(EARLY) }", {2: ["a"], 3: ["a"]}),
    ],
)
def test_in_exists_a_fact_began_when_those_did_that_are_matched_there(
    stepped: SteppedBackend, exists: str, told: dict[int, list[str]]
) -> None:
    early = 'getSTARTTIME() < "1970-01-01T00:00:00.003Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    asked = exists.replace("EARLY", early)
    stepped.register("d", DEFINITION)
    stepped.register("q", f"{PREFIX}SELECT ?u {{ CURRENT Present {{ ?u :in ?r }} FILTER EXISTS {asked} }}")
    posted(stepped, [*HOUSE, (9, ":c :d :e")])
    answers = {t: json.loads(data)["results"]["bindings"] for t, data in stepped.answers("q").items()}
    found = {t: [row["u"]["value"].removeprefix("http://example.org/") for row in rows] for t, rows in answers.items()}
    assert {t: rows for t, rows in found.items() if rows} == told


def test_no_definition_at_all_is_told(stepped: SteppedBackend) -> None:
    with pytest.raises(QuerySemanticError, match="there is none among the definitions"):
        stepped.register("q", READER.replace("Present", ""))


def test_the_only_stream_is_the_one_that_is_there(stepped: SteppedBackend) -> None:
    stepped.event_stream("r", "http://ex/r")
    with pytest.raises(QuerySemanticError) as refused:
        stepped.register("d", DEFINITION)
    assert "in a definition of facts. Streams: <http://ex/r>, <http://ex/s>" in refused.value.detail
    assert (refused.value.line, refused.value.column) == (1, DEFINITION.index("Present") + 1)


def test_without_a_stream_there_are_no_facts(tmp_path: Path) -> None:
    with pytest.raises(QuerySemanticError, match="Streams: none yet"):
        SteppedBackend(tmp_path).register("d", DEFINITION)


def test_a_definition_that_is_read_stays(stepped: SteppedBackend) -> None:
    stepped.register("d", DEFINITION)
    stepped.register("q", READER)
    for change in (
        DEFINITION.replace(":leave", ":go"),
        f"{PREFIX}SELECT * FROM STREAM <http://ex/s> [NOW] {{ ?s ?p ?o }}",
    ):
        with pytest.raises(Conflict, match="the facts of the query d are read by q"):
            stepped.register("d", change)
    with pytest.raises(Conflict, match="the facts of the query d are read by q: delete them first"):
        stepped.backend.remove("d")
    stepped.register("d", DEFINITION)
    with pytest.raises(Conflict, match="the stream s is read by d, q"):
        stepped.backend.delete_stream("s")
    stepped.backend.remove("q")
    stepped.backend.remove("d")


def test_queries_that_nobody_named_end_with_the_definition(stepped: SteppedBackend) -> None:
    stepped.register("d", DEFINITION)
    stepped.register("live", READER, standing=False)
    stepped.backend.remove("d")
    assert [notice.query for notice in stepped.notices if isinstance(notice, Gone)] == ["d", "live"]
    with pytest.raises(NotFound):
        stepped.backend.query("live")


def test_the_same_text_is_the_same_query_again(stepped: SteppedBackend) -> None:
    stepped.register("d", DEFINITION)
    stepped.register("q", READER)
    for name, text in (("d", DEFINITION), ("q", READER)):
        query = parse(text, base=f"{BASE}/sparql")
        assert isinstance(query, ContinuousQuery)
        assert query_identity(query) == query_identity(stepped.backend.query(name).query)


def test_what_is_registered_later_is_not_read_by_who_was_there(stepped: SteppedBackend) -> None:
    stepped.register("d", DEFINITION)
    stepped.register("q", f"{PREFIX}SELECT ?s ?p {{ CURRENT {{ ?s ?p ?o }} }}")
    stepped.register("e", DEFINITION.replace("Present", "Other").replace(":in", ":near"))
    posted(stepped, HOUSE)
    assert not any(b"near" in answer for answer in stepped.answers("q").values())
    assert stepped.running("q").reads == ("d",)


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    whole = SteppedBackend(tmp_path / "whole")
    whole.event_stream("s", "http://ex/s")
    cut = SteppedBackend(tmp_path / "cut")
    cut.event_stream("s", "http://ex/s")
    for one in (whole, cut):
        one.register("d", DEFINITION)
        one.register("q", READER)
        # Which the reader does not see, now or after a restart; and without a stream there is more than one then.
        one.register("all", f"{PREFIX}SELECT * {{ CURRENT {{ ?s ?p ?o }} }}")
        one.register("e", DEFINITION.replace("Present", "Other").replace(":in", ":near"))
        one.event_stream("r", "http://ex/r")
    told: dict[str, dict[int, bytes]] = {"q": {}, "all": {}, "d": {}}
    for number in range(len(HOUSE)):
        posted(whole, HOUSE[number : number + 1])
        posted(cut, HOUSE[number : number + 1])
        for name, answers in told.items():
            answers |= cut.answers(name)
        offset = cut.pipeline.offset
        cut.close()
        cut = SteppedBackend(tmp_path / "cut")
        cut.pipeline.offset = offset
    for name, answers in told.items():
        assert answers == whole.answers(name)
        assert cut.replayed(name, None, 100) == answers
    assert list(told["q"]) == [2, 3, 6]


EVERY_4 = f"{PREFIX}REGISTER QUERY q COMPUTED EVERY 4 AS SELECT ?u {{ CURRENT Present {{ ?u :in ?r }} }}"
NOISE = ((9, ":c :d :e"), (15, ":z :leave :A"))


@pytest.mark.parametrize(
    ("changes", "said", "told"),
    [
        (HOUSE[:1], None, [4]),
        ([*HOUSE[:1], HOUSE[3]], None, [4, 8]),
        # A fact that begins or ends just then is told of once more.
        (HOUSE, None, [4, 8, 12]),
        ([*HOUSE[:1], HOUSE[3]], 13, [4, 8, 12]),
        ([], None, []),
        ([], 12, [12]),
    ],
)
def test_periodically_the_first_time_after_the_last_change_is_the_last_of_a_stream_that_has_ended(
    tmp_path: Path, changes: Sequence[tuple[int, str]], said: int | None, told: list[int]
) -> None:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s", lateness=20)
    stepped.register("d", DEFINITION)
    stepped.register("q", EVERY_4)
    posted(stepped, [*changes, *NOISE])
    if said is not None:
        stepped.backend.advance("s", said)
        stepped.run()
    stepped.backend.end_stream("s")
    stepped.run()
    stepped.backend._progress.say()
    assert list(stepped.answers("q")) == told
    assert stepped.replayed("q") == stepped.answers("q")
    assert "q" in [notice.query for notice in stepped.notices if isinstance(notice, Ended)]
    latest = stepped.backend.latest("q")
    assert (None if latest is None else latest.instant) == (told[-1] if told else None)
    stepped.close()
    again = SteppedBackend(tmp_path)
    assert again.replayed("q") == stepped.answers("q")


def test_periodically_what_has_ended_waits_for_the_changes_of_the_other_stream(stepped: SteppedBackend) -> None:
    stepped.event_stream("r", "http://ex/r")
    other = DEFINITION.replace("Present", "Other FROM STREAM <http://ex/r>")
    stepped.register("d", DEFINITION.replace("Present", "Present FROM STREAM <http://ex/s>"))
    stepped.register("e", other)
    stepped.register("q", EVERY_4.replace("Present", ""))
    posted(stepped, HOUSE[:1])
    stepped.backend.end_stream("s")
    stepped.post("r", "@prefix : <http://example.org/> . :z :enter :Z .", 3)
    stepped.post("r", "@prefix : <http://example.org/> . :c :d :e .", 17)
    stepped.run()
    assert list(stepped.answers("q")) == [4, 8, 12, 16]
    stepped.backend.end_stream("r")
    stepped.run()
    assert list(stepped.answers("q")) == [4, 8, 12, 16]
    assert stepped.replayed("q") == stepped.answers("q")


def test_elements_of_before_have_begun_facts_and_are_kept(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, retention=10)
    stepped.backend.create_stream("s", settings)
    posted(stepped, HOUSE[:2])
    stepped.register("d", DEFINITION)
    posted(stepped, [(10_000 * hour, ":c :d :e") for hour in range(1, 40)])
    stepped.backend._progress.say()
    posted(stepped, [(500_000, ":b :leave :A"), (500_001, ":x :y :z")])
    assert [(instant, data.count(b"in>")) for instant, data in stepped.answers("d").items()] == [(3, 2), (500_000, 1)]
    assert stepped.backend.retained_from("d") is None


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("IRI(CONCAT(STR(?r), STR(?r)))", [2, 3, 6]),
        # What is unbound is compatible with everything.
        ("?r + 1", [2, 3, 6]),
    ],
)
def test_what_bind_gives_is_part_of_the_solution(stepped: SteppedBackend, bound: str, told: list[int]) -> None:
    text = (
        f"{PREFIX}CONSTRUCT FACT Present {{ ?u :in ?r }} UNION (SINCE {{ ?u :enter ?r BIND({bound} AS ?x) }}) "
        f"(TILL {{ ?u :leave ?r BIND({bound} AS ?x) }})"
    )
    stepped.register("d", text)
    posted(stepped, [*HOUSE[:4], (9, ":c :d :e")])
    assert list(stepped.answers("d")) == told


def test_a_fact_of_triple_terms_is_made_of_what_since_binds(tmp_path: Path) -> None:
    found = []
    for place, (template, bound) in enumerate(
        (
            (":log :says <<( ?u :in <<( ?r :of ?u )>> )>> ; :and <<( ?r :of ?u )>>", ""),
            (":log :says ?t ; :and ?x", "BIND(TRIPLE(?r, :of, ?u) AS ?x) BIND(TRIPLE(?u, :in, ?x) AS ?t)"),
        )
    ):
        stepped = SteppedBackend(tmp_path / str(place))
        stepped.event_stream("s", "http://ex/s")
        stepped.register(
            "d",
            f"{PREFIX}CONSTRUCT FACT Present {{ {template} }} "
            f"(UNION (SINCE {{ ?u :enter ?r {bound} }}) (TILL ?u :leave ?r))",
        )
        stepped.register(
            "q",
            f"{PREFIX}SELECT ?u ?r (getSTARTTIME() AS ?t) "
            "{ CURRENT Present { :log :says <<( ?u :in <<( ?r :of ?u )>> )>> } }",
        )
        posted(stepped, [*HOUSE, (9, ":c :d :e")])
        found.append((stepped.answers("d"), stepped.answers("q")))
    assert found[0] == found[1]
    told, read = found[0]
    assert {instant: data.count(b"says>") for instant, data in told.items()} == {2: 1, 3: 2, 6: 1, 8: 2}
    assert {instant: data.count(b'"u":{') for instant, data in read.items()} == {2: 1, 3: 2, 6: 1, 8: 2}


@pytest.mark.parametrize("within", ["WINDOW :w { ?u :at ?x }", "STREAM <http://ex/s> [RANGE 9] { ?u :at ?x }", ""])
def test_when_a_fact_began_is_told_of_facts_alone_whatever_is_matched_in_current(
    stepped: SteppedBackend, within: str
) -> None:
    window = "FROM NAMED WINDOW :w ON <http://ex/s> [RANGE 9 STEP 1]" if "WINDOW" in within else ""
    stepped.register("d", DEFINITION)
    stepped.register(
        "q", f"{PREFIX}SELECT RSTREAM (getSTARTTIME() AS ?t) {window} {{ CURRENT Present {{ ?u :in ?r {within} }} }}"
    )
    posted(stepped, [(2, ":a :enter :A"), (3, ":a :at :x"), (4, ":b :enter :B"), (5, ":c :d :e")])
    answer = json.loads(stepped.answers("q")[4])
    found = [row["t"]["value"] for row in answer["results"]["bindings"]]
    assert sorted(found) == ["1970-01-01T00:00:00.002Z", *([] if within else ["1970-01-01T00:00:00.004Z"])]


def test_the_plan_tells_what_begins_and_ends_facts(stepped: SteppedBackend) -> None:
    stepped.register("d", DEFINITION)
    stepped.register("q", READER)
    plan = stepped.backend.plan("q")
    assert "window_0: the facts Present, over <http://ex/s>" in plan
    assert "reports when a fact begins or ends" in plan
    facts = plan[plan.index("\nFacts\n") : plan.index("\nAlgebra")]
    for word in ("?u :in ?r .", "since", ":enter", "till", ":leave", "ASOF"):
        assert word in facts


def test_spark_sql_evaluates_no_facts(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, sites=SiteChoice(forced=Site.SPARK))
    stepped.event_stream("s", "http://ex/s")
    with pytest.raises(UnsupportedFeature, match="facts are evaluated by DuckDB alone"):
        stepped.register("d", DEFINITION)
    large = SteppedBackend(tmp_path / "large", sites=SiteChoice(spark_above=0))
    large.event_stream("s", "http://ex/s")
    large.register("d", DEFINITION)
    posted(large, HOUSE)
    assert list(large.answers("d")) == [2, 3, 6]


ELEMENTS = st.lists(
    st.tuples(
        st.integers(1, 15),
        st.builds(
            ":{} :{} :{}".format, st.sampled_from("ab"), st.sampled_from(["enter", "leave"]), st.sampled_from("AB")
        ),
    ),
    min_size=1,
    max_size=10,
)


def answered(directory: Path, elements: Sequence[tuple[int, str]], *, at_once: bool) -> dict[str, dict[int, bytes]]:
    stepped = SteppedBackend(directory)
    stepped.event_stream("s", "http://ex/s", lateness=20)
    stepped.register("d", DEFINITION)
    stepped.register("q", READER)
    if at_once:
        for time, triple in elements:
            stepped.post("s", f"@prefix : <http://example.org/> . {triple} .", time)
    else:
        posted(stepped, elements)
    stepped.backend.end_stream("s")
    stepped.run()
    stepped.close()
    return {name: stepped.answers(name) for name in "dq"}


@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(ELEMENTS, st.randoms(use_true_random=False))
def test_any_order_and_batching_gives_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, elements: list[tuple[int, str]], random: Random
) -> None:
    directory = tmp_path_factory.mktemp("orders")
    shuffled = random.sample(elements, len(elements))
    first = answered(directory / "sorted", sorted(elements), at_once=False)
    assert answered(directory / "shuffled", shuffled, at_once=True) == first
