"""Registered queries under an entailment regime: changes of the schema, restarts, replays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from protocol.entailment.regimes import Regime
from protocol.evaluations import Ended
from protocol.terms import RDF_TYPE
from spark_backend.statics.graphs import Quad
from tests.spark_backend.stepped_backend import SteppedBackend

EX = "http://ex/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
ANIMALS = f"PREFIX : <{EX}> SELECT ?x FROM STREAM <{EX}s> [RANGE 2] {{ ?x a :Animal }}"
SLIDING = ANIMALS.replace("[RANGE 2]", "[RANGE 4 STEP 2]")


def says(subject: str, predicate: str, object: str) -> Quad:
    return "", f"<{EX}{subject}>", f"<{predicate}>", object if object.startswith("<") else f"<{EX}{object}>"


CATS, DOGS = (says(kind, f"{RDFS}subClassOf", "Animal") for kind in ("Cat", "Dog"))


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    backend = SteppedBackend(tmp_path)
    backend.event_stream("s", EX + "s")
    yield backend
    backend.close()


def change(stepped: SteppedBackend, *quads: Quad) -> None:
    stepped.graphs.set(quads)
    stepped.backend.store_changed()


def run(stepped: SteppedBackend, *at: int) -> None:
    for t in at:
        stepped.post("s", f"<{EX}tom> a <{EX}Cat> . <{EX}rex> a <{EX}Dog> .", t)
    stepped.run()


def found(stepped: SteppedBackend, name: str = "q") -> dict[int, list[str]]:
    return {
        t: sorted(binding["x"]["value"].removeprefix(EX) for binding in json.loads(document)["results"]["bindings"])
        for t, document in stepped.answers(name).items()
    }


def test_a_change_of_the_schema_is_seen_by_the_next_evaluation(stepped: SteppedBackend) -> None:
    change(stepped, CATS)
    stepped.register("q", ANIMALS, entailment=Regime.RDFS)
    stepped.register("plain", ANIMALS)
    run(stepped, 1, 3)
    change(stepped, CATS, DOGS)
    run(stepped, 5)
    change(stepped)
    run(stepped, 7, 9)
    assert found(stepped) == {2: ["tom"], 4: ["rex", "tom"], 6: [], 8: []}
    assert set(map(tuple, found(stepped, "plain").values())) == {()}


def test_a_schema_by_which_something_follows_at_all_makes_another_plan(stepped: SteppedBackend) -> None:
    stepped.register("q", ANIMALS, entailment=Regime.RDFS)
    run(stepped, 1, 3)
    change(stepped, CATS)
    run(stepped, 5)
    plan = stepped.backend.plan("q")
    told = " ".join(plan.split())
    assert told.count("what follows from triples") == 1
    assert "(subjects by class) and the schema with the default graph: 2 matches" in told
    change(stepped, says("has", f"{RDFS}range", "Animal"))
    run(stepped, 7, 9)
    assert found(stepped) == {2: [], 4: ["tom"], 6: [], 8: []}


def test_sliding_windows_are_matched_under_the_regime_too(stepped: SteppedBackend) -> None:
    change(stepped, CATS, says("rex", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "Cat"))
    stepped.register("q", SLIDING, entailment=Regime.RDFS)
    run(stepped, 1, 3, 5)
    assert found(stepped) == {2: ["rex", "tom"], 4: ["rex", "tom"]}


def test_a_query_has_its_regime_after_a_restart_and_in_replays(stepped: SteppedBackend, tmp_path: Path) -> None:
    change(stepped, CATS)
    stepped.register("q", ANIMALS, entailment=Regime.RDFS)
    run(stepped, 1, 3, 5)
    before = found(stepped)
    graphs = stepped.graphs
    stepped.close()
    again = SteppedBackend(tmp_path, graphs)
    try:
        assert again.backend.query("q").query.entailment is Regime.RDFS
        replayed = {instant: json.loads(data) for instant, data in again.replayed("q", None, 10).items()}
        assert {t: len(document["results"]["bindings"]) for t, document in replayed.items()} == {
            t: len(names) for t, names in before.items()
        }
    finally:
        again.close()


def test_others_do_not_wait_while_it_is_found_what_follows_from_a_schema(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(stepped, CATS)
    stepped.register("q", ANIMALS, entailment=Regime.RDFS)
    read, described = stepped.graphs.quads, list[str]()

    def describe() -> None:
        described.append(stepped.backend.query("q").name)

    def quads(*asked: Any) -> Iterator[Quad]:
        other = Thread(target=describe, daemon=True)
        other.start()
        other.join(timeout=30)
        assert not other.is_alive(), "it waits for the lock"
        return read(*asked)

    monkeypatch.setattr(stepped.graphs, "quads", quads)
    change(stepped, CATS, DOGS)
    assert set(described) == {"q"}
    monkeypatch.undo()
    run(stepped, 1, 3)
    assert found(stepped) == {2: ["rex", "tom"]}


def test_a_graph_that_is_read_and_has_such_a_schema_of_its_own_has_the_query_fail(stepped: SteppedBackend) -> None:
    change(stepped, CATS)
    stepped.register("q", ANIMALS.replace("?x a", f"GRAPH <{EX}g> {{ ?x <{EX}name> ?n }} ?x a"), entailment=Regime.RDFS)
    change(stepped, CATS, (f"<{EX}g>", *says("isA", f"{RDFS}subPropertyOf", RDF_TYPE)[1:]))
    assert "that of a graph which the query reads" in (stepped.backend.query("q").last_error or "")


def test_under_a_schema_that_data_extend_the_query_fails_and_says_so(stepped: SteppedBackend) -> None:
    change(stepped, CATS)
    stepped.register("q", ANIMALS, entailment=Regime.RDFS)
    stepped.register("plain", ANIMALS)
    run(stepped, 1, 3)
    change(stepped, CATS, says("isA", f"{RDFS}subPropertyOf", f"<{RDFS}subClassOf>"))
    run(stepped, 5, 7)
    description = stepped.backend.query("q")
    assert description.state == "failed"
    assert "properties below rdf:type or a property of RDFS" in (description.last_error or "")
    assert [one.query for one in stepped.notices if isinstance(one, Ended)] == ["q"]
    assert list(found(stepped)) == [2]
    assert list(found(stepped, "plain")) == [2, 4, 6]


PARTS = f"PREFIX : <{EX}> SELECT ?x FROM STREAM <{EX}s> [RANGE 4 STEP 2] {{ ?x :partOf :house }}"
TRANSITIVE = says("partOf", RDF_TYPE[1:-1], "<http://www.w3.org/2002/07/owl#TransitiveProperty>")


def test_what_follows_from_several_triples_under_owl_rl(stepped: SteppedBackend, tmp_path: Path) -> None:
    change(stepped, TRANSITIVE)
    stepped.register("q", PARTS, entailment=Regime.OWL_RL)
    stepped.register("plain", PARTS)
    stepped.post("s", f"<{EX}handle> <{EX}partOf> <{EX}door> .", 1)
    stepped.post("s", f"<{EX}door> <{EX}partOf> <{EX}house> .", 3)
    stepped.post("s", f"<{EX}knob> <{EX}partOf> <{EX}handle> .", 7)
    stepped.run()
    assert found(stepped) == {2: [], 4: ["door", "handle"], 6: ["door"]}
    assert found(stepped, "plain") == {2: [], 4: ["door"], 6: ["door"]}
    assert "closure_0: all that follows under owl-rl from window_0, static_" in stepped.backend.plan("q")
    change(stepped)
    stepped.post("s", "", 9)
    stepped.run()
    assert found(stepped)[8] == []
    graphs = stepped.graphs
    graphs.set([TRANSITIVE])
    stepped.close()
    again = SteppedBackend(tmp_path, graphs)
    try:
        replayed = {instant: json.loads(data) for instant, data in again.replayed("q", None, 10).items()}
        assert [len(document["results"]["bindings"]) for document in replayed.values()][:3] == [0, 2, 1]
    finally:
        again.close()
