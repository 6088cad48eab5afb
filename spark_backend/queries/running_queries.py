"""The queries that run, and who is told of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from protocol.errors import NotFound
from protocol.evaluations import Listener, Notice
from protocol.language.model import ContinuousQuery
from protocol.time import Instant
from protocol.windows.spec import StreamWindow
from spark_backend.answers.documents import DocumentWriter
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.sql.dataset import StaticPattern
from spark_backend.queries.measurements import Measurements
from spark_backend.registry import RegisteredQuery


@dataclass
class RunningQuery:
    """A registered query while it runs. Guarded by the lock of ``RunningQueries``.

    ``output``: the name of the stream that it publishes.
    """

    name: str
    query: ContinuousQuery
    standing: bool
    registered: RegisteredQuery
    plan: Plan
    present: frozenset[StaticPattern]
    writer: DocumentWriter
    evaluated: Instant | None = None
    progressed: Instant | None = None
    evaluations: int = 0
    solutions: int = 0
    last_error: str | None = None
    ended: bool = False
    output: str | None = None
    measurements: Measurements = field(default_factory=Measurements)

    @property
    def windows(self) -> tuple[StreamWindow, ...]:
        return self.registered.windows

    @property
    def logs(self) -> set[str]:
        return {member.stream for member in self.windows}

    @property
    def position(self) -> Instant | None:
        """Evaluations up to here are out, or not this query's."""
        return self.evaluated if self.evaluated is not None else self.registered.start


class RunningQueries:
    """The queries by name, with the locks that go with them.

    ``lock`` guards them. ``telling`` is held while something is found out and told, so that no answer is overtaken by
    the end of its query; whoever takes both takes it first.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.telling = threading.RLock()
        self.listener: Listener = lambda notices: None
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
