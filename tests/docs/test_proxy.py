"""nginx, set up as the page says, gives its clients what the endpoint gives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.docs.pages import DOCS, page
from tests.free_port import free_port
from tests.server.server_process import ServerProcess
from tests.started import Broker

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

pytestmark = [
    pytest.mark.server,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(
        NGINX is None, reason="nginx is not installed: this machine's, not a fault (apt install nginx-light)"
    ),
]

_SETTINGS = """\
daemon off;
master_process off;
pid {directory}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {directory}/bodies;
    proxy_temp_path {directory}/answers;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    gzip on;
    gzip_types *;
    gzip_proxied any;
    server {{
        listen 127.0.0.1:{port};
        {locations}
    }}
}}
"""

_VERSION = "    proxy_http_version 1.1;\n"
_LONG = "SELECT * { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h }"


class Nginx(Broker):
    """``with`` it: what the page says, and at ``/old/`` the same in HTTP/1.0, before the endpoint at ``behind``."""

    def __init__(self, directory: Path, port: int, behind: int) -> None:
        super().__init__(directory, port)
        (block,) = page(DOCS / "operations.md").blocks_of("nginx")
        new = block.text.replace(":8000/", f":{behind}/")
        old = new.replace("/rdf/", "/old/").replace(_VERSION, "")
        assert len(new) - len(old) == len(_VERSION)
        settings = _SETTINGS.format(directory=directory, port=port, locations=new + old)
        (directory / "nginx.conf").write_text(settings)

    def start(self) -> None:
        assert NGINX is not None
        command = [NGINX, "-e", "stderr", "-p", str(self._directory), "-c", str(self._directory / "nginx.conf")]
        self._run(command, 30)

    def stop(self) -> None:
        self.kill()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of nginx's, who knows it by the endpoint's public name."""
    directory, port = tmp_path_factory.mktemp("proxy"), free_port()
    name = f"rdf.example.org:{port}"
    with (
        ServerProcess(directory / "data", options=["--base-url", f"http://{name}/rdf"]) as server,
        Nginx(directory / "nginx", port, server.port),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Host": name}, timeout=60) as made,
    ):
        yield made


def test_what_the_endpoint_says_of_itself_is_behind_the_prefix(client: httpx.Client) -> None:
    public = f"http://{client.headers['Host']}/rdf"
    made = client.put("/rdf/streams/s")
    assert (made.status_code, made.headers["Location"]) == (201, "/rdf/streams/s")
    assert made.json()["iri"] == f"{public}/streams/s"
    assert f"<{public}/sparql>" in client.get("/rdf/sparql", headers={"Accept": "text/turtle"}).text
    assert "page/main.js" in client.get("/rdf/", headers={"Accept": "text/html"}).text
    assert client.get("/rdf/page/main.js").status_code == 200


def test_only_known_names_are_answered(client: httpx.Client) -> None:
    assert client.get("/rdf/sparql", headers={"Host": "elsewhere.example"}).status_code == 421


def test_bodies_may_be_long(client: httpx.Client) -> None:
    body = b"#" * 2_000_000 + b"\n<http://ex/a> <http://ex/b> 1 ."
    headers = {"Content-Type": "text/turtle"}
    assert client.put("/rdf/graphs?graph=http://ex/long", content=body, headers=headers).status_code == 201


def test_events_come_when_they_are_there(client: httpx.Client) -> None:
    asked = {"query": "SELECT ?n { GRAPH <http://ex/g> { ?s ?p ?n } }"}
    with client.stream("GET", "/rdf/sparql", params=asked, headers={"Accept": "text/event-stream"}) as answer:
        data = (line for line in answer.iter_lines() if line.startswith("data:"))
        assert '"bindings":[]' in next(data)
        update = {"update": "INSERT DATA { GRAPH <http://ex/g> { <http://ex/s> <http://ex/p> 17 } }"}
        assert client.post("/rdf/sparql", data=update).status_code == 204
        assert '"value":"17"' in next(data)


@pytest.mark.parametrize("prefix", ["rdf", "old"])
def test_an_answer_that_breaks_off_is_no_whole_one(client: httpx.Client, prefix: str) -> None:
    graph = "".join(f"<http://ex/s{number}> <http://ex/p> {number} .\n" for number in range(300))
    headers = {"Content-Type": "text/turtle"}
    assert client.put("/rdf/graphs?default", content=graph, headers=headers).is_success
    asked = {"query": _LONG, "timeout": "2"}
    with client.stream("GET", f"/{prefix}/sparql", params=asked, headers={"Accept": "text/csv"}) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            for _ in answer.iter_raw():
                pass
