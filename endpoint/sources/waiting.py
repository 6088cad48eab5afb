"""What a thread of its own receives and what waits to be stored: bounded, so that who sends waits for who stores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from endpoint.sources.connection import MOST_BYTES, MOST_MESSAGES
from protocol.sources import SourceBatch, SourceMessage

Put = Callable[[SourceMessage, Mapping[str, bytes]], bool]
"""Adds a message, after which these are the positions; waits while there are many. False once nobody takes them."""


class Waiting:
    """Messages between the thread that receives, which is this one's, and the one that stores."""

    def __init__(self, name: str, receive: Callable[[Put], None]) -> None:
        """Start the thread, called ``name``: ``receive`` puts message after message until nobody takes them, or raises
        what ``take`` then does.
        """
        self._changed = threading.Condition()
        self._messages: list[SourceMessage] = []
        self._positions: Mapping[str, bytes] = {}
        self._bytes = 0
        self._failure: BaseException | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, args=(receive,), name=name, daemon=True)
        self._thread.start()

    def take(self, seconds: float) -> SourceBatch | None:
        """All that wait, and the positions after them; None if none comes within so many seconds.

        Raises the failure, once all that came before it were taken.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._messages or self._failure is not None, seconds)
            taken, self._messages, self._bytes = self._messages, [], 0
            if not taken and self._failure is not None:
                raise self._failure
            self._changed.notify_all()
            return SourceBatch(taken, self._positions) if taken else None

    def close(self) -> None:
        """Nobody takes them any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self) -> None:
        """Wait until the thread has ended: after ``close``, and once nothing can come any more."""
        self._thread.join()

    def _run(self, receive: Callable[[Put], None]) -> None:
        try:
            receive(self._put)
        except BaseException as error:  # whatever it is, no more comes
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _put(self, message: SourceMessage, positions: Mapping[str, bytes]) -> bool:
        """As ``Put``."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or (len(self._messages) < MOST_MESSAGES and self._bytes < MOST_BYTES)
            )
            self._messages.append(message)
            self._positions = positions
            self._bytes += len(message.body)
            self._changed.notify_all()
            return not self._closed
