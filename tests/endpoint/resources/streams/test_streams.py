from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import pytest

from endpoint import create_app
from endpoint.settings import Settings
from protocol.errors import Conflict
from protocol.streams import StreamDescription, StreamSettings, TimeKind
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import continuous

TURTLE = {"Content-Type": "text/turtle"}


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


def test_a_stream_is_created_once_and_found_again(client: TestClient) -> None:
    created = client.put("/streams/s")
    assert created.status_code == 201
    assert created.headers["location"] == "/streams/s"
    assert created.json()["iri"] == "http://127.0.0.1:8000/streams/s"
    assert created.json()["time"] == "arrival"
    assert created.json()["watermark"] is None
    assert client.put("/streams/s", json={}).status_code == 200
    assert client.get("/streams/s").json() == created.json()


def test_a_stream_that_was_to_be_there_or_not_is_left_alone_where_that_is_not_so(client: TestClient) -> None:
    there, absent = {"If-Match": "*"}, {"If-None-Match": "*"}
    assert client.put("/streams/s", headers=there).status_code == 412
    assert client.get("/streams/s").status_code == 404
    assert client.delete("/streams/s", headers=there).status_code == 412
    assert client.put("/streams/s", headers=absent).status_code == 201
    assert client.put("/streams/s", headers=absent).status_code == 412
    assert client.delete("/streams/s", headers={"If-Match": '"tag"'}).status_code == 412
    assert client.put("/streams/s", headers=there).status_code == 200
    assert client.delete("/streams/s", headers=there).status_code == 204


def test_of_two_that_make_a_stream_at_once_one_finds_it_there(
    client: TestClient, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, stream = threading.Barrier(2), backend.stream

    def looked_up(name: str) -> StreamDescription:
        # Whoever looks while another does: nobody, where looking and making are one.
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)
        return stream(name)

    monkeypatch.setattr(backend, "stream", looked_up)
    with ThreadPoolExecutor(2) as clients:
        made = [clients.submit(client.put, "/streams/s", headers={"If-None-Match": "*"}) for _ in range(2)]
    assert sorted(one.result().status_code for one in made) == [201, 412]


