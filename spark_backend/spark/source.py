"""The ET source: Spark Structured Streaming reads evaluation instants (RSP-QL Definition 23).

Its offset is the evaluation clock: for each registered query of the common lane the latest instant planned.
Its rows are the due evaluations. It runs in a Python process of its own, beside the JVM, and knows nothing but the
data directory: the query registry and the logs' manifests. What lies between two offsets is a pure
function of the registry and the logs, so a batch planned again after a crash is the same batch.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from protocol.time import Instant
from spark_backend.budget import Lane
from spark_backend.layout import Layout
from spark_backend.spark.hosts import read_cores
from spark_backend.spark.reception import Part
from spark_backend.spark.spread import Due, place_queries, spread
from spark_backend.spark.task import ANSWER_SCHEMA, AnswerPart

INSTANTS_FORMAT = "evaluation_instants"
_FEWEST, _MOST = 64, 512
"""Instants that a batch has of all queries that are not known to be behind, at the least; and of one of them, at most.

The latter is a part of what the endpoint holds for a query's listeners, who must be able to follow."""
_LITTLE = 8
"""A query that has no more than that due is not behind, unless there is no room for it."""
_ALONE, _AMONG_OTHERS = 1.5, 0.5
"""Seconds that a batch is to take while queries catch up, all of them or some.

Many small batches are mostly the batches' own cost; but a query that is not behind waits for one, and then for its own.
"""
_OWN_SECONDS = 0.05
"""What a batch takes beside its evaluations, about."""
_LONG_BATCH = 1.0
"""After one that took so many seconds, the next one's instants are divided among all cores, until one takes less than
half of that: what is sooner done costs less where each query's instants are in one part (``spread``)."""

_WARM_UP = ""
"""Key of no query: the first batch of a process evaluates nothing, and leaves the workers warm."""


def evaluation_instants(root: Path, answer: AnswerPart) -> type[DataSource]:
    """The source over a data directory, to be registered: ``spark.readStream.format("evaluation_instants")``.

    Its tasks ``answer`` what is due right where they read it: a second function in a task is another Python process
    to ask, for every batch. What that gives is ANSWER_SCHEMA.
    """

    # Options are texts; what a class refers to travels with it.
    class EvaluationInstants(DataSource):
        @classmethod
        def name(cls) -> str:
            return INSTANTS_FORMAT

        def schema(self) -> str:
            return ANSWER_SCHEMA

        def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
            return EvaluationInstantsReader(str(root), answer)

    return EvaluationInstants


class DuePartition(InputPartition):
    """Due evaluations of some of the queries: (key, prepared, instants), and the place of who is to make them."""

    def __init__(self, part: Part, place: int, due: list[Due]) -> None:
        super().__init__(None)
        self.part = part
        self.place = place
        self.due = due


class EvaluationInstantsReader(DataSourceStreamReader):
    """Plans due evaluations from the registry and the logs."""

    def __init__(self, root: str, answer: AnswerPart) -> None:
        self._root = root
        self._answer = answer
        self._clock: Any = None
        self._turns: Any = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        from spark_backend.registry import Registry, read_progress

        # Without a checkpoint: what is out need not be evaluated again.
        layout = Layout(Path(self._root))
        out = read_progress(layout.progress) or {}
        common = (query for query in Registry(layout.queries).read().values() if query.lane is Lane.COMMON)
        return {query.place: out[query.key] for query in common if query.key in out}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        with self._turn():
            offset: dict[str, Any] = self._evaluation_clock().advance(start)
        return offset

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        # Those of a cluster come and go. One batch may be split otherwise when it is planned again.
        cores = read_cores(Layout(Path(self._root)))
        with self._turn():
            parts = self._evaluation_clock().parts(start, end, cores)
        if start.get(_WARM_UP) != end.get(_WARM_UP):
            # Whoever evaluates, at whatever place, is there then.
            parts = {place: [(_WARM_UP, "", []), *parts.get(place, [])] for place in range(cores)}
        batch = uuid.uuid4().hex
        return [
            DuePartition(Part(batch, number, len(parts)), place, due)
            for number, (place, due) in enumerate(sorted(parts.items()))
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, DuePartition)
        yield from self._answer(partition.part, partition.place, partition.due)

    def _evaluation_clock(self) -> Any:
        # Made where the reader lives, not where it was pickled.
        if self._clock is None:
            self._clock = EvaluationClock(Path(self._root))
        return self._clock

    def _turn(self) -> AbstractContextManager[None]:
        from spark_backend.spark.turns import Turns

        if self._turns is None:
            self._turns = Turns(Layout(Path(self._root)).source_turns)
        turn: AbstractContextManager[None] = self._turns.turn()
        return turn

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_clock": None, "_turns": None}


