from __future__ import annotations

import pytest

from endpoint.store_queries.question import question, require_evaluable
from protocol.errors import ProtocolError, UnsupportedFeature
from tests.endpoint.store_queries.store_side import BASE, live


def test_the_time_of_the_store_stands_where_the_query_asks_for_it() -> None:
    text = "SELECT ('NOW()' AS ?x) (now ( ) AS ?now) { FILTER(NOW() > ?y) } ORDER BY NOW()"
    time = '("1970-01-01T00:00:01.500Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>)'
    asked = question(live(text), 1500)
    assert asked.text == f"SELECT ('NOW()' AS ?x) ({time} AS ?now) {{ FILTER({time} > ?y) }} ORDER BY {time}"
    assert asked.base == BASE
    require_evaluable(live(text))


@pytest.mark.parametrize(
    ("text", "ordered", "draws"),
    [
        ("SELECT * { ?s ?p ?o } ORDER BY ?s LIMIT 3", True, False),
        ("SELECT DISTINCT ?s { { SELECT * { ?s ?p ?o } ORDER BY ?s } }", False, False),
        ("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o } ORDER BY ?s", False, False),
        ("CONSTRUCT { [] ?p ?o } { ?s ?p ?o }", False, True),
        ("CONSTRUCT { ?b ?p ?o } { ?s ?p ?o BIND(BNODE() AS ?b) }", False, True),
        ("DESCRIBE ?s { ?s ?p [] }", False, False),
    ],
)
def test_what_has_an_order_and_what_draws_nodes(text: str, ordered: bool, draws: bool) -> None:
    asked = question(live(text), 0)
    assert (asked.ordered, asked.draws_nodes) == (ordered, draws)


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("SELECT * { SERVICE <http://e/> { ?s ?p ?o } }", 12, "SERVICE is for one-shot queries"),
        ("SELECT ISTREAM * { ?s ?p ?o } GROUP BY ?p", 0, "GROUP BY"),
        ("SELECT * { ?s ?p ?o FILTER(timestamp(?s) > 5) }", 28, "reads no stream"),
    ],
)
def test_what_the_store_does_not_evaluate_again_and_again_is_refused_at_its_place(
    text: str, column: int, told: str
) -> None:
    with pytest.raises(ProtocolError) as raised:
        require_evaluable(live(text))
    assert told in raised.value.detail
    assert not column or raised.value.column == column


def test_a_service_is_not_there_yet() -> None:
    with pytest.raises(UnsupportedFeature):
        require_evaluable(live("ASK { GRAPH ?g { SERVICE SILENT ?x { ?s ?p ?o } } }"))
