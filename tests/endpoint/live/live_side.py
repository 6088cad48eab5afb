"""Values and small parts that the tests of the live side share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive

from endpoint import create_app
from endpoint.settings import Settings
from protocol.formats.sse import parse_resume_token
from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form, Registration
from protocol.windows.spec import StreamWindow, TimeWindow, WindowSpec
from tests.endpoint.fake_backend import FakeBackend

STREAM = "http://127.0.0.1:8000/streams/s"


def continuous(
    text: str = "SELECT …",
    *,
    form: Form = Form.SELECT,
    stream: str = STREAM,
    registration: Registration | None = None,
    spec: WindowSpec | None = None,
) -> ContinuousQuery:
    """A continuous query over one stream; its text is whatever the test calls it."""
    spec = TimeWindow(1000, 1000, -1000) if spec is None else spec
    window = StreamWindow(stream, spec, "http://e/w", declared=True, line=3, column=7)
    return ContinuousQuery(text, read_query("ASK {}"), form, R2S.RSTREAM, (window,), registration=registration)


def answer(number: int) -> bytes:
    """A SPARQL JSON document that tells one evaluation from another."""
    return (
        b'{"head":{"vars":["n"]},"results":{"bindings":[{"n":{"type":"literal","value":"%d"}}]},"evaluation":{}}'
        % number
    )


async def settle(turns: int = 50) -> None:
    """Let every task that can go on do so."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object], *, attempts: int = 20_000) -> None:
    """Let the loop turn until the condition holds; worker threads need some turns to be heard of."""
    for _ in range(attempts):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came about")


def run(coroutine: Coroutine[Any, Any, None] | Awaitable[None], timeout: float = 60) -> None:
    """Run a test's coroutine; one that hangs fails."""

    async def bounded() -> None:
        await asyncio.wait_for(coroutine, timeout)

    asyncio.run(bounded())


def served(backend: FakeBackend, check: Callable[[Starlette], Awaitable[None]]) -> None:
    """Run a test's check of the application over a backend, while the application is alive."""

    async def alive() -> None:
        app = create_app(Settings(threads=2), backend=backend)
        async with app.router.lifespan_context(app):
            await check(app)

    run(alive())


@dataclass
class Clock:
    """Seconds that pass when the test says so."""

    now: float = 0

    def __call__(self) -> float:
        return self.now


class Exchange:
    """One request to an ASGI application, driven by hand: what has come so far, and the client's leaving.

    The connection takes no event with an id before ``takes`` is set.
    """

    def __init__(
        self,
        app: ASGIApp,
        path: str,
        *,
        method: str = "GET",
        body: bytes = b"",
        takes: asyncio.Event | None = None,
        receive: Receive | None = None,
        **headers: str,
    ) -> None:
        self.takes = takes if takes is not None else asyncio.Event()
        if takes is None:
            self.takes.set()
        path, _, query = path.partition("?")
        self.scope: dict[str, Any] = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
            "root_path": "", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), "state": {},
            "headers": [(b"host", b"127.0.0.1:8000")]
            + [(name.replace("_", "-").lower().encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        self._request = [{"type": "http.request", "body": body, "more_body": False}]
        self._left = asyncio.Event()
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.chunks: list[bytes] = []
        self.complete = False
        self.task = asyncio.ensure_future(app(self.scope, receive or self._receive, self._send))

    async def _receive(self) -> Message:
        if self._request:
            return self._request.pop()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            if message.get("body", b"").startswith(b"id:"):
                await self.takes.wait()
            self.chunks.append(message.get("body", b""))
            self.complete = not message.get("more_body", False)

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, str]]:
        """The fields of each event so far; comments, heartbeats and ids alone, which are no events, left out."""
        blocks = [
            {
                line.partition(":")[0]: line.partition(":")[2].removeprefix(" ")
                for line in block.split("\n")
                if line and not line.startswith(":")
            }
            for block in self.body.decode().split("\n\n")
        ]
        return [block for block in blocks if "data" in block]

    @property
    def instants(self) -> list[int]:
        return [parse_resume_token(event["id"]).instant for event in self.events if "id" in event]

    async def leave(self) -> None:
        self._left.set()
        await self.task
