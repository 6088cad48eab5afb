"""``python -m tests.benchmarks.join_orders``: random joins of windows and graphs, here and in Oxigraph."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.benchmarks.join_orders.asked import WorldSite
from tests.benchmarks.join_orders.worlds import FIRST, PARKING, STEP, Queries, World, make_world, parking_world

_EACH = 30
"""Queries of one world."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds that one query may take")
    parser.add_argument("--worst", type=int, default=5, help="how many of the slowest are shown")
    options = parser.parse_args()
    found: list[tuple[float, float, float, str]] = []
    wrong = 0
    for number in itertools.count():
        if len(found) >= options.queries:
            break
        random = Random(f"{options.seed} {number}")
        instants = [FIRST + STEP * place for place in range(random.choice([1, 1, 4, 16]))]
        world = parking_world(len(instants)) if number == 0 else make_world(random, instants=len(instants))
        with TemporaryDirectory() as directory:
            site = WorldSite(Path(directory), world)
            queries = Queries(world, instants[-1])
            texts = [PARKING] if number == 0 else [queries.make(random) for _ in range(_EACH)]
            for text in texts:
                asked = site.oxigraph(text, instants[-1], 1.0)
                if asked is None:
                    continue
                seconds, ours = site.ours(text, instants, options.limit)
                theirs = asked[0] * len(instants)
                allowed = 10 * theirs + 0.05 * len(instants)
                found.append((seconds / allowed, seconds, theirs, f"{number}: {_size(world)}, {len(instants)}: {text}"))
                if found[-1][0] > 1:
                    print(f"{found[-1][0]:.2f} of what is allowed, {seconds:.3f} s: {found[-1][3]}", flush=True)
                if ours is not None and ours[instants[-1]] != asked[1]:
                    wrong += 1
                    print(f"OTHER ANSWERS in {found[-1][3]}", flush=True)
            site.close()
        print(f"{len(found)} queries, {sum(one[0] > 1 for one in found)} too slow, {wrong} wrong", flush=True)
    for share, seconds, theirs, text in sorted(found, reverse=True)[: options.worst]:
        print(f"{share:.2f} of what is allowed: {seconds:.3f} s, Oxigraph {theirs:.4f} s\n  {text}")
    shares, times = sorted(one[0] for one in found), sorted(one[1] for one in found)
    print(f"medians: {shares[len(shares) // 2]:.3f} of what is allowed, {1000 * times[len(times) // 2]:.1f} ms")
    return 1 if wrong or shares[-1] > 1 else 0


def _size(world: World) -> str:
    static = sum(map(len, world.graphs.values()))
    return f"{static} triples in the store, {sum(len(elements) for _, elements in world.streams)} streamed"


if __name__ == "__main__":
    raise SystemExit(main())
