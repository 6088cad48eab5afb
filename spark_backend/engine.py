"""The backend on Spark: streams in logs, continuous queries in one Structured Streaming pipeline.

Has the shape of the interface ``endpoint.backend.Backend``, without importing it: arrows point one way.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from protocol.errors import Conflict, NotFound
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.evaluations import Evaluation, Health, Listener, Outcome, QueryDescription
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from protocol.kafka import KafkaCluster, KafkaReading
from protocol.language.model import ContinuousQuery
from protocol.sources import SourceBatch, SourceReceipt
from protocol.streams import AppendReceipt, StreamDescription, StreamSettings
from protocol.time import BEFORE_ALL, Instant, Milliseconds
from spark_backend.budget import Budget
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
from spark_backend.queries.registration.preparation import Preparation
from spark_backend.queries.registration.query_files import QueryFiles
from spark_backend.queries.registration.registrations import Registrations
from spark_backend.queries.registration.store_changes import StoreChanges
from spark_backend.queries.running_queries import RunningQueries
from spark_backend.queries.services import FederatedEvaluations, NoEndpoints, OtherEndpoints
from spark_backend.queries.trials import Trials
from spark_backend.registry import Registry, write_progress
from spark_backend.site import BY_SIZE, SiteChoice
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

_BUDGET = Budget()
_TICK = 0.02
_PROGRESS_EVERY = 0.5
_WARNINGS_EVERY = 2.0
"""Seconds: every stream is described for them."""
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
        self._layout = Layout(data_directory.resolve())
        self._layout.make()
        # Relative IRIs of a query are resolved against the address it was asked at.
        query_base = f"{base_iri.rstrip('/')}/sparql"
        self._catalogue = Catalogue.open(self._layout.catalogue)
        parsers, shapes = Parsers(frozen_after), StreamShapes(graphs)
        self._streams = Streams(self._catalogue, self._layout, base_iri, clock, parsers, shapes, steady=steady)
        with contextlib.ExitStack() as unfinished:
            # Where this fails, whoever tries again finds no log that is in use.
            unfinished.callback(self._streams.close)
            self._registry = Registry(self._layout.queries)
            statistics = StreamStatistics(self._layout.streams)
            self._statics = StaticTables(self._layout.statics, graphs, schema)
            self._preparation = Preparation(self._registry, self._statics, statistics, functions, query_base)
            self._timelines = Timelines(self._layout.streams)
            self._held = HeldContents(self._streams, self._timelines)
            self._running = RunningQueries()
            self._lock, self._telling = self._running.lock, self._running.telling
            self._query_files = QueryFiles(
                self._running, self._catalogue, self._registry, lambda: self._progress.follow()
            )
            self._store = StoreChanges(self._running, self._statics, self._preparation, self._query_files)
            self._outputs = Outputs(self._streams, self._running)
            self._delivery = Delivery(self._running, self._timelines, self._outputs, self._layout.progress)
            self._progress = QueryProgress(
                self._running, self._timelines, self._streams, self._outputs, self._query_files.publish
            )
            make_pipeline = make_pipeline or partial(Pipeline, frozen_after=frozen_after, functions=functions.to_json())
            self._pipeline: Evaluations = make_pipeline(
                self._layout, spark_master, self._delivery.receive, sites, budget
            )
            unfinished.callback(self._pipeline.stop)
            endpoints = endpoints or NoEndpoints()
            self._records = ServiceRecords(self._layout.services)
            self._federated = FederatedEvaluations(self._pipeline, self._registry, self._records, endpoints)
            self._files = EvaluationFiles(self._federated, self._registry, self._statics)
            self._delivery.evaluations = self._files
            self._descriptions = Descriptions(self._running, self._timelines, self._progress, self._pipeline, budget)
            self._explanations = Explanations(
                self._running, self._timelines, self._statics, statistics, self._pipeline, self._files, sites, endpoints
            )  # fmt: skip
            self._kafka = Kafka(self._pipeline.session, self._layout, kafka_jars)
            self._delivery.publish = self._query_files.keep
            self._delivery.without_start = self._preparation.without_start
            self._registrations = Registrations(
                running=self._running,
                streams=self._streams,
                timelines=self._timelines,
                held=self._held,
                preparation=self._preparation,
                files=self._query_files,
                store=self._store,
                outputs=self._outputs,
                progress=self._progress,
                delivery=self._delivery,
                records=self._records,
                endpoints=endpoints,
                sites=sites,
                budget=budget,
                cancel=(self._pipeline.cancel, self._federated.ended),
            )
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
        with self._registrations.changing():
            self._streams.require_own(name)
            sides = self._streams.with_sides(name)
            readers = self._outputs.standing_readers(*sides)
            if readers:
                raise Conflict(f"the stream {name} is read by {', '.join(readers)}: delete the queries first")
            self._registrations.drop_stream(name)

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
        return self._registrations.register(
            name, query, standing=standing, since=since, landmark=landmark, limits=limits
        )

    def remove(self, name: str) -> None:
        self._registrations.remove(name)

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
        return self._delivery.latest(name, partial(self.retained_from, name))

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

    def _restore(self) -> None:
        """Have standing queries go on where they were."""
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
        self._registrations.restore(list(self._catalogue.queries.values()), progress)
        self._sweep(at_once=True)

    def _keep_records(self, *, others: bool) -> None:
        """Let there be records of the services of all queries, and of no ``others`` but where that is said."""
        asking = {running.registered.key for running in self._running if running.plan.services}
        self._records.keep(asking | {dormant.key for dormant in self._running.dormant.values()}, others=others)

    # --- what is done as time passes ---------------------------------------------------------

    def _sweep(self, *, at_once: bool = False) -> None:
        """Delete prepared queries and static tables that nothing needs any more; ``at_once``: nobody evaluates yet."""
        with self._lock:
            prepared = {running.registered.prepared for running in self._running}
            patterns = {pattern for running in self._running for pattern in running.plan.statics}
            self._files.sweep(prepared, patterns, at_once=at_once)

    def _write_again(self) -> None:
        """Have the files say what could not be written into them before, and queries read the store as it is.

        Raises OSError where that can still not be.
        """
        if self._store.unread:
            self._store.read()
        self._query_files.write_again()
        if self._catalogue.unsaved:
            self._catalogue.save()

    def _chores(self) -> list[Chore]:
        return [
            Chore(0, self._streams.tick, "the watermarks could not be moved"),
            Chore(_PROGRESS_EVERY, self._write_again, "how the queries are could not be written down"),
            Chore(_PROGRESS_EVERY, self._progress.say, "how far the queries are could not be told"),
            Chore(_WARNINGS_EVERY, self._warnings.look, "warnings could not be looked for"),
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
