"""Queries with SERVICE by Spark SQL: what Oxigraph gives over one dataset, and the same bytes in a replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_backend.site import Site, SiteChoice
from spark_backend.spark_sql.evaluator import SparkSqlEvaluator
from tests.spark_backend.service_cases import QUERIES, backend, case, endpoints, oracle, post_all, solutions

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SHORT = {"two", "optional", "aggregate", "exact text", "address of stream"}
CASES = [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in QUERIES]


@pytest.mark.parametrize("name", CASES)
def test_spark_sql_answers_with_what_services_gave(name: str, session: SparkSession, tmp_path: Path) -> None:
    made = backend(tmp_path, endpoints(), SiteChoice(Site.SPARK), SparkSqlEvaluator(session, tmp_path))
    made.register("q", case(name))
    post_all(made)
    made.run()
    told = made.answers("q")
    assert sorted(told) == [5000, 10000, 15000, 20000, 25000]
    for instant, data in told.items():
        assert solutions(json.loads(data)) == oracle(case(name), instant), instant
    assert made.replayed("q") == told
    made.close()
