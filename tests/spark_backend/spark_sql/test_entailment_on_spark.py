"""Under RDFS both sites of evaluation answer the same."""

from __future__ import annotations

import pytest

from protocol.entailment.regimes import Regime
from tests.spark_backend.compiler.one_shot import Content
from tests.spark_backend.spark_sql.both_sites import BothSites

pytestmark = pytest.mark.spark
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
CONTENT = Content(
    {None: ':tom a :Cat ; :hunts :jerry, "mice" . :rex a :Dog .', "http://ex/w1": ":jerry :meets _:b . _:b a :Cat ."},
    {
        None: f":Cat <{RDFS}subClassOf> :Animal . :hunts <{RDFS}subPropertyOf> :meets . :ann :meets :tom . "
        f":meets <{RDFS}domain> :Animal ; <{RDFS}range> :Being .",
        "http://ex/g1": ":rex :hunts :ann .",
    },
    entailment=Regime.RDFS,
)


@pytest.mark.parametrize(
    ("text", "solutions"),
    [
        ("SELECT ?x { ?x a :Animal } ORDER BY ?x", 2),
        ("SELECT ?x ?y { ?x :meets ?y } ORDER BY ?x ?y", 3),
        ("SELECT (COUNT(*) AS ?n) { ?x a ?c }", 1),
        ("SELECT ?g ?x { GRAPH ?g { ?x a :Being } } ORDER BY ?g ?x", 1),
        ("SELECT ?x (timestamp(?x) AS ?t) { ?x a :Being } ORDER BY ?x", 2),
    ],
)
def test_both_sites_answer_the_same(sites: BothSites, text: str, solutions: int) -> None:
    assert sites.agree(text, CONTENT) >= solutions
