from __future__ import annotations

import errno
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from endpoint import create_app
from endpoint.backend import QueryDescription
from endpoint.settings import Settings
from endpoint.sinks.sink_files import KeptSink, SinkFiles
from protocol.errors import Unavailable
from protocol.formats.allow_list import AllowList
from protocol.formats.sse import resume_token
from protocol.sinks.settings import SinkSettings, SinkType
from protocol.streams import StreamSettings
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, answer
from tests.endpoint.sinks.receivers import HttpReceiver, http_receiver

QUERY = """PREFIX : <http://e/>
SELECT ?n
FROM NAMED WINDOW :w ON <streams/s> [RANGE PT1S]
WHERE { WINDOW :w { ?s ?p ?n } }"""
SPARQL = {"Content-Type": "application/sparql-query"}
SINK = "/queries/q/sinks/a"


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    with http_receiver() as receiver:
        yield receiver


@pytest.fixture
def backend() -> FakeBackend:
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings(STREAM))
    return backend


@pytest.fixture
def client(backend: FakeBackend, receiver: HttpReceiver, tmp_path: Path) -> Iterator[TestClient]:
    allowed = AllowList.of([receiver.url, "mqtt://localhost/", f"file://{tmp_path}"])
    settings = Settings(threads=2, data=tmp_path, allow_fetch=allowed)
    with TestClient(create_app(settings, backend=backend)) as client:
        assert client.put("/queries/q", content=QUERY, headers=SPARQL).status_code == 201
        yield client


def came(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.01)


def webhook(receiver: HttpReceiver, **members: Any) -> dict[str, Any]:
    return {"type": "webhook", "url": receiver.url + "/in", **members}


def test_a_sink_is_made_described_listed_and_removed(client: TestClient, receiver: HttpReceiver) -> None:
    made = client.put(SINK, json=webhook(receiver, format="rows", headers={"Authorization": "secret"}))
    assert made.status_code == 201
    assert made.headers["location"] == SINK
    assert "secret" not in made.text
    description = client.get(SINK).json()
    assert description == {
        "name": "a", "query": "q", "type": "webhook", "url": receiver.url + "/in", "format": "rows",
        "headers": ["Authorization"], "state": "running", "failingSince": None, "lastError": None, "lastErrorAt": None,
        "position": None, "behind": "PT0S", "delivered": 0, "failures": 0, "resets": 0, "lastReset": None,
        "links": {"self": SINK},
    }  # fmt: skip
    assert client.get("/queries/q/sinks").json() == {"sinks": [description]}
    assert client.get("/queries/q").json()["sinks"] == [description]
    assert client.get("/queries").json()["queries"][0]["sinks"] == [description]
    assert client.delete(SINK).status_code == 204
    assert client.get(SINK).status_code == client.delete(SINK).status_code == 404
    assert client.get("/queries/q/sinks").json() == {"sinks": []}


def test_each_evaluation_is_posted_with_its_id(
    client: TestClient, receiver: HttpReceiver, backend: FakeBackend
) -> None:
    client.put(SINK, json=webhook(receiver))
    backend.evaluate("q", 1000, answer(1))
    backend.evaluate("q", 2000, answer(2))
    came(lambda: len(receiver.posts) == 2)
    assert [post.body for post in receiver.posts] == [answer(1), answer(2)]
    assert [post.headers["idempotency-key"] for post in receiver.posts] == [resume_token(1000), resume_token(2000)]
    came(lambda: client.get(SINK).json()["delivered"] == 2)
    assert client.get(SINK).json()["position"] == "1970-01-01T00:00:02Z"


def test_a_failing_webhook_is_told_until_it_takes_again(
    client: TestClient, receiver: HttpReceiver, backend: FakeBackend
) -> None:
    receiver.status = 503
    client.put(SINK, json=webhook(receiver, format="text", template="{n} rooms"))
    backend.evaluate("q", 1000, answer(1))
    came(lambda: client.get(SINK).json()["state"] == "failing")
    failing = client.get(SINK).json()
    assert "answers with 503" in failing["lastError"]
    assert failing["failingSince"] <= failing["lastErrorAt"]
    assert (failing["position"], failing["behind"]) == (None, None)
    metrics = client.get("/metrics").text
    assert 'sparql_streams_sink_failing{query="q",sink="a"} 1.0' in metrics
    receiver.status = 200
    came(lambda: client.get(SINK).json()["state"] == "running")
    assert [post.body for post in receiver.posts] == [b"1 rooms\n"]
    assert 'sparql_streams_sink_delivered_total{query="q",sink="a"} 1.0' in client.get("/metrics").text


