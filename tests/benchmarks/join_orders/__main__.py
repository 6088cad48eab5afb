"""``python -m tests.benchmarks.join_orders``: random joins of windows and graphs, here and in Oxigraph."""

from __future__ import annotations

import argparse

from tests.benchmarks.figures import median_of
from tests.benchmarks.join_orders.joins import SECONDS, Asked, asked


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=SECONDS, help="seconds that one query may take")
    parser.add_argument("--worst", type=int, default=5, help="how many of the slowest are shown")
    options = parser.parse_args()
    found: list[Asked] = []
    for some in asked(options.queries, options.seed, options.limit):
        found += some
        for one in some:
            if one.share > 1:
                print(f"{one.share:.2f} of what is allowed, {one.seconds:.3f} s: {one.text}", flush=True)
            if one.wrong:
                print(f"OTHER ANSWERS in {one.text}", flush=True)
        slow, wrong = sum(one.share > 1 for one in found), sum(one.wrong for one in found)
        print(f"{len(found)} queries, {slow} too slow, {wrong} wrong", flush=True)
    for one in sorted(found, key=lambda one: one.share, reverse=True)[: options.worst]:
        print(f"{one.share:.2f} of what is allowed: {one.seconds:.3f} s, Oxigraph {one.theirs:.4f} s\n  {one.text}")
    share, seconds = (median_of([getattr(one, name) for one in found]) for name in ("share", "seconds"))
    print(f"medians: {share:.3f} of what is allowed, {1000 * seconds:.1f} ms")
    return 1 if any(one.wrong or one.share > 1 for one in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
