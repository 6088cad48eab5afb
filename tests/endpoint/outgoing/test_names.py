from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from endpoint.outgoing.names import look_up_many


def test_names_that_nobody_tells_hold_up_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, look_up = threading.Event(), socket.getaddrinfo

    def slow(host: Any, *arguments: Any, **options: Any) -> Any:
        if host == "silent.example":
            go_on.wait(20)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return look_up(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    async def check() -> None:
        look_up_many()
        loop = asyncio.get_running_loop()
        silent = [asyncio.ensure_future(loop.getaddrinfo("silent.example", 80)) for _ in range(100)]
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(10):
                assert await loop.getaddrinfo("localhost", 80)
            assert not any(one.done() for one in silent)
        finally:
            go_on.set()
            await asyncio.gather(*silent, return_exceptions=True)

    asyncio.run(check())
