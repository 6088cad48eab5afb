"""The streams beside others: of what a stream has rejected, and of what came late to it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from protocol.errors import Conflict, NotFound, ProtocolError
from protocol.messages.rejected import Rejected
from protocol.streams import (
    LATE,
    REJECTED,
    StreamDescription,
    StreamSettings,
    TimeKind,
    main_stream,
    side_stream,
    side_streams,
)
from protocol.time import Instant
from spark_backend.streams.catalogue import StreamEntry
from spark_backend.streams.known_logs import KnownLogs, Log
from spark_backend.streams.late import LateElements
from spark_backend.streams.rejected import rejected_elements, rejected_key

_LOGGER = logging.getLogger(__name__)


class SideStreams:
    """The streams beside those in the catalogue, which has them too. Thread-safe.

    One is made when it is first needed, and ends and goes with its main stream. ``url`` makes a stream's URL of its
    name.
    """

    def __init__(self, logs: KnownLogs, url: Callable[[str], str], clock: Callable[[], Instant]) -> None:
        self._logs = logs
        self._url = url
        self._clock = clock
        self._rejected_by: dict[str, Counter[str]] = {}
        self._late: dict[Log, LateElements] = {}
        self._behind: set[str] = set()

    def names(self, name: str) -> list[str]:
        """Those beside a stream that are there."""
        with self._logs.lock:
            return [side for side in side_streams(name) if self._logs.get(side) is not None]

    def find(self, name: str, side: str) -> Log | None:
        """The log of a stream's ``side``; None if it was not needed yet."""
        with self._logs.lock:
            return self._logs.get(side_stream(name, side))

    def made(self, name: str, side: str, of: Log | None = None) -> Log:
        """The log of a stream's ``side``, which is made if it was not needed yet. ``of``: the log of the stream that is
        meant, where another may have its name by now. Raises NotFound.
        """
        with self._logs.lock:
            main, full = self._logs.entry(name), side_stream(name, side)
            if of not in (None, self._logs[name]):
                raise NotFound(f"the stream {name} was deleted")
            if (known := self._logs.get(full)) is not None:
                return known
            log = self._logs.create(full, self._settings(full, main))
            self._end_with(name, self._logs[name])
            return log

    def require(self, name: str) -> None:
        """Have a stream be there if it is one beside another. Raises NotFound."""
        main, _, side = name.partition("/")
        if name in side_streams(main):
            self.made(main, side)

    def not_needed_yet(self, name: str) -> StreamDescription:
        """A stream beside another one that is not there, as it is told. Raises NotFound for any other stream."""
        with self._logs.lock:
            main = self._logs.entry(main_stream(name))
            if name not in side_streams(main.name):
                raise NotFound(f"there is no stream {name}")
            ended = self._logs[main.name].describe().ended
        return StreamDescription(name, self._settings(name, main), None, None, None, 0, 0, 0, 0, ended)

    def copy_late(self, name: str, log: Log) -> None:
        """Have the stream beside this one have what came late to its ``log``; where that cannot be, ``catch_up`` or the
        next start brings it. It ends when the stream has and all is there.
        """
        # Most requests bring nothing late, and those to different streams are not to wait for each other.
        if not self._lacks_late(log):
            return
        try:
            with self._logs.lock:
                if self._logs.get(name) is not log:
                    return  # deleted meanwhile
                if log not in self._late:
                    self._late[log] = LateElements(self._logs.root / self._logs.entry(name).log)
                late, side = self._late[log], self.made(name, LATE)
            late.copy(side)
        except (ProtocolError, OSError) as error:
            if name not in self._behind:
                _LOGGER.warning("what came late to the stream %s is not among its late elements yet: %s", name, error)
            self._behind.add(name)
            return
        self._behind.discard(name)
        self._end_with(name, log)

    def catch_up(self) -> None:
        """Copy what came late where that could not be before."""
        for name in tuple(self._behind):
            with self._logs.lock:
                log = self._logs.get(name)
            if log is not None:
                self.copy_late(name, log)

    def _lacks_late(self, log: Log) -> bool:
        known = self._late.get(log)
        return log.describe().late > (0 if known is None else known.copied)

    def divert(self, name: str, of: Log, rejected: Sequence[Rejected], now: Instant) -> None:
        """Keep messages that the stream with this log does not take: all or none, durable on return. Those whose key
        was there before, within the stream's retention (at most a day), are there already. ``now``: what they were
        judged by.

        Raises NotFound, Conflict for a stream that has ended, StorageFull or Unavailable if it could not be written.
        """
        with self._logs.lock:
            if of.describe().ended:
                raise Conflict(f"the stream {name} has ended: nothing can be appended to it, nor rejected by it")
            log = self.made(name, REJECTED, of)
        # What came in one is one request, under its key; a repeat of it has messages of the same numbers.
        together: dict[bytes | int, dict[int, Rejected]] = {}
        for place, one in enumerate(rejected):
            together.setdefault(place if one.key is None else one.key, {}).setdefault(one.number, one)
        keyed = [
            (list(some.values()), rejected_key(key) if isinstance(key, bytes) else None)
            for key, some in together.items()
        ]
        new = [one for some, key in keyed if key is None or log.request(key) is None for one in some]
        log.append_all([(rejected_elements(some, now), key) for some, key in keyed], now)
        self.count(name, new)

    def rejected_before(self, name: str, keys: Iterable[bytes]) -> dict[bytes, Instant]:
        """Those of the keys under which messages of the stream were diverted before, and when."""
        log = self.find(name, REJECTED)
        found = {} if log is None else {key: log.request(rejected_key(key)) for key in keys}
        return {key: request.at for key, request in found.items() if request is not None}

    def count(self, name: str, rejected: Sequence[Rejected]) -> None:
        """Note that messages of a stream were rejected."""
        with self._logs.lock:
            self._rejected_by.setdefault(name, Counter()).update(one.kind.value for one in rejected)

    def rejected_by(self, name: str) -> Mapping[str, int]:
        """How many messages of a stream were rejected since the server was started, by ``Reason``."""
        with self._logs.lock:
            return dict(self._rejected_by.get(name, {}))

    def _end_with(self, name: str, log: Log) -> None:
        """What ``end`` does, if the stream with this log has ended."""
        if log.describe().ended:
            self.end(name, log)

    def end(self, name: str, log: Log) -> None:
        """End those beside the stream with this log, which has ended: where that cannot be, the next start does it.
        That of late elements has to have them all before.
        """
        with self._logs.lock:
            if self._logs.get(name) is not log:
                return  # deleted meanwhile; those there may be are another's
            lacking = side_stream(name, LATE) if self._lacks_late(log) else None
            sides = [(self._logs.entry(side), self._logs[side]) for side in self.names(name) if side != lacking]
        for entry, log in sides:
            try:
                self._logs.end(entry, log)
            except ProtocolError as error:
                _LOGGER.warning("the stream %s is not ended before the next start: %s", entry.name, error.detail)

    def forget(self, name: str, log: Log) -> None:
        """A stream is gone, and those beside it."""
        with self._logs.lock:
            self._rejected_by.pop(name, None)
            self._behind.discard(name)
            late = self._late.pop(log, None)
        if late is not None:
            late.close()

    def close(self) -> None:
        for late in self._late.values():
            late.close()

    def _settings(self, name: str, main: StreamEntry) -> StreamSettings:
        return StreamSettings(self._url(name), TimeKind.ARRIVAL, retention=main.settings.retention)
