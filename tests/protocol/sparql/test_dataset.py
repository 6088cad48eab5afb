from __future__ import annotations

import pyoxigraph as ox
import pytest

from protocol.sparql.dataset import DatasetConflict, dataset_clauses, require_absolute, with_using


def test_dataset_clauses_are_found_in_order_with_the_prologue_before_them() -> None:
    clauses = dataset_clauses(
        "PREFIX ex: <http://ex/> # FROM <no>\nSELECT ?FROM from <http://ex/a>\nFROM NAMED ex:b FROM ex:c"
        " WHERE { ?s ?p 'FROM <no>' }"
    )
    assert clauses.default == ("<http://ex/a>", "ex:c")
    assert clauses.named == ("ex:b",)
    assert clauses.prologue == "PREFIX ex: <http://ex/> # FROM <no>\n"


def test_a_construct_template_is_no_dataset_clause() -> None:
    clauses = dataset_clauses("CONSTRUCT { ?s ?p <http://ex/no> } FROM <http://ex/a> WHERE { ?s ?p ?o }")
    assert clauses.default == ("<http://ex/a>",)


def updated(update: str, graphs: tuple[str, ...] = (), named: tuple[str, ...] = ()) -> set[str]:
    store = ox.Store()
    store.update(
        "INSERT DATA { <http://ex/s> <http://ex/p> 'default' GRAPH <http://ex/g1> { <http://ex/s> <http://ex/p> 'g1' }"
        " GRAPH <http://ex/g2> { <http://ex/s> <http://ex/p> 'g2' } }"
    )
    store.update(with_using(update, graphs, named))
    return {f"{quad.object.value} {quad.predicate.value[-1]} {str(quad.graph_name)[-3:-1]}" for quad in store}


UNCHANGED = {"default p UL", "g1 p g1", "g2 p g2"}


def test_using_graphs_replace_the_default_graph_of_each_where() -> None:
    update = "INSERT { ?s <http://ex/q> ?o }\nWHERE { ?s ?p ?o } ; INSERT { ?s <http://ex/r> ?o } WHERE { ?s ?p ?o }"
    assert updated(update, ("http://ex/g1",)) == UNCHANGED | {"g1 q UL", "g1 r UL"}


def test_using_named_graphs_limit_graph_patterns() -> None:
    update = "INSERT { ?s <http://ex/q> ?o } WHERE { GRAPH ?g { ?s ?p ?o } }"
    assert updated(update, (), ("http://ex/g2",)) == UNCHANGED | {"g2 q UL"}
    assert updated(update, ("http://ex/g1",)) == UNCHANGED


def test_delete_where_is_matched_against_the_using_graphs_too() -> None:
    assert updated("DELETE WHERE { ?s ?p 'default' }", ("http://ex/g1",)) == UNCHANGED
    assert updated("DELETE WHERE { ?s ?p ?o }") == UNCHANGED - {"default p UL"}
    assert updated("DELETE WHERE { ?s ?p 'g1' . # }\n }", ("http://ex/g1",)) == UNCHANGED


def test_words_in_literals_are_left_alone() -> None:
    update = "INSERT { ?s <http://ex/q> 'WHERE USING WITH' } WHERE { ?s ?p ?o }"
    assert "WHERE USING WITH q UL" in updated(update, ("http://ex/g1",))


@pytest.mark.parametrize(
    ("update", "place"),
    [
        ("INSERT { ?s ?p 1 }\n USING <http://ex/g> WHERE { ?s ?p ?o }", (2, 2)),
        ("with <http://ex/g> DELETE { ?s ?p 1 } WHERE { ?s ?p ?o }", (1, 1)),
    ],
)
def test_using_in_both_places_is_a_conflict(update: str, place: tuple[int, int]) -> None:
    with pytest.raises(DatasetConflict) as caught:
        with_using(update, ["http://ex/g1"], [])
    assert (caught.value.line, caught.value.column) == place
    assert with_using(update, [], []) == update


@pytest.mark.parametrize(
    "iri", ["", "g", "/g", "//ex/g", "http://ex/a b", "http://ex/<", "1:a", "http://ex/%2/", "http://ex/%zz"]
)
def test_relative_and_broken_iris_are_refused_by_name(iri: str) -> None:
    with pytest.raises(DatasetConflict, match="graph="):
        require_absolute("graph", iri)


@pytest.mark.parametrize("iri", ["http://ex/é", "urn:a", "a+b.c-d:", "tag:x,2020:y"])
def test_absolute_iris_pass(iri: str) -> None:
    assert require_absolute("graph", iri) == iri
