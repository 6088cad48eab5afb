from __future__ import annotations

import pyoxigraph as ox
import pytest

from protocol.sparql.form import answers_with_a_graph


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {}",
        "select?x { ?x ?y ?z }",
        "SELECTDISTINCT ?x { ?x ?y ?z }",
        "ASK{}",
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "construct{}{}",
        "CONSTRUCTWHERE { ?s ?p ?o }",
        "DESCRIBE <http://ex/s>",
        "# SELECT * {}\nDESCRIBE <http://ex/s>",
        "BASE <http://ex/> PREFIX select: <http://ex/ask#> CONSTRUCT { select:a a 'ASK' } {}",
        "PREFIX construct: <http://ex/construct> SELECT ?describe { ?describe construct:a 'DESCRIBE' }",
        "SELECT * { { SELECT * {} } }",
    ],
)
def test_the_form_is_the_one_the_engine_sees(text: str) -> None:
    answer = ox.Store().query(text)
    assert answers_with_a_graph(text) is isinstance(answer, ox.QueryTriples)


def test_what_is_no_query_is_answered_with_no_graph() -> None:
    assert not answers_with_a_graph("")
    assert not answers_with_a_graph("CLEAR ALL")
