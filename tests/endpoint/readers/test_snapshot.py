"""Snapshots that are asked for while others are made."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from endpoint.readers.snapshot import Snapshots
from tests.endpoint.live.live_side import run


class Store:
    """Its snapshots have the version that it had when they were begun."""

    version = 0

    def backup(self, directory: Path) -> int:
        return self.version


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def _alarm() -> Iterator[None]:
    """What keeps the event loop for itself is ended: no timeout of its own could be."""

    def stop(number: int, frame: Any) -> None:
        raise AssertionError("the event loop had no turn")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 20, 0.01)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("_alarm")
def test_who_comes_in_the_moment_in_which_one_is_done_waits_for_the_next(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    async def main() -> None:
        store: Any = Store()
        snapshots = Snapshots(store, tmp_path / "snapshots", executor)

        async def change_and_ask() -> None:
            store.version += 1
            wanted = store.version
            assert (await snapshots.newest()).version >= wanted

        asked = []
        for _ in range(2000):  # so that some of them come in every turn of the event loop
            asked.append(asyncio.ensure_future(change_and_ask()))
            await asyncio.sleep(0)
        await asyncio.gather(*asked)

    run(main())
