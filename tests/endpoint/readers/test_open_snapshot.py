from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from endpoint.graphs.dataset import one_shot
from endpoint.graphs.store import GraphStore
from endpoint.readers.open_snapshot import OpenSnapshot
from tests.endpoint.readers.asking import numbers

TERMS = """
CREATE GRAPH <http://ex/empty> ;
INSERT DATA {
  _:x <http://ex/p> 1, 1.50, "NaN"^^<http://www.w3.org/2001/XMLSchema#double>, "x"@en-GB, "a\\u0000b\\n",
      "no"^^<http://www.w3.org/2001/XMLSchema#integer>, <<( <http://ex/s> <http://ex/p> "t" )>>, _:y
  GRAPH <http://ex/g> { _:y <http://ex/p> _:x } }
"""
ALL = "SELECT ?s ?x { ?s <http://ex/n> ?x }"


@pytest.fixture
def snapshot(tmp_path: Path) -> Iterator[OpenSnapshot]:
    store = GraphStore(tmp_path / "store")
    store.update(TERMS)
    store.update(numbers(200))
    store.backup(tmp_path / "snapshot")
    store.close()
    opened = OpenSnapshot(str(tmp_path / "snapshot"))
    yield opened
    opened.close()


def answer(snapshot: OpenSnapshot, text: str) -> list[str]:
    result = one_shot(snapshot.dataset(text), text)
    solutions = result.answer
    assert isinstance(solutions, ox.QuerySolutions)
    rows = [str(solution) for solution in solutions]
    result.close()
    return rows


def test_the_copy_has_every_quad_every_graph_and_every_label(snapshot: OpenSnapshot) -> None:
    on_disk = snapshot.dataset(ALL)
    assert snapshot.copy(1000)
    copy = snapshot.dataset(ALL)
    assert copy is not on_disk
    assert set(copy.quads()) == set(on_disk.quads())
    assert len(list(copy.quads())) == 209
    assert {graph.identifier for graph in copy.graphs()} == {graph.identifier for graph in on_disk.graphs()}
    assert len(list(copy.graphs())) == 3  # the default graph is one of them


def test_queries_are_answered_from_the_disk_until_there_is_a_copy_and_alike_after(snapshot: OpenSnapshot) -> None:
    on_disk = snapshot.dataset(ALL)
    before = answer(snapshot, ALL)
    assert snapshot.dataset(ALL) is on_disk
    assert snapshot.copy(1000)
    assert snapshot.dataset(ALL) is not on_disk
    assert sorted(answer(snapshot, ALL)) == sorted(before)
    assert len(before) == 200


@pytest.mark.parametrize(("limit", "copied"), [(208, False), (209, True), (0, False)])
def test_a_store_with_more_quads_than_the_limit_is_not_copied(
    snapshot: OpenSnapshot, limit: int, copied: bool
) -> None:  # fmt: skip
    on_disk = snapshot.dataset(ALL)
    assert snapshot.copy(limit) is copied
    assert (snapshot.dataset(ALL) is not on_disk) is copied


def test_pages_without_an_order_fit_together_when_the_copy_comes_in_between(snapshot: OpenSnapshot) -> None:
    whole = answer(snapshot, ALL)
    pages = answer(snapshot, f"{ALL} LIMIT 50")
    assert snapshot.copy(1000)
    for offset in (50, 100, 150):
        pages += answer(snapshot, f"{ALL} limit 50 Offset {offset}")
    assert pages == whole


def test_pages_of_an_ordered_answer_come_from_memory(snapshot: OpenSnapshot) -> None:
    on_disk = snapshot.dataset(ALL)
    assert snapshot.copy(1000)
    assert snapshot.dataset(f"{ALL} LIMIT 5") is on_disk
    assert snapshot.dataset(f"{ALL} ORDER\nBY ?x LIMIT 5") is not on_disk
