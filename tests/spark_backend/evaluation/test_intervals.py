"""What is matched once for all instants: the same answers as over windows' contents, however the log has grown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.terms import RDF_TYPE
from protocol.windows.spec import TimeWindow
from spark_backend.evaluation import interval_tables
from spark_backend.evaluation.contents import solution_intervals
from spark_backend.statics.tables import StaticTables
from tests.spark_backend.compiler.one_shot import Graphs
from tests.spark_backend.evaluation.evaluated_log import Element, Site

XSD = "http://www.w3.org/2001/XMLSchema#"
P, Q = "<http://ex/p>", "<http://ex/q>"
NODES = [f"<http://ex/{name}>" for name in "abc"]
VALUES = [*NODES, f'"1"^^<{XSD}integer>', f'"2"^^<{XSD}integer>', f'"1.5"^^<{XSD}double>', '"x"']
PATTERNS = (
    f"?s {P} ?v",
    f"?s {P} ?v FILTER(?v > 1)",
    f"?s {P} ?v ; {Q} ?w",
    f"?s {P} ?v . ?v {Q} ?w FILTER(?w != <http://ex/a>)",
    f"?s {P} ?v . ?v {Q} ?w . ?w {P} ?x",
    f"?s {P} ?s . ?s ?q ?v",
    "?s ?p ?v . ?v ?p ?w FILTER(isIRI(?w))",
    f"?s {P} ?v FILTER(STRLEN(STR(?v)) > 2 && ?v != ?s)",
    f"?s {P} <http://ex/a> ; {Q} ?v FILTER(?v = 1 || ?s = <http://ex/b>)",
    f"?s {P} ?v OPTIONAL {{ ?s {Q} ?w FILTER(?w >= ?v) }}",
    f"{{ ?s {P} ?v }} UNION {{ ?v {Q} ?s }}",
    f"?s {P} ?v MINUS {{ ?v {Q} ?w }}",
    f"?s {P} ?v FILTER NOT EXISTS {{ ?s {Q} ?w . ?w {P} ?v }}",
    f"?s {P} ?v . ?x {Q} ?y",
    f"?s {P} ?v BIND(RAND() AS ?r) FILTER(?v != <http://ex/c>)",
)
FORMS = (
    "SELECT * {{ GRAPH <http://ex/w> {{ {} }} }}",
    "SELECT DISTINCT ?s {{ GRAPH <http://ex/w> {{ {} }} }}",
    "SELECT (COUNT(*) AS ?n) {{ GRAPH <http://ex/w> {{ {} }} }}",
    "SELECT ?s (SUM(?v) AS ?n) (COUNT(?v) AS ?m) {{ GRAPH <http://ex/w> {{ {} }} }} GROUP BY ?s",
    "SELECT ?v {{ GRAPH <http://ex/w> {{ {} }} }} ORDER BY DESC(?v) LIMIT 2",
)

_triples = st.tuples(st.sampled_from(NODES), st.sampled_from([P, Q]), st.sampled_from(VALUES))
_elements = st.lists(st.tuples(st.integers(1, 40), st.lists(_triples, min_size=1, max_size=3)), max_size=5)
_steps = st.lists(st.tuples(_elements, st.integers(1, 12)), min_size=2, max_size=6)
_queries = st.tuples(st.sampled_from(FORMS), st.sampled_from(PATTERNS)).map(lambda pair: pair[0].format(pair[1]))


def both_ways(site: Site, key: str, query: str, window: TimeWindow) -> tuple[str, str]:
    """A query that is matched once for all instants where that pays, and the same over windows' contents alone."""
    name = site.prepare(key, query, window)
    prepared = site.registry.read_prepared(name)
    assert prepared.plan.intervals is not None
    contents = replace(prepared, plan=replace(prepared.plan, intervals=None))
    return name, site.registry.write_prepared(f"{key}-contents", contents)


def told(site: Site, prepared: Sequence[str], instants: Sequence[int]) -> list[tuple[str, int, list[bytes]]]:
    """The answers of queries that are due together, by query and instant."""
    due = [(str(number), name, instants) for number, name in enumerate(prepared)]
    answers = list(site.evaluator.evaluate(due))
    assert not [answer.error for _, answer in answers if answer.error]
    return sorted((key, answer.instant, answer.solutions) for key, answer in answers)


