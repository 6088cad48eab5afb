"""What is kept up to date from change to change is what follows from the graphs as they are."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from endpoint.entailment import entailed_graphs
from endpoint.entailment.entailed_graphs import EntailedGraphs
from protocol.entailment.closure import closure
from protocol.entailment.regimes import Regime
from protocol.entailment.schema import is_schema
from tests.protocol.entailment.test_closure import containers, data, graph, owl, rdfs

DEFAULT, G, H = ox.DefaultGraph(), ox.NamedNode("http://example.org/g"), ox.NamedNode("http://example.org/h")
GRAPHS: tuple[ox.NamedNode | ox.DefaultGraph, ...] = (DEFAULT, G, H)

Change = tuple[bool, int, list[str]]
"""Whether statements are added or removed, by the graph's place."""


def changes(statements: st.SearchStrategy[str]) -> st.SearchStrategy[list[Change]]:
    one = st.tuples(st.booleans(), st.integers(0, 2), st.lists(statements, max_size=4))
    return st.lists(one, min_size=1, max_size=8)


def expected(regime: Regime, graphs: ox.Store, of_schema: Sequence[ox.NamedNode | ox.DefaultGraph]) -> set[ox.Quad]:
    """Each graph with what follows from it and the schema, all made at once."""

    def triples(name: ox.NamedNode | ox.DefaultGraph) -> set[ox.Triple]:
        return {quad.triple for quad in graphs.quads_for_pattern(None, None, None, name)}

    schema = {one for name in of_schema for one in triples(name) if is_schema(one.predicate, one.object)}
    names: list[ox.NamedNode | ox.DefaultGraph] = [DEFAULT]
    names += [name for name in graphs.named_graphs() if isinstance(name, ox.NamedNode)]
    return {
        ox.Quad(one.subject, one.predicate, one.object, name)
        for name in names
        for one in closure(regime, schema | triples(name))
    }


def check(regime: Regime, schema: Sequence[ox.NamedNode], steps: Sequence[Change]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        _check_in(Path(directory) / "entailed", regime, schema, steps)


def _check_in(directory: Path, regime: Regime, schema: Sequence[ox.NamedNode], steps: Sequence[Change]) -> None:
    """With a store that is closed at the return: until then RocksDB may make files in its directory at any time."""
    kept = EntailedGraphs(regime, [one.value for one in schema], directory)
    graphs = ox.Store()
    for add, place, statements in steps:
        for one in graph(statements):
            quad = ox.Quad(one.subject, one.predicate, one.object, GRAPHS[place])
            if add:
                graphs.add(quad)
            else:
                graphs.remove(quad)
        kept.bring_up_to(graphs)
        assert set(kept.store) == expected(regime, graphs, schema or [DEFAULT])


@pytest.mark.parametrize("regime", [Regime.RDFS, Regime.OWL_RL])
def test_terms_that_only_former_states_had_are_forgotten(
    regime: Regime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entailed_graphs, "_OF_FORMER", 120)
    kept = EntailedGraphs(regime, [], tmp_path / "entailed")
    for state in range(25):
        graphs = ox.Store()
        statements = [f":a{state} :p{state} :b{number}x{state} ." for number in range(10)]
        for one in graph([*statements, f":p{state} rdfs:range :C ."]):
            graphs.add(ox.Quad(one.subject, one.predicate, one.object, G if state % 3 else DEFAULT))
        kept.bring_up_to(graphs)
        assert set(kept.store) == expected(regime, graphs, [DEFAULT])
    assert len(kept._vocabulary) < 200  # all states together had more than 300


@pytest.mark.parametrize("regime", [Regime.RDFS, Regime.OWL_RL])
def test_what_follows_beside_triple_terms_has_none_as_its_subject(regime: Regime) -> None:
    said = [":p rdfs:range :A ; rdfs:subPropertyOf :q .", ":x :p <<( :y :p 1 )>> , :z ."]
    check(regime, (), [(True, 0, said), (True, 1, said[1:]), (False, 0, said[:1])])


RELAXED = settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])


@RELAXED
@given(steps=changes(st.one_of(data, rdfs, containers)), schema=st.sampled_from([(), (G,), (G, H)]))
def test_under_rdfs_after_each_change_it_is_what_follows(steps: list[Change], schema: tuple[ox.NamedNode, ...]) -> None:
    check(Regime.RDFS, schema, steps)


@RELAXED
@given(steps=changes(st.one_of(data, owl, containers)), schema=st.sampled_from([(), (G,), (G, H)]))
def test_under_owl_rl_after_each_change_it_is_what_follows(
    steps: list[Change], schema: tuple[ox.NamedNode, ...]
) -> None:
    check(Regime.OWL_RL, schema, steps)


@pytest.mark.long
@settings(RELAXED, max_examples=500)
@given(
    regime=st.sampled_from([Regime.RDFS, Regime.OWL_RL]),
    steps=changes(st.one_of(data, owl, containers)),
    schema=st.sampled_from([(), (G,), (G, H)]),
)
def test_after_each_of_many_changes_it_is_what_follows(
    regime: Regime, steps: list[Change], schema: tuple[ox.NamedNode, ...]
) -> None:
    check(regime, schema, steps)


@pytest.mark.parametrize("datatype", ["nonNegativeInteger", "integer"])
@pytest.mark.parametrize("said", ["owl:maxCardinality {}", "owl:maxQualifiedCardinality {} ; owl:onClass owl:Thing"])
def test_a_cardinality_is_one_as_the_store_has_it(tmp_path: Path, datatype: str, said: str) -> None:
    restriction = said.format(f'"1"^^xsd:{datatype}')
    graphs = ox.Store()
    graphs.extend(
        ox.Quad(one.subject, one.predicate, one.object)
        for one in graph([f":A owl:onProperty :p ; {restriction} . :x a :A ; :p :y, :z ."])
    )
    kept = EntailedGraphs(Regime.OWL_RL, (), tmp_path / "entailed")
    kept.bring_up_to(graphs)
    y, z = (ox.NamedNode(f"http://example.org/{name}") for name in "yz")
    assert ox.Quad(y, ox.NamedNode("http://www.w3.org/2002/07/owl#sameAs"), z) in kept.store
