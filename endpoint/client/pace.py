"""When each message of a replay is due: a steady rate, or the messages' own times at a multiple of their speed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import IO

from protocol.messages.message import Message
from protocol.time import Instant

BATCH_MESSAGES = 1000
BATCH_BYTES = 4 * 1024 * 1024

SLEEP_SECONDS = 86_400.0
"""What is due later is waited for in steps of this length: a system sleeps for no more than some centuries at once."""


@dataclass(frozen=True)
class Scheduled:
    """A message and when it is due, in seconds after the first one."""

    message: Message
    due: float


def at_once(messages: Iterable[Message]) -> Iterator[Scheduled]:
    return (Scheduled(message, 0.0) for message in messages)


class Rate:
    """So many messages a second, of one file after the other."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._number = count()

    def scheduled(self, messages: Iterable[Message]) -> Iterator[Scheduled]:
        """The next messages."""
        return (Scheduled(message, next(self._number) / self._rate) for message in messages)


class Replay:
    """By the messages' times, ``speedup`` times as fast, in one file after the other; one out of order is due at once,
    an empty one with the one before it.
    """

    def __init__(self, speedup: float) -> None:
        self._speedup = speedup
        self._first: Instant | None = None

    def scheduled(
        self,
        messages: Iterable[Message],
        time_of: Callable[[Message], Instant | None],
        is_empty: Callable[[Message], bool],
    ) -> Iterator[Scheduled]:
        """The next messages, of one file.

        Raises ValueError for one without a time that is not empty or has none before it, by its number (from 1).
        """
        before: Instant | None = None
        for number, message in enumerate(messages, 1):
            instant = time_of(message)
            if instant is None and is_empty(message):
                instant = before
            if instant is None:
                raise ValueError(f"message {number} has no time to replay it by: use --rate, or leave --speedup out")
            before = instant
            self._first = instant if self._first is None else self._first
            yield Scheduled(message, max(0.0, (instant - self._first) / 1000 / self._speedup))


def batches(
    scheduled: Iterable[Scheduled],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    is_empty: Callable[[Message], bool],
    start: float,
) -> Iterator[list[Message]]:
    """The messages in requests: whatever is due goes together, within ``BATCH_MESSAGES`` and ``BATCH_BYTES``; and an
    empty one with the one before it in any case, whose time it takes. ``start``: when the very first was due.
    """
    batch: list[Message] = []
    size = 0
    for one in scheduled:
        early = start + one.due - clock()
        full = len(batch) >= BATCH_MESSAGES or size + one.message.size > BATCH_BYTES
        if (early > 0 or full) and not (batch and is_empty(one.message)):
            if batch:
                yield batch
                batch, size = [], 0
                early = start + one.due - clock()
            while early > 0:
                sleep(min(early, SLEEP_SECONDS))
                early = start + one.due - clock()
        batch.append(one.message)
        size += one.message.size
    if batch:
        yield batch


def live_batches(messages: Iterable[Message], is_empty: Callable[[Message], bool]) -> Iterator[list[Message]]:
    """Messages of a pipe, each sent on as soon as it is whole: with it goes what came while the last request ran.

    An empty one that is there goes with the one before it in any case, whose time it takes.

    They are read in a thread of their own, which ends with its input or with the process.
    """
    waiting: queue.Queue[Message | BaseException | None] = queue.Queue(maxsize=4 * BATCH_MESSAGES)

    def read() -> None:
        try:
            for message in messages:
                waiting.put(message)
        except Exception as error:
            # Raised again where it is waited for.
            waiting.put(error)
        else:
            waiting.put(None)

    threading.Thread(target=read, name="read-messages", daemon=True).start()
    batch: list[Message] = []
    size = 0
    item = waiting.get()
    while isinstance(item, Message):
        if (len(batch) >= BATCH_MESSAGES or size >= BATCH_BYTES) and not is_empty(item):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += item.size
        try:
            item = waiting.get_nowait()
        except queue.Empty:
            yield batch
            batch, size = [], 0
            item = waiting.get()
    if batch:
        yield batch
    if item is not None:
        raise item


def lines_of(file: IO[bytes], read: Callable[[int], None]) -> Iterator[bytes]:
    """The lines of a file; ``read`` is told the length of each."""
    for line in file:
        read(len(line))
        yield line
