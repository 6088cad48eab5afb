"""``timestamp()`` and C-SPARQL's AGGREGATE give the same as Spark SQL gives and DuckDB."""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.one_shot import Content
from tests.spark_backend.spark_sql.both_sites import BothSites

pytestmark = pytest.mark.spark

CONTENT = Content(
    {None: ":a :p 1 ; :q :b . :b :p 2 ; :q :c . :c :p 1 , 3 ; :in :x . :d :p 7 ; :in :x ."},
    {None: ":a :p 1 ; :in :y . :e :p 1 ."},
)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?x (timestamp(?x) AS ?t) { ?x :p ?y OPTIONAL { ?x :q ?z } }",
        "SELECT ?x (timestamp(?x) AS ?t) { { SELECT DISTINCT ?x { ?x :p ?y } } OPTIONAL { ?x :in ?z } }",
        "SELECT ?y (timestamp(?y) AS ?t) (MAX(timestamp(?x)) AS ?u) { ?x :p ?y } GROUP BY ?y ORDER BY timestamp(?y)",
        "SELECT ?x (timestamp(?x, :p, 1) AS ?t) { ?x ?p ?y FILTER(YEAR(timestamp(?y)) < 2000) }",
        "SELECT ?x { ?x :p ?y FILTER NOT EXISTS { ?z :q ?x FILTER(timestamp(?z) > timestamp(?y)) } }",
        "SELECT * { ?x :p ?y OPTIONAL { ?x :in ?k } } AGGREGATE { (?n, COUNT, ?k) (?m, SUM(?y), ?k) }",
    ],
)
def test_both_sites_agree(sites: BothSites, text: str) -> None:
    assert sites.agree(text, CONTENT)
