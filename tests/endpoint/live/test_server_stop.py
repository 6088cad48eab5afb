from __future__ import annotations

import asyncio

from sse_starlette.sse import AppStatus

from endpoint.live.server_stop import forget_former_server, server_stops
from tests.endpoint.live.live_side import run, settle


def test_that_the_server_is_told_to_stop_is_heard_of_and_forgotten() -> None:
    async def check() -> None:
        waiting = asyncio.ensure_future(server_stops())
        await settle()
        assert not waiting.done()
        waiting.cancel()
        AppStatus.should_exit = True
        try:
            await asyncio.wait_for(server_stops(), 5)
        finally:
            forget_former_server()
        again = asyncio.ensure_future(server_stops())
        await settle()
        assert not again.done()
        again.cancel()

    run(check())
