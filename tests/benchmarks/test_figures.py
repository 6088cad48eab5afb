"""Which side of its target a figure is on, and the table that says so."""

from __future__ import annotations

import pytest

from tests.benchmarks.figures import Figure, percentile, table


@pytest.mark.parametrize(
    ("compared", "at_least", "verdict"),
    [(2.0, True, "met"), (1.9, True, "not met"), (2.0, False, "met"), (2.1, False, "not met")],
)
def test_a_target_is_met_from_its_side(compared: float, at_least: bool, verdict: str) -> None:
    assert Figure("x", "name", 1.0, "s", compared, 2.0, at_least).verdict == verdict


def test_a_figure_without_a_target_is_information() -> None:
    assert Figure("x", "name", 1.0, "s", 1.0).verdict == ""


def test_a_table_says_what_is_compared_with_what() -> None:
    compared = Figure("x", "rate", 2_000.0, "triples/s", 0.5, 1.0, baseline=4_000.0, baseline_name="a loop")
    head, rule, row, alone = table([compared, Figure("x", "cost", 0.25, "s", 0.25)]).splitlines()
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "rate", "2,000 triples/s", "a loop: 4,000", "0.5 x", "≥ 1 x", "not met",
    ]  # fmt: skip
    assert [cell.strip() for cell in alone.strip("|").split("|")] == ["cost", "0.25 s", "", "", "", ""]
    assert len(head) == len(rule) == len(row) == len(alone)


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3, 1, 2], 50) == 2
    assert percentile([3, 1, 2], 99) == 3
