"""Queries come, are replaced, go, and come back after a restart: whatever they need comes and goes with them."""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from protocol.errors import ProtocolError
from protocol.evaluation_limits import EvaluationLimits
from protocol.evaluations import Gone
from protocol.language.model import ContinuousQuery
from protocol.time import BEFORE_ALL, FIRST_INSTANT, LAST_INSTANT, Instant
from protocol.windows.spec import StreamWindow, begins_with_query, bound
from spark_backend.budget import Budget, Lane
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.federation.records import ServiceRecords
from spark_backend.queries.delivery import Delivery
from spark_backend.queries.held_contents import HeldContents
from spark_backend.queries.outputs import Outputs
from spark_backend.queries.progress import QueryProgress
from spark_backend.queries.registration.facts import FactReaders, with_facts
from spark_backend.queries.registration.preparation import Preparation
from spark_backend.queries.registration.query_files import QueryFiles
from spark_backend.queries.registration.store_changes import StoreChanges
from spark_backend.queries.running_queries import DormantQuery, RunningQueries, RunningQuery
from spark_backend.queries.services import OtherEndpoints, require_permitted
from spark_backend.registry import RegisteredQuery, family
from spark_backend.site import Site, SiteChoice
from spark_backend.streams.catalogue import QueryEntry
from spark_backend.streams.streams import Streams
from spark_backend.streams.timelines import Timelines

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Registrations:
    """Changes which queries there are. Each of ``cancel`` is given the key of a registration that is over."""

    running: RunningQueries
    streams: Streams
    timelines: Timelines
    held: HeldContents
    preparation: Preparation
    files: QueryFiles
    store: StoreChanges
    outputs: Outputs
    progress: QueryProgress
    delivery: Delivery
    records: ServiceRecords
    endpoints: OtherEndpoints
    sites: SiteChoice
    budget: Budget
    cancel: tuple[Callable[[str], None], ...]

    def __post_init__(self) -> None:
        self._facts = FactReaders(self.running)

    def register(
        self,
        name: str,
        query: ContinuousQuery,
        *,
        standing: bool,
        since: Instant | None,
        landmark: Instant | None,
        limits: EvaluationLimits,
    ) -> bool:
        """As ``endpoint.backend.Backend.register``."""
        with self.running.lock:
            others = {running.name: running.query for running in self.running if running.standing}
        query, reads = with_facts(query, {known: other for known, other in others.items() if known != name})
        query = replace(query, windows=self.streams.with_streams(query.windows))
        windows = self.streams.bound(query.windows)
        plan = self.preparation.compile(query, windows)
        require_permitted(plan, query.text, self.endpoints)
        if self.sites.forced is Site.SPARK:
            from spark_backend.spark_sql.translation.plans import require_translation

            require_translation(plan, query, self.preparation.base)
        with self.changing(plan.statics):
            # Meanwhile a stream may have been deleted, and made anew.
            windows = self.streams.bound(query.windows)
            known, output = self.running.get(name), self.outputs.of(name)
            if output is not None and self.outputs.is_of_nobody(output, name):
                # It could not be dropped with what published it, whose answers are not those of this one.
                self.outputs.require_unread(name)
                self.drop_stream(output)
                output = None
            if standing:
                self.outputs.check(name, query, windows)
            self._facts.require_there(query, reads)
            changes_facts = self._facts.check(name, query)
            self.progress.retain(windows)
            self.timelines.follow((), [*windows, *self.running.windows])
            self.timelines.refresh()
            start = self.held.start(windows, since)
            beginning = [member for member in windows if begins_with_query(member.window)]
            landmark = start if landmark is None else self.held.as_far_as(beginning, landmark)
            key = f"{name}.{uuid.uuid4().hex[:16]}"
            running = self._running_query(name, key, query, windows, plan, standing, start, limits, landmark)
            if beginning and not standing:
                # For clients a time that can be written: before the first of these is nothing.
                running.landmark = min(max(BEFORE_ALL if landmark is None else landmark, FIRST_INSTANT), LAST_INSTANT)
            running.reads = reads
            if any(one.registered.lane is Lane.COMMON and one.evaluated is not None for one in self.running):
                running.registered = running.registered.on_trial()
            if standing:
                running.output = self.outputs.open(name, query)
            try:
                if plan.services:
                    self.records.begin(key)
                self.files.save(name, self.preparation.entry_of(running) if standing else None, running)
            except BaseException:
                self.records.forget(key)
                if running.output not in (None, output):
                    self._drop_output(running.output)
                raise
            self.running.put(running)
            self.running.dormant.pop(name, None)
            self.progress.follow()
            if known is not None:
                self._cancel(known)
                self.running.tell([Gone(name, "the query was replaced", replaced=True)])
            if output not in (None, running.output):
                self._drop_output(output)
            if changes_facts:
                self._end_readers_of_facts(name)
        return known is None

    def remove(self, name: str) -> None:
        """As ``endpoint.backend.Backend.remove``."""
        with self.changing():
            self._remove(name)

    def drop_stream(self, name: str) -> None:
        """Drop a stream that only queries read which nobody named: they end. Called where all is ``changing``."""
        for side in self.streams.with_sides(name):
            for live in [running.name for running in self.outputs.readers(side) if not running.standing]:
                self._remove(live)
        self.streams.drop(name)

    @contextlib.contextmanager
    def changing(self, reads: Collection[StaticPattern] = ()) -> Iterator[None]:
        """What there is does not change otherwise meanwhile; files of what is dropped are deleted when nobody waits.

        What of the store is read for it is found before.
        """
        try:
            with self.store.found(reads):
                yield
        finally:
            self.streams.delete_dropped()

    def restore(self, entries: Collection[QueryEntry], progress: Mapping[str, Instant]) -> None:
        """Have standing queries go on where they were, by the keys of their registrations; those that have failed stay
        so, and those that cannot be evaluated now are dormant.
        """
        by_name = {entry.name: entry for entry in entries}
        for entry in entries:
            try:
                running = self._restored(entry, by_name)
            except ProtocolError as error:
                self.running.dormant[entry.name] = DormantQuery(
                    error.detail, entry.key, self.streams.logs_of(entry.streams), tuple(entry.facts),
                    progress.get(entry.key), entry.failed is not None,
                )  # fmt: skip
                log.warning("the standing query %s cannot be evaluated: %s", entry.name, error.detail)
                continue
            running.evaluated = self.outputs.latest_out(running, progress.get(entry.key))
            running.failed = entry.failed
            if running.evaluated is not None:
                with contextlib.suppress(ProtocolError):  # what cannot be written to is said elsewhere
                    self.streams.keep_behind(running.logs, running.evaluated)
            if entry.own_lane:
                running.registered = running.registered.in_own_lane()
            self.running.put(running)
        # A crash has left them that cut short the registration, the replacement or the end of a query.
        for output in self.outputs.of_nobody():
            self.drop_stream(output)
        self.streams.delete_dropped()
        self.files.publish()

    def _restored(self, entry: QueryEntry, entries: Mapping[str, QueryEntry]) -> RunningQuery:
        """The query that is kept as this entry, of all ``entries``. Raises ProtocolError."""
        query, reads = self.preparation.read(entry, entries)
        windows = self.streams.bound(query.windows)
        plan = self.preparation.compile(query, windows)
        limits = EvaluationLimits(*entry.budget)
        running = self._running_query(
            entry.name, entry.key, query, windows, plan, True, entry.start, limits, entry.start
        )
        running.reads = reads
        running.output = self.outputs.open(entry.name, query)
        return running

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
        lane = Lane.OWN if self.sites.forced is Site.SPARK or plan.services else Lane.COMMON
        plan, prepared = self.preparation.write(key, query, windows, plan, start)
        registered = RegisteredQuery(key, windows, prepared, start, lane, family=family(plan, windows))
        writer = self.delivery.writer(query, plan, windows)
        budget = self.budget.asked(limits)
        return RunningQuery(
            name, query, standing, registered, plan, writer, budget, limits,
            incarnation=self.streams.incarnation(window.stream for window in windows),
        )  # fmt: skip

    def _remove(self, name: str) -> None:
        if name in self.running.dormant:
            self._remove_dormant(name)
            return
        running = self.running.named(name)
        self.outputs.require_unread(name)
        self._facts.require_unread(name)
        self.files.save(name, None, None)
        self.running.remove(name)
        self.progress.follow()
        self._cancel(running)
        self.preparation.discard(running)
        if running.output is not None:
            self._drop_output(running.output)
        self.running.tell([Gone(name, "the query was removed")])
        self._end_readers_of_facts(name)

    def _remove_dormant(self, name: str) -> None:
        """Forget a query that is kept without being evaluated, and its output with it."""
        self.outputs.require_unread(name)
        self._facts.require_unread(name)
        output = self.outputs.of(name)
        self.files.save(name, None, None)
        del self.running.dormant[name]
        self.progress.follow()
        if output is not None:
            self._drop_output(output)

    def _cancel(self, running: RunningQuery) -> None:
        """Let what is evaluated for a query, and what services are asked for it, end."""
        for cancel in self.cancel:
            try:
                cancel(running.registered.key)
            except Exception as error:  # Spark may just have ended, and be in no need of it
                log.warning("something is left of the query %s: %s", running.name, error, exc_info=error)

    def _end_readers_of_facts(self, name: str) -> None:
        """End the queries that nobody named and that read the facts of this one."""
        for live in [running.name for running in self._facts.of(name)]:
            self._remove(live)

    def _drop_output(self, name: str) -> None:
        """Drop what a query published that is there no more; where that cannot be, the next start does it."""
        try:
            self.drop_stream(name)
        except OSError as error:
            log.warning("the stream %s, which no query publishes any more, stays until the next start: %s", name, error)


def _start_windows(windows: tuple[StreamWindow, ...], landmark: Instant | None) -> tuple[StreamWindow, ...]:
    """The windows of a query with which they begin there, where they begin with it."""
    return tuple(replace(member, window=bound(member.window, landmark)) for member in windows)
