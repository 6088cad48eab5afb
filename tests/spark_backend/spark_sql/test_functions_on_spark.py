"""Functions of an application give the same as Spark SQL gives and DuckDB, in workers that import them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from protocol.functions.aggregates import AGGREGATES_NAMESPACE
from protocol.functions.geosparql import GEOF
from protocol.functions.python_functions import OfValues, PythonFunctions
from tests.application_functions import IRI, OF_TERMS, doubled
from tests.spark_backend.compiler.differential.test_aggregates import GROUPS
from tests.spark_backend.compiler.differential.test_functions_with_iris import TERMS
from tests.spark_backend.compiler.differential.test_geosparql import PLACES as GEOMETRIES
from tests.spark_backend.compiler.one_shot import Content
from tests.spark_backend.spark_sql.both_sites import BothSites

pytestmark = pytest.mark.spark

ALL = (
    "(f:described(?v) AS ?a) (f:same(?v) AS ?b) (f:picky(?v, 1) AS ?c) (f:page_of(?v) AS ?d) (f:doubled(?v) AS ?e) "
    "(f:no_term(?v) AS ?g) (f:nothing(?v) AS ?h) (f:at_all() AS ?i)"
)


def test_both_sites_agree(session: SparkSession, tmp_path: Path) -> None:
    functions = PythonFunctions.of({**OF_TERMS, f"{IRI}doubled": OfValues(doubled)})
    sites = BothSites(tmp_path, session, functions)
    assert sites.agree(f"PREFIX f: <{IRI}> SELECT ?v {ALL} {{?s :p ?v}}", TERMS)
    duckdb, spark = sites.answers(
        f"PREFIX f: <{IRI}> SELECT ?v (f:picky(?v, 1) AS ?z) {{?s :p ?v}} ORDER BY ?v", Content({None: ":a :p 1, 2 ."})
    )
    for answers in (duckdb, spark):
        assert [set(json.loads(solution)) for solution in answers[1].solutions] == [{"v", "z"}, {"v"}]


def test_aggregates_with_iris_agree(session: SparkSession, tmp_path: Path) -> None:
    prefix = f"PREFIX agg: <{AGGREGATES_NAMESPACE}>"
    one = " ".join(
        f"(agg:{name}(?v) AS ?{name}) (agg:{name}(DISTINCT ?v) AS ?d_{name})"
        for name in ("median", "mode", "stdev", "var_pop")
    )
    two = "(agg:percentile(?v, 90) AS ?p) (agg:first(?v, STR(?v)) AS ?f) (agg:last(?s, ?v) AS ?l)"
    sites = BothSites(tmp_path, session)
    assert sites.agree(f"{prefix} SELECT ?s {one} {two} {{?s :p ?v}} GROUP BY ?s ORDER BY agg:median(?v) ?s", GROUPS)
    assert sites.agree(f"{prefix} SELECT {one} {two} {{?s :never ?v}}", GROUPS)
    # Terms with all that is escaped in a literal.
    assert sites.agree(f"{prefix} SELECT ?v {two} {{?s :p ?v}} GROUP BY ?v ORDER BY ?v", TERMS)


def test_functions_of_geometries_agree(session: SparkSession, tmp_path: Path) -> None:
    sites = BothSites(tmp_path, session)
    prefix = f"PREFIX geof: <{GEOF}>"
    computed = "(geof:sfTouches(?a, ?b) AS ?x) (geof:sfDisjoint(?a, ?b) AS ?y) (geof:envelope(?b) AS ?z)"
    assert sites.agree(f"{prefix} SELECT ?a ?b {computed} {{?s :g ?a . ?t :g ?b}}", GEOMETRIES)
    assert sites.agree(f"{prefix} SELECT * {{?s :g ?a . :p :place ?b FILTER(geof:sfContains(?b, ?a))}}", GEOMETRIES)
    assert sites.agree(f"{prefix} SELECT * {{?s :g ?a . :p :place ?b FILTER(!geof:rcc8dc(?b, ?a))}}", GEOMETRIES)


def test_two_endpoints_with_one_spark_have_functions_of_their_own(session: SparkSession, tmp_path: Path) -> None:
    text, content = f"PREFIX f: <{IRI}> SELECT (f:same(?v) AS ?z) {{?s :p ?v}}", Content({None: ":a :p 1 ."})
    for name in ("same", "described"):
        sites = BothSites(tmp_path / name, session, PythonFunctions.of({f"{IRI}same": OF_TERMS[f"{IRI}{name}"]}))
        assert sites.agree(text, content)
        _, spark = sites.answers(text, content)
        assert ("literal 1" in str(spark[1].solutions)) == (name == "described")