def kept_rows(site: Site) -> int:
    return site.evaluator._tables._intervals.rows


Case = tuple[str, list[tuple[list[Element], int]], int, int, bool, int, list[bool]]
_cases = st.tuples(
    _queries,
    _steps,
    st.integers(2, 20),
    st.integers(0, 6),
    st.booleans(),
    st.sampled_from([1, 4, 200_000]),
    st.lists(st.booleans(), min_size=1, max_size=3),
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_cases)
def test_answers_are_those_over_windows_contents(case: Case) -> None:
    check_answers(*case)


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_cases)
def test_answers_are_those_over_windows_contents_in_many_cases(case: Case) -> None:
    check_answers(*case)


def check_answers(
    query: str,
    steps: list[tuple[list[Element], int]],
    width: int,
    lateness: int,
    several: bool,
    at_once: int,
    alone: list[bool],
    schema: str = "",
) -> None:
    """Queries of one shape over a log that grows step by step, at the instants that are due then: both together, or
    one ``alone``, in turn; under RDFS with a ``schema``.
    """
    with (
        TemporaryDirectory() as directory,
        patch.object(solution_intervals, "_FEWEST", at_once % 10),
    ):
        site, window = Site(Path(directory), lateness=lateness, schema=schema), TimeWindow(width, 1, -width)
        site.evaluator._tables._intervals._at_once = at_once
        first = both_ways(site, "q", query, window)
        second = both_ways(site, "r", query.replace("<http://ex/a>", "<http://ex/b>").replace("> 1", "> 0"), window)
        due, turns = 0, cycle(alone)
        for elements, step in steps:
            site.append([(due + time, triples) for time, triples in elements])
            instants = list(range(due + 1, min(due + step, site.evaluator._tables.reader("s").watermark) + 1))
            if not instants:
                continue
            due = instants[-1]
            for at in [instants] if several else [[instant] for instant in instants]:
                kept, over_contents = zip(*([first] if next(turns) else [first, second]), strict=True)
                assert told(site, kept, at) == told(site, over_contents, at)
        site.close()


RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_ENTAILED_PATTERNS = (
    "?s a :C",
    f"?s a :C ; {Q} ?v",
    f"?s {P} ?v FILTER(?v > 1)",
    f"?s {P} ?v ; {Q} ?w . ?v a :C",
    f"?s {P} ?v OPTIONAL {{{{ ?v a :D }}}}",
    f"?s a :D MINUS {{{{ ?s {P} <http://ex/a> }}}}",
    f"?s {P} <http://ex/a> ; a :C",
)
_statements = st.sampled_from(
    (
        f"{Q} <{RDFS}subPropertyOf> {P}",
        f":r <{RDFS}subPropertyOf> {P}",
        f":r <{RDFS}subPropertyOf> {Q}",
        f"{Q} <{RDFS}domain> :D",
        f"{P} <{RDFS}range> :C",
        f":D <{RDFS}subClassOf> :C",
        f"<http://ex/a> <{RDFS}subClassOf> :D",
    )
)
_schemas = st.lists(_statements, min_size=1, max_size=5).map(lambda said: " .\n".join([*said, ""]))
_entailed_queries = st.tuples(st.sampled_from(FORMS), st.sampled_from(_ENTAILED_PATTERNS)).map(
    lambda pair: "PREFIX : <http://ex/> " + pair[0].format(pair[1].format())
)
_typed = st.one_of(
    _triples,
    st.tuples(st.sampled_from(NODES), st.just("<http://ex/r>"), st.sampled_from(VALUES)),
    st.tuples(st.sampled_from(NODES), st.just(RDF_TYPE), st.sampled_from((NODES[0], "<http://ex/C>", "<http://ex/D>"))),
)
_typed_elements = st.lists(st.tuples(st.integers(1, 40), st.lists(_typed, min_size=1, max_size=4)), max_size=5)
_entailed_cases = st.tuples(
    _entailed_queries,
    st.lists(st.tuples(_typed_elements, st.integers(1, 12)), min_size=2, max_size=6),
    st.integers(2, 20),
    st.integers(0, 6),
    st.booleans(),
    st.sampled_from([1, 4, 200_000]),
    st.lists(st.booleans(), min_size=1, max_size=3),
    _schemas,
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_entailed_cases)
def test_answers_under_rdfs_are_those_over_windows_contents(case: tuple[Any, ...]) -> None:
    check_answers(*case)


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_entailed_cases)
def test_answers_under_rdfs_are_those_over_windows_contents_in_many_cases(case: tuple[Any, ...]) -> None:
    check_answers(*case)


