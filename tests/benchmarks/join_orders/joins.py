"""(j) Random joins of windows and graphs, of 4 to 12 patterns, against Oxigraph over the same content.

One is allowed ten times what Oxigraph takes for each instant (loading not counted), and 50 ms.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.benchmarks.figures import Figure, median_of
from tests.benchmarks.join_orders.asked import WorldSite
from tests.benchmarks.join_orders.worlds import FIRST, PARKING, STEP, Queries, World, make_world, parking_world

SECONDS = 5.0
"""That one query may take."""
_EACH = 30
"""Queries of one world."""
_IN_BENCH, _IN_BENCH_QUICK = 150, 40


@dataclass(frozen=True)
class Asked:
    """A query at the instants of its world: ``theirs`` are Oxigraph's seconds; ``wrong``: the answers differ."""

    text: str
    seconds: float
    theirs: float
    instants: int
    wrong: bool

    @property
    def share(self) -> float:
        """Of the time that is allowed."""
        return self.seconds / (10 * self.theirs + 0.05 * self.instants)


def measure(*, quick: bool) -> list[Figure]:
    found = list(itertools.chain.from_iterable(asked(_IN_BENCH_QUICK if quick else _IN_BENCH, 1, SECONDS)))
    if wrong := [one.text for one in found if one.wrong]:
        raise RuntimeError(f"Oxigraph answers otherwise: {wrong[0]}")
    name, worst = f"{len(found)} joins of windows and graphs", max(found, key=lambda one: one.share)
    slow = sum(one.share > 1 for one in found)
    middle = median_of([one.seconds for one in found])
    theirs = median_of([one.theirs for one in found])
    return [
        Figure("j", f"{name}: slower than allowed", slow, "queries", slow, 0, at_least=False),
        Figure("j", f"{name}: the worst", worst.share, "of what is allowed", worst.share, details=asdict(worst)),
        Figure("j", f"{name}: median", middle, "s", middle / theirs, None, False, theirs, "Oxigraph"),
    ]


def asked(queries: int, seed: int, limit: float) -> Iterator[list[Asked]]:
    """World by world, until there are so many queries. ``limit``: the seconds that one may take."""
    left = queries
    for number in itertools.count():
        if left <= 0:
            return
        random = Random(f"{seed} {number}")
        instants = [FIRST + STEP * place for place in range(random.choice([1, 1, 4, 16]))]
        world = parking_world(len(instants)) if number == 0 else make_world(random, instants=len(instants))
        found = []
        with TemporaryDirectory() as directory:
            site = WorldSite(Path(directory), world)
            made = Queries(world, instants[-1])
            for text in [PARKING] if number == 0 else [made.make(random) for _ in range(_EACH)]:
                theirs = site.oxigraph(text, instants, 1.0)
                if theirs is None:
                    continue
                seconds, ours = site.ours(text, instants, limit)
                told = f"{number}: {_size(world)}, {len(instants)}: {text}"
                found.append(Asked(told, seconds, theirs[0], len(instants), ours not in (None, theirs[1])))
            site.close()
        left -= len(found)
        yield found


def _size(world: World) -> str:
    static = sum(map(len, world.graphs.values()))
    return f"{static} triples in the store, {sum(len(elements) for _, elements in world.streams)} streamed"
