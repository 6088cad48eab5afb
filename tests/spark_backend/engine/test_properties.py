"""The engine against a brute-force reading of RSP-QL: random streams, windows, queries, batches and restarts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.spark_backend.model.scenario_run import check_same, running
from tests.spark_backend.model.scenarios import RELAXED, Scenario, scenarios


def check_answers(scenario: Scenario) -> None:
    with running(scenario) as run:
        run.act()
        check_same(run, run.told, run.expected(run.start))


def check_replay(scenario: Scenario) -> None:
    with running(scenario) as run:
        run.act()
        live = run.told
        assert run.replayed(run.start) == live, "replayed at once"
        from_the_beginning = run.replayed(None)
        check_same(run, from_the_beginning, run.expected(None))
        if run.start is not None:
            earlier = [evaluation.instant for evaluation in from_the_beginning if evaluation.instant < run.start]
            for after in earlier[:: len(earlier) // 5 + 1]:
                later = [evaluation for evaluation in from_the_beginning if evaluation.instant > after]
                assert run.replayed(after) == later, "from one before the start"
        run.restart(keep_offset=False)
        assert run.replayed(run.start) == live, "replayed after a restart"
        assert run.replayed(None) == from_the_beginning, "from the beginning, after a restart"
        run.stepped.run()
        run.collect()
        assert run.told == live, "told twice"
        pairs = list(zip([run.start, *(e.instant for e in live)], live, strict=False))
        for before, evaluation in pairs[:: len(pairs) // 10 + 1]:
            assert list(run.stepped.backend.replay("q", before, evaluation.instant)) == [evaluation], "one of them"


@settings(RELAXED, max_examples=25)
@given(scenarios())
def test_all_answers_are_those_of_the_model(scenario: Scenario) -> None:
    check_answers(scenario)


@settings(RELAXED, max_examples=25)
@given(scenarios(restarts=True, most_partitions=3))
def test_answers_over_partitions_out_of_step_are_those_of_the_model(scenario: Scenario) -> None:
    check_answers(scenario)


@settings(RELAXED, max_examples=10)
@given(scenarios(restarts=True, most_partitions=3))
def test_replays_over_partitions_out_of_step_give_what_was_told_live(scenario: Scenario) -> None:
    check_replay(scenario)


@pytest.mark.long
@settings(RELAXED, max_examples=1000)
@given(scenarios(restarts=True, most_partitions=4))
def test_answers_over_partitions_are_those_of_the_model_in_many_scenarios(scenario: Scenario) -> None:
    check_replay(scenario)


@pytest.mark.long
@settings(RELAXED, max_examples=3000)
@given(scenarios(restarts=True))
def test_all_answers_are_those_of_the_model_in_many_scenarios_with_restarts(scenario: Scenario) -> None:
    check_answers(scenario)


@settings(RELAXED, max_examples=25)
@given(scenarios(restarts=True))
def test_replays_give_the_bytes_that_were_told_live_before_and_after_a_restart(scenario: Scenario) -> None:
    check_replay(scenario)


@pytest.mark.long
@settings(RELAXED, max_examples=1000)
@given(scenarios(restarts=True))
def test_replays_give_the_bytes_that_were_told_live_in_many_scenarios(scenario: Scenario) -> None:
    check_replay(scenario)
