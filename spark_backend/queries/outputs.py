"""Output streams: what a query constructs, published as a stream that other queries read
(docs/language.md, "Registration").

An output has one element for each evaluation, stamped with its instant, and its watermark follows the query's progress:
once the query is evaluated up to w, nothing at or before w is coming. So the log of the output is itself the record of
what was published: whatever is at or before its watermark, or its last element, is out, and is not published again
when a batch is evaluated once more after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from protocol.errors import Conflict, QuerySemanticError
from protocol.evaluations import Evaluation
from protocol.language.model import ContinuousQuery
from protocol.names import registered_name
from protocol.streams import StreamSettings, TimeKind
from protocol.time import BEFORE_ALL, Instant
from protocol.windows.spec import StreamWindow
from protocol.windows.timeline import END
from spark_backend.ingest.columns import joined, read_elements
from spark_backend.queries.running_queries import RunningQueries, RunningQuery
from spark_backend.streams.streams import Streams


class Outputs:
    """The outputs of the running queries. Its methods are called under the locks of these."""

    def __init__(self, streams: Streams, running: RunningQueries) -> None:
        self._streams = streams
        self._running = running

    def name(self, query: ContinuousQuery) -> str | None:
        """The name of the stream that the query publishes; None if it publishes none. Raises InvalidName."""
        registration = query.registration
        return registered_name(registration) if registration is not None and query.publishes else None

    def check(self, name: str, query: ContinuousQuery, windows: Sequence[StreamWindow]) -> None:
        """Whether a query of this name (new, or in place of another) may read and publish what it says.

        Raises Conflict for a stream that is not its own, or if it no longer publishes what others read, and
        QuerySemanticError, with the place of the window, if it would read what it publishes, also by way of others.
        """
        output = self.name(query)
        if self.of(name) not in (None, output):
            self.require_unread(name)
        if output is None:
            return
        self._streams.check_output(output, self._settings(output, query), name)
        for member in windows:
            path = self._path(member.stream, name, set())
            if path is not None:
                way = f" by way of {', '.join(path)}" if path else ""
                raise QuerySemanticError(
                    f"the query {name} would read its own output{way}: streams of streams go one way",
                    line=member.line,
                    column=member.column,
                )

    def open(self, name: str, query: ContinuousQuery) -> str | None:
        """Create the output, if the query has one and it is not there yet. Returns its name."""
        output = self.name(query)
        if output is not None:
            self._streams.create_output(output, self._settings(output, query), name)
        return output

    def of(self, name: str) -> str | None:
        """The stream that the query of this name publishes, evaluated or not; None if it publishes none."""
        return next((output for output, owner in self._streams.outputs().items() if owner == name), None)

    def is_of_nobody(self, output: str, owner: str) -> bool:
        """Whether the query of this name, evaluated or not, does not publish that stream, or is there no more."""
        running = self._running.get(owner)
        return owner not in self._running.dormant if running is None else running.output != output

    def of_nobody(self) -> list[str]:
        """The outputs that no query publishes any more."""
        return [output for output, owner in self._streams.outputs().items() if self.is_of_nobody(output, owner)]

    def require_unread(self, name: str) -> None:
        """Raises Conflict, naming them, if standing queries read the output of this one."""
        output = self.of(name)
        if output is None:
            return
        readers = self.standing_readers(output)
        if readers:
            raise Conflict(f"the output of the query {name} is read by {', '.join(readers)}: delete them first")

    def readers(self, stream: str) -> list[RunningQuery]:
        """The queries that read a stream."""
        log = self._streams.log_of(stream)
        return [running for running in self._running if log in running.logs]

    def standing_readers(self, *streams: str) -> list[str]:
        """The names of the standing queries that read one of the streams, evaluated or not."""
        logs = {self._streams.log_of(stream) for stream in streams}
        running = {one.name for one in self._running if one.standing and logs & one.logs}
        return sorted(running | {name for name, one in self._running.dormant.items() if logs & one.logs})

    def latest_out(self, running: RunningQuery, saved: Instant | None) -> Instant | None:
        """The latest instant that is out: as it was ``saved``, or later if the output has it already."""
        published = None if running.output is None else self._streams.describe(running.output).last
        if published is None or (running.registered.start is not None and published <= running.registered.start):
            return saved
        return published if saved is None else max(saved, published)

    def element(self, running: RunningQuery, evaluation: Evaluation) -> pa.RecordBatch | None:
        """The evaluation as it is in the query's output; None if there is none.

        Raises InvalidMessage for what no stream takes: a term may be longer than whoever reads it can read.
        """
        if running.output is None:
            return None
        settings = self._streams.describe(running.output).settings
        return read_elements(evaluation.data, "application/n-triples", settings=settings, at=evaluation.instant)

    def publish(self, running: RunningQuery, elements: Mapping[Instant, pa.RecordBatch]) -> None:
        """Append the elements, by their instants (in order), that are not in the output yet; durable on return.

        Raises Unavailable or StorageFull if it could not be written: then the output is as it was, or has all of them.
        """
        if running.output is None or not elements:
            return
        there = self._streams.describe(running.output)
        if there.ended:
            return
        out = max((instant for instant in (there.last, there.watermark) if instant is not None), default=BEFORE_ALL)
        fresh = [element for instant, element in elements.items() if instant > out]
        if fresh:
            self._streams.publish(running.output, joined(fresh))
        self.reach(running, max(elements))

    def reach(self, running: RunningQuery, watermark: Instant) -> None:
        """All evaluations up to here are in the output: its watermark follows; END ends it."""
        if running.output is None:
            return
        there = self._streams.describe(running.output)
        if there.ended:
            return
        if watermark >= END:
            self._streams.end_output(running.output)
        elif there.watermark is None or there.watermark < watermark:
            self._streams.advance_output(running.output, watermark)

    def _settings(self, output: str, query: ContinuousQuery) -> StreamSettings:
        registration = query.registration
        named = registration is not None and registration.name_is_iri
        iri = registration.name if registration is not None and named else self._streams.output_iri(output)
        return StreamSettings(iri, TimeKind.EVENT)

    def _path(self, log: str, target: str, seen: set[str]) -> list[str] | None:
        """By way of which queries the stream with this log comes from the target; None if it does not, or if the log
        was ``seen`` before: many ways may lead to it.
        """
        if log in seen:
            return None
        seen.add(log)
        owner = self._streams.owner(log)
        if owner is None:
            return None
        if owner == target:
            return []
        running = self._running.get(owner)
        for upstream in sorted(running.logs) if running is not None else ():
            path = self._path(upstream, target, seen)
            if path is not None:
                return [*path, owner]
        return None
