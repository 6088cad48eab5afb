"""A uvicorn server that ends in bounded time, in order, and with nothing left running."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from functools import partial
from types import FrameType
from typing import Any

import click
import psutil
import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endpoint.outgoing.names import look_up_many
from endpoint.server.connection import Connections
from endpoint.server.sockets import connections_possible
from endpoint.server.targets import AbsoluteTargets
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.errors import ProtocolError
from protocol.formats.terminal_text import visible

log = logging.getLogger(__name__)

OPEN_CONNECTIONS_SECONDS = 3
"""How long open connections (result streams, mostly) get to end by themselves."""

STOP_SECONDS = 40.0
"""After this the process ends itself, whatever it is waiting for. Spark's own stop is bounded below it."""

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


class Server(uvicorn.Server):
    """Serves one application within the settings' limits. The first signal ends it in order, a second one at once.

    ``on_ready`` is called when requests are answered, ``on_stop`` when a signal asks for the end
    (from the signal handler: it must only set something).
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        *,
        on_ready: Callable[[], None] | None = None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self._failure: BaseException | None = None
        connections = Connections(
            settings.request_timeout,
            connections_possible(settings.max_connections),
            refused=partial(_count_refusal, app),
        )
        super().__init__(
            uvicorn.Config(
                AbsoluteTargets(self._watching_start(app)),
                http=connections.protocol(),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=OPEN_CONNECTIONS_SECONDS,
            )
        )
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def serve_until_stopped(self, sockets: list[socket.socket]) -> None:
        """Serve on these sockets until the end. Raises ClickException if the application could not be started."""
        look_up_many()
        try:
            await self.serve(sockets)
        except SystemExit:
            # uvicorn's way to say that the application's start failed.
            if self.started:
                raise
        if not self.started:
            raise click.ClickException(f"the endpoint could not be started: {_reason(self._failure)}")

    async def startup(self, *arguments: Any, **options: Any) -> None:
        await super().startup(*arguments, **options)
        if self._on_ready is not None and self.started and not self.should_exit:
            self._on_ready()

    def _watching_start(self, app: ASGIApp) -> ASGIApp:
        """The application, with what fails its start kept, to be told in one line instead of a traceback."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "lifespan":
                await app(scope, receive, send)
                return

            async def send_quietly(message: Message) -> None:
                if message["type"] == "lifespan.startup.failed":
                    message = {**message, "message": ""}
                await send(message)

            try:
                await app(scope, receive, send_quietly)
            except BaseException as error:
                self._failure = error
                raise

        return watched

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            end_now(128 + sig)
        super().handle_exit(sig, frame)
        if self._on_stop is not None:
            self._on_stop()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Unlike uvicorn's, does not send itself the signal once more at the end: what comes after would be lost."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers = {sig: signal.signal(sig, self.handle_exit) for sig in _SIGNALS}
        try:
            yield
        finally:
            for sig, handler in handlers.items():
                signal.signal(sig, handler)


def _count_refusal(app: ASGIApp, reason: str) -> None:
    # What is around one of ours has metrics of its own.
    if isinstance(app, Starlette):
        services_of(app).refusals[reason] += 1


def end_now(code: int) -> None:
    """End this process and every process it started, at once."""
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    os._exit(code)


def _reason(failure: BaseException | None) -> str:
    if isinstance(failure, ProtocolError | OSError | ValueError):
        return str(failure)
    if failure is None:
        return "see above"
    log.error("the start failed", exc_info=failure)
    return f"{type(failure).__name__}: {failure}"


def end_within(seconds: float = STOP_SECONDS) -> None:
    """Let this process live no longer than this, whatever it is waiting for."""

    def expire() -> None:
        click.echo(f"not stopped within {seconds:g} s: ending everything", err=True)
        end_now(1)

    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()


def log_to_terminal() -> None:
    """What the project's own code has to say goes to standard error, a line each (what is longer is indented); of
    others, only warnings.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Plain())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in ("endpoint", "spark_backend"):
        logging.getLogger(name).setLevel(logging.INFO)
    # Of every number that Python does not count with (an integer of 5,000 digits), with a stack trace.
    logging.getLogger("rdflib.term").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether what uvicorn says is told nowhere else.

    What stopped the start is told by the command itself, and requests that are no HTTP are counted, as all that is
    refused: a line each would let any client fill the disk.
    """
    said = record.getMessage().strip()
    return bool(said) and said != "Invalid HTTP request received."


class _Plain(logging.Formatter):
    """What others wrote, a receiver in its answer for example, is shown: it has a terminal do nothing, and none of its
    lines could be taken for one of ours.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        return visible(super().formatMessage(record)).replace("\n", "\n  ")

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if record.levelno < logging.WARNING else f"{record.levelname.lower()}: {text}"
