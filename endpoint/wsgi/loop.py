"""An event loop in a thread of its own, in which an ASGI application lives: for hosts that have no event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - before ``_register_atexit``: what is registered last is called first
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, TypeVarTuple
from weakref import WeakSet

from starlette.types import ASGIApp, Message

from endpoint.outgoing.names import look_up_many
from protocol.errors import Unavailable

Ts = TypeVarTuple("Ts")
State = dict[str, Any]

logger = logging.getLogger(__name__)

LETTING_GO_SECONDS = 2.0
"""How long requests get to end once the loop is stopped; then they are cancelled."""

STOP_SECONDS = 40.0
"""How long ``stop`` waits for the application. Spark's own stop is bounded below it."""


class ApplicationLoop:
    """Starts the application once and stops it once, by ASGI's lifespan; requests run as tasks in between.

    ``start`` and ``stop`` may be called by any thread and as often as one likes. Threads do not survive a fork:
    a process that was forked after the start gets ``Unavailable``, as it must not touch what its parent has open.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._state: State = {}
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._stopped = False
        self._process = 0
        self._open: dict[asyncio.Task[None], Callable[[], None]] = {}

    def start(self) -> None:
        """Start the application and wait for it; nothing the second time.

        Raises what the application's startup raises, and may then be called again; Unavailable after ``stop``,
        or in a process forked after the start.
        """
        if self._loop is not None and self._process == os.getpid() and not self._stopped:
            return
        if self._process not in (0, os.getpid()):
            raise Unavailable(
                "the endpoint was started before this worker process was forked, and its threads are not in it: "
                "let the first request of the worker start it"
            )
        with self._starting:
            if self._stopped:
                raise Unavailable("the endpoint has been stopped")
            if self._loop is not None:
                return
            started: Future[None] = Future()
            thread = threading.Thread(
                target=lambda: asyncio.run(self._live(started)), name="asgi-application", daemon=True
            )
            thread.start()
            try:
                started.result()
            except BaseException:
                thread.join()
                raise
            self._thread = thread
            self._process = os.getpid()
            _running.add(self)

    def stop(self) -> None:
        """Let go of the requests, then shut the application down; waits for both, a bounded time."""
        if self._process not in (0, os.getpid()):
            return
        with self._starting:
            already, self._stopped = self._stopped, True
            thread, loop = self._thread, self._loop
        if already or thread is None or loop is None:
            return
        _running.discard(self)
        self.tell(self._end)
        thread.join(STOP_SECONDS)
        if thread.is_alive():
            logger.error("the application has not stopped within %g s", STOP_SECONDS)

    def open(self, work: Callable[[ASGIApp, State], Awaitable[None]], let_go: Callable[[], None]) -> None:
        """Run ``work`` as a task. ``let_go`` is called in the loop if the loop stops before the task has ended.

        Raises Unavailable if the application is not running.
        """
        loop = self._loop
        if loop is None or self._stopped or self._process != os.getpid():
            raise Unavailable("the endpoint is not running")
        try:
            loop.call_soon_threadsafe(self._run, work, let_go)
        except RuntimeError:
            raise Unavailable("the endpoint has been stopped") from None

    def tell(self, function: Callable[[*Ts], None], *arguments: *Ts) -> None:
        """Call the function in the loop, soon. After the loop's end nobody is there to be told."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(function, *arguments)

    # In the loop

    async def _live(self, started: Future[None]) -> None:
        look_up_many()
        lifespan = _Lifespan(self._app, self._state)
        try:
            await lifespan.startup()
        except BaseException as error:
            started.set_exception(error)
            return
        self._ending = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        started.set_result(None)
        await self._ending.wait()
        tasks = set(self._open)
        for let_go in self._open.values():
            let_go()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=LETTING_GO_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=LETTING_GO_SECONDS)
        try:
            await lifespan.shutdown()
        except Exception:
            logger.exception("the application failed to stop in order")

    def _end(self) -> None:
        assert self._ending is not None
        self._ending.set()

    def _run(self, work: Callable[[ASGIApp, State], Awaitable[None]], let_go: Callable[[], None]) -> None:
        if self._stopped:
            let_go()
            return

        async def run() -> None:
            await work(self._app, self._state.copy())

        task = asyncio.get_running_loop().create_task(run())
        self._open[task] = let_go
        task.add_done_callback(lambda done: self._open.pop(done, None))


_running: WeakSet[ApplicationLoop] = WeakSet()


def _stop_all() -> None:
    for running in list(_running):
        running.stop()


# The interpreter first waits for the threads of executors, where WSGI servers have their requests, and calls
# ``atexit``'s functions only then: a listener would keep the process from ending. There is no public way to be earlier.
threading._register_atexit(_stop_all)  # type: ignore[attr-defined]


class _Lifespan:
    """ASGI's lifespan protocol (version 2.0), from the side of the server."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self._app = app
        self._scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": state}
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._from_app: asyncio.Queue[Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def startup(self) -> None:
        """Raises what the application raised, or RuntimeError with its message."""

        async def run() -> None:
            await self._app(self._scope, self._to_app.get, self._from_app.put)

        self._task = asyncio.get_running_loop().create_task(run())
        await self._ask("startup")

    async def shutdown(self) -> None:
        """Raises what the application raised, or RuntimeError with its message."""
        await self._ask("shutdown")
        assert self._task is not None
        await self._task

    async def _ask(self, what: str) -> None:
        assert self._task is not None
        await self._to_app.put({"type": f"lifespan.{what}"})
        answer = asyncio.get_running_loop().create_task(self._from_app.get())
        await asyncio.wait({answer, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            await self._task
            raise RuntimeError(f"the application ended without an answer to lifespan.{what}")
        message = answer.result()
        if message["type"] != f"lifespan.{what}.complete":
            await self._task
            raise RuntimeError(message.get("message") or f"the application's {what} failed")
