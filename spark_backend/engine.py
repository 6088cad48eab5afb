"""The backend on Spark: streams in logs, continuous queries in one Structured Streaming pipeline.

Has the shape of the interface ``endpoint.backend.Backend``, without importing it: arrows point one way.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from protocol.errors import Conflict, NotFound, ProtocolError
from protocol.evaluations import Ended, Evaluation, Failed, Health, Listener, Notice, Progress, QueryDescription
from protocol.language.model import ContinuousQuery, StreamWindow
from protocol.streams import AppendReceipt, StreamDescription, StreamSettings
from protocol.time import Instant, Milliseconds
from spark_backend.catalogue import Catalogue, QueryEntry
from spark_backend.compiler.dataset import StaticPattern
from spark_backend.compiler.plan import Plan, compile_query
from spark_backend.evaluation.answer import Answer
from spark_backend.explain import explain
from spark_backend.layout import Layout
from spark_backend.log.columns import NO_WATERMARK
from spark_backend.pipeline import Evaluations, MakePipeline, Pipeline
from spark_backend.registry import PreparedQuery, RegisteredQuery, Registry, write_atomically
from spark_backend.sink import ResultWriter
from spark_backend.statics import StaticGraphs, StaticTables
from spark_backend.stream_catalogue import Streams
from spark_backend.timelines import END, Timelines

log = logging.getLogger(__name__)

_TICK = 0.02
_PROGRESS_EVERY = 0.5
_REPLAYED_AT_ONCE = 256


@dataclass
class RunningQuery:
    """A registered query while it runs. Guarded by the engine's lock."""

    name: str
    query: ContinuousQuery
    standing: bool
    registered: RegisteredQuery
    plan: Plan
    present: frozenset[StaticPattern]
    writer: ResultWriter
    evaluated: Instant | None = None
    progressed: Instant | None = None
    evaluations: int = 0
    solutions: int = 0
    last_error: str | None = None
    ended: bool = False

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


