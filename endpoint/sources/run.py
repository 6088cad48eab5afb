"""A source that is kept going: connected, read, tried again after failures, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Protocol

from endpoint.back_off import LONGEST_SECONDS, BackOff
from endpoint.sources.connection import Connect, Connection, Surroundings
from endpoint.sources.stopping import Stopping
from protocol.errors import Conflict, NotFound, ProtocolError, shortened
from protocol.sources import SourceBatch, SourceDescription, SourceFailed, SourceReceipt, SourceState

_TAKE_SECONDS = 0.5
_ENDING_SECONDS = 30.0
"""Telling the other side that nothing is awaited any more takes no longer."""
_ENDED = "the stream has ended: nothing can be appended to it"

_log = logging.getLogger(__name__)


class Receiver(Protocol):
    """Where messages go: the backend."""

    def receive(self, name: str, batch: SourceBatch) -> SourceReceipt: ...

    def positions(self, name: str) -> dict[str, bytes]: ...


class SourceRun:
    """One source of one stream. ``describe`` may be called by any thread."""

    def __init__(
        self,
        surroundings: Callable[[Callable[[float], bool]], Surroundings],
        connect: Connect,
        receiver: Receiver,
        *,
        back_off: BackOff | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        has_ended: Callable[[], bool] = lambda: False,
        is_kept: bool = False,
        before: SourceRun | None = None,
    ) -> None:
        """``has_ended`` says whether the stream has: then nothing more can be stored. It may raise ProtocolError.
        ``clock`` gives seconds that never step back, ``now`` the time.

        ``is_kept``: the other side keeps something for this client while it is away. ``before``: the one that was this
        client until its stream was deleted, which ends first.
        """
        self._stopping = Stopping()
        self._surroundings = replace(surroundings(self._stopping.wait), breaking=self._stopping.breaking)
        self._connect = connect
        self._receiver = receiver
        self._back_off = back_off or BackOff()
        self._clock = clock
        self._now = now
        self._has_ended = has_ended
        self.is_kept = is_kept
        self._before = before
        self._deleted = False
        self._heard: str | None = None
        self._lock = threading.Lock()
        self._description = SourceDescription(SourceState.CONNECTING)
        self._thread = threading.Thread(target=self.run, name=f"source-{self._surroundings.stream}", daemon=True)

    def start(self) -> None:
        """Have the thread run it."""
        self._thread.start()

    def stop(self, *, deleted: bool = False) -> None:
        """Have it end soon; does not wait. ``deleted``: the stream is, and the other side may forget this client."""
        self._deleted = deleted
        self._stopping.set()

    @property
    def is_alive(self) -> bool:
        """Whether its thread has not ended yet."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended, or so long."""
        if self.is_alive:
            self._thread.join(seconds)

    def describe(self) -> SourceDescription:
        """Its state, what it has received, and what was wrong last."""
        with self._lock:
            return self._description

    def run(self) -> None:
        """What the thread does, until the source is stopped or its stream is gone."""
        if self._before is not None:
            self._before.join(_ENDING_SECONDS)
            self._before = None
        while not self._stopping.is_set():
            try:
                self._attempt()
            except (Conflict, NotFound) as error:
                self._stopping.set()
                self._note(error=error.detail)
            except BaseException as error:  # a panic in Oxigraph, which reads what came, is no Exception
                if not self._stopping.is_set():  # else it was broken off
                    self._failed(error)
                    self._stopping.wait(self._pause(error))
                if self._deleted and self.is_kept:
                    self._forget()
        self._note(state=SourceState.STOPPED)

    def _attempt(self) -> None:
        """One connection, until it fails or the source is stopped."""
        name = self._surroundings.stream
        if self._has_ended():
            raise Conflict(_ENDED)
        connection = self._connect(replace(self._surroundings, positions=self._receiver.positions(name)))
        self._heard = None
        try:
            self._hear(connection)
            self._read(connection)
            if self._deleted:
                connection.forget()
        except (Conflict, NotFound):
            # The stream takes no more, whether or not somebody has said so to this source.
            connection.forget()
            raise
        finally:
            self._hear(connection)
            connection.close()

    def _forget(self) -> None:
        """Have the other side forget a client that was away when its stream was deleted, if it can be told now."""
        try:
            with closing(self._connect(self._surroundings)) as connection:
                connection.forget()
        except Exception as error:
            self._failed(error)

    def _read(self, connection: Connection) -> None:
        """Store what comes, until the source is stopped. Raises Conflict or NotFound where the stream is over."""
        began = self._clock()
        while not self._stopping.is_set():
            batch = connection.take(_TAKE_SECONDS)
            if self._deleted:
                return  # by now another stream may have the name
            if batch is not None:
                self._store(connection, batch)
            elif not self._stopping.is_set() and self._has_ended():
                raise Conflict(_ENDED)
            if batch is not None or self._clock() - began > LONGEST_SECONDS:
                self._back_off.succeeded()
            self._hear(connection)
            self._note(state=SourceState.RUNNING)

    def _hear(self, connection: Connection) -> None:
        """Note what the connection tells. It stays where the next one has nothing to tell: what is lost stays lost."""
        if connection.notice not in (None, self._heard):
            self._heard = connection.notice
            notices = self.describe().notices + 1
            self._note(notice=self._heard, notices=notices, noticed_at=int(self._now() * 1000))

    def _store(self, connection: Connection, batch: SourceBatch) -> None:
        receipt = self._receiver.receive(self._surroundings.stream, batch)
        known = self.describe()
        # Before the other side is told, which may have gone.
        self._note(
            messages=known.messages + batch.count,
            bytes=known.bytes + batch.size,
            rejected=known.rejected + receipt.rejected,
        )
        connection.stored(batch)

    def _pause(self, error: BaseException) -> float:
        """Seconds until it is tried again."""
        if not isinstance(error, SourceFailed):
            return self._back_off.failed()
        return self._back_off.pause(error.retry_after, error.retry_in)

    def _failed(self, error: BaseException) -> None:
        known = self.describe()
        if isinstance(error, ProtocolError):
            reason = error.detail
        elif isinstance(error, OSError):
            reason = error.strerror or str(error) or type(error).__name__
            if error.filename is not None:
                reason = f"{error.filename}: {reason}"
        else:
            # Not what a source is expected to raise: the log has all of it, and it is tried again.
            _log.exception("the source of the stream %s", self._surroundings.stream)
            reason = f"{type(error).__name__}: {error}"
        if known.state is not SourceState.FAILING:
            _log.warning("the source of the stream %s fails: %s", self._surroundings.stream, reason)
        self._note(state=SourceState.FAILING, error=shortened(reason), failures=known.failures + 1)

    def _note(self, **changed: object) -> None:
        with self._lock:
            self._description = replace(self._description, **changed)  # type: ignore[arg-type]
