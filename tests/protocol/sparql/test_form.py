from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox
import pytest

from protocol.sparql.form import answers_with_a_graph
from protocol.sparql.guard import MAXIMUM_TOKENS
from protocol.sparql.tokens import Token, tokens


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


def test_of_a_text_that_is_too_long_no_more_is_read_than_of_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counted(text: str) -> Iterator[Token]:
        nonlocal read
        for token in tokens(text):
            read += 1
            yield token

    monkeypatch.setattr("protocol.sparql.form.tokens", counted)
    assert not answers_with_a_graph("{" * 2 * MAXIMUM_TOKENS + " CONSTRUCT {} {}")
    assert read == MAXIMUM_TOKENS


def test_what_is_no_query_is_answered_with_no_graph() -> None:
    assert not answers_with_a_graph("")
    assert not answers_with_a_graph("CLEAR ALL")