def test_the_past_is_posted_where_it_is_asked_for(
    client: TestClient, receiver: HttpReceiver, backend: FakeBackend
) -> None:
    for number in (1, 2, 3):
        backend.evaluate("q", number * 1000, answer(number))
    assert client.put(f"{SINK}?since=1", json=webhook(receiver)).status_code == 201
    came(lambda: [post.body for post in receiver.posts] == [answer(1), answer(2), answer(3)])
    assert client.put(f"{SINK}?since=1970-01-01T00:00:02Z", json=webhook(receiver)).status_code == 200
    came(lambda: [post.body for post in receiver.posts][3:] == [answer(3)])


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        (SINK, {"type": "webhook", "url": "http://elsewhere.example/"}, 403, "--allow-fetch"),
        (SINK, {"type": "webhook"}, 400, "url is missing"),
        (SINK, {"type": "kafka", "url": "kafka://e", "topic": "t"}, 403, "--allow-fetch"),
        ("/queries/q/sinks/.a", {}, 400, "name"),
        ("/queries/none/sinks/a", {}, 404, "no query"),
    ],
)
def test_what_is_not_right_is_refused(client: TestClient, path: str, body: object, status: int, said: str) -> None:
    refused = client.put(path, json=body)
    assert refused.status_code == status
    assert said in refused.json()["detail"]
    assert client.get("/queries/q/sinks").json() == {"sinks": []}


def test_conditions_are_kept(client: TestClient, receiver: HttpReceiver) -> None:
    assert client.put(SINK, json=webhook(receiver), headers={"If-Match": "*"}).status_code == 412
    assert client.put(SINK, json=webhook(receiver), headers={"If-None-Match": "*"}).status_code == 201
    assert client.put(SINK, json=webhook(receiver), headers={"If-None-Match": "*"}).status_code == 412
    assert client.delete("/queries/q/sinks/b", headers={"If-Match": "*"}).status_code == 412


def test_sinks_go_with_their_query_and_are_in_backups(client: TestClient, receiver: HttpReceiver) -> None:
    client.put(SINK, json=webhook(receiver))
    assert b"sinks/q/a.json" in client.get("/backup").content
    assert client.delete("/queries/q").status_code == 204
    assert client.get("/queries/q/sinks").status_code == 404
    assert client.put("/queries/q", content=QUERY, headers=SPARQL).json()["sinks"] == []


def test_a_sink_outlives_the_server(
    client: TestClient, receiver: HttpReceiver, backend: FakeBackend, tmp_path: Path
) -> None:
    client.put(SINK, json=webhook(receiver))
    backend.evaluate("q", 1000, answer(1))
    came(lambda: receiver.posts)
    client.__exit__(None, None, None)
    backend.evaluate("q", 2000, answer(2))
    allowed = AllowList.of([receiver.url, "mqtt://localhost/", f"file://{tmp_path}"])
    settings = Settings(threads=2, data=tmp_path, allow_fetch=allowed)
    with TestClient(create_app(settings, backend=backend)) as again:
        came(lambda: len(receiver.posts) == 2)
        assert json.loads(again.get(SINK).content)["state"] == "running"
    client.__enter__()


