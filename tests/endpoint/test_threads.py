from __future__ import annotations

import asyncio
import threading

import pyoxigraph as ox
import pytest

from endpoint.threads import Panic, WorkerThreads
from protocol.errors import Unavailable


class Panicking(BaseException):
    """As pyoxigraph's is."""


def test_no_more_run_at_once_than_there_are_threads() -> None:
    threads = WorkerThreads(2)
    running = most = 0
    lock = threading.Lock()
    full = threading.Barrier(2)

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait(timeout=10)
        with lock:
            running -= 1

    async def all_of_it() -> None:
        await asyncio.gather(*(threads.run(work) for _ in range(6)))

    asyncio.run(all_of_it())
    threads.stop()
    assert most == 2


def test_what_is_raised_in_a_thread_is_raised_to_the_caller() -> None:
    threads = WorkerThreads(1)
    with pytest.raises(ValueError, match="invalid literal"):
        asyncio.run(threads.run(int, "x"))
    assert asyncio.run(threads.run(int, "11", base=2)) == 3
    threads.stop()


def test_nobody_waits_for_threads_that_have_been_stopped() -> None:
    threads = WorkerThreads(1)
    threads.stop()
    with pytest.raises(Unavailable, match="being stopped"):
        asyncio.run(asyncio.wait_for(threads.run(int), 10))


def test_stacks_are_large_enough_for_the_deepest_query_let_through() -> None:
    threads = WorkerThreads(1)
    before = threading.stack_size()
    store = ox.Store()
    for text in ("SELECT * {" + "{" * 5000 + "}" * 5001, "SELECT * { FILTER(" + "!" * 40_000 + "1) }"):
        assert asyncio.run(threads.run(lambda text=text: type(store.query(text)).__name__)) == "QuerySolutions"  # type: ignore[misc]
    threads.stop()
    assert threading.stack_size() == before


def test_what_is_short_is_done_at_once_and_what_is_long_in_a_thread() -> None:
    threads = WorkerThreads(1)

    async def where(size: int) -> str:
        return await threads.run_if_long(size, lambda: threading.current_thread().name)

    assert asyncio.run(where(100)) == threading.current_thread().name
    assert asyncio.run(where(1_000_000)) == "sparql-0"
    threads.stop()


@pytest.mark.parametrize("size", [100, 1_000_000])
@pytest.mark.parametrize("end", [Panicking("out of bounds"), SystemExit(3), KeyboardInterrupt()])
def test_what_ends_in_a_way_that_is_no_exception_is_raised_as_one(size: int, end: BaseException) -> None:
    threads = WorkerThreads(1)

    def panic() -> None:
        raise end

    async def ask() -> None:
        with pytest.raises(Panic, match=type(end).__name__):
            await threads.run_if_long(size, panic)

    asyncio.run(ask())
    threads.stop()
