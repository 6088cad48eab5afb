from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, g, request
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client

from endpoint.flask import SparqlStreams
from protocol.errors import StorageFull
from tests.endpoint.fake_backend import FakeBackend

INSERT = {"update": "INSERT DATA { <http://ex/s> <http://ex/p> 'kept' }"}
ASK = {"query": "ASK { ?s ?p 'kept' }"}
PREFIX = "/sparql-streams"


@pytest.fixture
def app() -> Flask:
    return Flask(__name__)


@pytest.fixture
def mount(app: Flask) -> Iterator[Any]:
    """Makes extensions of the application, which are stopped at the end."""
    made: list[SparqlStreams] = []

    def extension(**options: Any) -> SparqlStreams:
        made.append(SparqlStreams(app, **{"backend": FakeBackend(), "threads": 2, "readers": 1, **options}))
        return made[-1]

    yield extension
    for one in made:
        one.stop()


def test_everything_is_served_below_the_prefix_and_nothing_else(app: Flask, mount: Any) -> None:
    app.add_url_rule("/", "home", lambda: "the application's own")
    mount()
    client = app.test_client()
    for path in ("/", "/page/main.js", "/sparql?query=ASK%20%7B%7D", "/graphs?default", "/streams", "/queries",
                 "/health", "/metrics"):  # fmt: skip
        assert client.get(PREFIX + path).status_code == 200, path
    assert client.get("/").text == "the application's own"
    assert client.get("/sparql").status_code == 404
    assert client.get(PREFIX).headers["Location"].endswith(f"{PREFIX}/")


def test_streams_and_queries_are_those_of_the_same_core(app: Flask, mount: Any) -> None:
    backend = FakeBackend()
    mount(backend=backend)
    client = app.test_client()
    created = client.put(f"{PREFIX}/streams/s", json={"time": "event"})
    assert created.status_code == 201
    assert created.get_json()["iri"] == f"http://127.0.0.1:5000{PREFIX}/streams/s"
    posted = client.post(f"{PREFIX}/streams/s?at=1000", data="<a> <b> <c> .", content_type="text/turtle")
    assert posted.get_json()["elements"] == 1
    assert backend.appended[0].body == b"<a> <b> <c> ."
    query = "SELECT * FROM NAMED WINDOW <w> ON <streams/s> [RANGE 1s] { WINDOW <w> { ?s ?p ?o } }"
    put = client.put(f"{PREFIX}/queries/q", data=query, content_type="application/sparql-query")
    assert put.status_code == 201, put.text


def test_the_application_starts_with_the_first_request_and_stops_once(app: Flask, mount: Any) -> None:
    backend = FakeBackend()
    endpoint = mount(backend=backend)
    assert backend.calls == []
    assert app.test_client().get(f"{PREFIX}/health").status_code == 200
    endpoint.start()
    assert backend.calls.count("start") == 1
    endpoint.stop()
    endpoint.stop()
    assert backend.calls.count("stop") == 1
    assert app.test_client().get(f"{PREFIX}/health").status_code == 503


def test_an_application_may_be_given_later_and_there_may_be_several() -> None:
    endpoint = SparqlStreams(url_prefix="/rdf", threads=2)
    apps = [Flask("a", root_path="/"), Flask("b", root_path="/")]
    for app, data in zip(apps, ("kept", "other"), strict=True):
        endpoint.init_app(app, backend=FakeBackend())
        update = {"update": f"INSERT DATA {{ <http://ex/s> <http://ex/p> '{data}' }}"}
        assert app.test_client().post("/rdf/sparql", data=update).status_code == 204
    for app, kept in zip(apps, (True, False), strict=True):
        assert app.test_client().get("/rdf/sparql", query_string=ASK).get_json()["boolean"] is kept
        with app.app_context():
            assert endpoint.mounted is app.extensions["sparql_streams"]
            endpoint.stop()
    with pytest.raises(RuntimeError, match="context"):
        _ = endpoint.mounted


def test_one_application_has_one_endpoint(app: Flask, mount: Any) -> None:
    mount()
    with pytest.raises(RuntimeError, match="already"):
        SparqlStreams(app, url_prefix="/other")


@pytest.mark.parametrize("prefix", ["rdf", "/a//b", "/a?b", "/<x>", "/a%20b"])
def test_a_prefix_that_is_no_path_is_named(app: Flask, prefix: str) -> None:
    with pytest.raises(ValueError, match="url_prefix"):
        SparqlStreams(app, url_prefix=prefix)