class EvaluationClock:
    """The evaluation clock over one data directory: offsets in, offsets and due evaluations out.

    ``clock`` gives seconds; it decides how much is planned at once, and never what.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        from spark_backend.registry import RegisteredQuery, Registry
        from spark_backend.streams.timelines import Timelines

        layout = Layout(root)
        self._registry = Registry(layout.queries)
        self._timelines = Timelines(layout.streams)
        self._queries: dict[str, RegisteredQuery] = {}
        self._places: dict[str, int] = {}
        self._placed_for = 0
        self._planned: dict[str, tuple[Instant | None, list[Instant]]] = {}
        self._clock = clock
        # At which batches were evaluated, in instants a second; 0 before there was one.
        self._pace = 0.0
        self._planned_at = clock()
        # The queries that had more due than the last batch took; who was in none for longest comes first.
        self._behind: list[str] = []
        self._under_way = False
        self._divided = False
        # Whether there may be more due than the last offset said.
        self._stale = True
        self._offered: dict[str, Instant] = {}
        self._warm = False

    def advance(self, start: Mapping[str, Instant]) -> dict[str, Instant]:
        """The offset after ``start``: each query's latest due instant; ``start`` itself when nothing is due."""
        if not self._warm:
            self._warm = True
            return {**start, _WARM_UP: start.get(_WARM_UP, 0) + 1}
        self._measure_batch()
        self._look()
        with contextlib.suppress(OSError):  # then it is told the next time
            self._registry.tell_planned()  # whoever asks where to go on has no batch under way
        # From another start than the one given out last, that batch did not come about.
        if not self._stale and start == self._offered:
            return dict(start)
        end = {_WARM_UP: start[_WARM_UP]} if _WARM_UP in start else {}
        self._planned = {}
        self._planned_at = self._clock()
        # One more than is taken tells whether a query is behind; one that has little due is not.
        most = min(max(self._room(_ALONE) // max(len(self._behind), 1), _LITTLE), _MOST)
        found: dict[str, list[Instant]] = {}
        for key, query in self._queries.items():
            upto = self._timelines.watermark(w.stream for w in query.windows)
            if upto is not None:
                found[key] = self._timelines.instants(query.windows, start.get(key, query.after), upto, most + 1)
        # Nobody waits for others who has several due as well.
        alone = all(key in self._behind or len(found.get(key, ())) > 1 for key in self._queries)
        room = self._room(_ALONE if alone else _AMONG_OTHERS)
        due = {key: min(len(instants), most) for key, instants in found.items() if instants}
        shares = shared(due, self._behind, room)
        for key, query in self._queries.items():
            if share := shares.get(key, 0):
                instants = found[key][:share]
                self._planned[key] = (start.get(key, query.after), instants)
                end[key] = instants[-1]
            elif key in start:
                end[key] = start[key]
        turns = {key: turn for turn, key in enumerate(self._behind)}
        behind = [key for key, share in shares.items() if share < len(found[key])]
        self._behind = sorted(behind, key=lambda key: (shares[key] > 0, turns.get(key, len(turns))))
        self._stale, moved = bool(behind), bool(self._planned)
        self._under_way = moved
        # An offset that only forgets removed queries is not worth a batch.
        self._offered = end if moved else dict(start)
        return dict(self._offered)

    def due(self, start: Mapping[str, Instant], end: Mapping[str, Instant]) -> list[Due]:
        """The evaluations between two offsets: (key, prepared, instants) of each query."""
        self._look()
        due = []
        for key, upto in end.items():
            query = self._queries.get(key)
            if query is None or start.get(key) == upto:
                continue  # removed meanwhile, or nothing new
            after = start.get(key, query.after)
            planned_after, instants = self._planned.get(key, (None, []))
            if not instants or planned_after != after or instants[-1] != upto:
                instants = self._timelines.instants(query.windows, after, upto, None)
            if instants:
                due.append((query.key, query.prepared, instants))
        return due

    def parts(self, start: Mapping[str, Instant], end: Mapping[str, Instant], count: int) -> dict[int, list[Due]]:
        """The evaluations between two offsets in at most ``count`` parts, by their places."""
        due = self.due(start, end)
        if self._placed_for != count:
            self._placed_for = count
            self._places = place_queries({query.key: query.family for query in self._queries.values()}, count)
        return spread(due, self._places, count, divided=self._divided)

    def _measure_batch(self) -> None:
        """Whoever asks where to go on has no batch under way: see how long the last one took."""
        if self._under_way:
            self._under_way = False
            taken = self._clock() - self._planned_at
            evaluated = sum(len(instants) for _, instants in self._planned.values())
            # A batch of few says little of one of many, whose evaluations share work.
            self._pace = max(evaluated / max(taken - _OWN_SECONDS, taken / 2, _OWN_SECONDS), self._pace / 2)
            self._divided = taken > (_LONG_BATCH / 2 if self._divided else _LONG_BATCH)

    def _room(self, seconds: float) -> int:
        """How many instants a batch has time for that is to take so long."""
        # Before anything is known, and where nobody is known to be behind, it is tried with some.
        return max(int(seconds * self._pace), 1 if self._behind and self._pace else _FEWEST)

    def _look(self) -> None:
        """See what was registered and appended since."""
        if self._registry.has_changed():
            registered = self._registry.read().values()
            self._queries = {query.place: query for query in registered if query.lane is Lane.COMMON}
            self._placed_for = 0
            self._timelines.follow((), (window for query in self._queries.values() for window in query.windows))
            self._stale = True
        if self._timelines.refresh():
            self._stale = True


def shared(due: Mapping[str, int], behind: Sequence[str], room: int) -> dict[str, int]:
    """How many of the instants that queries have due are in a batch, which has ``room`` for those that are ``behind``.

    Each other query has its first one whatever room there is, as nobody is to wait for those; of the queries that are
    behind, as many as there is room for, the first of them first. What they have due beyond that shares the room that
    is left equally, as far as each has need of it.
    """
    waiting = [key for key in behind if key in due]
    served, left_out = waiting[: max(room, 1)], waiting[max(room, 1) :]
    needs = {key: due[key] - 1 for key in due.keys() - left_out}
    left, share = room - len(served), 0
    for place, need in enumerate(sorted(needs.values())):
        share = left // (len(needs) - place)
        if need > share:
            break
        left -= need
    return dict.fromkeys(left_out, 0) | {key: 1 + min(need, share) for key, need in needs.items()}
