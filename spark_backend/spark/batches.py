"""How much is planned at once: how many of the instants that queries have due are in the next batch.

Whatever is planned, answers are the same; it decides how long everybody waits for the batch, and how much of what it
costs is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from protocol.time import Instant

_FEWEST, _MOST = 64, 512
"""Instants that a batch has of all queries that are not known to be behind, at the least; and of one of them, at most.

The latter is a part of what the endpoint holds for a query's listeners, who must be able to follow."""
_DEEP = 64
"""So many instants of a query that is behind are taken at once before there is time for queries that read other
windows: what a batch costs for each query, however few of its instants are in it, is most of what few cost."""
_ALONE, _AMONG_OTHERS = 4.0, 0.5
"""Seconds that a batch is to take while queries catch up, all of them or some.

Many small batches are mostly the batches' own cost; but a query that is not behind waits for one, and then for its own.
"""
_TOGETHER, _LONGEST = 16, 16.0
"""Where all queries catch up, so many instants of each are evaluated even if it takes longer, up to so many seconds:
they share what they read, and one instant of each is mostly what a query costs in a batch."""
_OWN_SECONDS = 0.05
"""What a batch takes beside its evaluations, about."""
_FEW = 2
"""Of so many instants of a query at once it cannot be told how fast it is with many: what each query costs in a batch,
and what others in the batch did, may have been most of the time."""
_FASTER = 3
"""So many times as fast it is taken to be then."""

Look = Callable[[str, int], list[Instant]]
"""The first instants that a query has due, so many at the most."""


class _Pace(NamedTuple):
    """Instants a second, in a batch that had so many (``depth``) of each query."""

    instants: float
    depth: float


