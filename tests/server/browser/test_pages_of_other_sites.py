"""What a page of another site can do in a real browser: the requests are Chromium's own."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.served import served
from tests.server.one_shot_server import one_shot_server
from tests.server.server_process import ServerProcess

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 60.0

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed that could show the pages"),
]

PAGE = """<!doctype html><title>nothing to see here</title>
<script>
const endpoint = "ENDPOINT", outcomes = {};
function form(name, path, type, field, value) {
  return new Promise(done => {
    const frame = document.createElement("iframe"), form = document.createElement("form");
    frame.name = name;
    form.method = "post"; form.action = endpoint + path; form.enctype = type; form.target = name;
    const input = document.createElement(type === "text/plain" ? "textarea" : "input");
    input.name = field; input.value = value;
    form.append(input); document.body.append(frame, form);
    setTimeout(done, 500);  // an answer without a document loads nothing
    form.submit();
  });
}
async function ask(name, path, options) {
  try {
    outcomes[name] = (await fetch(endpoint + path, options)).status;
  } catch (error) {
    outcomes[name] = "unreadable";
  }
}
onload = async () => {
  const insert = name => `INSERT DATA { <urn:${name}> <urn:p> 1 }`;
  await form("urlencoded", "/sparql", "application/x-www-form-urlencoded", "update", insert("urlencoded"));
  await form("plain", "/sparql", "text/plain", "update", insert("plain"));
  await form("multipart", "/graphs?default", "multipart/form-data", "file", "<urn:multipart> <urn:p> 1 .");
  const sandboxed = document.createElement("iframe");
  sandboxed.sandbox = "allow-scripts allow-forms";
  sandboxed.srcdoc = `<form method=post action="${endpoint}/sparql">
    <input name=update value="${insert("sandboxed")}"></form><script>document.forms[0].submit()<` + `/script>`;
  document.body.append(sandboxed);
  const update = name => new URLSearchParams({ update: insert(name) });
  await ask("blind", "/sparql", { method: "POST", mode: "no-cors", body: update("blind") });
  await ask("simple", "/sparql", { method: "POST", body: update("simple") });
  await ask("preflighted", "/sparql", {
    method: "POST", body: insert("preflighted"), headers: { "Content-Type": "application/sparql-update" } });
  await ask("put", "/streams/s", { method: "PUT" });
  await ask("read", "/sparql?query=ASK{}");
  navigator.sendBeacon(endpoint + "/sparql", update("beacon"));
  setTimeout(() => fetch("/outcomes", { method: "POST", body: JSON.stringify(outcomes) }), 1000);
};
</script><body>"""
WRITES = ("simple", "preflighted", "put")
INSERTED = "SELECT ?s { ?s ?p ?o } ORDER BY ?s"


@contextmanager
def chromium(profile: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A browser with these options and addresses; every name below ``.example`` is this machine."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
        "--host-resolver-rules=MAP *.example 127.0.0.1", f"--user-data-dir={profile}", *options,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def shown(profile: Path, address: str) -> str:
    """What the browser shows at this address."""
    with chromium(profile, "--dump-dom", address) as process:
        return process.communicate(timeout=PATIENCE)[0]


class Site(ThreadingHTTPServer):
    """Another site on this machine, whose page attacks ``endpoint``; ``outcomes`` is what the page could tell of it."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.outcomes: dict[str, object] = {}
        self.told = threading.Event()
        super().__init__(("127.0.0.1", 0), SitePage)
        self.origin = f"http://127.0.0.1:{self.server_port}"


class SitePage(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        page = PAGE.replace("ENDPOINT", self.server.endpoint).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def do_POST(self) -> None:
        self.server.outcomes = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.told.set()

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as site:
        yield site


def inserted(endpoint: str) -> list[str]:
    answer = httpx.get(f"{endpoint}/sparql", params={"query": INSERTED}, headers={"Accept": "text/csv"})
    return [line.removeprefix("urn:") for line in answer.text.split()[1:]]


@pytest.mark.parametrize("named", [False, True])
def test_a_page_of_another_site_reads_and_changes_nothing_unless_its_origin_is_named(
    site: Site, named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if named:
        monkeypatch.setenv("SPARQL_STREAMS_CORS_ORIGINS", site.origin)
    with one_shot_server("asgi") as endpoint:
        site.endpoint = endpoint
        with chromium(tmp_path, "--remote-debugging-port=0", site.origin):
            assert site.told.wait(PATIENCE), "the page did not come to its end"
            # The page is not told when its forms and its beacon have arrived.
            counted = f'refused_total{{reason="foreign_page"}} {1 if named else 8}.0'
            ServerProcess.wait(lambda: counted in httpx.get(f"{endpoint}/metrics").text, PATIENCE)
            ServerProcess.wait(lambda: not named or len(inserted(endpoint)) == 5, PATIENCE)
        written = {"simple": 204, "preflighted": 204, "put": 201} if named else dict.fromkeys(WRITES, 403)
        assert site.outcomes == {"blind": 0, "read": 200, **written}
        # What shows that the page would do harm: a page in a sandbox has no origin that could be named.
        assert inserted(endpoint) == (["beacon", "blind", "preflighted", "simple", "urlencoded"] if named else [])
        assert counted in httpx.get(f"{endpoint}/metrics").text


def test_a_name_that_is_pointed_at_this_machine_shows_nothing_of_the_endpoint(tmp_path: Path) -> None:
    with one_shot_server("asgi") as endpoint:
        port = endpoint.rpartition(":")[2]
        rebound = shown(tmp_path, f"http://rebound.example:{port}/health")
        assert "Not a name of this endpoint" in rebound
        assert '"ready"' not in rebound
