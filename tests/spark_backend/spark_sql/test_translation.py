"""DuckDB's SQL and the Spark SQL that means the same, without Spark."""

from __future__ import annotations

import pytest

from protocol.errors import UnsupportedFeature
from spark_backend.spark_sql.translation.program import Fixpoint, Program, Table, with_prefix
from spark_backend.spark_sql.translation.translation import translate_statement


def expression(text: str) -> str:
    """The Spark SQL of one expression."""
    program = translate_statement(f"SELECT {text} FROM t", "run_")
    assert program.steps == ()
    return program.select.removeprefix("SELECT ").removesuffix(" AS c0 FROM t")


@pytest.mark.parametrize(
    ("duckdb", "spark"),
    [
        # A backslash escapes in Spark's literals, not in DuckDB's.
        (r"""'"a\"b"@en'""", r"""'"a\\"b"@en'"""),
        ("'it''s'", r"'it\'s'"),
        ("'a\tb'", r"'a\u0009b'"),
        # Types
        ("NULL::UTINYINT", "CAST(NULL AS SMALLINT)"),
        ("NULL::VARCHAR", "CAST(NULL AS STRING)"),
        ("'-inf'::DOUBLE", "CAST('-inf' AS DOUBLE)"),
        ("TRY_CAST(n AS HUGEINT)", "TRY_CAST(n AS DECIMAL(38, 0))"),
        (
            "TRY_CAST(n AS HUGEINT) * TRY_CAST(m AS HUGEINT)",
            "TRY_MULTIPLY(TRY_CAST(n AS DECIMAL(38, 0)), TRY_CAST(m AS DECIMAL(38, 0)))",
        ),
        ("n * m", "n * m"),
        # Strings
        ("(t.o)[2:-2]", "SUBSTRING((t.o), 2, LENGTH((t.o)) - 2)"),
        ("t.s[1]", "SUBSTRING(t.s, 1, 1)"),
        (r"contains(o, '\')", r"CONTAINS(o, '\\')"),
        (r"""regexp_replace(o, '"[^"]*$', '"')""", r"""REGEXP_REPLACE(o, '"[^"]*\\z', '"')"""),
        (r"regexp_replace(o, '^(.)(.)$', '\2$\1')", r"REGEXP_REPLACE(o, '^(.)(.)\\z', '$2\\$$1')"),
        (r"""regexp_extract(o, '@([^"]*)$', 1)""", r"""REGEXP_EXTRACT(o, '@([^"]*)\\z', 1)"""),
        ("row_number() OVER (PARTITION BY a)", "ROW_NUMBER() OVER (PARTITION BY a ORDER BY a)"),
        # DuckDB's NULL comes last, Spark's first
        (
            "row_number() OVER (ORDER BY a, b NULLS FIRST)",
            "ROW_NUMBER() OVER (ORDER BY a NULLS LAST, b)",
        ),
        # Aggregates
        ("list(o) FILTER (WHERE k > 3)", "NULLIF(COLLECT_LIST(o) FILTER(WHERE k > 3), CAST(ARRAY() AS ARRAY<STRING>))"),
        (
            "sum(CASE WHEN k = 1 THEN TRY_CAST(n AS BIGINT) END)",
            "SUM(CASE WHEN k = 1 THEN TRY_CAST(TRY_CAST(n AS BIGINT) AS DECIMAL(38, 0)) END)",
        ),
        (
            "sum(n ORDER BY n) FILTER (WHERE k = 4)",
            (
                "AGGREGATE(NULLIF(ARRAY_SORT(COLLECT_LIST(n) FILTER(WHERE k = 4)), CAST(ARRAY() AS ARRAY<DOUBLE>)), "
                "CAST('0' AS DOUBLE), (sum, y) -> sum + y)"
            ),
        ),
        (
            "max({'n': n, 't': o}).t",
            "MAX(STRUCT(n IS NULL AS n_absent, n AS n, o IS NULL AS t_absent, o AS t)).t",
        ),
        ("count(DISTINCT row(a, b))", "COUNT(DISTINCT STRUCT(a, b))"),
    ],
)
def test_an_expression_means_the_same(duckdb: str, spark: str) -> None:
    assert expression(duckdb) == spark


def test_a_division_has_a_result_for_a_zero() -> None:
    assert expression("n / 4") == "n / 4"
    assert expression("n / m") == (
        "(n / IF(m = 0, 1, m)) * IF(m = 0, IF(CAST(m AS STRING) LIKE '-%', CAST('-inf' AS DOUBLE), "
        "CAST('inf' AS DOUBLE)), CAST('1' AS DOUBLE))"
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT printf('%s', a) FROM t",
        "SELECT regexp_replace(o, 'a', 'b') FROM t",
        "SELECT o[2:3] FROM t",
        "SELECT sum(n) FROM t",
        "SELECT md5_number_lower(o) FROM t",
        "SELECT rank() OVER (ORDER BY a) FROM t",
        "SELECT * FROM a FULL JOIN b ON a.x = b.x",
        "SELECT a FROM t QUALIFY a > 1",
        "SELECT a FROM t LIMIT 3",
    ],
)
def test_what_has_no_translation_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match="this has no translation to Spark SQL: "):
        translate_statement(text, "run_")


def test_what_cannot_be_read_is_refused_too() -> None:
    with pytest.raises(UnsupportedFeature, match="sqlglot, which translates to Spark SQL, does not read"):
        translate_statement("SELECT a FROM (SELECT", "run_")


