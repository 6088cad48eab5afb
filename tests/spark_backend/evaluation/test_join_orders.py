"""Windows joined with large graphs: what narrows what changes no answer, and nothing is joined many to many before."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from spark_backend.evaluation import narrowing
from tests.benchmarks.join_orders.asked import WorldSite
from tests.benchmarks.join_orders.worlds import (
    EX,
    FIRST,
    PARKING,
    STEP,
    Queries,
    World,
    iri,
    make_world,
    parking_world,
)

_LIMIT = 20.0


@pytest.mark.parametrize("seed", range(8))
def test_random_joins_have_the_answers_that_oxigraph_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # Of small graphs, everything is narrowed that a few rows can be narrowed by.
    monkeypatch.setattr(narrowing, "WORTH", 1)
    monkeypatch.setattr(narrowing, "WORTH_OF_SEVERAL", 1)
    monkeypatch.setattr(narrowing, "AGAIN", 1)
    random = Random(seed)
    instants = [FIRST, FIRST + STEP, FIRST + 2 * STEP]
    world = make_world(random, most=1500, instants=len(instants))
    site = WorldSite(tmp_path, world)
    queries = Queries(world, instants[-1])
    asked = 0
    for text in (queries.make(random) for _ in range(5)):
        for instant in (instants[0], instants[-1]):
            theirs = site.oxigraph(text, instant, 1.0)
            if theirs is not None and theirs[1].total() < 2000:
                _, ours = site.ours(text, instants, _LIMIT)
                assert ours is not None
                assert ours[instant] == theirs[1], text
                asked += 1
    site.close()
    assert asked


def test_types_of_a_repository_are_not_joined_many_to_many(tmp_path: Path) -> None:
    """Two types of 12,645 triples each in one SELECT: what a window holds is asked of them first."""
    instants = [FIRST + STEP * place for place in range(16)]
    site = WorldSite(tmp_path, parking_world(len(instants)))
    seconds, ours = site.ours(PARKING, instants, _LIMIT)
    theirs = site.oxigraph(PARKING, instants[-1], _LIMIT)
    site.close()
    assert theirs is not None
    assert ours is not None
    assert ours[instants[-1]] == theirs[1]
    assert theirs[1].total() > 0
    assert seconds < len(instants) * (10 * theirs[0] + 0.05)


def test_a_hub_of_the_store_is_joined_with_what_asks_for_it(tmp_path: Path) -> None:
    """A subject with 2,000 objects of two predicates each: four million rows, of which the window asks for one."""
    hub = [(iri("hub"), iri(name), iri(f"{name}{place}")) for name in ("p", "q") for place in range(2000)]
    small = [(iri("e"), iri("p"), iri("p7")), (iri("e"), iri("q"), iri("q8"))]
    streamed = ((1, (iri("o"), iri("of"), iri("e"))),)
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: [*hub, *small]}))
    text = f"SELECT * {{ GRAPH <{EX}w> {{ ?o {iri('of')} ?e }} ?e {iri('p')} ?p . ?e {iri('q')} ?q }}"
    seconds, ours = site.ours(text, [FIRST], _LIMIT)
    theirs = site.oxigraph(text, FIRST, _LIMIT)
    site.close()
    assert ours is not None
    assert theirs is not None
    assert ours[FIRST] == theirs[1]
    assert ours[FIRST].total() == 1
    assert seconds < 0.5