@pytest.mark.parametrize("options", [{"threads": 0}, {"colour": "red"}, {"base_url": "here"}])
def test_a_wrong_option_is_named(app: Flask, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        SparqlStreams(app, **options)


def test_an_option_comes_from_the_call_or_the_configuration_or_the_environment(
    app: Flask, mount: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARQL_STREAMS_PORT", "1")
    monkeypatch.setenv("SPARQL_STREAMS_CORS_ORIGINS", "https://env.example")
    monkeypatch.setenv("SPARQL_STREAMS_SPARK_MASTER", "local[9]")
    app.config.update(SPARQL_STREAMS_PORT=2, SPARQL_STREAMS_CORS_ORIGINS="https://config.example")
    settings = mount(port=3).settings
    assert (settings.port, settings.cors_origins, settings.spark_master) == (
        3,
        ("https://config.example",),
        "local[9]",
    )


@pytest.mark.parametrize(
    ("config", "options", "base_url"),
    [
        ({}, {}, f"http://127.0.0.1:5000{PREFIX}"),
        ({"SERVER_NAME": "ex.org", "PREFERRED_URL_SCHEME": "https"}, {}, f"https://ex.org{PREFIX}"),
        ({"SERVER_NAME": "ex.org", "APPLICATION_ROOT": "/app"}, {"url_prefix": ""}, "http://ex.org/app"),
        ({"SERVER_NAME": "ex.org"}, {"base_url": "http://given/x"}, "http://given/x"),
        ({"SPARQL_STREAMS_BASE_URL": "http://configured/"}, {}, "http://configured"),
    ],
)
def test_the_base_url_is_where_flask_serves_the_prefix(
    app: Flask, mount: Any, config: dict[str, Any], options: dict[str, Any], base_url: str
) -> None:
    app.config.update(config)
    assert mount(**options).settings.base_url == base_url


@pytest.mark.parametrize("name", ["a%2Fb", "a/b", "a//b", "a%252Fb", "%C3%A9", "a%20b", "a/"])
def test_direct_graph_names_are_decoded_not_once_too_often(app: Flask, mount: Any, name: str) -> None:
    mount()
    client = app.test_client()
    path = f"{PREFIX}/graphs/{name}"
    put = client.put(path, data="<> <http://ex/p> 1 .", content_type="text/turtle")
    assert (put.status_code, put.headers["Location"]) == (201, f"http://127.0.0.1:5000{path}")
    got = client.get(path, headers={"Accept": "application/n-triples"})
    assert got.text.startswith(f"<http://127.0.0.1:5000{path}> ")
    for other in ("a%2Fb", "a/b", "a//b", "a%252Fb"):
        if other != name:
            assert client.get(f"{PREFIX}/graphs/{other}").status_code == 404


@pytest.mark.parametrize("method", ["PATCH", "TRACE", "PUT"])
def test_a_method_that_is_not_for_the_resource_is_refused_by_the_endpoint(app: Flask, mount: Any, method: str) -> None:
    mount()
    refused = app.test_client().open(f"{PREFIX}/queries", method=method)
    assert (refused.status_code, refused.content_type) == (405, "application/problem+json")
    assert "GET" in refused.headers["Allow"]


@pytest.mark.parametrize("path", ["//x", "/nothing/there", "/x%0Ay", "/%FF"])
def test_what_is_not_there_is_told_by_the_endpoint(app: Flask, mount: Any, path: str) -> None:
    mount()
    missing = app.test_client().get(PREFIX + path)
    assert (missing.status_code, missing.content_type) == (404, "application/problem+json")


def test_an_answer_without_a_body_has_no_content_type(app: Flask, mount: Any) -> None:
    mount()
    done = app.test_client().post(f"{PREFIX}/sparql", data=INSERT)
    assert (done.status_code, done.data, "Content-Type" in done.headers) == (204, b"", False)


def test_the_application_may_stand_below_a_prefix_itself(app: Flask, mount: Any) -> None:
    mount()
    client = Client(DispatcherMiddleware(Flask("outer", root_path="/"), {"/app": app}))
    page = client.get(f"/app{PREFIX}/sparql", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["Location"]) == (303, f"/app{PREFIX}/")
    body = {"data": "<> <http://ex/p> 1 .", "content_type": "text/turtle"}
    assert client.put(f"/app{PREFIX}/graphs/a%2Fb", **body).status_code == 201
    assert client.get(f"/app{PREFIX}/graphs/a%2Fb").status_code == 200
    assert client.get(f"/app{PREFIX}/graphs/a/b").status_code == 404


def test_functions_of_the_application_see_every_request(app: Flask, mount: Any) -> None:
    endpoint = mount()

    @app.before_request
    def only_friends() -> Any:
        g.seen = request.blueprint == endpoint.blueprint.name
        return None if app.config.get("OPEN") else ("no", 401)

    @app.after_request
    def mark(response: Any) -> Any:
        response.headers["X-Seen"] = str(g.get("seen"))
        return response

    refused = app.test_client().get(f"{PREFIX}/sparql", query_string=ASK)
    app.config["OPEN"] = True
    answered = app.test_client().get(f"{PREFIX}/sparql", query_string=ASK)
    assert [(one.status_code, one.headers["X-Seen"]) for one in (refused, answered)] == [(401, "True"), (200, "True")]


def test_the_graphs_can_be_read_in_the_process(app: Flask, mount: Any) -> None:
    endpoint = mount()
    assert app.test_client().post(f"{PREFIX}/sparql", data=INSERT).status_code == 204
    assert [str(row.o) for row in endpoint.dataset.query("SELECT ?o { ?s ?p ?o }")] == ["kept"]
    assert endpoint.store.dataset is endpoint.dataset


def test_a_data_directory_of_another_process_is_an_error_that_says_so(
    app: Flask, mount: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held = (
        "import sys, pathlib, endpoint.graphs.store as graphs; store = graphs.GraphStore(pathlib.Path(sys.argv[1]));"
        "print('held', flush=True); sys.stdin.read()"
    )
    data = tmp_path / "data"
    data.mkdir()
    owner = subprocess.Popen(
        [sys.executable, "-c", held, str(data / "store")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"held\n"
        endpoint = mount(data=data)
        refused = app.test_client().get(f"{PREFIX}/health")
        assert refused.status_code == 503
        assert "only one can own the data directory" in refused.get_json()["detail"]
        assert str(data) not in refused.text
        assert "is using this data directory" in caplog.text
        # One line, though every request is refused so: a traceback for each would fill the log of that process.
        assert [bool(record.exc_info) for record in caplog.records] == [False]
        with pytest.raises(OSError, match="another server"):
            endpoint.start()
    finally:
        owner.communicate()
    assert app.test_client().get(f"{PREFIX}/health").status_code == 200


def test_where_there_is_no_room_to_start_nobody_is_told_where_the_data_is(
    app: Flask, mount: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(directory: Path) -> None:
        raise StorageFull(f"the disk of {directory} has nothing left")

    monkeypatch.setattr("endpoint.graphs.store.require_space", full)
    mount()
    refused = app.test_client().get(f"{PREFIX}/health")
    assert (refused.status_code, "nothing left" in refused.text) == (503, False)
    assert "cannot be started" in refused.get_json()["detail"]


def test_several_worker_processes_need_a_data_directory(app: Flask, mount: Any, tmp_path: Path) -> None:
    several = {"wsgi.multiprocess": True}
    mount()
    refused = app.test_client().get(f"{PREFIX}/health", environ_overrides=several)
    assert (refused.status_code, "several worker processes" in refused.get_json()["detail"]) == (503, True)
    other = Flask("other", root_path="/")
    owner = SparqlStreams(other, backend=FakeBackend(), data=tmp_path / "data", threads=2)
    assert other.test_client().get(f"{PREFIX}/health", environ_overrides=several).status_code == 200
    owner.stop()


FORKED = """
import os
from flask import Flask
from endpoint.flask import SparqlStreams
from tests.endpoint.fake_backend import FakeBackend

app = Flask("preloaded", root_path="/")
backend = FakeBackend()
endpoint = SparqlStreams(app, backend=backend, threads=2)

def answer():
    return app.test_client().get("/sparql-streams/sparql?query=ASK%20%7B%7D").status_code

worker = os.fork()
if worker == 0:
    print("worker", answer(), flush=True)
    endpoint.stop()
else:
    os.waitpid(worker, 0)
    print("parent", backend.calls, flush=True)
    endpoint.start()
    late = os.fork()
    if late == 0:
        print("late", answer(), flush=True)
    else:
        # Whatever it takes down of its own at its end.
        os.waitpid(late, 0)
        print("owner", answer(), flush=True)
"""


def test_an_application_loaded_before_the_workers_are_forked_starts_in_the_worker() -> None:
    root = Path(__file__).resolve().parents[3]
    forked = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, cwd=root)
    answers = ["worker 200", "parent []", "late 503", "owner 200"]
    assert (forked.stdout.splitlines(), forked.returncode) == (answers, 0), forked.stderr
