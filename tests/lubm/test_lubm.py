"""The fourteen queries under each regime: over owlrl's closure where that can be waited for, and by the proportions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import owlrl
import pyoxigraph as ox
import pytest
import rdflib

from endpoint.entailment.entailed_graphs import EntailedGraphs
from protocol.entailment.regimes import Regime
from tests.lubm.generator import ONTOLOGY, UB, universities
from tests.lubm.queries import QUERIES

RL_ONLY = {6, 7, 8, 9, 10, 11, 12, 13}
"""Those of which RDFS misses answers: students by what they take, transitive and inverse properties, chairs."""


def graphs(lines: Iterable[str]) -> ox.Store:
    store = ox.Store()
    store.bulk_load("".join(lines).encode(), ox.RdfFormat.N_TRIPLES)
    store.bulk_load(ONTOLOGY.read_bytes(), ox.RdfFormat.TURTLE)
    return store


def entailed(store: ox.Store, regime: Regime, directory: Path) -> ox.Store:
    graphs = EntailedGraphs(regime, (), directory / str(regime))
    graphs.bring_up_to(store)
    return graphs.store


def answers(store: ox.Store, number: int) -> list[tuple[str, ...]]:
    found = store.query(QUERIES[number])
    assert isinstance(found, ox.QuerySolutions)
    return sorted(tuple(map(str, solution)) for solution in found)


def with_owlrl(store: ox.Store, regime: Regime) -> ox.Store:
    graph = rdflib.Graph()
    graph.parse(data=store.dump(format=ox.RdfFormat.N_TRIPLES, from_graph=ox.DefaultGraph()), format="nt")
    semantics = owlrl.RDFS_Semantics if regime is Regime.RDFS else owlrl.OWLRL_Semantics
    owlrl.DeductiveClosure(semantics, improved_datatypes=False).expand(graph)
    for one in [one for one in graph if isinstance(one[0], rdflib.Literal)]:
        graph.remove(one)
    closed = ox.Store()
    closed.load(graph.serialize(format="nt").encode(), ox.RdfFormat.N_TRIPLES)
    return closed


@pytest.mark.long
@pytest.mark.parametrize("regime", [Regime.RDFS, Regime.OWL_RL])
def test_answers_are_those_over_the_closure_of_owlrl(regime: Regime, tmp_path: Path) -> None:
    # A part of a department: owlrl takes minutes for a whole one.
    store = graphs(list(universities(1, departments=(1, 1)))[::6])
    expected, found = with_owlrl(store, regime), entailed(store, regime, tmp_path)
    assert [answers(found, number) for number in QUERIES] == [answers(expected, number) for number in QUERIES]


@pytest.mark.long
def test_a_university_is_answered_by_its_proportions(tmp_path: Path) -> None:
    store = graphs(universities(1))
    assert 90_000 < len(store) < 150_000
    counts = {
        regime: {number: len(answers(entailed_store, number)) for number in QUERIES}
        for regime in (Regime.RDFS, Regime.OWL_RL)
        for entailed_store in [entailed(store, regime, tmp_path)]
    }
    rdfs, owl = counts[Regime.RDFS], counts[Regime.OWL_RL]
    assert {number for number in QUERIES if rdfs[number] != owl[number]} == RL_ONLY
    departments, groups, graduates, undergraduates = (
        count(store, kind) for kind in ("Department", "ResearchGroup", "GraduateStudent", "UndergraduateStudent")
    )
    # One chair a department, every group below the university, all students take courses.
    assert 15 <= departments <= 25
    assert owl[12] == departments
    assert owl[11] == groups
    assert rdfs[6] == owl[14] == rdfs[14] == undergraduates
    assert owl[6] == owl[8] == graduates + undergraduates


def count(store: ox.Store, kind: str) -> int:
    return len(list(store.quads_for_pattern(None, ox.NamedNode(rdflib.RDF.type), ox.NamedNode(UB + kind))))


def test_a_few_answers_of_a_small_department(tmp_path: Path) -> None:
    lines = [
        line for line in universities(1, departments=(1, 1))
        if "Student" not in line and "Publication" not in line
    ]  # fmt: skip
    store = graphs(lines)
    found = {regime: entailed(store, regime, tmp_path) for regime in (Regime.RDFS, Regime.OWL_RL)}
    assert answers(store, 4) == answers(store, 12) == []
    assert len(answers(found[Regime.RDFS], 4)) == len(answers(found[Regime.OWL_RL], 4)) >= 25
    assert len(answers(found[Regime.RDFS], 12)) == 0
    assert len(answers(found[Regime.OWL_RL], 12)) == 1
    assert len(answers(found[Regime.OWL_RL], 11)) == count(store, "ResearchGroup") > 0


def test_the_same_seed_makes_the_same_triples() -> None:
    one, again, other = (list(universities(1, seed, departments=(1, 1))) for seed in (1, 1, 2))
    assert one == again != other