def test_what_follows_is_kept_and_made_anew_when_the_schema_changes(tmp_path: Path) -> None:
    below = f"@prefix : <http://ex/> . {{}} <{RDFS}subClassOf> :C ."
    site = Site(tmp_path, lateness=0, schema=below.format(":D"))
    window, query = TimeWindow(10, 1, -10), "SELECT ?s { GRAPH <http://ex/w> { ?s a <http://ex/C> } }"
    kinds = ["<http://ex/C>", "<http://ex/D>", "<http://ex/E>"]
    site.append([(time, [(f"<http://ex/s{time}>", RDF_TYPE, kinds[time % 3])]) for time in range(1, 31)])
    both = both_ways(site, "q", query, window)
    # Contents of ten triples, of which a third is of C, and a third of D.
    for instant in (10, 11, 12):
        (answer,) = told(site, both[:1], [instant])
        assert [answer] == told(site, both[1:], [instant])
        assert len(answer[2]) == sum(time % 3 < 2 for time in range(instant - 9, instant + 1))
    before = kept_rows(site)
    assert before > 0
    site.statics = StaticTables(site.layout.statics, Graphs({None: below.format(":E")}))
    changed = both_ways(site, "r", query, window)
    for instant in (13, 14):
        (answer,) = told(site, changed[:1], [instant])
        assert [answer] == told(site, changed[1:], [instant])
        assert len(answer[2]) == sum(time % 3 != 1 for time in range(instant - 9, instant + 1))
    assert kept_rows(site) > before, "both are kept"
    assert told(site, both[:1], [14]) == told(site, both[1:], [14])
    site.close()


@pytest.fixture(autouse=True)
def _also_of_small_windows() -> Iterator[None]:
    with patch.object(interval_tables, "_LEAST_COPIED", 0):
        yield


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, lateness=0)
    yield made
    made.close()


JOIN = f"SELECT ?s ?v {{ GRAPH <http://ex/w> {{ ?s {P} ?v ; {Q} ?w }} }}"


def pair(number: int) -> list[tuple[str, str, str]]:
    subject = f"<http://ex/s{number}>"
    return [(subject, P, NODES[0]), (subject, Q, NODES[1])]


def test_it_is_kept_from_the_second_evaluation_on_and_forgotten_as_windows_leave_it(site: Site) -> None:
    kept, over_contents = both_ways(site, "q", JOIN, TimeWindow(10, 1, -10))
    for start in range(0, 40, 10):
        site.append([(start + time, pair((start + time) * 3_000 + one)) for time in range(1, 11) for one in range(300)])
        for instant in range(start + 1, start + 10):
            assert told(site, [kept], [instant]) == told(site, [over_contents], [instant])
            assert (kept_rows(site) > 0) == (instant > 1)
    assert kept_rows(site) < 3 * 300 * 25, "of 39 instants"
    assert told(site, [kept], [5]) == told(site, [over_contents], [5]), "an instant before all that is kept"


