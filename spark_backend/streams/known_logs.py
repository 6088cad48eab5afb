"""The streams in the catalogue, each with its log."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from protocol.errors import NotFound, ProtocolError
from protocol.streams import StreamSettings, TimeKind
from protocol.time import BEFORE_ALL, Instant
from spark_backend.log.format.manifest import MANIFEST
from spark_backend.log.recovery import delete_log, has_elements, is_dropped
from spark_backend.log.unreadable import UnreadableLog
from spark_backend.log.writer import StreamLog
from spark_backend.streams.catalogue import Catalogue, StreamEntry

_LOGGER = logging.getLogger(__name__)

Log = StreamLog | UnreadableLog


class KnownLogs:
    """The logs of all streams that the catalogue knows, by the streams' names.

    ``lock`` is held by whoever calls a method here, and kept by who is to find what was there a line before.
    ``root`` is the directory that the logs are in. ``warnings``: what is to be known of how they were found, a sentence
    each.
    """

    def __init__(self, catalogue: Catalogue, root: Path, clock: Callable[[], Instant]) -> None:
        self.lock = threading.RLock()
        self.root = root
        self.warnings: list[str] = []
        self._catalogue = catalogue
        self._clock = clock
        self._ending: list[Log] = []
        self._closed = False
        # Held while a log is moved by the clock, and by who begins to end one: for ``lock`` everybody waits.
        self._moving = threading.Lock()
        self._finish_deletions()
        self._logs = {name: self._open(entry) for name, entry in catalogue.streams.items()}

    def __getitem__(self, name: str) -> Log:
        return self._logs[self.entry(name).name]

    def __iter__(self) -> Iterator[tuple[StreamEntry, Log]]:
        return iter([(self._catalogue.streams[name], log) for name, log in self._logs.items()])

    def get(self, name: str) -> Log | None:
        """None if there is no stream of that name."""
        return self._logs.get(name)

    def entry(self, name: str) -> StreamEntry:
        """Raises NotFound."""
        entry = self._catalogue.streams.get(name)
        if entry is None:
            raise NotFound(f"there is no stream {name}: create it with PUT /streams/{name}")
        return entry

    def create(self, name: str, settings: StreamSettings, query: str | None = None) -> Log:
        """Make a stream with an empty log; durable on return. ``query``: whose output it is."""
        plain = name.replace("/", ".")
        log_name = f"{plain}.{self._catalogue.next_serial()}"
        while (self.root / log_name).exists():  # of a stream that the catalogue has lost
            log_name = f"{plain}.{self._catalogue.next_serial()}"
        entry = StreamEntry(name, log_name, settings, query, self._catalogue.deleted)
        try:
            log = StreamLog.open(self.root / entry.log, settings, self._clock)
        except BaseException:
            # Another attempt has another directory.
            shutil.rmtree(self.root / entry.log, ignore_errors=True)
            raise
        self._catalogue.streams[name] = entry
        try:
            self._catalogue.save()
        except BaseException:
            del self._catalogue.streams[name]
            log.drop()
            log.delete()
            raise
        self._logs[name] = log
        return log

    def drop(self, names: Iterable[str]) -> list[Log]:
        """Drop streams with their logs, which are returned: they are closed, and their files left for ``delete``."""
        names = list(names)
        before = dict(self._catalogue.streams), self._catalogue.deleted, self._catalogue.dropped
        entries = [self._catalogue.streams.pop(name) for name in names]
        self._catalogue.deleted += len(names)
        left = [log for log in self._catalogue.dropped if (self.root / log).exists()]
        self._catalogue.dropped = (*left, *(entry.log for entry in entries))
        try:
            self._catalogue.save()
        except BaseException:
            self._catalogue.streams, self._catalogue.deleted, self._catalogue.dropped = before
            raise
        gone = [self._logs.pop(name) for name in names]
        for name, log in zip(names, gone, strict=True):
            try:
                log.drop()
            except OSError as error:
                _LOGGER.warning("the log of the stream %s does not say that it was deleted: %s", name, error)
        return gone

    def delete(self, gone: Iterable[Log]) -> None:
        """Delete the files of logs that were dropped. What is left of them, the next start deletes.

        It takes long where they are large: without ``lock``.
        """
        for log in gone:
            try:
                log.delete()
            except OSError as error:
                _LOGGER.warning("a log that was dropped is deleted at the next start: %s", error)

    def end(self, entry: StreamEntry, log: Log) -> None:
        """End a stream's log, which no clock moves meanwhile; durable on return. Raises ProtocolError."""
        with self._moving:
            self._ending.append(log)
        try:
            if entry.settings.time is TimeKind.ARRIVAL and not log.describe().ended:
                # Windows have closed by the clock alone. How far is to be in the log, for replays, before the end is.
                now = self._clock() - 1
                with suppress(OSError):  # of what cannot be written, what follows says so
                    log.tick()
                reached = log.describe().watermark
                log.advance(now if reached is None else max(now, reached + 1))
            log.end()
        finally:
            with self._moving:
                self._ending.remove(log)

    def ticking(self) -> Iterator[tuple[StreamEntry, Log]]:
        """Those that the clock moves: but for those that are just being ended."""
        return ((entry, log) for entry, log in self if log not in self._ending)

    def tick(self, log: Log) -> None:
        """Let the clock move a log, unless it is just being ended. Without ``lock``."""
        with self._moving:
            if log not in self._ending:
                log.tick()

    def unreadable(self) -> list[tuple[StreamEntry, UnreadableLog]]:
        """Those that could not be opened."""
        return [(entry, log) for entry, log in self if isinstance(log, UnreadableLog)]

    def open_again(self, entry: StreamEntry, unreadable: UnreadableLog, evaluated: Instant) -> bool:
        """Open one that could not be: what was in the way may have passed, as where too many files were open. False if
        it still is, or the stream was deleted meanwhile. ``evaluated``: see ``keep_behind``.

        It may take long: without ``lock``.
        """
        directory = self.root / entry.log
        if not os.path.isfile(directory / MANIFEST):
            return False  # only a start takes files that are missing for lost ones, and begins anew
        log = self._open(entry, before=unreadable)
        if isinstance(log, UnreadableLog):
            return False
        try:
            keep_behind(entry, log, evaluated)
        except ProtocolError:
            log.close()
            return False
        with self.lock:
            if self._closed:
                log.close()
            elif self._logs.get(entry.name) is unreadable:
                self._logs[entry.name] = log
                _LOGGER.info("the log of the stream %s in %s is opened after all", entry.name, directory)
                return True
            else:
                log.drop()
                self.delete([log])
            return False

    def close(self) -> None:
        """Close all of them, also where one cannot be: then raises what that one did."""
        self._closed = True
        with ExitStack() as stack:
            for log in self._logs.values():
                stack.callback(log.close)

    def _finish_deletions(self) -> None:
        """Delete what a crash has left of logs that were dropped, or just being made."""
        known, dropped = {entry.log for entry in self._catalogue.streams.values()}, self._catalogue.dropped
        for path in self.root.iterdir() if self.root.is_dir() else ():
            if path.name not in known and (path.name in dropped or is_dropped(path) or self._was_never_known(path)):
                try:
                    delete_log(path)
                except OSError as error:
                    _LOGGER.warning("what is left of the log streams/%s cannot be deleted: %s", path.name, error)

    def _was_never_known(self, path: Path) -> bool:
        """Whether a log has a number that the catalogue has not given yet, and nothing in it. Where the catalogue is
        lost, it says nothing of any.
        """
        number = path.name.rpartition(".")[2]
        given = self._catalogue.serial
        return number.isdecimal() and int(number) > given > 0 and path.is_dir() and not has_elements(path)

    def _open(self, entry: StreamEntry, before: UnreadableLog | None = None) -> Log:
        """One that cannot be opened keeps nothing else from being served. ``before``: it could not be before; that is
        said again only where the reason is another.
        """
        directory = self.root / entry.log
        try:
            log = StreamLog.open(directory, entry.settings, self._clock, known=True)
        except (ProtocolError, OSError) as error:
            reason = error.detail if isinstance(error, ProtocolError) else error.strerror or str(error)
            if before is None or before.reason != reason:
                _LOGGER.error("the log of the stream %s in %s cannot be opened: %s", entry.name, directory, reason)
            return UnreadableLog(directory, reason)
        if log.without_manifest:
            self.warnings.append(
                f"the manifest of the stream {entry.name} in streams/{entry.log} was missing or damaged, and was made "
                "anew from its segments: what the last of these has lost at its end would not be noticed"
            )
        return log


def keep_behind(entry: StreamEntry, log: Log, evaluated: Instant) -> None:
    """Let the time of an arrival stream be past an instant at which queries were evaluated.

    A crash of the machine may have taken from its log how far the clock had moved it, and the clock may be behind that
    now. Raises ProtocolError where it cannot be written.
    """
    if entry.settings.time is TimeKind.ARRIVAL and (log.describe().watermark or BEFORE_ALL) < evaluated:
        log.advance(evaluated)
