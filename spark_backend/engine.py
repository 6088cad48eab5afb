"""The backend on Spark: streams in logs, continuous queries in one Structured Streaming pipeline.

Has the shape of the interface ``endpoint.backend.Backend``, without importing it: arrows point one way.
"""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from protocol.errors import Conflict, NotFound, ProtocolError
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.evaluations import Evaluation, Gone, Health, Listener, Outcome, QueryDescription
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from protocol.kafka import KafkaCluster, KafkaReading
from protocol.language.model import ContinuousQuery
from protocol.sources import SourceBatch, SourceReceipt
from protocol.streams import AppendReceipt, StreamDescription, StreamSettings
from protocol.time import BEFORE_ALL, FIRST_INSTANT, LAST_INSTANT, Instant, Milliseconds, format_instant
from protocol.windows.spec import StreamWindow, begins_with_query, bound
from spark_backend.budget import Budget, Lane
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.evaluation.spill import remove_orphaned_spill
from spark_backend.federation.records import ServiceRecords
from spark_backend.ingest.parsing.parsers import Parsers
from spark_backend.kafka.feed import SparkKafkaFeed
from spark_backend.kafka.kafka import Kafka
from spark_backend.kafka.writer import SparkKafkaWriter
from spark_backend.layout import Layout
from spark_backend.log.follower import LogFollower
from spark_backend.log.writer import finish_copy
from spark_backend.queries.delivery import Delivery
from spark_backend.queries.descriptions import Descriptions
from spark_backend.queries.evaluation_files import EvaluationFiles
from spark_backend.queries.explain.explanations import Explanations
from spark_backend.queries.held_contents import HeldContents
from spark_backend.queries.lanes import OwnLanes
from spark_backend.queries.outputs import Outputs
from spark_backend.queries.progress import QueryProgress
from spark_backend.queries.registration.facts import FactReaders, with_facts
from spark_backend.queries.registration.preparation import Preparation
from spark_backend.queries.registration.query_files import QueryFiles
from spark_backend.queries.registration.store_changes import StoreChanges
from spark_backend.queries.running_queries import DormantQuery, RunningQueries, RunningQuery
from spark_backend.queries.services import FederatedEvaluations, NoEndpoints, OtherEndpoints, require_permitted
from spark_backend.queries.trials import Trials
from spark_backend.registry import RegisteredQuery, Registry, family, write_progress
from spark_backend.site import BY_SIZE, Site, SiteChoice
from spark_backend.spark.checkpoint import planned
from spark_backend.spark.pipeline import Evaluations, MakePipeline, Pipeline
from spark_backend.statics.graphs import StaticGraphs
from spark_backend.statics.tables import StaticTables
from spark_backend.streams.catalogue import Catalogue, copy_of
from spark_backend.streams.shapes import StreamShapes
from spark_backend.streams.statistics import StreamStatistics
from spark_backend.streams.streams import Streams
from spark_backend.streams.timelines import Timelines
from spark_backend.ticker import Chore, Ticker
from spark_backend.warnings import Warnings

log = logging.getLogger(__name__)

_BUDGET = Budget()
_TICK = 0.02
_PROGRESS_EVERY = 0.5
_SWEEP_EVERY = 5.0
_OPEN_EVERY = 5.0


