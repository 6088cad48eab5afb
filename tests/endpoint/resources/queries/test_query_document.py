"""What the description of a query says of facts."""

from __future__ import annotations

from typing import Any

from endpoint.backend import QueryDescription
from endpoint.resources.queries.query_document import query_document
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery

DEFINITION = "CONSTRUCT FACT here { ?u <u:in> ?r } UNION (SINCE ?u <u:enter> ?r) (TILL ?u <u:leave> ?r) "


def document(text: str) -> dict[str, Any]:
    query = parse(text)
    assert isinstance(query, ContinuousQuery)
    description = QueryDescription("q", query, True, "running", None, None, None, 0, 0, None)
    return query_document(description, "")


def test_a_definition_says_what_it_defines() -> None:
    told = document(DEFINITION)
    assert (told["defines"], told["form"]) == ("here", "CONSTRUCT")
    assert "facts" not in told


def test_a_query_says_whose_facts_it_reads() -> None:
    told = document(DEFINITION + "SELECT * { CURRENT here { ?u <u:in> ?r } }")
    assert (told["facts"], "defines" in told) == (["here"], False)


def test_others_say_nothing_of_facts() -> None:
    told = document("SELECT * FROM STREAM <u:s> [NOW] { ?s ?p ?o }")
    assert not {"facts", "defines"} & set(told)
