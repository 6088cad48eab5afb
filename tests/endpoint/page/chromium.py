"""Chromium without a window, driven by the DevTools protocol as a person drives it: with a pointer and keys."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""The program; None where there is none."""

MISSING = "Chromium is not on the PATH: this machine's lack, not a fault"

_PATIENCE = 120.0
"""What a person sees within a second takes long on a machine that does much else."""


class Page:
    """One page in the browser, over its connection of the DevTools protocol."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._number = 0
        self.failures: list[str] = []
        """What the page's scripts threw and did not catch, and what the policy forbade."""
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One call of the protocol; its result."""
        self._number += 1
        self._connection.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv(timeout=_PATIENCE))
            self._note(message)
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message}"
                result: dict[str, Any] = message["result"]
                return result

    def _note(self, message: Mapping[str, Any]) -> None:
        if message.get("method") == "Runtime.exceptionThrown":
            self.failures.append(json.dumps(message["params"]["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["source"] in (
            "javascript",
            "security",
        ):
            self.failures.append(message["params"]["entry"]["text"])

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page, as JSON carries it; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, expression: str, patience: float = _PATIENCE) -> Any:
        """The value of an expression once it is something."""
        deadline = time.monotonic() + patience
        while not (value := self.evaluate(expression)):
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not come about: {expression}\n{self.evaluate('document.body.innerText')}")
            time.sleep(0.05)
        return value

    def wait_failure(self) -> str:
        """What a script of the page fails with, which is expected; the browser tells it after what the page shows."""
        deadline = time.monotonic() + _PATIENCE
        while not self.failures and time.monotonic() < deadline:
            self.evaluate("new Promise((done) => setTimeout(done, 20))")
        assert self.failures, "no script has failed"
        description: str = json.loads(self.failures.pop(0))["exception"]["description"]
        return description.partition("\n")[0]

    def go(self, url: str) -> None:
        """Open an address, and wait for the page's scripts to have run."""
        self.call("Page.navigate", url=url)
        self._loaded()

    def reload(self) -> None:
        self.evaluate("window.old = true")
        self.call("Page.reload")
        self.wait("window.old === undefined")
        self._loaded()

    def _loaded(self) -> None:
        self.wait("document.readyState === 'complete' && document.querySelector('#query')?.value")

    def text(self, selector: str) -> str:
        """What an element says; "" where there is none."""
        said: str = self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return said

    def wait_text(self, selector: str, part: str) -> None:
        """Wait until an element says this."""
        self.wait(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').includes({json.dumps(part)})")

    def click(self, selector: str) -> None:
        """Press an element with the pointer, in its middle, where it can be seen."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.wait(f"(e => e && e.getClientRects().length > 0 && !e.disabled)({found})")
        place = self.evaluate(
            f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}}); "
            f"const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})({found})"
        )
        self.point(*place)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def point(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def key(self, key: str, modifiers: int = 0) -> None:
        """Press a key; ``modifiers``: 2 is Ctrl."""
        codes = {"Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9, "Home": 36, "End": 35, "a": 65}
        for kind in ("rawKeyDown", "keyUp"):
            pressed = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "modifiers": modifiers}
            self.call("Input.dispatchKeyEvent", type=kind, **pressed)

    def write(self, selector: str, text: str) -> None:
        """Replace what is in a field, as by typing."""
        self.evaluate(f"(e => {{ e.focus(); e.select(); }})(document.querySelector({json.dumps(selector)}))")
        self.call("Input.insertText", text=text)

    def look(self, *, width: int, height: int, dark: bool = False, phone: bool = False, scale: float = 1) -> None:
        """Have the window this size, and the person's colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Write what is seen, or the whole page, as a PNG file."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def chromium(directory: Path) -> Iterator[Page]:
    """An empty page in a Chromium of its own; ``directory`` is where it keeps what it keeps."""
    assert PROGRAM is not None, MISSING
    options = (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-extensions", "--disable-background-networking", "--disable-component-update",
        "--no-proxy-server", "--hide-scrollbars",
        "--remote-debugging-port=0", f"--user-data-dir={directory}",
    )  # fmt: skip
    with open(directory.with_name(directory.name + ".log"), "wb") as log:
        browser = subprocess.Popen([PROGRAM, *options, "about:blank"], stdout=log, stderr=log)
    try:
        port = _port(directory / "DevToolsActivePort", browser)
        with httpx.Client(trust_env=False, timeout=60) as client:
            targets = client.get(f"http://127.0.0.1:{port}/json/list").json()
        address = next(each["webSocketDebuggerUrl"] for each in targets if each["type"] == "page")
        with connect(address, max_size=None, open_timeout=60, ping_interval=None, proxy=None) as connection:
            yield Page(connection)
    finally:
        browser.terminate()
        try:
            browser.wait(timeout=30)
        except subprocess.TimeoutExpired:
            browser.kill()
            browser.wait()


def _port(file: Path, browser: subprocess.Popen[bytes]) -> int:
    """The port that the browser listens at, from the file that says it."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        assert browser.poll() is None, "Chromium has ended; its log is beside its directory"
        if file.exists() and (lines := file.read_text().splitlines()):
            return int(lines[0])
        time.sleep(0.05)
    raise AssertionError("Chromium did not start in time")
