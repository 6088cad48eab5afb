"""``timestamp()`` and C-SPARQL's AGGREGATE give the same as Spark SQL gives and DuckDB."""

from __future__ import annotations

import pytest

from protocol.language.model import AGGREGATE_FUNCTION, TIMESTAMP_FUNCTION
from tests.spark_backend.compiler.one_shot import Content
from tests.spark_backend.spark_sql.both_sites import BothSites

pytestmark = pytest.mark.spark

TIME, COUNT, SUM = f"<{TIMESTAMP_FUNCTION}>", f"<{AGGREGATE_FUNCTION}COUNT-ALL>", f"<{AGGREGATE_FUNCTION}SUM>"
CONTENT = Content(
    {None: ":a :p 1 ; :q :b . :b :p 2 ; :q :c . :c :p 1 , 3 ; :in :x . :d :p 7 ; :in :x ."},
    {None: ":a :p 1 ; :in :y . :e :p 1 ."},
)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT ?x ({TIME}(?x) AS ?t) {{ ?x :p ?y OPTIONAL {{ ?x :q ?z }} }}",
        f"SELECT ?x ({TIME}(?x) AS ?t) {{ {{ SELECT DISTINCT ?x {{ ?x :p ?y }} }} OPTIONAL {{ ?x :in ?z }} }}",
        f"SELECT ?y ({TIME}(?y) AS ?t) (MAX({TIME}(?x)) AS ?u) {{ ?x :p ?y }} GROUP BY ?y ORDER BY {TIME}(?y)",
        f"SELECT ?x ({TIME}(?x, :p, 1) AS ?t) {{ ?x ?p ?y FILTER(YEAR({TIME}(?y)) < 2000) }}",
        f"SELECT ?x {{ ?x :p ?y FILTER NOT EXISTS {{ ?z :q ?x FILTER({TIME}(?z) > {TIME}(?y)) }} }}",
        f"SELECT * {{ {{ ?x :p ?y OPTIONAL {{ ?x :in ?k }} }} BIND({COUNT}(?k) AS ?n) BIND({SUM}(?y, ?k) AS ?m) }}",
    ],
)
def test_both_sites_agree(sites: BothSites, text: str) -> None:
    assert sites.agree(text, CONTENT)
