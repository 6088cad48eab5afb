from __future__ import annotations

import asyncio
from itertools import pairwise

from endpoint.live.turns import Turns
from tests.endpoint.live.live_side import run, settle


class Waiting:
    """Those who wait, and who of them went on in which order."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.gone_on: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._waiters: list[asyncio.Future[None]] = []

    async def come(self, *numbers: int) -> None:
        for number in numbers:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            self.tasks.append(asyncio.create_task(self._wait(number, waiter)))
        await settle(3)

    async def _wait(self, number: int, waiter: asyncio.Future[None]) -> None:
        await waiter
        self.gone_on.append(number)

    def wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        self.turns.take(waiters)


def test_the_loop_does_what_else_there_is_before_all_have_gone_on() -> None:
    async def check() -> None:
        waiting = Waiting(Turns())
        await waiting.come(*range(1000))
        waiting.wake()
        seen = [0]
        while seen[-1] < 1000:
            await asyncio.sleep(0)
            seen.append(len(waiting.gone_on))
        assert max(later - before for before, later in pairwise(seen)) <= 32
        assert len(seen) < 40
        assert waiting.gone_on == list(range(1000))

    run(check())


def test_who_is_to_go_on_later_comes_after_all_who_were_before() -> None:
    async def check() -> None:
        turns = Turns()
        of_one_query, of_another = Waiting(turns), Waiting(turns)
        of_another.gone_on = of_one_query.gone_on
        await of_one_query.come(*range(100))
        await of_another.come(*range(100, 200))
        of_one_query.wake()
        of_another.wake()
        await settle(3)
        await of_one_query.come(200)
        of_one_query.wake()
        await settle()
        assert of_one_query.gone_on == list(range(201))

    run(check())


def test_who_has_left_takes_no_ones_turn() -> None:
    async def check() -> None:
        waiting = Waiting(Turns())
        await waiting.come(*range(100))
        waiting.wake()
        for task in waiting.tasks[:99]:
            task.cancel()
        await settle()
        assert waiting.gone_on == [99]

    run(check())
