"""What joins static triples with each other is computed once per version of the store, and seen at its change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_backend.budget import Lane
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.statics.graphs import Quad
from tests.spark_backend.stepped_backend import SteppedBackend

EX = "http://ex/"
LOCATED = f"""
PREFIX : <{EX}> SELECT ?label FROM NAMED WINDOW :w ON <{EX}s> [RANGE 2]
{{ WINDOW :w {{ ?s a :T }} ?s :in ?room . ?room :label ?label }}
"""


def quad(subject: str, predicate: str, object: str) -> Quad:
    return "", f"<{EX}{subject}>", f"<{EX}{predicate}>", f"<{EX}{object}>" if object.isalnum() else object


ROOMS = [quad("e", "in", "r1"), quad("r1", "label", '"one"')]


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    backend = SteppedBackend(tmp_path)
    backend.event_stream("s", EX + "s")
    yield backend
    backend.close()


def run(stepped: SteppedBackend, *at: int) -> None:
    for t in at:
        stepped.post("s", f"<{EX}e> a <{EX}T> .", t)
    stepped.run()


def labels(stepped: SteppedBackend, name: str = "q") -> dict[int, list[str]]:
    return {
        t: sorted(binding["label"]["value"] for binding in json.loads(document)["results"]["bindings"])
        for t, document in stepped.answers(name).items()
    }


def made(stepped: SteppedBackend) -> list[str]:
    """The tables of joined static patterns that the evaluator has made and keeps."""
    evaluator = stepped.pipeline._evaluators[Lane.COMMON]
    assert isinstance(evaluator, Evaluator)
    tables = evaluator._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    return sorted(name for (name,) in tables if name.startswith("joined_"))


def change(stepped: SteppedBackend, *quads: Quad) -> None:
    stepped.graphs.set(quads)
    stepped.backend.store_changed()


def test_a_static_join_is_computed_once_while_its_triples_are_the_same(stepped: SteppedBackend) -> None:
    change(stepped, *ROOMS)
    stepped.register("q", LOCATED)
    run(stepped, 1, 3)
    first = made(stepped)
    assert len(first) == 1
    change(stepped, *ROOMS, quad("x", "y", "z"))
    run(stepped, 5, 7)
    assert made(stepped) == first
    assert labels(stepped) == {2: ["one"], 4: ["one"], 6: ["one"]}


def test_a_change_of_what_it_joins_is_seen_by_the_next_evaluation(stepped: SteppedBackend) -> None:
    change(stepped, *ROOMS)
    stepped.register("q", LOCATED)
    run(stepped, 1, 3)
    change(stepped, *ROOMS, quad("e", "in", "r2"), quad("r2", "label", '"two"'))
    run(stepped, 5)
    change(stepped, *ROOMS[:1])
    run(stepped, 7)
    change(stepped, *ROOMS)
    run(stepped, 9)
    assert labels(stepped) == {2: ["one"], 4: ["one", "two"], 6: [], 8: ["one"]}


def test_queries_of_one_shape_share_the_table(stepped: SteppedBackend) -> None:
    change(stepped, *ROOMS)
    for name, kind in (("q", "T"), ("r", "U")):
        stepped.register(name, LOCATED.replace("a :T", f"a :{kind}"))
    run(stepped, 1, 3)
    assert len(made(stepped)) == 1
    assert (labels(stepped), labels(stepped, "r")) == ({2: ["one"]}, {2: []})


def test_a_query_that_shares_its_shape_sees_what_the_store_has_of_its_own_constant(stepped: SteppedBackend) -> None:
    for name, room in (("q", "r1"), ("r", "r2")):
        text = f"PREFIX : <{EX}> SELECT ?label FROM STREAM :s [RANGE 2] {{ ?e :in :{room} . ?e :label ?label }}"
        stepped.register(name, text)

    def told(t: int, room: str) -> None:
        stepped.post("s", f'<{EX}e{t}> <{EX}in> <{EX}{room}> ; <{EX}label> "e{t}" .', t)

    told(1, "r1")
    told(3, "r2")
    stepped.run()
    change(stepped, quad("x", "in", "r2"), quad("x", "label", '"x"'))
    told(5, "r2")
    told(7, "r1")
    stepped.run()
    change(stepped)
    told(9, "r2")
    told(11, "r1")
    stepped.run()
    assert labels(stepped) == {2: ["e1"], 4: [], 6: [], 8: ["e7"], 10: []}
    assert labels(stepped, "r") == {2: [], 4: ["e3", "x"], 6: ["e5", "x"], 8: [], 10: ["e9"]}
