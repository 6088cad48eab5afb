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
from spark_backend.spark.batches import Batches
from spark_backend.spark.hosts import read_cores
from spark_backend.spark.reception import Part
from spark_backend.spark.spread import Due, place_queries, spread
from spark_backend.spark.task import ANSWER_SCHEMA, AnswerPart

INSTANTS_FORMAT = "evaluation_instants"
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
        self._batches = Batches()
        self._planned_at = clock()
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
        reads = {key: query.reads for key, query in self._queries.items()}
        planned = self._batches.plan(reads, lambda key, most: self._instants(key, start, most))
        for key, query in self._queries.items():
            if key in planned:
                self._planned[key] = (start.get(key, query.after), planned[key])
                end[key] = planned[key][-1]
            elif key in start:
                end[key] = start[key]
        self._stale, moved = self._batches.behind, bool(self._planned)
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

    def _instants(self, key: str, start: Mapping[str, Instant], most: int) -> list[Instant]:
        """The first instants that a query has due after an offset, so many at the most."""
        query = self._queries[key]
        upto = self._timelines.watermark(window.stream for window in query.windows)
        if upto is None:
            return []
        return self._timelines.instants(query.windows, start.get(key, query.after), upto, most)

    def _measure_batch(self) -> None:
        """Whoever asks where to go on has no batch under way: see how long the last one took."""
        if self._under_way:
            self._under_way = False
            taken = self._clock() - self._planned_at
            self._batches.measure(taken)
            self._divided = taken > (_LONG_BATCH / 2 if self._divided else _LONG_BATCH)

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