def test_who_makes_a_stream_is_told_of_it_however_soon_another_deletes_it(
    client: TestClient, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, deletions = backend.stream, list[Future[Any]]()

    with ThreadPoolExecutor(1) as another:

        def looked_up(name: str) -> StreamDescription:
            stream(name)
            # It is deleted before it is described, where making and describing are not one.
            if not deletions:
                deletions.append(another.submit(client.delete, "/streams/s"))
                wait(deletions, 0.2)
            return stream(name)

        monkeypatch.setattr(backend, "stream", looked_up)
        assert client.put("/streams/s").status_code == 201
    assert [one.result().status_code for one in deletions] == [204]


def test_other_settings_for_an_existing_stream_are_a_conflict_that_changes_nothing(client: TestClient) -> None:
    client.put("/streams/s", json={"time": "event", "allowedLateness": "PT5S"})
    before = client.get("/streams/s").json()
    refused = client.put("/streams/s", json={"time": "event"})
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert client.get("/streams/s").json() == before


def test_an_existing_stream_need_not_be_told_its_iri_again(client: TestClient) -> None:
    assert client.put("/streams/s", json={"iri": "http://e/s"}).status_code == 201
    assert client.put("/streams/s").status_code == 200
    assert client.put("/streams/s", json={"iri": "http://e/other"}).status_code == 409


def test_settings_are_taken_and_shown(client: TestClient, backend: FakeBackend) -> None:
    asked = {
        "iri": "http://e/s", "time": "event", "timestampPath": ["http://e/at"],
        "allowedLateness": "PT5S", "retention": "PT1H",
    }  # fmt: skip
    assert client.put("/streams/s", json=asked).status_code == 201
    assert backend.stream("s").settings == StreamSettings(
        "http://e/s", TimeKind.EVENT, ("http://e/at",), 5000, 3_600_000
    )
    shown = client.get("/streams/s").json()
    assert {name: shown[name] for name in asked} == asked


@pytest.mark.parametrize(
    ("body", "status"), [('{"time": "now"}', 400), ("{", 400), ('{"idleTimeout": "PT0S"}', 400), ("[]", 400)]
)
def test_wrong_settings_create_nothing(client: TestClient, body: str, status: int) -> None:
    assert client.put("/streams/s", content=body).status_code == status
    assert client.get("/streams/s").status_code == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
def test_what_is_not_a_name_is_told_so(client: TestClient, method: str) -> None:
    for name in (".hidden", "~x", "a b", "é", "a%00b", "a?".replace("?", "%3F"), "x" * 201, "a:b"):
        response = client.request(method, f"/streams/{name}", headers=TURTLE)
        assert response.status_code == 400, name
        assert "not a name" in response.json()["detail"], name


@pytest.mark.parametrize("name", ["a", "-", "_", "A-1._~", "0", "x" * 200])
def test_names_may_be_anything_a_url_segment_shows_plainly(client: TestClient, name: str) -> None:
    assert client.put(f"/streams/{name}").status_code == 201
    assert client.get(f"/streams/{name}").json()["name"] == name


def test_streams_are_listed_by_name(client: TestClient) -> None:
    assert client.get("/streams").json() == {"streams": []}
    for name in ("b", "a"):
        client.put(f"/streams/{name}")
    assert [stream["name"] for stream in client.get("/streams").json()["streams"]] == ["a", "b"]


def test_an_append_hands_over_the_very_body(client: TestClient, backend: FakeBackend) -> None:
    client.put("/streams/s")
    body = '<http://e/a> <http://e/p> "é" .\n'.encode()
    answer = client.post("/streams/s?at=1970-01-01T00:00:08Z", content=body, headers=TURTLE)
    assert answer.status_code == 200
    assert answer.json() == {"elements": 1, "triples": 1, "watermark": "1970-01-01T00:00:07.999Z"}
    [appended] = backend.appended
    assert (appended.body, appended.content_type, appended.at) == (body, "text/turtle", 8000)


@pytest.mark.parametrize(
    ("at", "instant"),
    [
        ("8000", 8000),
        ("-1", -1),
        ("1970-01-01T01:00:08+01:00", 8000),
        ("1970-01-01T01:00:08%2B01:00", 8000),
        ("", None),
    ],
)
def test_a_time_may_be_written_in_several_ways(
    client: TestClient, backend: FakeBackend, at: str, instant: int | None
) -> None:
    client.put("/streams/s")
    assert client.post(f"/streams/s?at={at}", content=b"x", headers=TURTLE).status_code == 200
    assert backend.appended[0].at == instant


@pytest.mark.parametrize("at", ["yesterday", "8.5", "1970-01-01", "9" * 30, "9" * 5000])
def test_what_is_no_time_appends_nothing(client: TestClient, backend: FakeBackend, at: str) -> None:
    client.put("/streams/s")
    refused = client.post(f"/streams/s?at={at}", content=b"x", headers=TURTLE)
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith("at: ")
    assert backend.appended == []


def test_two_times_append_nothing(client: TestClient, backend: FakeBackend) -> None:
    client.put("/streams/s")
    refused = client.post("/streams/s?at=1&at=2", content=b"x", headers=TURTLE)
    assert refused.status_code == 400
    assert refused.json()["detail"] == "at is given 2 times: give one"
    assert backend.appended == []


def test_appending_to_what_is_not_there_is_not_found(client: TestClient) -> None:
    assert client.post("/streams/s", content=b"x", headers=TURTLE).status_code == 404


def test_a_body_that_is_not_rdf_is_refused_with_its_place(client: TestClient) -> None:
    client.put("/streams/s")
    refused = client.post("/streams/s", content=b"not RDF", headers=TURTLE)
    assert refused.status_code == 400
    assert (refused.json()["line"], refused.json()["column"]) == (1, 1)


def test_a_body_of_no_declared_type_is_refused(client: TestClient, backend: FakeBackend) -> None:
    client.put("/streams/s")
    assert client.post("/streams/s", content=b"x").status_code == 415
    assert backend.appended == []


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_beyond_the_limit_is_refused(backend: FakeBackend, announced: bool) -> None:
    def parts() -> Iterator[bytes]:
        yield b"a" * 600
        yield b"b" * 600

    content = b"a" * 1025 if announced else parts()
    with TestClient(create_app(Settings(threads=2, max_request_bytes=1024), backend=backend)) as client:
        client.put("/streams/s")
        assert client.post("/streams/s", content=content, headers=TURTLE).status_code == 413
    assert backend.appended == []
    assert client.post("/streams/s", content=b"1234567890", headers=TURTLE).status_code == 200


def test_an_ended_stream_takes_no_more(client: TestClient) -> None:
    client.put("/streams/s")
    assert client.put("/streams/s/watermark", content="end\n").json()["ended"] is True
    assert client.post("/streams/s", content=b"x", headers=TURTLE).status_code == 409


@pytest.mark.parametrize("body", ["1970-01-01T00:00:08Z", " 8000\n", '"1970-01-01T00:00:08"', "\ufeff8000"])
def test_the_watermark_is_advanced(client: TestClient, body: str) -> None:
    client.put("/streams/s")
    answer = client.put("/streams/s/watermark", content=body.encode())
    assert answer.status_code == 200
    assert answer.json()["watermark"] == "1970-01-01T00:00:08Z"
    assert client.put("/streams/s/watermark", content="1000").json()["watermark"] == "1970-01-01T00:00:08Z"


@pytest.mark.parametrize("body", [b"", b"soon", b"\xff", b'""', b'"'])
def test_what_is_neither_a_time_nor_the_end_changes_nothing(client: TestClient, body: bytes) -> None:
    client.put("/streams/s")
    refused = client.put("/streams/s/watermark", content=body)
    assert refused.status_code == 400
    assert "end" in refused.json()["detail"]
    assert client.get("/streams/s").json()["watermark"] is None


def test_the_watermark_of_nothing_is_not_found(client: TestClient) -> None:
    assert client.put("/streams/s/watermark", content="end").status_code == 404
    assert client.get("/streams/s/watermark").status_code == 405


def test_a_stream_is_deleted_unless_a_query_reads_it(client: TestClient, backend: FakeBackend) -> None:
    client.put("/streams/s")
    backend.register("q", continuous(), standing=True)
    assert client.delete("/streams/s").status_code == 409
    backend.remove("q")
    assert client.delete("/streams/s").status_code == 204
    assert client.delete("/streams/s").status_code == 404


def test_a_method_that_is_not_there_is_told_which_are(client: TestClient) -> None:
    refused = client.patch("/streams/s")
    assert refused.status_code == 405
    assert {"GET", "PUT", "POST", "DELETE"} <= set(refused.headers["allow"].split(", "))


def test_what_the_backend_refuses_is_passed_on(client: TestClient, backend: FakeBackend) -> None:
    backend.failures["append"] = Conflict("the stream is read only")
    client.put("/streams/s")
    refused = client.post("/streams/s", content=b"x", headers=TURTLE)
    assert (refused.status_code, refused.json()["detail"]) == (409, "the stream is read only")


def test_an_idempotency_key_goes_to_the_backend_without_its_quotes(client: TestClient, backend: FakeBackend) -> None:
    client.put("/streams/s")
    for given in ("8e03978e-40d5-43dd", '"8e03978e-40d5-43dd"', "!#/+~"):
        told = client.post("/streams/s", content=b"<a:a> <a:b> 1 .", headers={**TURTLE, "Idempotency-Key": given})
        assert told.status_code == 200
    assert [one.key for one in backend.appended] == ["8e03978e-40d5-43dd", "8e03978e-40d5-43dd", "!#/+~"]


def test_a_malformed_idempotency_key_is_refused(client: TestClient, backend: FakeBackend) -> None:
    client.put("/streams/s")
    for given in ("", '"', '""', '"a', "a b", "a\tb", "ä", "a" * 256, 'a"b"', "\\"):
        refused = client.post(
            "/streams/s", content=b"<a:a> <a:b> 1 .", headers={**TURTLE, "Idempotency-Key": given.encode("latin-1")}
        )  # fmt: skip
        assert refused.status_code == 400, given
        assert "Idempotency-Key" in refused.json()["detail"], given
        assert not backend.appended, given


def test_two_idempotency_keys_are_one_too_many(client: TestClient, backend: FakeBackend) -> None:
    client.put("/streams/s")
    headers = [("Content-Type", "text/turtle"), ("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
    assert client.post("/streams/s", content=b"<a:a> <a:b> 1 .", headers=headers).status_code == 400
    assert not backend.appended


@pytest.mark.parametrize("side", ["rejected", "late"])
def test_what_is_beside_a_stream_is_read_and_not_written(client: TestClient, side: str) -> None:
    url = f"/streams/s/{side}"
    assert client.get(url).status_code == client.put(url).status_code == 404
    links = client.put("/streams/s").json()["links"]
    assert links[side] == url
    assert client.get(url).json()["name"] == f"s/{side}"
    assert client.get(url).json()["links"] == {"self": url}
    for method in ("PUT", "POST", "DELETE"):
        assert client.request(method, url, content="<urn:s> <urn:p> 1 .", headers=TURTLE).status_code == 409
    assert client.put(f"{url}/watermark", content="end").status_code == 404
    assert client.get("/streams/s/watermark").status_code == 405
    assert [one["name"] for one in client.get("/streams").json()["streams"]] == ["s"]


def test_a_request_and_a_watermark_are_of_the_partition_that_they_name(
    client: TestClient, backend: FakeBackend
) -> None:
    client.put("/streams/s", json={"time": "event", "partitions": 4})
    for parameter in ("", "&partition=3"):
        client.post(f"/streams/s?at=8{parameter}", content="<a:a> <a:b> <a:c> .", headers=TURTLE)
    assert [one.partition for one in backend.appended] == [None, 3]
    assert client.put("/streams/s/watermark?partition=2", content="9").status_code == 200
    assert client.put("/streams/s/watermark", content="10").status_code == 200
    assert backend.advanced == [("s", 9, 2), ("s", 10, None)]


def test_what_is_no_number_of_a_partition_is_refused(client: TestClient) -> None:
    client.put("/streams/s", json={"time": "event", "partitions": 4})
    for partition in ("", "-1", "x", "1.5", "٣", "1&partition=1", "9999999999"):
        appended = client.post(f"/streams/s?partition={partition}", content="", headers=TURTLE)
        moved = client.put(f"/streams/s/watermark?partition={partition}", content="9")
        for refused in (appended, moved):
            assert refused.status_code == 400, partition
            assert "the number of one of the stream's partitions" in refused.json()["detail"], partition


@pytest.mark.parametrize(
    "settings",
    [
        r'{"context": {"@vocab": "http://ex/\ud800"}}',
        r'{"context": {"\ud800": "http://ex/"}}',
        r'{"context": "http://ex/\ud800"}',
        r'{"source": {"type": "mqtt", "url": "mqtt://localhost", "topics": ["\udfff"]}}',
        r'{"source": {"type": "mqtt", "url": "mqtt://localhost", "topics": ["a"], "user": "\ud800"}}',
        r'{"\ud800": 1, "\ud800": 2}',
    ],
)
def test_half_of_a_character_is_no_setting(client: TestClient, settings: str) -> None:
    refused = client.put("/streams/s", content=settings.encode(), headers={"Content-Type": "application/json"})
    assert refused.status_code == 400, refused.text
    assert r"\ud" in refused.json()["detail"]
    assert client.get("/streams").json()["streams"] == []


def test_a_stream_ends_as_a_whole(client: TestClient) -> None:
    client.put("/streams/s", json={"time": "event", "partitions": 4})
    refused = client.put("/streams/s/watermark?partition=1", content="end")
    assert (refused.status_code, "as a whole" in refused.json()["detail"]) == (400, True)
    assert client.get("/streams/s").json()["ended"] is False


def test_a_description_tells_the_watermarks_of_partitions_and_which_have_had_nothing(
    client: TestClient, backend: FakeBackend
) -> None:
    client.put("/streams/s", json={"time": "event", "partitions": 2})
    stream = backend.stream("s")
    assert not {"partitionWatermarks", "waitingFor"} & client.get("/streams/s").json().keys()
    backend._streams["s"] = replace(stream, partitions={"0": 1000, "1": None}, waiting_for=("1",))
    document = client.get("/streams/s").json()
    assert document["partitions"] == 2
    assert document["partitionWatermarks"] == {"0": "1970-01-01T00:00:01Z", "1": None}
    assert document["waitingFor"] == ["1"]


def test_a_panic_is_told_as_every_other_error_is(backend: FakeBackend) -> None:
    class Panicking(BaseException):
        """As pyoxigraph's is."""

    backend.create_stream("s", StreamSettings("http://ex/s"))
    backend.failures["append"] = Panicking("out of bounds")
    with TestClient(create_app(Settings(), backend=backend), raise_server_exceptions=False) as client:
        told = client.post("/streams/s", content="<a> <b> <c> .", headers=TURTLE)
    assert (told.status_code, told.headers["content-type"]) == (500, "application/problem+json")
    assert "out of bounds" not in told.text
