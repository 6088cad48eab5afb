"""What is matched once for all instants: the same answers as over windows' contents, however the log has grown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.windows.spec import TimeWindow
from spark_backend.evaluation import interval_tables
from spark_backend.evaluation.contents import solution_intervals
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


def told(site: Site, prepared: Sequence[str], instants: Sequence[int]) -> list[tuple[str, int, list[str]]]:
    """The answers of queries that are due together, by query and instant."""
    due = [(str(number), name, instants) for number, name in enumerate(prepared)]
    answers = list(site.evaluator.evaluate(due))
    assert not [answer.error for _, answer in answers if answer.error]
    return sorted((key, answer.instant, answer.solutions) for key, answer in answers)


def kept_rows(site: Site) -> int:
    return site.evaluator._tables._intervals.rows


Case = tuple[str, list[tuple[list[Element], int]], int, int, bool, int]
_cases = st.tuples(
    _queries, _steps, st.integers(2, 20), st.integers(0, 6), st.booleans(), st.sampled_from([1, 4, 200_000])
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
    query: str, steps: list[tuple[list[Element], int]], width: int, lateness: int, several: bool, at_once: int
) -> None:
    """Queries of one shape over a log that grows step by step, at the instants that are due then."""
    with (
        TemporaryDirectory() as directory,
        patch.object(solution_intervals, "MOST_AT_ONCE", at_once),
        patch.object(solution_intervals, "_FEWEST", at_once % 10),
    ):
        site, window = Site(Path(directory), lateness=lateness), TimeWindow(width, 1, -width)
        first = both_ways(site, "q", query, window)
        second = both_ways(site, "r", query.replace("<http://ex/a>", "<http://ex/b>").replace("> 1", "> 0"), window)
        due = 0
        for elements, step in steps:
            site.append([(due + time, triples) for time, triples in elements])
            instants = list(range(due + 1, min(due + step, site.evaluator._tables.reader("s").watermark) + 1))
            if not instants:
                continue
            due = instants[-1]
            for at in [instants] if several else [[instant] for instant in instants]:
                (kept, of_contents), (also_kept, also_of_contents) = first, second
                over_contents = told(site, [of_contents, also_of_contents], at)
                assert told(site, [kept, also_kept], at) == over_contents
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
    with patch.object(interval_tables, "MOST_AT_ONCE", 3):
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
