"""What is evaluated as large windows are, compiled and by slices that the log source makes, is answered alike."""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.one_shot import Content
from tests.spark_backend.spark_sql.both_sites import BothSites

pytestmark = pytest.mark.spark

LARGE = 100_001
CONTENT = Content(
    {
        None: r"""
            :x :p :y, :z . :y :p :z . :z :p :x . :x :q 1, 2.5, 'NaN'^^xsd:double . :z :q 7, 0.1 .
            :x :r 'a\\b\'c"d$1', 's'@en . :y :r 's', true .
        """,
        "http://ex/w1": ":x :p :u . :u :p :v . :y :n _:b1 . _:b1 :n 5 .",
    },
    {None: ":x :label 'ex' . :y :p :w ."},
)


# The Java of each is compiled, which takes seconds: `make test-sites` asks those that are long, too.
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "SELECT * { ?a :p ?b ; :q ?n . ?b :p ?c OPTIONAL { ?c :r ?r } FILTER(?n > 0.5) }", marks=pytest.mark.long
        ),
        pytest.param(r"""SELECT ?a ?b { ?a :r 'a\\b\'c"d$1' ; :p ?b }""", marks=pytest.mark.long),
        pytest.param(
            "SELECT ?b (SUM(?n) AS ?s) (COUNT(*) AS ?c) { ?a :p ?b ; :q ?n } GROUP BY ?b ORDER BY DESC(?s) ?b",
            marks=pytest.mark.long,
        ),
        "SELECT * { GRAPH ?g { ?a :p ?b } MINUS { ?b :p :x } }",
        pytest.param("SELECT * { ?a :p+ ?b FILTER NOT EXISTS { ?b :q 7 } }", marks=pytest.mark.long),
        pytest.param("SELECT ?a ?p { ?a ?p ?o . ?a :q 1 }", marks=pytest.mark.long),
    ],
)
def test_both_sites_agree(sites: BothSites, text: str) -> None:
    assert sites.agree(text, CONTENT, rows=LARGE)
    assert not sites.left_behind()