class Batches:
    """What each batch has, one after the other, by how long those before it took."""

    def __init__(self) -> None:
        # Instants a second of the last batch, and the same where it falls by no more than half from one batch to the
        # next: 0 before there was one.
        self._last = self._pace = 0.0
        # That of the last batch with queries that read the same windows, by the name of these.
        self._paces: dict[str, _Pace] = {}
        # At which they were taken to be evaluated in the batch that was planned last, and how many instants of each of
        # their queries that has.
        self._taken_for: dict[str, float] = {}
        self._planned: dict[str, list[int]] = {}
        # The queries that had more due than the last batch took; who was in none for longest comes first.
        self._behind: list[str] = []

    @property
    def behind(self) -> bool:
        """Whether there was more due than the last batch took."""
        return bool(self._behind)

    def plan(self, reads: Mapping[str, str], look: Look) -> dict[str, list[Instant]]:
        """The instants of the next batch, by query; none of them is empty.

        ``reads``: all queries, each with a name of the windows that it reads. Each query that is not behind has its
        first instant whatever else there is, as nobody is to wait for those. While there are any, those that are behind
        take turns: the queries over the same windows are evaluated together, for they share what these hold, and as
        many of these as there is time for. Where all are behind, all of them are in each batch.
        """
        there = set(reads.values())
        self._paces = {name: pace for name, pace in self._paces.items() if name in there}
        waiting = [key for key in self._behind if key in reads]
        most = max(min(max(int(_ALONE * self._pace), _FEWEST) // max(len(waiting), 1), _MOST), _DEEP)
        behind, found = set(waiting), dict[str, list[Instant]]()

        def due(keys: Sequence[str]) -> dict[str, int]:
            # One more than is taken tells whether a query is behind.
            found.update((key, look(key, most + 1)) for key in keys)
            return {key: min(len(found[key]), most) for key in keys if found[key]}

        others = due([key for key in reads if key not in behind])
        self._taken_for = {name: pace.instants for name, pace in self._paces.items()}
        if all(len(found[key]) > 1 for key in reads if key not in behind):
            # Nobody waits for others who has several due as well.
            everybody = others | due(waiting)
            room = min(max(_ALONE * self._pace, _TOGETHER * len(everybody)), _LONGEST * self._pace)
            shares = shared(everybody, waiting, max(int(room), _FEWEST))
        else:
            shares = self._shares_among_others(others, waiting, reads, due)
        self._remember(waiting, found, shares)
        planned = {key: found[key][:share] for key, share in shares.items() if share}
        groups = _grouped(list(planned), reads)
        self._planned = {name: [len(planned[key]) for key in keys] for name, keys in groups.items()}
        return planned

    def _shares_among_others(
        self,
        others: Mapping[str, int],
        waiting: Sequence[str],
        reads: Mapping[str, str],
        due: Callable[[Sequence[str]], dict[str, int]],
    ) -> dict[str, int]:
        """How many instants of each query a batch has while some of the ``others`` wait for those that are behind."""
        left = _AMONG_OTHERS
        groups: list[tuple[dict[str, int], list[str], float]] = []
        for name, keys in _grouped(waiting, reads).items():
            if left <= 0:
                break
            group = due(keys)
            pace = self._taken_for[name] = self._pace_of(name)
            wanted = sum(min(count, _DEEP) for count in group.values())
            groups.append((group, keys, min(wanted, left * pace)))
            left = max(left - wanted / pace, 0.0)
        room = int(left * self._pace)
        # Before anything is known, and where nobody is known to be behind, it is tried with some.
        shares = shared(others, [], room if waiting else max(room, _FEWEST))
        if self._pace:
            left = max(left - (sum(shares.values()) - len(shares)) / self._pace, 0.0)
        for group, keys, room_of_group in groups:
            used = max(_AMONG_OTHERS - left, _OWN_SECONDS)
            shares |= shared(group, keys, int(room_of_group * _AMONG_OTHERS / used))
        return shares

    def measure(self, seconds: float) -> None:
        """Say how long the batch took that was planned last."""
        counts = {name: sum(instants) for name, instants in self._planned.items()}
        spent = max(seconds - _OWN_SECONDS, seconds / 2, _OWN_SECONDS)
        self._last = sum(counts.values()) / spent
        # A batch of few says little of one of many, whose evaluations share work.
        self._pace = max(self._last, self._pace / 2)
        taken_for = {name: self._taken_for.get(name, self._last) for name in counts}
        # Which of them it was that took longer, or less, cannot be seen: by and by, with others in other batches.
        faster = sum(count / taken_for[name] for name, count in counts.items()) / spent
        for name, instants in self._planned.items():
            depth = counts[name] / len(instants)
            least = self._paces[name].instants / 2 if depth <= _FEW and name in self._paces else 0.0
            self._paces[name] = _Pace(max(taken_for[name] * faster, least), depth)

    def _pace_of(self, name: str) -> float:
        """Instants a second that queries over these windows are taken to have where many are evaluated at once."""
        known = self._paces.get(name)
        if known is None:
            return self._pace
        if known.depth > _FEW:
            return known.instants
        return max(min(known.instants * _FASTER, self._last), known.instants)

    def _remember(self, waiting: Sequence[str], found: Mapping[str, list[Instant]], shares: Mapping[str, int]) -> None:
        turns = {key: turn for turn, key in enumerate(waiting)}
        behind = [key for key in waiting if key not in found]
        behind += [key for key, share in shares.items() if share < len(found[key])]
        self._behind = sorted(behind, key=lambda key: (shares.get(key, 0) > 0, turns.get(key, len(turns))))


def _grouped(keys: Sequence[str], reads: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(reads[key], []).append(key)
    return groups


def shared(due: Mapping[str, int], behind: Sequence[str], room: int) -> dict[str, int]:
    """How many of the instants that queries have due are in a batch, which has ``room`` for those that are ``behind``.

    Each other query has its first one whatever room there is; of the queries that are behind, as many as there is room
    for, the first of them first. What they have due beyond that shares the room that is left equally, as far as each
    has need of it.
    """
    waiting = [key for key in behind if key in due]
    served, left_out = waiting[: max(room, 1)], set(waiting[max(room, 1) :])
    needs = {key: count - 1 for key, count in due.items() if key not in left_out}
    left, share, over = max(room - len(served), 0), 0, 0
    for place, need in enumerate(sorted(needs.values())):
        share, over = divmod(left, len(needs) - place)
        if need > share:
            break
        left -= need
    shares = dict.fromkeys(left_out, 0) | {key: 1 + min(need, share) for key, need in needs.items()}
    # What cannot be divided is a part of the room, too: where there are many queries it may be most of it.
    for key in islice((key for key, need in needs.items() if need > share), over):
        shares[key] += 1
    return shares
