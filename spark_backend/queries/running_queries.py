"""The queries that run, and who is told of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from protocol.errors import NotFound
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.evaluations import Listener, Notice
from protocol.language.model import ContinuousQuery
from protocol.time import Instant
from protocol.windows.spec import StreamWindow
from spark_backend.answers.documents import DocumentWriter
from spark_backend.budget import Budget
from spark_backend.compiler.plan import Plan
from spark_backend.queries.measurements import Measurements
from spark_backend.registry import RegisteredQuery

_REMEMBERED = 1000


@dataclass
class RunningQuery:
    """A registered query while it runs. Guarded by the lock of ``RunningQueries``.

    ``output``: the name of the stream that it publishes. ``reads``: the names of the queries whose facts it reads.
    ``failed`` says why it is evaluated no more, after ``stopped`` evaluations in a row that took more than its
    ``budget``, which is what its ``limits`` leave. ``cheap``: so many evaluations in its own lane, in a row, would do
    for the common one; ``costly``: so many in a row would not; ``pace``: how many instants a turn there has; ``turn``:
    the number of its last one, of those of all queries. ``reached``: when (seconds that never step back) its streams'
    watermark was where, since the first evaluation that is due and not out. ``recorded``: what services gave is kept
    from there on, None from the beginning.
    ``incarnation``, ``landmark``: see QueryDescription.
    """

    name: str
    query: ContinuousQuery
    standing: bool
    registered: RegisteredQuery
    plan: Plan
    writer: DocumentWriter
    budget: Budget
    limits: EvaluationLimits = NO_LIMITS
    evaluated: Instant | None = None
    progressed: Instant | None = None
    evaluations: int = 0
    solutions: int = 0
    last_error: str | None = None
    ended: bool = False
    failed: str | None = None
    stopped: int = 0
    cheap: int = 0
    costly: int = 0
    pace: int = 1
    turn: int = 0
    reached: deque[tuple[float, Instant]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    output: str | None = None
    reads: tuple[str, ...] = ()
    recorded: Instant | None = None
    incarnation: int = 0
    landmark: Instant | None = None
    measurements: Measurements = field(default_factory=Measurements)

    @property
    def windows(self) -> tuple[StreamWindow, ...]:
        return self.registered.windows

    @property
    def evaluable(self) -> bool:
        """Whether there are more evaluations to come."""
        return not self.ended and self.failed is None

    def behind(self, now: float) -> float:
        """For how many seconds the oldest evaluation that is not out has been due; 0 where none is, or will be."""
        return now - self.reached[0][0] if self.reached and self.evaluable else 0.0

    @property
    def logs(self) -> set[str]:
        return {member.stream for member in self.windows}

    @property
    def position(self) -> Instant | None:
        """Evaluations up to here are out, or not this query's."""
        return self.evaluated if self.evaluated is not None else self.registered.start


class DormantQuery(NamedTuple):
    """A standing query that is kept and cannot be evaluated as the server was started now.

    ``why`` not, ``key``: of its registration, ``logs``: those it reads, ``reads``: the names of the queries whose facts
    it reads, ``evaluated``: the latest instant that is out, ``failed``: it was not to be evaluated before either.
    """

    why: str
    key: str
    logs: frozenset[str]
    reads: tuple[str, ...]
    evaluated: Instant | None
    failed: bool

    @property
    def keeps(self) -> frozenset[str]:
        """The logs that nothing is to be taken from: what it will read of them is not known."""
        return frozenset() if self.failed else self.logs


class RunningQueries:
    """The queries by name, with the locks that go with them; those that are ``dormant`` are told apart.

    ``lock`` guards them. ``telling`` is held while something is found out and told, so that no answer is overtaken by
    the end of its query; whoever takes both takes it first. ``unwritten``: how they are could not be written down, so
    that the files may say something else of them.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.telling = threading.RLock()
        self.listener: Listener = lambda notices: None
        self.unwritten = False
        self.dormant: dict[str, DormantQuery] = {}
        self._queries: dict[str, RunningQuery] = {}

    def __iter__(self) -> Iterator[RunningQuery]:
        return iter(self._queries.values())

    def get(self, name: str) -> RunningQuery | None:
        return self._queries.get(name)

    def named(self, name: str) -> RunningQuery:
        """Raises NotFound."""
        running = self._queries.get(name)
        if running is None:
            raise NotFound(f"there is no query {name}")
        return running

    def put(self, running: RunningQuery) -> None:
        """Add it, or replace the one of its name."""
        self._queries[running.name] = running

    def remove(self, name: str) -> None:
        del self._queries[name]

    @property
    def windows(self) -> list[StreamWindow]:
        """The windows of all of them, over logs."""
        return [member for running in self._queries.values() for member in running.windows]

    def tell(self, notices: list[Notice]) -> None:
        if notices:
            self.listener(notices)