class SparkBackend:
    """Streams, continuous queries and their answers, over one data directory."""

    def __init__(
        self,
        data_directory: Path,
        graphs: StaticGraphs,
        *,
        base_iri: str,
        spark_master: str = "local[*]",
        clock: Callable[[], Instant] = lambda: time.time_ns() // 1_000_000,
        make_pipeline: MakePipeline = Pipeline,
    ) -> None:
        self._layout = Layout(data_directory.resolve())
        self._layout.make()
        # Relative IRIs of a query are resolved against the address it was asked at.
        self._query_base = f"{base_iri.rstrip('/')}/sparql"
        self._catalogue = Catalogue.open(self._layout.catalogue)
        self._streams = Streams(self._catalogue, self._layout, base_iri, clock)
        self._registry = Registry(self._layout.queries)
        self._statics = StaticTables(self._layout.statics, graphs)
        self._timelines = Timelines(self._layout.streams)
        self._queries: dict[str, RunningQuery] = {}
        self._lock = threading.RLock()
        # Held while something is found out and told, so that no answer is overtaken by the end of its query.
        self._telling = threading.RLock()
        self._listener: Listener = lambda notices: None
        self._pipeline: Evaluations = make_pipeline(self._layout, spark_master, self._receive)
        self._ticker: threading.Thread | None = None
        self._stopping = threading.Event()
        self._restore()

    # --- streams ---------------------------------------------------------------------------

    def create_stream(self, name: str, settings: StreamSettings) -> bool:
        return self._streams.create(name, settings)

    def delete_stream(self, name: str) -> None:
        with self._telling, self._lock:
            directory = self._streams.log_of(name)
            readers = [q.name for q in self._queries.values() if directory in q.logs and q.standing]
            if readers:
                raise Conflict(f"the stream {name} is read by {', '.join(sorted(readers))}: delete the queries first")
            for live in [q.name for q in self._queries.values() if directory in q.logs]:
                self.remove(live)
            self._streams.delete(name)

    def streams(self) -> list[StreamDescription]:
        return self._streams.describe_all()

    def stream(self, name: str) -> StreamDescription:
        return self._streams.describe(name)

    def append(self, name: str, body: bytes, content_type: str, at: Instant | None) -> AppendReceipt:
        return self._streams.append(name, body, content_type, at)

    def advance(self, name: str, watermark: Instant) -> StreamDescription:
        return self._streams.advance(name, watermark)

    def end_stream(self, name: str) -> StreamDescription:
        return self._streams.end(name)

    # --- queries ---------------------------------------------------------------------------

    def register(self, name: str, query: ContinuousQuery, *, standing: bool, since: Instant | None = None) -> bool:
        windows = self._streams.bound(query.windows)
        plan = self._compiled(query)
        with self._telling, self._lock:
            known = self._queries.get(name)
            self._timelines.follow({w.stream for w in windows} | self._followed())
            self._timelines.refresh()
            start = since
            if start is None:
                start = self._timelines.watermark({w.stream for w in windows})
                if start is not None and start >= END:
                    # All streams have ended, and with them ET: the query starts after the last of it.
                    start = self._timelines.previous_instant(windows, END + 1, None)
            key = f"{name}.{uuid.uuid4().hex[:16]}"
            running = self._running(name, key, query, windows, plan, standing, start)
            kept = self._catalogue.queries.pop(name, None)
            if standing:
                self._catalogue.queries[name] = QueryEntry(
                    name, key, query.text, start, [member.stream for member in query.windows]
                )
            if standing or kept is not None:
                self._catalogue.save()
            self._queries[name] = running
            self._publish()
            if known is not None:
                self._tell([Ended(name, "the query was replaced")])
        return known is None

    def remove(self, name: str) -> None:
        with self._telling, self._lock:
            running = self._query(name)
            del self._queries[name]
            if self._catalogue.queries.pop(name, None) is not None:
                self._catalogue.save()
            self._publish()
            self._registry.remove_prepared(running.registered.prepared)
            self._tell([Ended(name, "the query was removed")])

    def queries(self) -> list[QueryDescription]:
        with self._lock:
            return [self._described(self._queries[name]) for name in sorted(self._queries)]

    def query(self, name: str) -> QueryDescription:
        with self._lock:
            return self._described(self._query(name))

    def plan(self, name: str) -> str:
        with self._lock:
            running = self._query(name)
            files = {pattern: self._statics.file(pattern) for pattern in running.plan.statics}
            return explain(running.query, running.plan, files)

    def replay(self, name: str, after: Instant | None, upto: Instant) -> Iterator[Evaluation]:
        with self._lock:
            running = self._query(name)
            writer = ResultWriter(running.query, running.plan.variables)
            self._timelines.refresh()
            # Beyond the watermark an answer may yet be another one.
            reached = self._timelines.watermark(running.logs)
            upto = NO_WATERMARK if reached is None else min(upto, reached)
            first = self._timelines.instants(running.windows, after, upto, 1)
        if first:
            self._load_previous(running, writer, first[0])
        while first:
            with self._lock:
                instants = self._timelines.instants(running.windows, after, upto, _REPLAYED_AT_ONCE)
            if not instants:
                return
            for answer in self._pipeline.answers(running.registered.key, running.registered.prepared, instants):
                if answer.error is not None:
                    continue  # as when it was live: an error then, and the query went on
                data, _ = writer.write(answer)
                yield Evaluation(name, answer.instant, data)
            after = instants[-1]

    def retained_from(self, name: str) -> Instant | None:
        with self._lock:
            running = self._query(name)
            bounds = [
                (self._streams.retained_from(member.stream), member.window.width) for member in running.windows
            ]  # fmt: skip
            return max((held + width for held, width in bounds if held is not None), default=None)

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    # --- store and life --------------------------------------------------------------------

    def store_changed(self) -> None:
        with self._lock:
            changed = False
            for running in self._queries.values():
                if not running.plan.statics:
                    continue
                present = self._matching(running.plan)
                # Other triples for the same patterns are other files; only what is left out makes another plan.
                plan = running.plan if present == running.present else self._compiled(running.query)
                prepared = self._prepared(running.registered.key, plan, running.windows)
                if prepared != running.registered.prepared:
                    running.plan, running.present = plan, present
                    running.registered = running.registered.with_prepared(prepared)
                    changed = True
            if changed:
                self._publish()

    def health(self) -> Health:
        return Health(self._pipeline.state, self._pipeline.detail)

    def start(self) -> None:
        self._pipeline.start()
        self._ticker = threading.Thread(target=self._tick, name="watermarks", daemon=True)
        self._ticker.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._ticker is not None:
            self._ticker.join(timeout=5)
        self._pipeline.stop()
        self._streams.close()

    # --- registration ----------------------------------------------------------------------

    def _restore(self) -> None:
        """Standing queries go on where they were."""
        from protocol.language import parse

        progress = self._saved_progress()
        self._timelines.follow(entry.log for entry in self._catalogue.streams.values())
        for entry in list(self._catalogue.queries.values()):
            try:
                query = parse(entry.text, base=self._query_base)
                assert isinstance(query, ContinuousQuery)
                # The streams' IRIs as they were found at registration, whatever address it came by.
                query = replace(
                    query,
                    windows=tuple(
                        replace(member, stream=stream)
                        for member, stream in zip(query.windows, entry.streams, strict=True)
                    ),
                )
                windows = self._streams.bound(query.windows)
                plan = self._compiled(query)
            except ProtocolError as error:
                log.error("the standing query %s cannot be evaluated any more: %s", entry.name, error.detail)
                continue
            running = self._running(entry.name, entry.key, query, windows, plan, True, entry.start)
            running.evaluated = progress.get(entry.key)
            self._queries[entry.name] = running
        self._publish()
        self._sweep()

    def _sweep(self) -> None:
        """Delete prepared queries and static tables that nothing refers to any more."""
        prepared = {running.registered.prepared for running in self._queries.values()}
        static = {
            file
            for name in prepared
            for file in self._registry.read_prepared(name).statics.values()
        }  # fmt: skip
        self._registry.sweep(prepared)
        for path in self._layout.statics.iterdir():
            if path.name not in static:
                path.unlink()

    def _running(
        self,
        name: str,
        key: str,
        query: ContinuousQuery,
        windows: tuple[StreamWindow, ...],
        plan: Plan,
        standing: bool,
        start: Instant | None,
    ) -> RunningQuery:
        registered = RegisteredQuery(key, windows, self._prepared(key, plan, windows), start)
        writer = ResultWriter(query, plan.variables)
        return RunningQuery(name, query, standing, registered, plan, self._matching(plan), writer)

    def _compiled(self, query: ContinuousQuery) -> Plan:
        """The query's plan for the store as it is."""
        return compile_query(query, base=self._query_base, present=self._present)

    def _present(self, pattern: StaticPattern) -> bool:
        return self._statics.file(pattern) is not None

    def _matching(self, plan: Plan) -> frozenset[StaticPattern]:
        """The static patterns of a plan that have matches in the store as it is."""
        return frozenset(filter(self._present, plan.statics))

    def _prepared(self, key: str, plan: Plan, windows: tuple[StreamWindow, ...]) -> str:
        """Write what the tasks need, under a name of its content."""
        files = {pattern.table: self._statics.file(pattern) for pattern in plan.statics}
        prepared = PreparedQuery(plan, windows, {table: file for table, file in files.items() if file is not None})
        return self._registry.write_prepared(key, prepared)

    def _publish(self) -> None:
        self._registry.write([q.registered for q in self._queries.values() if not q.ended])
        self._timelines.follow(self._followed())
        # Said at once: what comes before the next tick must not drop what a query has still to read.
        self._streams.retain(self._needed())

    def _followed(self) -> set[str]:
        return {directory for running in self._queries.values() for directory in running.logs}

    def _query(self, name: str) -> RunningQuery:
        running = self._queries.get(name)
        if running is None:
            raise NotFound(f"there is no query {name}")
        return running

    def _described(self, running: RunningQuery) -> QueryDescription:
        self._timelines.refresh()
        watermark = self._timelines.watermark(running.logs)
        state = {"running": "running", "failed": "failed"}.get(self._pipeline.state, "waiting")
        return QueryDescription(
            name=running.name,
            query=running.query,
            standing=running.standing,
            state="ended" if running.ended else state,
            start=running.registered.start,
            evaluated=running.evaluated,
            watermark=None if watermark is None or watermark >= END or watermark <= NO_WATERMARK else watermark,
            evaluations=running.evaluations,
            solutions=running.solutions,
            last_error=running.last_error,
        )

    # --- answers ---------------------------------------------------------------------------

    def _receive(self, answers: list[tuple[str, Answer]]) -> None:
        """Take the answers of a micro-batch: write each once, drop what was out already."""
        notices: list[Notice] = []
        with self._telling:
            with self._lock:
                by_key = {running.registered.key: running for running in self._queries.values()}
            for key, answer in answers:
                running = by_key.get(key)
                if running is None or (running.evaluated is not None and answer.instant <= running.evaluated):
                    continue
                notices.append(self._taken(running, answer))
            self._save_progress()
            self._tell(notices)

    def _taken(self, running: RunningQuery, answer: Answer) -> Notice:
        if answer.error is not None:
            running.evaluated, running.last_error = answer.instant, answer.error
            log.warning("query %s at %d: %s", running.name, answer.instant, answer.error)
            return Failed(running.name, answer.instant, answer.error)
        if running.writer.needs_previous and running.writer.previous is None:
            self._load_previous(running, running.writer, answer.instant)
        data, solutions = running.writer.write(answer)
        running.evaluated = answer.instant
        running.evaluations += 1
        running.solutions += solutions
        return Evaluation(running.name, answer.instant, data)

    def _load_previous(self, running: RunningQuery, writer: ResultWriter, instant: Instant) -> None:
        """Let the writer know the answer before ``instant``, which ISTREAM and DSTREAM compare with.

        Like a writer that went on from evaluation to evaluation, it passes over those that failed.
        """
        if not writer.needs_previous:
            return
        before: Instant | None = instant
        instants: list[Instant] = []
        while writer.previous is None:
            most = _REPLAYED_AT_ONCE if instants else 1
            instants = []
            with self._lock:
                while len(instants) < most and before is not None:
                    before = self._timelines.previous_instant(running.windows, before, running.registered.start)
                    if before is not None:
                        instants.insert(0, before)
            if not instants:
                return
            for answer in self._pipeline.answers(running.registered.key, running.registered.prepared, instants):
                if answer.error is None:
                    writer.previous = answer

    def _tell(self, notices: list[Notice]) -> None:
        if notices:
            self._listener(notices)

    # --- the clock -------------------------------------------------------------------------

    def _tick(self) -> None:
        """Move arrival streams' watermarks; now and then say how far the queries are."""
        said = 0.0
        while not self._stopping.wait(_TICK):
            try:
                self._streams.tick()
                now = time.monotonic()
                if now - said >= _PROGRESS_EVERY:
                    said = now
                    with self._telling:
                        self._tell(self._progress())
            except Exception:
                log.exception("the watermarks could not be moved")

    def _progress(self) -> list[Notice]:
        notices: list[Notice] = []
        with self._lock:
            self._timelines.refresh()
            for running in self._queries.values():
                watermark = self._timelines.watermark(running.logs)
                if watermark is None or running.ended or watermark == running.progressed:
                    continue
                if self._timelines.next_instant(running.windows, running.position, watermark) is not None:
                    continue  # due, and on its way
                running.progressed = watermark
                if watermark >= END:
                    running.ended = True
                    notices.append(Ended(running.name, "all streams of the query have ended"))
                elif watermark > NO_WATERMARK:
                    notices.append(Progress(running.name, watermark, watermark))
            if any(isinstance(notice, Ended) for notice in notices):
                self._publish()
            self._streams.retain(self._needed())
        return notices

    def _needed(self) -> dict[str, tuple[Milliseconds, Instant | None]]:
        """Per log, what its queries still read: the widest window, and where the one furthest behind is."""
        needed: dict[str, tuple[Milliseconds, Instant | None]] = {}
        for running in self._queries.values():
            places = [place for place in (running.position, running.progressed) if place is not None]
            place = max(places, default=NO_WATERMARK)
            for member in running.windows:
                width, behind = needed.get(member.stream, (0, None))
                needed[member.stream] = (
                    max(width, member.window.width),
                    place if behind is None else min(behind, place),
                )
        return needed

    def _saved_progress(self) -> dict[str, Instant]:
        try:
            saved: dict[str, Instant] = json.loads(self._layout.progress.read_text())
            return saved
        except FileNotFoundError:
            return {}
        except ValueError:
            log.warning("%s cannot be read: queries go on from Spark's checkpoint alone", self._layout.progress)
            return {}

    def _save_progress(self) -> None:
        with self._lock:
            progress = {q.registered.key: q.evaluated for q in self._queries.values() if q.evaluated is not None}
        write_atomically(self._layout.progress, json.dumps(progress))
