"""answer = evaluate(query, t, log): the same however instants are grouped and elements have arrived."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.language.model import Form
from protocol.windows.spec import TimeWindow
from spark_backend.budget import Budget, Lane
from spark_backend.evaluation import evaluator as evaluator_module
from spark_backend.evaluation import planner, prepared_queries
from spark_backend.evaluation.cost import Cost
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.tables import EvaluationTables
from spark_backend.spark import task
from tests.spark_backend.evaluation.evaluated_log import WINDOW_GRAPH, Element, Site, bindings, one_shot

XSD = "http://www.w3.org/2001/XMLSchema#"
INTEGERS = [f'"{number}"^^<{XSD}integer>' for number in range(4)]
DECIMALS = [f'"{number}.5"^^<{XSD}decimal>' for number in range(3)]
QUERIES = (
    "SELECT * { GRAPH <http://ex/w> { ?s <http://ex/p> ?v } }",
    "SELECT ?s (SUM(?v) AS ?n) (COUNT(*) AS ?c) { GRAPH <http://ex/w> { ?s <http://ex/p> ?v } } GROUP BY ?s",
    "SELECT (AVG(?v) AS ?n) { GRAPH <http://ex/w> { ?s <http://ex/p> ?v } }",
    "SELECT * { GRAPH <http://ex/w> { ?s <http://ex/p> ?v OPTIONAL { ?s <http://ex/q> ?w } FILTER(?v >= 1) } }",
    "SELECT ?g (MAX(?v) AS ?n) { GRAPH ?g { ?s ?p ?v } } GROUP BY ?g",
)

_triples = st.tuples(
    st.sampled_from(["<http://ex/a>", "<http://ex/b>"]),
    st.sampled_from(["<http://ex/p>", "<http://ex/q>"]),
    st.sampled_from([*INTEGERS, *DECIMALS]),
)
_elements = st.lists(st.tuples(st.integers(1, 40), st.lists(_triples, max_size=3)), max_size=12)
_windows = st.builds(TimeWindow, st.integers(1, 15), st.integers(1, 15), st.integers(-5, 5))
_instants = st.lists(st.integers(1, 45), min_size=1, max_size=8, unique=True).map(sorted)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_elements, _windows, _instants, st.sampled_from(QUERIES), st.randoms(use_true_random=False))
def test_an_answer_is_that_of_the_one_shot_query_over_the_window_however_it_is_asked(
    elements: list[Element], window: TimeWindow, instants: list[int], text: str, random: Random
) -> None:
    shuffled = sorted(elements, key=lambda _: random.random())
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        one, other = Site(Path(first)), Site(Path(second))
        one.append(elements)
        for element in shuffled:
            other.append([element])
        name = one.prepare("q", text, window)
        together = one.answers(name, instants)
        assert [answer.instant for answer in together] == instants
        assert [answer.error for answer in together] == [None] * len(instants)
        apart = [answer for instant in instants for answer in one.answers(name, [instant])]
        arrived_otherwise = other.answers(other.prepare("q", text, window), instants)
        assert together == apart == arrived_otherwise
        for answer in together:
            assert bindings(answer) == one_shot(text, elements, window, answer.instant)
        one.close()
        other.close()


def test_what_arrives_later_is_seen_after_a_refresh_and_changes_no_earlier_answer(site: Site) -> None:
    name = site.prepare("q", QUERIES[0], TimeWindow(10, 10, 0))
    site.append([(5, [("<http://ex/a>", "<http://ex/p>", INTEGERS[1])])])
    before = site.answers(name, [10])
    site.append([(15, [("<http://ex/a>", "<http://ex/p>", INTEGERS[2])])])
    assert site.answers(name, [10]) == before
    assert [len(answer.solutions) for answer in site.answers(name, [10, 20, 30])] == [1, 1, 0]


def test_a_late_element_takes_part_only_in_evaluations_after_the_watermark_it_met(tmp_path: Path) -> None:
    site = Site(tmp_path, lateness=0)
    name = site.prepare("q", QUERIES[0], TimeWindow(100, 1, -100))
    site.append([(20, []), (5, [("<http://ex/a>", "<http://ex/p>", INTEGERS[1])])])  # the watermark is 19
    assert [len(answer.solutions) for answer in site.answers(name, [19, 20])] == [0, 1]
    assert [len(site.answers(name, [instant])[0].solutions) for instant in (19, 20)] == [0, 1]
    site.close()


def test_many_instants_are_split_where_their_windows_hold_too_much(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.append([(time, [("<http://ex/a>", "<http://ex/p>", INTEGERS[time % 4])]) for time in range(1, 40)])
    name = site.prepare("q", QUERIES[1], TimeWindow(10, 1, 0))
    whole = site.answers(name, range(10, 40))
    monkeypatch.setattr(planner, "_ROWS_AT_ONCE", 25)
    fresh = Evaluator(site.layout.root)
    assert [answer for _, answer in fresh.evaluate([("q", name, range(10, 40))])] == whole


@pytest.mark.parametrize(("width", "apart"), [(10, True), (11, False)])
def test_large_windows_without_rows_in_common_are_evaluated_one_by_one(
    site: Site, monkeypatch: pytest.MonkeyPatch, width: int, apart: bool
) -> None:
    site.append([(time, [("<http://ex/a>", "<http://ex/p>", INTEGERS[time % 4])]) for time in range(1, 40)])
    name = site.prepare("q", QUERIES[1], TimeWindow(width, 10, 0))
    whole = site.answers(name, [10, 20, 30])
    monkeypatch.setattr(planner, "LARGE", 5)
    planned = site.evaluator.plan([("q", name, [10, 20, 30])])
    assert [step.instants for step in planned.steps] == ([(10,), (20,), (30,)] if apart else [(10, 20, 30)])
    assert [answer for step in planned.steps for _, answer in site.evaluator.run(step)] == whole


def test_a_query_that_cannot_be_prepared_is_an_answer_with_an_error_for_each_instant(site: Site) -> None:
    answers = site.answers("nowhere.json", [10, 20])
    assert [answer.instant for answer in answers] == [10, 20]
    assert all("could not be prepared" in (answer.error or "") for answer in answers)


def test_a_log_that_is_gone_fails_the_queries_that_read_it_and_no_others(site: Site) -> None:
    site.append([(5, [("<http://ex/a>", "<http://ex/p>", "<http://ex/b>")])])
    text = f"SELECT ?s {{ GRAPH <{WINDOW_GRAPH}> {{ ?s ?p ?o }} }}"
    there = site.prepare("q", text, TimeWindow(10, 10, 0))
    query = site.registry.read_prepared(there)
    gone = site.registry.write_prepared("g", replace(query, windows=(replace(query.windows[0], stream="gone"),)))
    answers = list(site.evaluator.evaluate([("g", gone, [10, 20]), ("q", there, [10])]))
    assert [(key, answer.instant, len(answer.solutions)) for key, answer in answers if answer.error is None] == [
        ("q", 10, 1)
    ]
    assert [(key, answer.instant) for key, answer in answers if answer.error is not None] == [("g", 10), ("g", 20)]


def test_a_construct_answers_with_triples_for_each_solution(site: Site) -> None:
    site.append(
        [(5, [("<http://ex/a>", "<http://ex/p>", INTEGERS[1]), ("<http://ex/b>", "<http://ex/p>", INTEGERS[1])])]
    )
    template = "?v <http://ex/no> ?s . ?s <http://ex/is> [ <http://ex/v> ?v ]"
    text = f"CONSTRUCT {{ {template} }} WHERE {{ GRAPH <http://ex/w> {{ ?s <http://ex/p> ?v }} }}"
    (answer,) = site.answers(site.prepare("q", text, TimeWindow(10, 10, 0), Form.CONSTRUCT), [10])
    assert len(answer.triples) == len(answer.solutions) == 2
    assert all(len(lines.splitlines()) == 2 for lines in answer.triples)
    assert (answer,) == tuple(site.answers(site.prepare("q", text, TimeWindow(10, 10, 0), Form.CONSTRUCT), [10]))


def test_the_task_gives_an_answer_row_for_each_due_instant(site: Site) -> None:
    site.append([(5, [("<http://ex/a>", "<http://ex/p>", INTEGERS[1])])])
    name = site.prepare("q", QUERIES[0], TimeWindow(10, 10, 0))
    due = task.due_table([("one", name, [10, 20]), ("two", name, [10])])
    evaluate = task.evaluation(site.layout.root, lane=Lane.COMMON, budget=Budget())
    batches = list(task.in_arrow(evaluate, iter(due.to_batches())))
    rows = sorted((row for batch in batches for row in batch.to_pylist()), key=lambda row: (row["key"], row["instant"]))
    assert [(row["key"], row["instant"], len(row["bindings"].splitlines()), row["error"]) for row in rows] == [
        ("one", 10, 1, None),
        ("one", 20, 0, None),
        ("two", 10, 1, None),
    ]
    assert json.loads(rows[0]["bindings"]) == {
        "s": {"type": "uri", "value": "http://ex/a"},
        "v": {"type": "literal", "value": "1", "datatype": f"{XSD}integer"},
    }


def test_a_worker_forgets_queries_and_their_functions_when_there_are_too_many(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_queries, "_MOST", 3)
    site.append([(5, [("<http://ex/a>", "<http://ex/p>", '"abc"')])])
    text = "SELECT ?v {{ GRAPH <http://ex/w> {{ ?s <http://ex/p> ?v FILTER(REGEX(?v, '{}')) }} }}"
    names = [site.prepare(f"q{n}", text.format(letter), TimeWindow(10, 10, 0)) for n, letter in enumerate("abcxyz")]
    for _ in range(2):
        assert [len(site.answers(name, [10])[0].solutions) for name in names] == [1, 1, 1, 0, 0, 0]


def test_where_memory_runs_out_while_a_result_is_read_that_is_said_and_the_next_evaluation_is_right(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.append([(time, [(f"<http://ex/s{n}>", "<http://ex/p>", f'"{n}"') for n in range(9)]) for time in (5, 15)])
    name = site.prepare("q", f"SELECT * {{ GRAPH <{WINDOW_GRAPH}> {{ ?s ?p ?v }} }}", TimeWindow(10, 10, 0))

    def read_some(connection: duckdb.DuckDBPyConnection, select: str) -> pa.Table:
        connection.execute(select).fetchone()
        raise MemoryError("malloc failed")

    with monkeypatch.context() as patch:
        patch.setattr(evaluator_module, "rows_of", read_some)
        (answer,) = site.answers(name, [10])
    assert answer.error is not None
    assert "more memory than its budget" in answer.error
    for instant in (20, 10):
        (answer,) = site.answers(name, [instant])
        assert answer.error is None
        assert len(answer.solutions) == 9


@pytest.mark.parametrize("condition", ["?v = ?w", "REGEX(?v, '^abc')"])
def test_a_statement_that_takes_long_for_what_it_reads_is_stopped_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    stopped: list[None] = []
    monkeypatch.setattr(evaluator_module, "found_within", lambda *_: stopped.append(None))
    text = f"SELECT * {{ GRAPH <{WINDOW_GRAPH}> {{ ?s <http://ex/p> ?v . ?s <http://ex/q> ?w }} FILTER({condition}) }}"
    elements = [
        (time, [(f"<http://ex/{s}>", f"<http://ex/{p}>", f'"abc{s}"') for s in "ab" for p in "pq"]) for time in (5, 15)
    ]
    site.append(elements)
    name = site.prepare("q", text, TimeWindow(10, 10, 0))
    for instant in (10, 20):
        (answer,) = site.answers(name, [instant])
        assert answer.error is None
        assert bindings(answer) == one_shot(text, elements, TimeWindow(10, 10, 0), instant)
        assert len(answer.solutions) == 2
    assert len(stopped) == 1  # the next time it is narrowed at once


@pytest.mark.parametrize(("shapes", "shares"), [(1, [1.0]), (2, [0.5, 0.0]), (4, [0.25, 0.0, 0.0, 0.0])])
def test_what_a_windows_table_costs_is_put_down_to_those_that_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shapes: int, shares: list[float]
) -> None:
    spent = Cost()
    make = EvaluationTables._distinct_triples

    def table(tables: EvaluationTables) -> int:
        nonlocal spent
        spent = spent.and_also(Cost(3.0, 1.0))
        return make(tables)

    monkeypatch.setattr(EvaluationTables, "_distinct_triples", table)
    site = Site(tmp_path)
    site.evaluator = Evaluator(tmp_path, clock=lambda: spent)
    site.append([(time, [("<http://ex/a>", "<http://ex/p>", INTEGERS[time % 4])]) for time in range(1, 9)])
    window = TimeWindow(1, 1, 0)
    due = [(f"q{n}", site.prepare(f"q{n}", text, window), range(1, 5)) for n, text in enumerate(QUERIES[:shapes])]
    answers = list(site.evaluator.evaluate(due))
    assert spent == Cost(3.0, 1.0), "it was made once"
    for n, share in enumerate(shares):
        # A fourth at each of its instants.
        found = {(answer.seconds, answer.processor) for key, answer in answers if key == f"q{n}"}
        assert found == {(3 * share / 4, share / 4)}
    site.close()
