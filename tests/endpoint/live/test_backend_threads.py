from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from endpoint.live.backend_threads import BackendThreads
from endpoint.threads import Panic


@pytest.mark.parametrize("by_anyio", [False, True])
@pytest.mark.parametrize("failing", [False, True])
def test_what_has_begun_is_waited_for_by_who_is_cancelled(by_anyio: bool, failing: bool) -> None:
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert go_on.wait(10)
        done.set()
        if failing:
            raise ValueError("it fails in the end")

    async def ask(threads: BackendThreads, scope: anyio.CancelScope) -> None:
        with scope:
            await threads.run(work)

    async def check() -> None:
        threads, scope = BackendThreads(), anyio.CancelScope()
        asking = asyncio.create_task(ask(threads, scope))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        scope.cancel() if by_anyio else asking.cancel()
        await asyncio.sleep(0.02)
        assert not asking.done()
        go_on.set()
        await asyncio.wait([asking])
        assert done.is_set()
        assert asking.cancelled() is not by_anyio

    asyncio.run(check())


def test_what_has_not_begun_is_not_called() -> None:
    go_on, called = threading.Event(), threading.Event()

    def block() -> None:
        assert go_on.wait(10)

    async def check() -> None:
        threads = BackendThreads()
        blocking = [asyncio.create_task(threads.run_replay(block)) for _ in range(4)]
        await asyncio.sleep(0.02)
        last = asyncio.create_task(threads.run_replay(called.set))
        await asyncio.sleep(0.02)
        last.cancel()
        await asyncio.sleep(0.02)
        go_on.set()
        await asyncio.gather(*blocking)
        await asyncio.wait([last])
        assert last.cancelled()
        assert not called.is_set()

    asyncio.run(check())


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        asyncio.run(BackendThreads().run(int, "x"))
    assert asyncio.run(BackendThreads().run(int, "11")) == 11


@pytest.mark.parametrize("size", [100, 1_000_000])
def test_a_panic_is_raised_as_an_exception(size: int) -> None:
    class Panicking(BaseException):
        """As pyoxigraph's is."""

    def panic() -> None:
        raise Panicking("out of bounds")

    with pytest.raises(Panic, match="out of bounds"):
        asyncio.run(BackendThreads().run_if_long(size, panic))
