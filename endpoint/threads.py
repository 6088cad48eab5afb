"""The bounded pool of threads in which requests do what would hold up the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

from protocol.errors import Unavailable
from protocol.processes.stack import start_with_stack

P = ParamSpec("P")
R = TypeVar("R")


class Panic(Exception):
    """What was called ended in a way that is no Exception, as Oxigraph's panics are."""


def without_panic(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What the function returns or raises; Panic for what is no Exception.

    That would pass by all who answer for errors, and, where it is an exit, end the event loop.
    """
    try:
        return function(*args, **kwargs)
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise Panic(f"{type(error).__name__}: {error}") from error


LONG = 64 * 1024
"""So many bytes or characters are worked through sooner than a thread has its turn."""


class WorkerThreads:
    """``count`` threads with large stacks; further work waits for its turn.

    They are daemons, unlike those of the standard executors: an update that takes hours (Oxigraph cannot
    be interrupted) must not keep the process from ending.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        # Held while work is put before the end that ``stop`` puts, or found to be too late.
        self._putting = threading.Lock()
        self._stopped = False
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        for number in range(count):
            start_with_stack(threading.Thread(target=self._serve, name=f"sparql-{number}", daemon=True))

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            # The last answer would otherwise be held until the next request.
            del work

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function in one of the threads and wait for what it returns or raises, as ``without_panic``.

        Cancelled before its turn, it is not called; once it runs, it runs to its end. Raises Unavailable where there
        are no threads any more.
        """
        future: Future[R] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = without_panic(function, *args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._putting:
            if self._stopped:
                raise Unavailable("the endpoint is being stopped: ask again when it is back")
            self._work.put(work)
        return await asyncio.wrap_future(future)

    async def run_if_long(self, size: int, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function here, or in one of the threads where it has so much to work through."""
        if size > LONG:
            return await self.run(function, *args, **kwargs)
        return without_panic(function, *args, **kwargs)

    def stop(self) -> None:
        """End the threads when what was asked before is done; does not wait for it."""
        with self._putting:
            self._stopped = True
            for _ in range(self._count):
                self._work.put(None)
