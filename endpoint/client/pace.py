"""When each message of a replay is due: a steady rate, or the messages' own times at a multiple of their speed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from protocol.messages.message import Message
from protocol.time import Instant

BATCH_MESSAGES = 1000
BATCH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Scheduled:
    """A message and when it is due, in seconds after the first one."""

    message: Message
    due: float


def at_once(messages: Iterable[Message]) -> Iterator[Scheduled]:
    return (Scheduled(message, 0.0) for message in messages)


def steadily(messages: Iterable[Message], rate: float) -> Iterator[Scheduled]:
    """``rate`` messages a second."""
    return (Scheduled(message, number / rate) for number, message in enumerate(messages))


def replayed(
    messages: Iterable[Message],
    speedup: float,
    time_of: Callable[[Message], Instant | None],
    is_empty: Callable[[Message], bool],
) -> Iterator[Scheduled]:
    """By the messages' times, ``speedup`` times as fast; one out of order is due at once, an empty one with the one
    before it.

    Raises ValueError for another message without a time, by its number (from 1).
    """
    first: Instant | None = None
    before: Instant | None = None
    for number, message in enumerate(messages, 1):
        instant = time_of(message)
        if instant is None and is_empty(message):
            instant = before
        if instant is None:
            raise ValueError(f"message {number} has no time to replay it by: use --rate, or leave --speedup out")
        before = instant
        first = instant if first is None else first
        yield Scheduled(message, max(0.0, (instant - first) / 1000 / speedup))


def batches(
    scheduled: Iterable[Scheduled],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    is_empty: Callable[[Message], bool],
) -> Iterator[list[Message]]:
    """The messages in requests: whatever is due goes together, within ``BATCH_MESSAGES`` and ``BATCH_BYTES``; and an
    empty one with the one before it in any case, whose time it takes.
    """
    start = clock()
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
            if early > 0:
                sleep(early)
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
