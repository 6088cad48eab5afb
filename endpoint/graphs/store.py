"""The endpoint's own graphs: changed in a process of their own, read from snapshots."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyoxigraph as ox

from endpoint.graphs.change import Change
from endpoint.graphs.committed import CommittedFiles, noted_version
from endpoint.graphs.dataset import EndpointDataset, dataset_over, one_shot
from endpoint.graphs.directory import OwnedDirectory
from endpoint.graphs.fetching import Fetching, documents
from endpoint.graphs.opening import link, load_file, opened
from endpoint.graphs.pattern import QuadPattern, Terms, graph_names, terms
from endpoint.graphs.processor import OxigraphResult
from endpoint.graphs.room import require_room, require_space
from endpoint.graphs.views import Views
from endpoint.graphs.writer_process import UpdateMemoryExceeded, WriterEnded, WriterGone, WriterProcess
from endpoint.processes.forks import only_here
from endpoint.processes.relayed_error import RelayedError
from endpoint.processes.watchdog import FROZEN_SECONDS, Watchdog
from protocol.errors import ProtocolError, StorageDamaged, StorageFull, Unavailable
from protocol.processes.standstill import LOOK_SECONDS
from protocol.sparql.dataset import with_using
from protocol.sparql.guard import refuse_excess, refuse_services
from protocol.sparql.load import loads, with_data
from protocol.sparql.prologue import with_one_prologue
from protocol.sparql.reach import Reach

logger = logging.getLogger(__name__)

T = TypeVar("T")

UPDATE_SECONDS = 60.0
"""So long an update is evaluated, where no other limit is given."""

_RETRY_SECONDS = 1.0
_CLOSE_SECONDS = 1.0
_REMEMBERED = 256
"""So many changes are remembered, for those who ask what they touched."""


class UpdateTimeout(ProtocolError):
    """The update was stopped at its time limit; it has changed nothing."""

    status = 504
    title = "The update took too long"
    refusal = "update_timeout"


class _Made(NamedTuple):
    """A change that has been made: of which version of the store, to which one, and where."""

    former: int
    version: int
    reach: Reach


class GraphStore:
    """The default graph and the named graphs, for requests and for the compiler of continuous queries.

    Thread-safe. Reads see a whole state; changes happen one after another, each all or nothing, in a process that is
    started with the first of them (``endpoint.graphs.writer``). It alone writes to the directory: while there is none
    (nothing was changed yet, an update was stopped, the storage is full) nobody does.
    """

    def __init__(
        self,
        directory: Path | None = None,
        load: Sequence[Path] = (),
        *,
        fetching: Fetching | None = None,
        update_seconds: float = UPDATE_SECONDS,
        update_memory: int | None = None,
        frozen_after: float = FROZEN_SECONDS,
        functions: str = "",
        refuse_update: Callable[[str, str | None], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open the store in the directory (None: a temporary one, removed at the end) and read the files into it.

        ``fetching`` says what LOAD may fetch (by default nothing), ``update_seconds`` how long an update is evaluated,
        and ``update_memory`` how many bytes that may take (None: any number). Where ``watch`` or ``look`` sees to it, a
        process that is stopped (SIGSTOP) is ended after ``frozen_after`` seconds of ``clock``. ``now`` is the time, in
        seconds since the epoch. ``functions`` are the application's own (``PythonFunctions.to_json``);
        ``refuse_update`` is called with text and base of each update, and raises for one that asks for what only
        queries call.
        ValueError names a file that is no RDF; OSError, with the directory, a store that cannot be opened; StorageFull
        says how much room there is and has to be.
        """
        if directory is None:
            temporary = Path(tempfile.mkdtemp(prefix="sparql-streams-store-"))
            self._remove: weakref.finalize[..., GraphStore] | None = weakref.finalize(
                self, only_here(shutil.rmtree), temporary, ignore_errors=True
            )
            directory = temporary / "store"
        else:
            self._remove = None
        self.fetching = fetching if fetching is not None else Fetching()
        self._directory = directory
        self._update_seconds = update_seconds
        self._update_memory = update_memory
        self._functions = functions
        self._refuse_update = refuse_update
        self._now = now
        self._listeners: list[Callable[[], None]] = []
        self._made: tuple[_Made, ...] = ()
        # Held while a change is made; what follows it guards the writer, and is never held while one is evaluated.
        self._changing = threading.Lock()
        self._state = threading.RLock()
        # Held from before a change is committed until it is known that it was.
        self._committing = threading.Lock()
        self._copying = threading.Lock()
        self._matching = threading.Lock()
        self._writer: WriterProcess | None = None
        self._watchdog: Watchdog[WriterProcess] = Watchdog("the process that changes the graphs", frozen_after, clock)
        self._full: StorageFull | None = None
        self._damaged = False
        self._closed = threading.Event()
        self._owned = OwnedDirectory(directory)
        self._let_go = weakref.finalize(self, self._owned.let_go)
        try:
            self._views = Views(directory.with_name(f"{directory.name}-views"), self.backup)
            require_space(directory)
            self.warnings: list[str]
            """What the store was found to have lost, or to be damaged in, a sentence each."""
            noted = noted_version(directory)
            oxigraph, self.warnings = opened(directory)
            self._version = noted if noted is not None and not self.warnings else self._next_version(noted)
            for path in load:
                load_file(oxigraph, path)
                self._version = self._next_version(self._version)
            CommittedFiles(directory).sync(self._version)
        except BaseException:
            self._let_go()
            raise
        self.dataset: EndpointDataset = dataset_over(lambda: self.oxigraph)

    def close(self) -> None:
        """Write what is in memory to the directory and let go of it, or remove it; the store is of no use then."""
        closed = self._closed.is_set()
        self._closed.set()
        if not self._changing.acquire(timeout=_CLOSE_SECONDS):
            # What is still evaluated is given up: it has changed nothing.
            with self._state:
                self._end_writer()
            self._changing.acquire()
        with self._state:
            # One that is frozen would not answer.
            if self._writer is not None and not self._writer.frozen:
                try:
                    self._writer.flush()
                except ProtocolError as error:
                    # It is in the database's own log all the same.
                    logger.warning("the store was not written out at its end: %s", error)
            self._end_writer()
        self._changing.release()
        if closed:
            return
        self.dataset.close()
        self._views.close()
        self._let_go()
        if self._remove is not None:
            self._remove()

    # Changes

    def update(
        self,
        text: str,
        *,
        base: str | None = None,
        using_graphs: Sequence[str] = (),
        using_named_graphs: Sequence[str] = (),
    ) -> None:
        """Run an update, all of it or nothing; the graphs given act as USING and USING NAMED."""
        self.change(self.prepared(text, base=base, using_graphs=using_graphs, using_named_graphs=using_named_graphs))

    def prepared(
        self,
        text: str,
        *,
        base: str | None = None,
        using_graphs: Sequence[str] = (),
        using_named_graphs: Sequence[str] = (),
        seconds: float | None = None,
    ) -> Change:
        """The change that an update is, with all that it loads. It waits for other servers, and for no other update.

        ``seconds``: it is to be evaluated in so many, where the limit is not less.

        Raises ProtocolError for what is no update, for SERVICE, and for LOAD of an address that is not on the list.
        """
        # First: what follows has lists of what is outside of data.
        refuse_excess(text)
        text = with_one_prologue(with_using(text, using_graphs, using_named_graphs))
        loaded = documents(text, self.fetching, base)
        refuse_services(text)
        if self._refuse_update is not None:
            self._refuse_update(text, base)
        return Change(with_data(text, loads(text, self.fetching.allowed, base=base), loaded), base, seconds=seconds)

    def change(self, change: Change) -> bool:
        """Make a change; whether the graph that it names was there before. Waits for its turn.

        Raises ProtocolError, and then nothing has changed: UpdateTimeout, UpdateMemoryExceeded, StorageFull,
        Unavailable, NotFound, or what is wrong with the text; WriterEnded for what nobody foresaw, after which it may
        have.
        """
        with self._changing:
            limit = self._update_seconds if change.seconds is None else min(change.seconds, self._update_seconds)
            seconds = limit
            while True:
                with self._state:
                    writer = self._started_writer()
                used, began = writer.used, time.monotonic()
                version = self._next_version(self._version)
                try:
                    writer.evaluate(change, seconds)
                    # Not while a commit is waited for.
                    made = _Made(self._version, version, change.reach)
                    with self._committing:
                        return self._committed(writer, made)
                except TimeoutError:
                    self._replace(writer)
                    raise UpdateTimeout(
                        f"the update was stopped after {limit:g} s, and has changed nothing: bind more "
                        "of its patterns, or do it in smaller steps, or, if you run this endpoint, allow more with "
                        "--update-timeout",
                        extra={"limit": limit},
                    ) from None
                except StorageFull as error:
                    self._replace(writer, error)
                    raise
                except (WriterGone, UpdateMemoryExceeded):
                    self._replace(writer)
                    # An end while nobody asked, or what it had in memory of changes before, is no fault of this one.
                    if not used:
                        raise
                    seconds -= time.monotonic() - began
                except RelayedError as error:
                    self.report(error)
                    raise
                except Unavailable:
                    self._replace(writer)
                    if self._closed.is_set():
                        raise _stopping() from None
                    raise
                except BaseException:  # WriterEnded, and what nobody foresaw
                    self._replace(writer)
                    raise

    def _committed(self, writer: WriterProcess, made: _Made) -> bool:
        """Have what was evaluated committed; whether the graph that it names was there before."""
        version = made.version
        try:
            there = writer.commit(version)
        except (StorageFull, RelayedError, Unavailable, UpdateMemoryExceeded):
            raise  # nothing has changed
        except BaseException:
            # Whether it was done, nobody knows: what was read before it may be out of date. What is read from now on is
            # not that of a writer that may yet do it.
            self._replace(writer)
            version = self._next_version(version)
            self._version = version
            self._tell()
            raise
        # Before the version: who sees that one finds how it came about.
        self._made = (*self._made, made)[-_REMEMBERED:]
        self._version = version
        self._tell()
        return there

    def listen(self, listener: Callable[[], None]) -> None:
        """Have this called after each change, by whichever thread has made it. It must not block."""
        self._listeners.append(listener)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def _next_version(self, former: int | None) -> int:
        """The time, or what is just after the version before where the clock does not say that it is later."""
        now = int(self._now() * 1000)
        return now if former is None else max(former + 1, now)

    @property
    def writer(self) -> int | None:
        """The process that changes the store, if there is one."""
        writer = self._writer
        return None if writer is None else writer.pid

    @property
    def full(self) -> str | None:
        """Why nothing can be changed, while there is no room; it goes on by itself when there is some again."""
        full = self._full
        return None if full is None else full.detail

    @property
    def lost(self) -> str | None:
        """That somebody has removed or replaced the directory, and what to do, as ``look`` or a change has seen it."""
        return self._owned.lost

    def report(self, error: ProtocolError) -> None:
        """Have it known, if it is, that the store was found to be damaged when it was read."""
        if error.refusal == StorageDamaged.refusal and not self._damaged:
            # Once: the next one names the same file in another snapshot.
            self._damaged = True
            logger.error("%s", error.detail)
            self.warnings.append(error.detail)

    @property
    def stalled(self) -> str | None:
        """That the process that changes the graphs stands still, as ``look`` has seen it; None while it does not."""
        return self._watchdog.said

    def look(self) -> None:
        """See whether the directory is there, and end a writer that has stood still for too long."""
        self._owned.look()
        writer = self._writer
        for frozen in self._watchdog.look([] if writer is None else [writer]):
            frozen.kill_frozen()
            self._replace(frozen)

    def watch(self) -> None:
        """Look every second, until the end."""
        threading.Thread(target=self._watch, name="store-watch", daemon=True).start()

    def _watch(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception:
                logger.exception("the process that changes the graphs could not be looked at")

    def recover(self) -> bool:
        """Go on if there is room again; False while there is not. It is done by itself, every second."""
        with self._state:
            try:
                self._started_writer()
            except (ProtocolError, OSError) as error:
                logger.debug("the store cannot be opened again yet: %s", error)
            return self._full is None

    def _started_writer(self) -> WriterProcess:
        if self._closed.is_set():
            raise _stopping()
        self._owned.look()
        if self._owned.lost is not None:
            # A writer would make an empty store there, or write to files that nobody will find again.
            self._end_writer()
            raise Unavailable(self._owned.lost)
        if self._writer is None:
            try:
                if self._full is not None:
                    require_room(self._directory)
                self._writer = WriterProcess(self._directory, self._update_memory, self._version, self._functions)
                self.warnings += self._writer.warnings
            except StorageFull as error:
                self._be_full(error)
                raise
            self._full = None
        return self._writer

    def _replace(self, writer: WriterProcess, full: StorageFull | None = None) -> None:
        """End this writer; the next change starts another."""
        with self._state:
            if self._writer is writer:
                self._end_writer()
                if full is not None:
                    self._be_full(full)

    def _end_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.end()

    def _be_full(self, error: StorageFull) -> None:
        if self._full is None:
            logger.error("the store can only be read until there is room: %s", error.detail)
            threading.Thread(target=self._await_room, name="store-room", daemon=True).start()
        self._full = error

    def _await_room(self) -> None:
        while not self._closed.wait(_RETRY_SECONDS):
            if self.recover():
                logger.warning("there is room again: the store can be changed")
                return

    # Reads

    @property
    def version(self) -> int:
        """Grows with each change: the time of the last one, in milliseconds since the epoch, or just after it.

        The same after a restart, unless something may have been changed that nobody knows of.
        """
        return self._version

    @property
    def settled_version(self) -> int:
        """The version, as soon as no change is being committed: what is read between two that are the same is of one
        state of the store. Waits for a commit.
        """
        with self._committing:
            return self._version

    def touched(self, since: int, graphs: Collection[str] | None, predicate: str | None) -> bool:
        """Whether quads with this predicate (None: any; in N-Triples) may have been changed since a version in one of
        these graphs: IRIs, "" for the default graph; None: any. True where it is not known.
        """
        version, made = self._version, self._made
        reached = made[-1].version if made else since
        if reached < version or since == reached:
            return reached < version
        for one in reversed(made):
            if one.version != reached or any(place.has(graphs, predicate) for place in one.reach):
                return True
            if one.former == since:
                return False
            reached = one.former
        return True

    def backup(self, directory: Path) -> int:
        """Make a snapshot of the store as it is now in a directory that is not there yet; its version or a later one.

        Does not wait for a change that is going on: that is a transaction, of which the snapshot has all or nothing.
        Raises ProtocolError, if the process that makes it ends.
        """
        # Read before, for an old version's name on a newer state does no harm; the reverse would.
        version = self._version
        with self._state:
            writer = self._writer
            if writer is None:
                link(self._directory, directory)
                return version
        try:
            with self._copying:
                writer.backup(directory)
        except (StorageFull, WriterEnded) as error:
            shutil.rmtree(directory, ignore_errors=True)
            self._replace(writer, error if isinstance(error, StorageFull) else None)
            # It is gone, or another one is there.
            return self.backup(directory)
        return version

    @property
    def oxigraph(self) -> ox.Store:
        """The store as it is now, to be read only."""
        return self._views.latest(lambda: self._version)

    # Reads in this process: the service description, rdflib's dataset

    def query(
        self,
        text: str,
        *,
        base: str | None = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> OxigraphResult:
        """Answer a one-shot query. The graphs given, of either kind, are its dataset instead of FROM's.

        Raises ProtocolError for what is no query, cannot be answered, or is refused.
        """
        return one_shot(
            self.dataset,
            text,
            base=base,
            default_graphs=default_graphs,
            named_graphs=named_graphs,
            allow_fetch=self.fetching.allowed,
        )

    # Reads of whichever process has the store open, as it is now: nothing is copied or opened for them

    def named_graphs(self) -> list[str]:
        """IRIs of the named graphs, in order; those named by blank nodes as ``_:label``."""
        return self._asked(WriterProcess.named_graphs, graph_names)

    def quads(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        graphs: Sequence[str] | None = None,
    ) -> list[Terms]:
        """The quads that match, as (g, s, p, o), from one state of the store.

        Terms go in and come out as canonical N-Triples; None matches any. ``graphs`` are names as ``named_graphs``
        gives them, or None for the default graph, whose g is "".
        """
        found = self.n_quads(subject, predicate, object, graphs)
        return [terms(quad) for some in found for quad in ox.parse(some, ox.RdfFormat.N_QUADS, lenient=True)]

    def n_quads(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        graphs: Sequence[str] | None = None,
    ) -> list[bytes]:
        """The quads that match, from one state of the store, as canonical N-Quads in parts; arguments as ``quads``."""
        pattern = QuadPattern(subject, predicate, object, None if graphs is None else tuple(graphs))
        return self._asked(lambda writer: writer.n_quads(pattern), lambda store: list(pattern.n_quads(store)))

    def _asked(self, of_writer: Callable[[WriterProcess], T], of_view: Callable[[ox.Store], T]) -> T:
        with self._state:
            writer = self._writer
        if writer is not None:
            try:
                with self._matching:
                    return of_writer(writer)
            except WriterEnded as error:
                logger.warning("the graphs could not be asked of the process that changes them: %s", error)
                self._replace(writer)
            except RelayedError as error:
                self.report(error)
                raise
            except BaseException:
                # What is left of this answer is not to be taken for the next.
                self._replace(writer)
                raise
        try:
            return of_view(self.oxigraph)
        except RuntimeError as error:
            if (damaged := StorageDamaged.of(error)) is None:
                raise
            self.report(damaged)
            raise damaged from error


def _stopping() -> Unavailable:
    return Unavailable("the endpoint is being stopped, nothing was changed: send it again when it is back")