def test_of_what_queries_ask_alike_nothing_else_is_kept(site: Site) -> None:
    query = f"SELECT ?s {{{{ GRAPH <http://ex/w> {{{{ ?s {P} <http://ex/a> ; {Q} ?v FILTER(?v >= {{}}) }}}} }}}}"
    first, second = (both_ways(site, f"q{least}", query.format(least), TimeWindow(10, 1, -10)) for least in (9, 8))
    subjects = [f"<http://ex/s{number}>" for number in range(1, 31)]
    numbers = [f'"{number % 10}"^^<{XSD}integer>' for number in range(1, 31)]
    triples = [[(s, P, NODES[0]), (s, Q, number)] for s, number in zip(subjects, numbers, strict=True)]
    site.append(list(enumerate(triples, 1)))

    def rows(queries: Sequence[tuple[str, str]], instants: range) -> int:
        for instant in instants:
            kept, over_contents = zip(*queries, strict=True)
            assert told(site, kept, [instant]) == told(site, over_contents, [instant])
        return kept_rows(site)

    one_in_ten = 2 * 20 + 2  # matches, and solutions with 9
    all_of_a_window = 2 * 10 + 10
    assert rows([first], range(1, 21)) == one_in_ten
    assert rows([first, second], range(21, 22)) == one_in_ten + all_of_a_window
    assert rows([second], range(22, 26)) == one_in_ten + all_of_a_window + 4 * 3, (
        "what is kept for both is gone on with"
    )


ALIKE = (
    JOIN,
    f"SELECT ?w {{ GRAPH <http://ex/w> {{ ?s {Q} ?w . ?s {P} ?v }} }}",
    f"SELECT (COUNT(?a) AS ?n) {{ GRAPH <http://ex/w> {{ ?c {Q} ?b . ?c {P} ?a }} }}",
    f"SELECT ?v {{ GRAPH <http://ex/w> {{ ?s {P} ?v ; {Q} ?w }} }} GROUP BY ?v",
)
"""Queries of four shapes that match the same."""


def test_what_shapes_match_alike_is_kept_once(site: Site) -> None:
    queries = [both_ways(site, f"q{place}", query, TimeWindow(10, 1, -10)) for place, query in enumerate(ALIKE)]
    kept, over_contents = zip(*queries, strict=True)
    site.append([(time, pair(time)) for time in range(1, 21)])
    for instant in range(1, 20):
        assert told(site, kept, [instant]) == told(site, over_contents, [instant])
    assert kept_rows(site) == 3 * 19, "two matches and a solution of each second"


def test_small_windows_are_worth_it_to_many_shapes(site: Site) -> None:
    queries = [both_ways(site, f"q{place}", query, TimeWindow(10, 1, -10)) for place, query in enumerate(ALIKE)]
    kept, over_contents = zip(*queries, strict=True)
    site.append([(time, pair(time)) for time in range(1, 31)])
    with patch.object(interval_tables, "_LEAST_COPIED", 70):  # of 20 in a window
        for instant in range(10, 20):
            assert told(site, kept[:3], [instant]) == told(site, over_contents[:3], [instant])
        assert kept_rows(site) == 0
        for instant in range(20, 30):
            assert told(site, kept, [instant]) == told(site, over_contents, [instant])
        assert kept_rows(site) > 0


def test_small_windows_are_not_worth_it(site: Site) -> None:
    kept, over_contents = both_ways(site, "q", JOIN, TimeWindow(10, 1, -10))
    site.append([(time, pair(time)) for time in range(1, 21)])
    with patch.object(interval_tables, "_LEAST_COPIED", 100):
        for at in ([1], [2], [3, 4], [5]):
            assert told(site, [kept], at) == told(site, [over_contents], at)
        assert kept_rows(site) == 0
        assert told(site, [kept], [*range(6, 20)]) == told(site, [over_contents], [*range(6, 20)])
        assert kept_rows(site) > 0


def test_what_comes_faster_than_it_is_added_is_not_kept(site: Site) -> None:
    kept, over_contents = both_ways(site, "q", JOIN, TimeWindow(10, 1, -10))
    site.append([(time, pair(time)) for time in range(1, 21)])
    with patch.object(site.evaluator._tables._intervals, "_at_once", 3):
        for instant in range(1, 20):
            assert told(site, [kept], [instant]) == told(site, [over_contents], [instant])
        assert kept_rows(site) == 0