@pytest.mark.parametrize(
    ("settings", "other", "said"),
    [
        ({"format": "text", "template": "{n} rooms"}, QUERY.replace("?n", "?m"), 'no variable "n"'),
        ({"format": "rows"}, QUERY.replace("SELECT ?n", "CONSTRUCT { ?s ?p ?n }"), "choose one of"),
    ],
)
def test_a_sink_that_does_not_suit_its_new_query_says_so_and_sends_nothing(
    client: TestClient,
    receiver: HttpReceiver,
    backend: FakeBackend,
    settings: dict[str, Any],
    other: str,
    said: str,
) -> None:
    client.put(SINK, json=webhook(receiver, **settings))
    backend.evaluate("q", 1000, answer(1))
    came(lambda: len(receiver.posts) == 1)
    replaced = client.put("/queries/q", content=other, headers=SPARQL)
    assert replaced.status_code == 200
    (warning,) = replaced.json()["warnings"]
    assert "the sink a " in warning
    assert said in warning
    came(lambda: client.get(SINK).json()["state"] == "failing")
    backend.evaluate("q", 2000, answer(2))
    assert said in client.get(SINK).json()["lastError"]
    assert client.put("/queries/q", content=QUERY, headers=SPARQL).json()["warnings"] == []
    backend.evaluate("q", 3000, answer(3))
    came(lambda: len(receiver.posts) == 2)
    assert "3" in receiver.posts[1].body.decode()
    came(lambda: client.get(SINK).json()["state"] == "running")


def test_what_is_known_to_fail_is_a_warning(client: TestClient, tmp_path: Path) -> None:
    folder, password = tmp_path / "out", tmp_path / "password"
    file = {"type": "file", "url": f"file://{folder}/a.jsonl"}
    topic = {"type": "mqtt", "url": "mqtt://localhost/", "topic": "t", "user": "me", "passwordFile": str(password)}
    authority = {**topic, "user": None, "passwordFile": None, "tls": {"caFile": str(tmp_path / "ca.pem")}}
    a_folder = {"type": "file", "url": f"file://{tmp_path}"}
    too_long = {"type": "file", "url": f"file://{tmp_path}/{'x' * 300}"}
    for settings, named in (
        (file, folder), (topic, password), (authority, tmp_path / "ca.pem"), (a_folder, tmp_path), (too_long, tmp_path)
    ):  # fmt: skip
        made = client.put(SINK, json=settings)
        assert made.status_code in (200, 201)
        (warning,) = made.json()["warnings"]
        assert str(named) in warning
        assert "warnings" not in client.get(SINK).json()
    folder.mkdir()
    password.write_text("secret\n")
    for settings in (file, topic):
        assert "warnings" not in client.put(SINK, json=settings).json()


def test_that_nobody_may_look_into_a_folder_is_a_warning(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refused)
    made = client.put(SINK, json={"type": "file", "url": f"file://{tmp_path}/a.jsonl"})
    assert made.status_code == 201
    (warning,) = made.json()["warnings"]
    assert warning.startswith(f"{tmp_path}/a.jsonl cannot be looked at: Permission denied; ")


def test_who_makes_a_sink_is_told_of_it_whatever_becomes_of_its_query_afterwards(
    client: TestClient, backend: FakeBackend, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(settings: SinkSettings) -> list[str]:
        backend.remove("q")
        return []

    monkeypatch.setattr("endpoint.resources.queries.sinks.sink_warnings", meanwhile)
    made = client.put(SINK, json=webhook(receiver))
    assert (made.status_code, made.json()["name"]) == (201, "a")


@pytest.mark.parametrize("register", [False, True])
def test_a_new_query_has_no_sinks_that_a_crash_has_left_of_another_of_its_name(
    backend: FakeBackend, receiver: HttpReceiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, register: bool
) -> None:
    sink = KeptSink("q", "a", SinkSettings(SinkType.WEBHOOK, receiver.url, "json"), "…")
    SinkFiles(tmp_path).write(sink, 1000)

    def starting() -> list[QueryDescription]:
        looked.set()
        raise Unavailable("it is being started")

    looked = threading.Event()
    settings = Settings(threads=2, data=tmp_path, allow_fetch=AllowList.of([receiver.url]))
    # Sinks look for their queries again two seconds later.
    monkeypatch.setattr(backend, "queries", starting)
    with TestClient(create_app(settings, backend=backend)) as client:
        assert looked.wait(20)
        monkeypatch.undo()
        if register:
            made = client.post("/sparql", content=f"REGISTER QUERY q AS {QUERY}", headers=SPARQL)
        else:
            made = client.put("/queries/q", content=QUERY, headers=SPARQL)
        assert made.status_code == 201
        assert client.get("/queries/q/sinks").json() == {"sinks": []}
    assert (tmp_path / "sinks.unknown-1" / "q" / "a.json").exists()
