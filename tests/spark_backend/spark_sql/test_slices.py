"""Which parts of a window a statement reads: those that its conditions name, and no less."""

from __future__ import annotations

import pytest
import sqlglot

from spark_backend.spark_sql.translation.slices import take_slices


def slices(sql: str) -> tuple[str, dict[str, dict[str, str]]]:
    """The statement with its slices' names in it, and their terms by name, digests replaced by numbers."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    taken = take_slices([tree], "run_window_")
    text, terms = tree.sql(dialect="duckdb"), {}
    for number, part in enumerate(taken):
        name = f"{part.window}_#{number}"
        text = text.replace(part.name, name)
        terms[name] = dict(part.terms)
    return text, terms


def test_each_pattern_reads_the_triples_with_its_terms() -> None:
    text, terms = slices(
        "SELECT a.s FROM run_window_0 AS a, run_window_0 AS b, run_window_10 AS c "
        "WHERE a.p = '<http://ex/p>' AND (b.p = '<http://ex/q>' AND b.o = '\"it''s \\\"\"') AND a.s = b.s AND a.n > 3"
    )
    assert text.startswith("SELECT a.s FROM run_window_0_#0 AS a, run_window_0_#1 AS b, run_window_10 AS c WHERE")
    assert terms == {
        "run_window_0_#0": {"p": "<http://ex/p>"},
        "run_window_0_#1": {"p": "<http://ex/q>", "o": '"it\'s \\""'},
    }


def test_patterns_with_the_same_terms_read_the_same_table() -> None:
    text, terms = slices(
        "SELECT * FROM run_window_0 AS a, run_window_0 AS b WHERE a.p = '<http://ex/p>' AND '<http://ex/p>' = b.p"
    )
    assert text.count("run_window_0_#0") == 2
    assert len(terms) == 1


@pytest.mark.parametrize(
    "condition",
    [
        "a.p = '<http://ex/p>' OR a.s = a.o",
        "NOT (a.p = '<http://ex/p>')",
        "a.p = a.s",
        "a.k = 3",
        "a.instant = 5",
        "EXISTS (SELECT 1 FROM other AS b WHERE a.p = '<http://ex/p>')",
        "b.p = '<http://ex/p>'",
    ],
)
def test_where_a_condition_leaves_others_the_whole_window_is_read(condition: str) -> None:
    sql = f"SELECT a.s FROM run_window_0 AS a, other AS b WHERE {condition}"
    text, terms = slices(sql)
    assert "run_window_0 AS a" in text
    assert not terms


def test_a_condition_holds_for_the_select_it_stands_in_alone() -> None:
    text, _ = slices(
        "SELECT x.s FROM (SELECT a.s FROM run_window_0 AS a) AS x, run_window_0 AS a WHERE a.p = '<http://ex/p>'"
    )
    assert text.startswith("SELECT x.s FROM (SELECT a.s FROM run_window_0 AS a) AS x, run_window_0_#0 AS a")


def test_two_terms_for_one_column_are_one_of_them_and_a_condition() -> None:
    text, terms = slices("SELECT a.s FROM run_window_0 AS a WHERE a.p = '<http://ex/p>' AND a.p = '<http://ex/q>'")
    assert list(terms.values()) == [{"p": "<http://ex/p>"}]
    assert "'<http://ex/q>'" in text