def test_what_has_too_many_solutions_is_left_to_each_instant(site: Site) -> None:
    query = f"SELECT (COUNT(*) AS ?n) {{ GRAPH <http://ex/w> {{ ?s {P} ?v . ?t {P} ?v }} }}"
    kept, over_contents = both_ways(site, "q", query, TimeWindow(10, 1, -10))
    site.append([(time, pair(time * 100 + one)) for time in range(1, 11) for one in range(50)])
    for instant in range(1, 10):
        assert told(site, [kept], [instant]) == told(site, [over_contents], [instant])
    assert kept_rows(site) == 0


def test_what_is_kept_is_made_again_in_another_database(site: Site) -> None:
    kept, over_contents = both_ways(site, "q", JOIN, TimeWindow(10, 1, -10))
    site.append([(time, pair(time)) for time in range(1, 21)])
    for instant in range(1, 20):
        if instant == 10:
            site.evaluator._renew()
        assert told(site, [kept], [instant]) == told(site, [over_contents], [instant])
    assert kept_rows(site) > 0


@pytest.mark.parametrize(
    ("query", "window"),
    [
        (JOIN, TimeWindow(10, 10, -10)),
        (JOIN, TimeWindow(10, 1, -10, offset=3)),
        (f"SELECT * {{ GRAPH <http://ex/w> {{ ?s {P}+ ?v }} }}", TimeWindow(10, 1, -10)),
        (f"SELECT * {{ GRAPH ?w {{ ?s {P} ?v }} }}", TimeWindow(10, 1, -10)),
    ],
    ids=["tumbling", "offset", "path", "any graph"],
)
def test_some_are_over_windows_contents_alone(site: Site, query: str, window: TimeWindow) -> None:
    assert site.registry.read_prepared(site.prepare("q", query, window)).plan.intervals is None


def test_what_takes_too_much_memory_is_left_to_each_instant(site: Site) -> None:
    kept, over_contents = both_ways(site, "q", JOIN, TimeWindow(10, 1, -10))
    site.append([(time, pair(time)) for time in range(1, 21)])
    for instant in range(1, 10):
        assert told(site, [kept], [instant]) == told(site, [over_contents], [instant])
    assert kept_rows(site) > 0
    with patch.object(solution_intervals.SolutionIntervals, "extend", side_effect=MemoryError):
        assert told(site, [kept], [10]) == told(site, [over_contents], [10])
    for instant in range(11, 20):
        assert told(site, [kept], [instant]) == told(site, [over_contents], [instant])
    assert kept_rows(site) == 0


def test_of_what_took_too_much_only_the_latest_is_remembered(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_tables, "_REMEMBERED", 2)
    site.append([(time, pair(time)) for time in range(1, 21)])
    refused = site.evaluator._tables._intervals._refused
    with patch.object(solution_intervals.SolutionIntervals, "extend", side_effect=MemoryError):
        for width in range(5, 9):
            kept, over_contents = both_ways(site, f"q{width}", JOIN, TimeWindow(width, 1, -width))
            for instant in range(9, 13):
                assert told(site, [kept], [instant]) == told(site, [over_contents], [instant])
    assert [part[2] for part, _ in refused] == [7, 8]


def test_what_cannot_be_read_in_one_evaluation_is_read_in_several(site: Site) -> None:
    kept, over_contents = both_ways(site, "q", JOIN, TimeWindow(10, 1, -10))
    site.append([(time, pair(time)) for time in range(1, 41)])
    intervals = site.evaluator._tables._intervals
    with patch.object(interval_tables, "_MOST_READ", 20), patch.object(intervals, "_at_once", 5):
        found = [told(site, [kept], [instant]) == told(site, [over_contents], [instant]) for instant in range(11, 31)]
        read = kept_rows(site)
    assert all(found)
    assert read > 0, "a window has 20 triples, of which five are read at once"
    with patch.object(interval_tables, "_MOST_READ", 19):
        other, over_contents = both_ways(site, "r", JOIN.replace("?v", "?u"), TimeWindow(12, 1, -12))
        for instant in range(31, 41):
            assert told(site, [other], [instant]) == told(site, [over_contents], [instant])
    assert kept_rows(site) == read
