from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from endpoint.wsgi import loop as application_loop
from endpoint.wsgi.loop import ApplicationLoop, State
from protocol.errors import Unavailable

PATIENCE = 20


class Recorded:
    """An application that notes its lifespan; ``failing`` says with what its next start or its stop fails."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.failing: dict[str, Exception] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for what in ("startup", "shutdown"):
            await receive()
            error = self.failing.pop(what, None)
            self.said.append(what if error is None else f"{what} failed")
            if error is not None:
                await send({"type": f"lifespan.{what}.failed", "message": str(error)})
                raise error
            await send({"type": f"lifespan.{what}.complete"})


def test_whoever_starts_and_stops_how_often_the_application_does_once() -> None:
    app = Recorded()
    running = ApplicationLoop(app)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: running.start(), range(50)))
        list(threads.map(lambda _: running.stop(), range(50)))
    assert app.said == ["startup", "shutdown"]


def test_a_start_that_fails_says_why_and_may_be_tried_again() -> None:
    app = Recorded()
    app.failing["startup"] = OSError("locked")
    running = ApplicationLoop(app)
    with pytest.raises(OSError, match="locked"):
        running.start()
    running.start()
    running.stop()
    assert app.said == ["startup failed", "startup", "shutdown"]


def test_a_stop_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    app = Recorded()
    app.failing["shutdown"] = OSError("disk")
    running = ApplicationLoop(app)
    running.start()
    running.stop()
    assert "disk" in caplog.text


def test_an_application_that_ends_without_an_answer_has_not_started() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()

    with pytest.raises(RuntimeError, match="startup"):
        ApplicationLoop(app).start()


def nothing() -> None:
    """Let go of nothing."""


async def no_work(app: ASGIApp, state: State) -> None:
    """Ends at once."""


def test_nothing_is_taken_before_the_start_or_after_the_stop() -> None:
    running = ApplicationLoop(Recorded())
    with pytest.raises(Unavailable):
        running.open(no_work, nothing)
    running.start()
    running.stop()
    attempts: list[Callable[[], object]] = [lambda: running.open(no_work, nothing), running.start]
    for late in attempts:
        with pytest.raises(Unavailable, match=r"stopped|not running"):
            late()
    running.tell(nothing)


@pytest.mark.parametrize("obedient", [True, False])
def test_what_is_open_is_let_go_of_before_the_application_stops(
    monkeypatch: pytest.MonkeyPatch, obedient: bool
) -> None:
    monkeypatch.setattr(application_loop, "LETTING_GO_SECONDS", 5 if obedient else 0.01)
    app = Recorded()
    running = ApplicationLoop(app)
    running.start()
    begun, gone = threading.Event(), asyncio.Event()

    async def work(app_: ASGIApp, state: State) -> None:
        begun.set()
        try:
            await (gone.wait() if obedient else asyncio.Event().wait())
        finally:
            app.said.append("let go")

    running.open(work, gone.set)
    assert begun.wait(PATIENCE)
    running.stop()
    assert app.said == ["startup", "let go", "shutdown"]


def test_a_process_forked_after_the_start_is_told_that_it_has_no_endpoint() -> None:
    app = Recorded()
    running = ApplicationLoop(app)
    running.start()

    def refused(call: Callable[[], None]) -> bool:
        try:
            call()
        except Unavailable as error:
            return "fork" in error.detail or "not running" in error.detail
        return False

    child = os.fork()
    if child == 0:
        running.stop()  # as its exit does: it must not wait for a thread that is not there
        os._exit(0 if refused(running.start) and refused(lambda: running.open(no_work, nothing)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    running.stop()
    assert app.said == ["startup", "shutdown"]


def test_a_process_forked_before_the_start_has_an_endpoint_of_its_own() -> None:
    app = Recorded()
    running = ApplicationLoop(app)
    child = os.fork()
    if child == 0:
        running.start()
        running.stop()
        os._exit(0 if app.said == ["startup", "shutdown"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert app.said == []


AT_EXIT = """
import threading
from concurrent.futures import ThreadPoolExecutor
from wsgiref.util import setup_testing_defaults
from endpoint.wsgi.loop import ApplicationLoop
from endpoint.wsgi.bridge import WsgiBridge

def say(word):
    print(word + "\\n", end="", flush=True)

async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b": first", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        say("let go")
        return
    for what in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{what}.complete"})
        say(what)

running = ApplicationLoop(app)
running.start()
environ = {}
setup_testing_defaults(environ)
listening = threading.Event()

def listen():
    body = WsgiBridge(running).respond(environ).body
    for chunk in body:
        listening.set()
    body.close()
    say("ended")

# As in gunicorn's threads: the interpreter waits for them before it ends.
threads = ThreadPoolExecutor(1)
threads.submit(listen)
listening.wait()
"""


def test_a_process_that_ends_is_kept_by_no_listener_and_stops_its_application() -> None:
    ended = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    said = ended.stdout.split()
    assert sorted(said) == ["ended", "go", "let", "shutdown", "startup"]
    assert said.index("go") < said.index("shutdown")
