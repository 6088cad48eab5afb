"""The demonstration's two sides in one process: the endpoint, and a client that watches."""

from __future__ import annotations

import asyncio
import dataclasses
import secrets
import socket
from collections.abc import Callable

import click
import httpx
from rich.console import Console
from starlette.types import ASGIApp

from endpoint.app import create_app
from endpoint.demo.display import Display
from endpoint.demo.queries import CHARTED
from endpoint.demo.watching import RequestRefused, watch
from endpoint.server.server import Server
from endpoint.settings import Settings
from protocol.access import EVERY_SCOPE, AccessToken


async def run_demo(
    settings: Settings,
    sockets: list[socket.socket],
    threshold: float,
    *,
    app: ASGIApp | None = None,
    console: Console | None = None,
    on_stop: Callable[[], None] | None = None,
) -> None:
    """Serve and watch until a signal ends it. Raises ClickException if either could not be started."""
    display = Display(console or Console(highlight=False))
    settings, headers = _with_own_token(settings)
    loop = asyncio.get_running_loop()
    ready, stop = asyncio.Event(), asyncio.Event()

    def signalled() -> None:
        loop.call_soon_threadsafe(stop.set)
        if on_stop is not None:
            on_stop()

    server = Server(app if app is not None else create_app(settings), settings, on_ready=ready.set, on_stop=signalled)
    serving = asyncio.create_task(server.serve_until_stopped(sockets))
    await _either(ready, serving)
    if not ready.is_set():
        await serving
        return
    display.say(f"The page is at {settings.base_url}/#follow={CHARTED} (SPARQL at {settings.base_url}/sparql)")
    url = _own_url(sockets[0])
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30, trust_env=False) as client:
        watching = asyncio.create_task(watch(client, display, threshold))
        await _either(stop, serving, watching)
        # The listeners go first: the server waits for open connections.
        watching.cancel()
        failed = (await asyncio.gather(watching, return_exceptions=True))[0]
    display.say("stopping")
    server.should_exit = True
    await serving
    if isinstance(failed, RequestRefused):
        raise click.ClickException(str(failed))
    if isinstance(failed, Exception):
        raise failed


def _with_own_token(settings: Settings) -> tuple[Settings, dict[str, str]]:
    """The settings with a token for the watching client, known to this process alone, and the header that sends it."""
    if not settings.tokens.restrictive:
        return settings, {}
    token = secrets.token_urlsafe()
    tokens = settings.tokens.with_token(AccessToken.of(f"demo {secrets.token_hex(4)}", EVERY_SCOPE, token))
    return dataclasses.replace(settings, tokens=tokens), {"Authorization": f"Bearer {token}"}


async def _either(event: asyncio.Event, *tasks: asyncio.Task[None]) -> None:
    """Wait until the event is set or one of the tasks is done."""
    waiter = asyncio.create_task(event.wait())
    await asyncio.wait({waiter, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    waiter.cancel()


def _own_url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