def test_distinct_carries_numbers_along_since_spark_would_make_a_negative_zero_positive() -> None:
    program = translate_statement(
        "SELECT a FROM (SELECT DISTINCT t.o AS v1, t.k AS v1_k, t.n AS v1_n FROM t) q", "run_"
    )
    assert program.select == (
        "SELECT a AS c0 FROM (SELECT v1, v1_k, ANY_VALUE(v1_n) AS v1_n FROM (SELECT t.o AS v1, t.k AS v1_k, "
        "t.n AS v1_n FROM t) AS d GROUP BY v1, v1_k) AS q"
    )


def test_a_union_is_a_set_of_terms() -> None:
    sources = "SELECT i, s, p, o, k, n FROM a UNION SELECT i, s, p, o, k, n FROM b"
    assert translate_statement(f"SELECT x.s FROM ({sources}) x", "run_").select == (
        "SELECT x.s AS c0 FROM (SELECT i, s, p, o, k, ANY_VALUE(n) AS n FROM (SELECT i, s, p, o, k, n FROM a "
        "UNION ALL SELECT i, s, p, o, k, n FROM b) AS d GROUP BY i, s, p, o, k) AS x"
    )


def test_the_order_is_over_named_columns() -> None:
    program = translate_statement(
        "SELECT t.i, t.s AS v0 FROM t ORDER BY t.i, t.s DESC NULLS LAST, t.o NULLS FIRST", "run_"
    )
    assert program.select == (
        "SELECT c0, c1 FROM (SELECT t.i AS c0, t.s AS c1, t.o AS c2 FROM t) AS z ORDER BY c0 NULLS LAST, c1 DESC, c2"
    )


def test_common_table_expressions_are_steps_in_order_and_kept_where_rows_are_numbered_or_read_twice() -> None:
    program = translate_statement(
        "SELECT q.x FROM (WITH w AS MATERIALIZED (SELECT o AS x, row_number() OVER () AS d FROM t) SELECT w.x, w.d IN "
        "(SELECT y.d FROM (WITH v AS MATERIALIZED (SELECT w.d FROM w) SELECT v.d FROM v) y) AS f FROM w) q",
        "run_",
    )
    assert program.steps == (
        Table("run_w", "SELECT o AS x, MONOTONICALLY_INCREASING_ID() AS d FROM t", kept=True),
        Table("run_v", "SELECT w.d FROM run_w AS w", kept=False),
    )
    assert program.select == (
        "SELECT q.x AS c0 FROM (SELECT w.x, (NOT f_in1.d IS NULL) AS f FROM run_w AS w LEFT JOIN (SELECT d FROM "
        "(SELECT y.d FROM (SELECT v.d FROM run_v AS v) AS y) AS d GROUP BY d) AS f_in1 ON f_in1.d = w.d) AS q"
    )


def test_a_recursive_union_is_a_fixpoint() -> None:
    program = translate_statement(
        "SELECT q.n FROM (WITH RECURSIVE e AS MATERIALIZED (SELECT DISTINCT t.s AS x, t.o AS n, t.k AS n_k FROM t), "
        "r(x, n, n_k) AS (SELECT x, n, n_k FROM e UNION SELECT r.x, e.n, e.n_k FROM r, e WHERE e.x = r.n) "
        "SELECT * FROM r) q",
        "run_",
    )
    edges, paths = program.steps
    assert isinstance(edges, Table)
    assert edges.kept
    assert paths == Fixpoint(
        "run_r",
        "run_r_latest",
        "SELECT x, n, n_k FROM (SELECT x AS x, n AS n, n_k AS n_k FROM run_e AS e) AS d GROUP BY x, n, n_k",
        "SELECT d.* FROM (SELECT x, n, n_k FROM (SELECT r.x AS x, e.n AS n, e.n_k AS n_k FROM run_r_latest AS r, "
        "run_e AS e WHERE e.x = r.n) AS d GROUP BY x, n, n_k) AS d LEFT ANTI JOIN run_r AS known "
        "ON d.x <=> known.x AND d.n <=> known.n",
    )
    assert program.select == "SELECT q.n AS c0 FROM (SELECT * FROM run_r AS r) AS q"


def test_an_outer_join_on_a_prelude_call_is_one_on_the_rows_that_pass() -> None:
    program = translate_statement(
        "SELECT a.x FROM (SELECT x FROM t) a LEFT JOIN (SELECT y FROM u) b ON a.x = b.y AND lexical(b.y) = 's'", "run_"
    )
    assert program.steps == (
        Table(
            "run_a_numbered",
            "SELECT *, MONOTONICALLY_INCREASING_ID() AS a_row FROM (SELECT x FROM t) AS a",
            kept=True,
        ),
    )
    assert program.select == (
        "SELECT a.x AS c0 FROM run_a_numbered AS a LEFT JOIN (SELECT a.a_row, b.* FROM run_a_numbered AS a "
        "CROSS JOIN (SELECT y FROM u) AS b WHERE a.x = b.y AND LEXICAL(b.y) = 's') AS b ON b.a_row = a.a_row"
    )


def test_a_program_is_renamed_whole() -> None:
    program = Program(
        (Table("run_a", "SELECT * FROM run_w", True), Fixpoint("run_r", "run_l", "FROM run_a", "FROM run_l")),
        "SELECT * FROM run_r",
        "run_",
    )
    assert with_prefix(program, "my") == Program(
        (Table("mya", "SELECT * FROM myw", True), Fixpoint("myr", "myl", "FROM mya", "FROM myl")),
        "SELECT * FROM myr",
        "my",
    )
