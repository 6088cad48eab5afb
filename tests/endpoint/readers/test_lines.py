from __future__ import annotations

import io
import json
import re
from typing import Any

import pyoxigraph as ox
import pytest

from endpoint.graphs.dataset import dataset_over
from endpoint.readers.exchange import LinesQuestion
from endpoint.readers.lines import write_lines

DATA = """PREFIX : <http://e/>
INSERT DATA { :a :p 2 , 1 , "one\\nä" . :b :p 1 . _:x :p 1 . _:y :p 1 . GRAPH :g { :c :p 1 } }"""


@pytest.fixture
def store() -> ox.Store:
    store = ox.Store()
    store.update(DATA)
    return store


def lines(store: ox.Store, text: str, **asked: Any) -> list[str]:
    written = io.BytesIO()
    write_lines(dataset_over(lambda: store), LinesQuestion(f"PREFIX : <http://e/> {text}", **asked), written)
    document = written.getvalue().decode()
    assert document.endswith("\n")
    return document[:-1].split("\n")


def test_solutions_are_a_line_each_and_sorted(store: ox.Store) -> None:
    head, *found = lines(store, "SELECT ?o { :a :p ?o }")
    assert json.loads(head) == ["o"]
    assert found == sorted(found)
    assert sorted(json.loads(line)["o"]["value"] for line in found) == ["1", "2", "one\nä"]


def test_solutions_of_a_query_with_an_order_keep_it(store: ox.Store) -> None:
    text = "SELECT ?o { :a :p ?o FILTER(isNumeric(?o)) } ORDER BY DESC(?o)"
    assert [json.loads(line)["o"]["value"] for line in lines(store, text, ordered=True)[1:]] == ["2", "1"]


@pytest.mark.parametrize(("text", "given"), [("ASK { :a :p 1 }", ["null", "{}"]), ("ASK { :a :p 9 }", ["null"])])
def test_a_yes_is_one_solution_without_bindings(store: ox.Store, text: str, given: list[str]) -> None:
    assert lines(store, text) == given


def test_triples_are_a_set(store: ox.Store) -> None:
    one = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert lines(store, "CONSTRUCT { :all :has ?o } { ?s :p ?o FILTER(?o = 1) }") == [
        "null", f"<http://e/all> <http://e/has> {one} ."
    ]  # fmt: skip


def test_blank_nodes_of_the_store_keep_their_labels(store: ox.Store) -> None:
    text = "SELECT ?s { ?s :p 1 FILTER(isBlank(?s)) }"
    before = lines(store, text)
    store.update("PREFIX : <http://e/> INSERT DATA { _:z :p 1 }")
    assert len(set(lines(store, text)) - set(before)) == 1


def test_blank_nodes_that_a_query_makes_have_labels_by_what_is_said_of_them(store: ox.Store) -> None:
    text = "CONSTRUCT { [] :is ?o ; :also [ :of ?s ] } { ?s :p ?o }"
    before = lines(store, text, draws_nodes=True)
    assert lines(store, text, draws_nodes=True) == before
    store.update("PREFIX : <http://e/> INSERT DATA { :d :p 4 }")
    after = lines(store, text, draws_nodes=True)
    assert set(before) < set(after)
    assert len(after) - len(before) == 3
    # As many nodes as the standard has it: two for each solution, also where nothing tells these apart.
    fresh = "CONSTRUCT { [] :is ?o } { ?s :p ?o FILTER(?o = 1) }"
    assert len(lines(store, fresh, draws_nodes=True)) == 1 + 4


def test_a_node_that_a_query_makes_is_the_same_one_within_a_triple_term(store: ox.Store) -> None:
    text = (
        "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
        "CONSTRUCT { _:r rdf:reifies <<( _:b :p ?o )>> . _:b a :X . _:n rdf:reifies <<( :a :q <<( _:b :p _:l )>> )>> } "
        "{ ?s :p ?o FILTER(isNumeric(?o)) }"
    )
    _, *found = lines(store, text, draws_nodes=True)
    assert lines(store, text, draws_nodes=True)[1:] == found
    nodes = "(_:[a-z0-9]+)"
    kinds = {
        rf"{nodes} <.*#reifies> <<\( {nodes} <http://e/p> \"[12]\".* \)>> \.": 0,
        rf"{nodes} <.*#type> <http://e/X> \.": 0,
        rf"{nodes} <.*#reifies> <<\( <http://e/a> <http://e/q> <<\( {nodes} <http://e/p> {nodes} \)>> \)>> \.": 0,
    }
    typed = {line.split(" ")[0] for line in found if "#type" in line}
    assert len(typed) == 5
    for line in found:
        (kind,) = (kind for kind in kinds if re.fullmatch(kind, line))
        kinds[kind] += 1
        assert len(typed.intersection(re.findall(nodes, line))) == 1
    assert list(kinds.values()) == [5, 5, 5]
    parsed = list(ox.parse("\n".join(found), ox.RdfFormat.N_TRIPLES))
    assert len(parsed) == len(found)


def test_what_oxigraph_does_not_read_is_asked_in_standard_text(store: ox.Store) -> None:
    assert len(lines(store, "SELECT COUNT(*) AS ?n { ?s :p ?o }")) == 2
