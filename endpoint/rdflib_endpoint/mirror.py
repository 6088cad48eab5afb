"""The application's rdflib graph and the endpoint's graphs are the same, whoever changes one of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
from rdflib import Graph
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endpoint.graphs.change import Change
from endpoint.problems import protocol_error
from endpoint.rdflib_endpoint.watched_graph import WatchedGraph
from endpoint.services import Services, services_of
from endpoint.threads import without_panic
from endpoint.uninterrupted import uninterrupted
from protocol.errors import ProtocolError

_TRIES = 10

logger = logging.getLogger(__name__)


class GraphMirror:
    """Keeps the application's graph and the endpoint's the same. Belongs to the event loop that calls it."""

    def __init__(self, graph: Graph) -> None:
        self._watched = WatchedGraph(graph, self._tell)
        self._turn = anyio.Lock()
        # Changes of the endpoint's graphs: how many there were, and how many of them the application's has.
        self._changes = self._given = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._services: Services | None = None
        self._bringing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def following(self, services: Services) -> AsyncIterator[None]:
        """While the endpoint runs: what its queries read is the application's graph, whether somebody asks or not."""
        self._follow(services)
        await self._is_brought(services)
        try:
            yield
        finally:
            self._services = None

    async def bring(self, services: Services) -> None:
        """Have the endpoint's graphs be what the application's is. Raises ProtocolError."""
        self._follow(services)
        # What is on its way already is waited for as well.
        if self._watched.changed or self._turn.locked():
            await self._bring(services)

    async def give_back(self, services: Services) -> None:
        """Have the graph there be what is here, if it is not; it wins where all of it is to be brought again and again.

        Where it takes nothing, that is said in the log, and tried again for the next answer.
        """
        if self._changes == self._given:
            return
        try:
            await self._give_back(services)
        except Exception:
            logger.exception("what was changed in the endpoint's graphs is not in the rdflib graph yet")

    def _follow(self, services: Services) -> None:
        if services is not self._services:
            # Its graphs may be others than those of an application that was stopped.
            self._watched.take_all_again()
            services.store.listen(self._count)
            self._services = services
        self._loop = asyncio.get_running_loop()

    async def _bring(self, services: Services) -> None:
        """Bring what was changed there. Raises ProtocolError."""
        async with self._turn:
            await uninterrupted(self._brought(services))

    async def _brought(self, services: Services) -> None:
        before = self._changes
        try:
            text = await anyio.to_thread.run_sync(without_panic, self._watched.take)
            if text:
                await services.changes.make(Change(text, None))
        except BaseException:
            self._watched.take_all_again()
            raise
        # Where another change came in between, it is not there yet.
        if text and self._given == before:
            self._given = before + 1

    async def _give_back(self, services: Services) -> None:
        async with self._turn:
            await uninterrupted(self._given_back(services))

    async def _given_back(self, services: Services) -> None:
        for _ in range(_TRIES):
            await self._brought(services)
            changes = self._changes
            if await anyio.to_thread.run_sync(without_panic, self._watched.become, services.store):
                self._given = changes
                return

    def _count(self) -> None:
        self._changes += 1

    def _tell(self) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._bring_soon)
            except RuntimeError:
                if not loop.is_closed():
                    raise

    def _bring_soon(self) -> None:
        if self._services is not None and (self._bringing is None or self._bringing.done()):
            self._bringing = asyncio.ensure_future(self._bring_unasked(self._services))

    async def _bring_unasked(self, services: Services) -> None:
        while self._watched.changed and await self._is_brought(services):
            pass

    async def _is_brought(self, services: Services) -> bool:
        """Bring what was changed there; if that cannot be, the log says why, and the next request tries it again."""
        try:
            await self._bring(services)
        except Exception as error:
            foreseen = isinstance(error, ProtocolError)
            said = "what was changed in the rdflib graph is not in the endpoint's yet: %s"
            logger.error(said, error, exc_info=None if foreseen else error)
            return False
        return True


class Mirrored:
    """ASGI middleware within the endpoint: a request finds what the application has changed in its graph before it.

    What is changed there while nobody asks is brought here at once as well, so that continuous queries see it. What a
    request changes here is there before it is answered.
    """

    def __init__(self, app: ASGIApp, mirror: GraphMirror) -> None:
        self._app = app
        self._mirror = mirror

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        services = services_of(scope["app"])
        try:
            await self._mirror.bring(services)
        except ProtocolError as error:
            await protocol_error(error, services.refusals)(scope, receive, send)
            return

        async def send_when_there(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._mirror.give_back(services)
            await send(message)

        await self._app(scope, receive, send_when_there)
