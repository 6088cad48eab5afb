"""How the due evaluations of a batch are spread over its parts, each of which is evaluated in one process.

What is kept there from one evaluation to the next is of use where the same queries come again (``evaluation.pool``),
and is not made twice where those that share it are in one part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from protocol.time import Instant

Due = tuple[str, str, list[Instant]]
"""A query's due evaluations: (key, prepared, instants)."""

_TOGETHER = 100
"""So many queries of one family share what they have in common; more are worth making that once more."""


_MANY = 200
"""So many evaluations of other queries than the first, whose instants share what they read, are worth dividing."""


def place_queries(families: Mapping[str, str], count: int) -> dict[str, int]:
    """For each query, by its key, the number of its part among ``count``; ``families`` are theirs.

    Those of a family, ``RegisteredQuery.family``, are in one part, and families that read the same windows beside each
    other. It is the same whatever is due, so that evaluations of a query stay where its last ones were.
    """
    placed: dict[str, int] = {}
    for _, family in groupby(sorted(families, key=lambda key: (families[key], key)), families.__getitem__):
        keys = list(family)
        for first in range(0, len(keys), _TOGETHER):
            some = keys[first : first + _TOGETHER]
            middle = len(placed) + len(some) / 2
            placed |= dict.fromkeys(some, int(middle * count / len(families)))
    return placed


def spread(due: Sequence[Due], places: Mapping[str, int], count: int, *, divided: bool) -> dict[int, list[Due]]:
    """Due evaluations in at most ``count`` parts by their numbers, none of them empty; ``places`` are of the queries.

    If it is ``divided``, or is of many queries, and they have several instants due, each part gets a stretch of
    everybody's: queries over the same windows share tables, and these are then made in one part only. Where these are
    too few for that, or the queries are too few for all parts, a part has a stretch of some of the queries. It takes
    more processor time in all: each stretch is planned by itself, and what is kept from one instant to the next is made
    in each part.
    """
    longest = max((len(instants) for _, _, instants in due), default=0)
    if not longest:
        return {}
    groups: dict[int, list[Due]] = {}
    for row in due:
        groups.setdefault(places[row[0]], []).append(row)
    if not divided and sum(len(instants) for _, _, instants in due) - longest < _MANY:
        stretches = 1
    elif longest >= 2 * count:
        groups = {0: list(due)}
        stretches = count
    else:
        stretches = max(1, min(longest // 2, count // len(groups)))
    parts: dict[int, list[Due]] = {}
    for rank, (place, rows) in enumerate(sorted(groups.items())):
        for stretch in range(stretches):
            some = [(key, prepared, _stretch(instants, stretch, stretches)) for key, prepared, instants in rows]
            if part := [row for row in some if row[2]]:
                parts[place if stretches == 1 else rank * stretches + stretch] = part
    return parts


def _stretch(instants: list[Instant], number: int, count: int) -> list[Instant]:
    return instants[len(instants) * number // count : len(instants) * (number + 1) // count]