class SparkBackend:
    """Streams, continuous queries and their answers, over one data directory."""

    def __init__(
        self,
        data_directory: Path,
        graphs: StaticGraphs,
        *,
        base_iri: str,
        spark_master: str = "local[*]",
        sites: SiteChoice = BY_SIZE,
        clock: Callable[[], Instant] = lambda: time.time_ns() // 1_000_000,
        steady: Callable[[], Milliseconds] = lambda: time.monotonic_ns() // 1_000_000,
        frozen_after: float = 10.0,
        budget: Budget = _BUDGET,
        kafka_jars: Path | None = None,
        functions: PythonFunctions = NO_FUNCTIONS,
        endpoints: OtherEndpoints | None = None,
        schema: Sequence[str] = (),
        make_pipeline: MakePipeline | None = None,
    ) -> None:
        self._budget = budget
        self._layout = Layout(data_directory.resolve())
        self._layout.make()
        self._sites = sites
        # Relative IRIs of a query are resolved against the address it was asked at.
        self._query_base = f"{base_iri.rstrip('/')}/sparql"
        self._catalogue = Catalogue.open(self._layout.catalogue)
        parsers, shapes = Parsers(frozen_after), StreamShapes(graphs)
        self._streams = Streams(self._catalogue, self._layout, base_iri, clock, parsers, shapes, steady=steady)
        with contextlib.ExitStack() as unfinished:
            # Where this fails, whoever tries again finds no log that is in use.
            unfinished.callback(self._streams.close)
            self._registry = Registry(self._layout.queries)
            statistics = StreamStatistics(self._layout.streams)
            self._statics = StaticTables(self._layout.statics, graphs, schema)
            self._preparation = Preparation(self._registry, self._statics, statistics, functions, self._query_base)
            self._timelines = Timelines(self._layout.streams)
            self._held = HeldContents(self._streams, self._timelines)
            self._running = RunningQueries()
            self._lock, self._telling = self._running.lock, self._running.telling
            self._query_files = QueryFiles(self._running, self._catalogue, self._registry, self._follow)
            self._store = StoreChanges(self._running, self._statics, self._preparation, self._query_files)
            self._outputs = Outputs(self._streams, self._running)
            self._fact_readers = FactReaders(self._running)
            self._delivery = Delivery(self._running, self._timelines, self._outputs, self._layout.progress)
            self._progress = QueryProgress(
                self._running, self._timelines, self._streams, self._outputs, self._query_files.publish
            )
            make_pipeline = make_pipeline or partial(Pipeline, frozen_after=frozen_after, functions=functions.to_json())
            self._pipeline: Evaluations = make_pipeline(
                self._layout, spark_master, self._delivery.receive, sites, budget
            )
            unfinished.callback(self._pipeline.stop)
            self._endpoints = endpoints or NoEndpoints()
            self._records = ServiceRecords(self._layout.services)
            self._federated = FederatedEvaluations(self._pipeline, self._registry, self._records, self._endpoints)
            self._files = EvaluationFiles(self._federated, self._registry, self._statics)
            self._delivery.evaluations = self._files
            self._descriptions = Descriptions(self._running, self._timelines, self._progress, self._pipeline, budget)
            self._explanations = Explanations(
                self._running, self._timelines, self._statics, statistics, self._pipeline, self._files, sites,
                self._endpoints,
            )  # fmt: skip
            self._kafka = Kafka(self._pipeline.session, self._layout, kafka_jars)
            self._delivery.publish = self._query_files.keep
            self._delivery.without_start = self._preparation.without_start
            trials = Trials(self._running, self._timelines, self._delivery)
            self._lanes = OwnLanes(self._running, self._timelines, self._delivery, self._delivery.publish, trials)
            self._warnings = Warnings(self._running, self.streams, clock)
            self._warnings.add(*self._catalogue.warnings, *self._streams.warnings)
            unclaimed = self._streams.unclaimed()
            for log_name in unclaimed:
                self._warnings.add(
                    f"the log in streams/{log_name} belongs to no stream that catalogue.json has: stop the server and "
                    "restore the file from a backup, or see `sparql-streams doctor`"
                )
            self._ticker = Ticker(self._chores(), _TICK)
            # A disk that hangs holds up no clock.
            open_again = Chore(0, self._open_again, "logs that could not be opened cannot be tried again")
            self._opener = Ticker([open_again], _OPEN_EVERY, name="logs")
            self._restore()
            # Those of nobody may be of queries that the catalogue has lost with the streams: somebody may restore it.
            self._keep_records(others=bool(unclaimed))
            self._warnings.look()
            unfinished.pop_all()

    # --- streams ---------------------------------------------------------------------------

    def create_stream(self, name: str, settings: StreamSettings) -> bool:
        return self._streams.create(name, settings)

    def delete_stream(self, name: str) -> None:
        with self._changing():
            self._streams.require_own(name)
            sides = self._streams.with_sides(name)
            readers = self._outputs.standing_readers(*sides)
            if readers:
                raise Conflict(f"the stream {name} is read by {', '.join(readers)}: delete the queries first")
            self._drop_stream(name)

    def streams(self) -> list[StreamDescription]:
        return [self._with_damage(stream) for stream in self._streams.describe_all()]

    def stream(self, name: str) -> StreamDescription:
        return self._with_damage(self._streams.describe(name))

    def append(
        self,
        name: str,
        body: bytes,
        content_type: str,
        at: Instant | None,
        key: str | None = None,
        partition: int | None = None,
    ) -> AppendReceipt:
        return self._streams.append(name, body, content_type, at, key, partition)

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt:
        return self._streams.receive(name, batch)

    def positions(self, name: str) -> dict[str, bytes]:
        return self._streams.positions(name)

    def read_kafka(self, reading: KafkaReading) -> SparkKafkaFeed:
        settings, know = self._streams.of_partitions(reading.stream)
        return self._kafka.read(reading, settings, know)

    def write_kafka(self, cluster: KafkaCluster, topic: str) -> SparkKafkaWriter:
        return self._kafka.write(cluster, topic)

    def advance(self, name: str, watermark: Instant, partition: int | None = None) -> StreamDescription:
        return self._streams.advance(name, watermark, partition)

    def end_stream(self, name: str) -> StreamDescription:
        return self._streams.end(name)

    def follow(self, name: str, after: int | None, *, incarnation: int | None = None) -> LogFollower:
        log = self._streams.read(name)
        of = self._streams.incarnation([log])
        return LogFollower(self._layout.streams / log, after, of, foreign=incarnation not in (None, of))

    # --- queries ---------------------------------------------------------------------------

    def register(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        since: Instant | None = None,
        landmark: Instant | None = None,
        limits: EvaluationLimits = NO_LIMITS,
    ) -> bool:
        with self._lock:
            others = {running.name: running.query for running in self._running if running.standing}
        query, reads = with_facts(query, {known: other for known, other in others.items() if known != name})
        query = replace(query, windows=self._streams.with_streams(query.windows))
        windows = self._streams.bound(query.windows)
        plan = self._preparation.compile(query, windows)
        require_permitted(plan, query.text, self._endpoints)
        if self._sites.forced is Site.SPARK:
            from spark_backend.spark_sql.translation.plans import require_translation

            require_translation(plan, query, self._query_base)
        with self._changing(plan.statics):
            # Meanwhile a stream may have been deleted, and made anew.
            windows = self._streams.bound(query.windows)
            known, output = self._running.get(name), self._outputs.of(name)
            if output is not None and self._is_of_nobody(output, name):
                # It could not be dropped with what published it, whose answers are not those of this one.
                self._outputs.require_unread(name)
                self._drop_stream(output)
                output = None
            if standing:
                self._outputs.check(name, query, windows)
            self._fact_readers.require_there(query, reads)
            changes_facts = self._fact_readers.check(name, query)
            self._progress.retain(windows)
            self._timelines.follow((), [*windows, *self._running.windows])
            self._timelines.refresh()
            start = self._held.start(windows, since)
            beginning = [member for member in windows if begins_with_query(member.window)]
            landmark = start if landmark is None else self._held.as_far_as(beginning, landmark)
            key = f"{name}.{uuid.uuid4().hex[:16]}"
            running = self._running_query(name, key, query, windows, plan, standing, start, limits, landmark)
            if beginning and not standing:
                # For clients a time that can be written: before the first of these is nothing.
                running.landmark = min(max(BEFORE_ALL if landmark is None else landmark, FIRST_INSTANT), LAST_INSTANT)
            running.reads = reads
            if any(one.registered.lane is Lane.COMMON and one.evaluated is not None for one in self._running):
                running.registered = running.registered.on_trial()
            if standing:
                running.output = self._outputs.open(name, query)
            try:
                if plan.services:
                    self._records.begin(key)
                self._query_files.save(name, self._preparation.entry_of(running) if standing else None, running)
            except BaseException:
                self._records.forget(key)
                if running.output not in (None, output):
                    self._drop_output(running.output)
                raise
            self._running.put(running)
            self._running.dormant.pop(name, None)
            self._follow()
            if known is not None:
                self._cancel(known)
                self._running.tell([Gone(name, "the query was replaced", replaced=True)])
            if output not in (None, running.output):
                self._drop_output(output)
            if changes_facts:
                self._end_readers_of_facts(name)
        return known is None

    def remove(self, name: str) -> None:
        with self._changing():
            self._remove(name)

    def _remove(self, name: str) -> None:
        if name in self._running.dormant:
            self._remove_dormant(name)
            return
        running = self._running.named(name)
        self._outputs.require_unread(name)
        self._fact_readers.require_unread(name)
        self._query_files.save(name, None, None)
        self._running.remove(name)
        self._follow()
        self._cancel(running)
        self._remove_prepared(running)
        if running.output is not None:
            self._drop_output(running.output)
        self._running.tell([Gone(name, "the query was removed")])
        self._end_readers_of_facts(name)

    def _remove_dormant(self, name: str) -> None:
        """Forget a query that is kept without being evaluated, and its output with it."""
        self._outputs.require_unread(name)
        self._fact_readers.require_unread(name)
        output = self._outputs.of(name)
        self._query_files.save(name, None, None)
        del self._running.dormant[name]
        self._follow()
        if output is not None:
            self._drop_output(output)

    def queries(self) -> list[QueryDescription]:
        return self._descriptions.all()

    def dormant(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._running.dormant)

    def query(self, name: str) -> QueryDescription:
        return self._descriptions.of(name)

    def overdue(self) -> dict[str, list[float]]:
        return self._descriptions.overdue()

    def plan(self, name: str, *, measured: bool = False) -> str:
        return self._explanations.of(name, measured=measured)

    def replay(
        self, name: str, after: Instant | None, upto: Instant, *, before_start: bool = False
    ) -> Iterator[Outcome]:
        return self._delivery.replay(name, after, upto, partial(self.retained_from, name), before_start=before_start)

    def latest(self, name: str) -> Evaluation | None:
        retained = self.retained_from(name)
        with self._lock:
            evaluated = self._running.named(name).evaluated
        if evaluated is not None and retained is not None and evaluated <= retained:
            raise NotFound(
                f"the latest answer of {name}, that of {format_instant(evaluated)}, is held no more: retention has "
                "taken what it was made of"
            )
        return self._delivery.latest(name)

    def retained_from(self, name: str, after: Instant | None = None) -> Instant | None:
        with self._lock:
            return self._held.answers_after(self._running.named(name), after)

    def listen(self, listener: Listener) -> None:
        self._running.listener = listener

    # --- store and life --------------------------------------------------------------------

    def store_changed(self) -> None:
        self._store.read()

    def backup(self, directory: Path) -> None:
        copy = Layout(directory)
        copy.streams.mkdir()
        copy.services.mkdir()

        def positions() -> None:
            self._records.copy(copy.services)
            for path in (self._layout.catalogue, copy_of(self._layout.catalogue), self._layout.progress):
                if path.exists():
                    (directory / path.name).write_bytes(path.read_bytes())

        # Most of them before anybody has to wait.
        self._records.copy(copy.services)
        # So that no answer is published, and no registration changes anything meanwhile.
        with self._telling, self._lock:
            self._streams.backup(copy.streams, positions)
        for log_copy in copy.streams.iterdir():
            finish_copy(log_copy)

    def health(self) -> Health:
        return Health(self._pipeline.state, self._pipeline.detail, self._warnings.told)

    def start(self) -> None:
        self._pipeline.start()
        self._lanes.start()
        self._ticker.start()
        self._opener.start()

    def stop(self) -> None:
        self._lanes.stop()
        self._ticker.stop()
        self._opener.stop()
        self._pipeline.stop()
        remove_orphaned_spill(self._layout)
        self._streams.close()

    def _with_damage(self, stream: StreamDescription) -> StreamDescription:
        """With what reading it for queries has shown, beside what was found when its log was opened."""
        try:
            log = self._streams.log_of(stream.name)
        except NotFound:
            return stream
        read = [damage.described(log) for damage in self._timelines.damage(log)]
        if not read and not stream.damage:
            return stream
        known = {(damage.file, damage.offset): damage for damage in (*stream.damage, *read)}
        return replace(stream, damage=tuple(damage for _, damage in sorted(known.items())))

    # --- registration ----------------------------------------------------------------------

    def _restore(self) -> None:
        """Standing queries go on where they were; those that have failed stay so."""
        progress = self._delivery.saved_progress()
        if progress is None:
            if self._layout.progress.exists():
                self._warnings.add(
                    f"{self._layout.progress.name} is damaged: how far the queries are is known from Spark's "
                    "checkpoint alone"
                )
            progress = planned(self._layout.checkpoint, self._registry)
            # Before anything else is: of queries that are not evaluated for a while nothing would say it any more.
            write_progress(self._layout.progress, progress)
        self._timelines.follow(entry.log for entry in self._catalogue.streams.values())
        for entry in list(self._catalogue.queries.values()):
            try:
                query, reads = self._preparation.read(entry, self._catalogue.queries)
                windows = self._streams.bound(query.windows)
                plan = self._preparation.compile(query, windows)
                limits = EvaluationLimits(*entry.budget)
                running = self._running_query(
                    entry.name, entry.key, query, windows, plan, True, entry.start, limits, entry.start
                )
                running.reads = reads
                running.output = self._outputs.open(entry.name, query)
            except ProtocolError as error:
                self._running.dormant[entry.name] = DormantQuery(
                    error.detail, entry.key, self._streams.logs_of(entry.streams), tuple(entry.facts),
                    progress.get(entry.key), entry.failed is not None,
                )  # fmt: skip
                log.warning("the standing query %s cannot be evaluated: %s", entry.name, error.detail)
                continue
            running.evaluated = self._latest_out(running, progress.get(entry.key))
            running.failed = entry.failed
            if running.evaluated is not None:
                with contextlib.suppress(ProtocolError):  # what cannot be written to is said elsewhere
                    self._streams.keep_behind(running.logs, running.evaluated)
            if entry.own_lane:
                running.registered = running.registered.in_own_lane()
            self._running.put(running)
        self._drop_outputs_of_nobody()
        self._streams.delete_dropped()
        self._query_files.publish()
        self._sweep(at_once=True)

    def _keep_records(self, *, others: bool) -> None:
        """Let there be records of the services of all queries, and of no ``others`` but where that is said."""
        asking = {running.registered.key for running in self._running if running.plan.services}
        self._records.keep(asking | {dormant.key for dormant in self._running.dormant.values()}, others=others)

    def _drop_outputs_of_nobody(self) -> None:
        """Drop what a crash has left that cut short the registration, the replacement or the end of a query."""
        for output, owner in self._streams.outputs().items():
            if self._is_of_nobody(output, owner):
                self._drop_stream(output)

    def _is_of_nobody(self, output: str, owner: str) -> bool:
        """Whether the query of this name, evaluated or not, does not publish that stream, or is there no more."""
        running = self._running.get(owner)
        return owner not in self._catalogue.queries or (running is not None and running.output != output)

    def _latest_out(self, running: RunningQuery, saved: Instant | None) -> Instant | None:
        """The latest instant that is out: as it was saved, or later if the output has it already."""
        published = None if running.output is None else self._outputs.published_upto(running.output)
        if published is None or (running.registered.start is not None and published <= running.registered.start):
            return saved
        return published if saved is None else max(saved, published)

    @contextlib.contextmanager
    def _changing(self, reads: Collection[StaticPattern] = ()) -> Iterator[None]:
        """What there is does not change otherwise meanwhile; files of what is dropped are deleted when nobody waits.

        What of the store is read for it is found before.
        """
        try:
            with self._store.found(reads):
                yield
        finally:
            self._streams.delete_dropped()

    def _cancel(self, running: RunningQuery) -> None:
        """Let what is evaluated for a query, and what services are asked for it, end."""
        for end in (self._pipeline.cancel, self._federated.ended):
            try:
                end(running.registered.key)
            except Exception as error:  # Spark may just have ended, and be in no need of it
                log.warning("something is left of the query %s: %s", running.name, error, exc_info=error)

    def _remove_prepared(self, running: RunningQuery) -> None:
        """Delete the prepared query of one that is no more; where that cannot be, it is swept later."""
        try:
            for file in self._preparation.files(running.plan, running.registered.prepared):
                self._registry.remove_prepared(file)
        except OSError as error:
            log.warning("what the query %s was prepared as is deleted later: %s", running.name, error)

    def _drop_stream(self, name: str) -> None:
        """Drop a stream that only queries read which nobody named: they end."""
        for side in self._streams.with_sides(name):
            for live in [running.name for running in self._outputs.readers(side) if not running.standing]:
                self._remove(live)
        self._streams.drop(name)

    def _end_readers_of_facts(self, name: str) -> None:
        """End the queries that nobody named and that read the facts of this one."""
        for live in [running.name for running in self._fact_readers.of(name)]:
            self._remove(live)

    def _sweep(self, *, at_once: bool = False) -> None:
        """Delete prepared queries and static tables that nothing needs any more; ``at_once``: nobody evaluates yet."""
        with self._lock:
            prepared = {running.registered.prepared for running in self._running}
            patterns = {pattern for running in self._running for pattern in running.plan.statics}
            self._files.sweep(prepared, patterns, at_once=at_once)

    def _running_query(
        self,
        name: str,
        key: str,
        query: ContinuousQuery,
        windows: tuple[StreamWindow, ...],
        plan: Plan,
        standing: bool,
        start: Instant | None,
        limits: EvaluationLimits,
        landmark: Instant | None,
    ) -> RunningQuery:
        windows, members = _start_windows(windows, landmark), _start_windows(query.windows, landmark)
        query = replace(query, windows=members)
        lane = Lane.OWN if self._sites.forced is Site.SPARK or plan.services else Lane.COMMON
        plan, prepared = self._preparation.write(key, query, windows, plan, start)
        registered = RegisteredQuery(key, windows, prepared, start, lane, family=family(plan, windows))
        writer = self._delivery.writer(query, plan, windows)
        budget = self._budget.asked(limits)
        return RunningQuery(
            name, query, standing, registered, plan, writer, budget, limits,
            incarnation=self._streams.incarnation(window.stream for window in windows),
        )  # fmt: skip

    def _drop_output(self, name: str) -> None:
        """Drop what a query published that is there no more; where that cannot be, the next start does it."""
        try:
            self._drop_stream(name)
        except OSError as error:
            log.warning("the stream %s, which no query publishes any more, stays until the next start: %s", name, error)

    def _write_again(self) -> None:
        """Have the files say what could not be written into them before, and queries read the store as it is.

        Raises OSError where that can still not be.
        """
        if self._store.unread:
            self._store.read()
        self._query_files.write_again()
        if self._catalogue.unsaved:
            self._catalogue.save()

    def _follow(self) -> None:
        """Read for the queries that run now, and keep what they need."""
        self._timelines.follow((), self._running.windows)
        # Said at once: what comes before the next tick must not drop what a query has still to read.
        self._progress.keep_needed()

    # --- the clock -------------------------------------------------------------------------

    def _chores(self) -> list[Chore]:
        return [
            Chore(0, self._streams.tick, "the watermarks could not be moved"),
            Chore(_PROGRESS_EVERY, self._write_again, "how the queries are could not be written down"),
            Chore(_PROGRESS_EVERY, self._progress.say, "how far the queries are could not be told"),
            Chore(_PROGRESS_EVERY, self._warnings.look, "warnings could not be looked for"),
            Chore(_PROGRESS_EVERY, self._forget_records, "records of services could not be removed"),
            # An evaluator that was ended with its query's job may have nobody who comes after it.
            Chore(
                _PROGRESS_EVERY,
                partial(remove_orphaned_spill, self._layout),
                "what evaluators left could not be removed",
            ),
            Chore(_SWEEP_EVERY, self._sweep, "what queries read no more could not be removed"),
        ]

    def _open_again(self) -> None:
        """Try again the logs that could not be opened."""
        evaluated: dict[str, Instant] = {}
        with self._lock:
            for running in self._running:
                for read in running.logs:
                    evaluated[read] = max(running.evaluated or BEFORE_ALL, evaluated.get(read, BEFORE_ALL))
        self._streams.open_again(evaluated)

    def _forget_records(self) -> None:
        """Delete what services gave at instants that nobody can have evaluated again."""
        with self._lock:
            asking = [running for running in self._running if running.plan.services]
        for running in asking:
            with contextlib.suppress(NotFound):
                held = self.retained_from(running.name)
                if held is not None and (running.recorded is None or held > running.recorded):
                    self._records.forget_before(running.registered.key, held)
                    running.recorded = held


def _start_windows(windows: tuple[StreamWindow, ...], landmark: Instant | None) -> tuple[StreamWindow, ...]:
    """The windows of a query with which they begin there, where they begin with it."""
    return tuple(replace(member, window=bound(member.window, landmark)) for member in windows)
