from __future__ import annotations

import csv
import io
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette

from endpoint import create_app
from endpoint.backend import Ended, Evaluation, Failed, Progress
from endpoint.live import channel
from endpoint.live.channel import encode
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.errors import UnsupportedFeature
from protocol.evaluation_limits import EvaluationLimits
from protocol.formats.sse import resume_token
from protocol.time import FIRST_INSTANT
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import Exchange, answer, run, served, until

QUERY = """PREFIX : <http://e/>
SELECT ?n
FROM NAMED WINDOW :w ON <streams/s> [RANGE PT1S]
WHERE { WINDOW :w { ?s ?p ?n } }"""
CONSTRUCT = QUERY.replace("SELECT ?n", "CONSTRUCT { ?s ?p ?n }")
SPARQL = {"Content-Type": "application/sparql-query"}
ASKED = f"/sparql?query={quote(QUERY)}"
EVENTS = "text/event-stream"


def live(backend: FakeBackend) -> list[str]:
    return [query.name for query in backend.queries() if not query.standing]


def test_many_listeners_of_one_text_share_one_query_and_get_the_same_events(
    backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[object] = []

    def encoding(notice: Evaluation | Progress | Failed, watermark: int) -> bytes:
        if isinstance(notice, Evaluation):
            encoded.append(notice)
        return encode(notice, watermark)

    monkeypatch.setattr(channel, "encode", encoding)

    async def check(app: Starlette) -> None:
        posted: dict[str, Any] = {"method": "POST", "content_type": "application/sparql-query", "accept": EVENTS}
        listeners = [Exchange(app, ASKED, accept=EVENTS) for _ in range(20)]
        listeners += [Exchange(app, "/sparql", body=QUERY.encode(), **posted) for _ in range(20)]
        await until(lambda: all(one.status == 200 for one in listeners))
        [name] = live(backend)
        assert backend.calls.count("register") == 1
        for n in range(1, 4):
            backend.evaluate(name, n * 1000, answer(n))
        await until(lambda: all(one.instants == [1000, 2000, 3000] for one in listeners))
        assert len(encoded) == 3
        for one in listeners:
            await one.leave()
        assert services_of(app).hub.listeners() == {}
        assert live(backend) == [name]  # for the resume window

    served(backend, check)


def test_the_first_listener_gets_the_query_s_first_answer_however_soon_it_comes(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        register = backend.register

        def at_once(name: str, query: Any, **given: Any) -> bool:
            new = register(name, query, **given)
            backend.evaluate(name, 1000, answer(1))
            return new

        backend.register = at_once  # type: ignore[method-assign]  # of this one object
        listener = Exchange(app, ASKED, accept=EVENTS)
        await until(lambda: listener.instants == [1000])
        await listener.leave()

    served(backend, check)


def test_a_reconnecting_client_goes_on_where_it_was(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        first = Exchange(app, ASKED, accept=EVENTS)
        await until(lambda: first.status)
        [name] = live(backend)
        backend.evaluate(name, 1000, answer(1))
        await until(lambda: first.instants == [1000])
        await first.leave()
        backend.evaluate(name, 2000, answer(2))
        again = Exchange(app, ASKED, accept=EVENTS, last_event_id=resume_token(1000))
        await until(lambda: again.instants == [2000])
        await again.leave()
        assert backend.calls.count("register") == 1

    served(backend, check)


def test_after_a_restart_a_reconnecting_client_has_its_query_registered_again_from_its_last_event(
    backend: FakeBackend,
) -> None:
    async def check(app: Starlette) -> None:
        again = Exchange(app, ASKED, accept=EVENTS, last_event_id=resume_token(5000))
        await until(lambda: again.status)
        [name] = live(backend)
        # One millisecond before: ISTREAM needs the answer at that event to compare the next one with.
        assert backend.since[name] == 4999
        for n in range(5, 8):
            backend.evaluate(name, n * 1000, answer(n))
        await until(lambda: again.instants == [6000, 7000])
        # One who was further behind comes later.
        register = backend.register

        def anew(name: str, query: Any, **given: Any) -> bool:
            past = backend.history[name]
            new = register(name, query, **given)
            backend.push(*(Evaluation(name, n * 1000, answer(n)) for n in range(2, 8)))
            assert len(past) == 3
            return new

        backend.register = anew  # type: ignore[method-assign]  # of this one object
        behind = Exchange(app, ASKED, accept=EVENTS, last_event_id=resume_token(3000))
        await until(lambda: behind.instants == [4000, 5000, 6000, 7000])
        backend.evaluate(name, 8000, answer(8))
        await until(lambda: behind.instants[-1] == again.instants[-1] == 8000)
        assert again.instants == [6000, 7000, 8000]
        await again.leave()
        await behind.leave()

    served(backend, check)


def test_who_asks_for_the_past_gets_a_query_of_its_own(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        now = Exchange(app, ASKED, accept=EVENTS)
        past = [Exchange(app, ASKED + "&since=beginning", accept=EVENTS) for _ in range(3)]
        await until(lambda: now.status and all(one.status for one in past))
        assert sorted(backend.since[name] or 0 for name in live(backend)) == [FIRST_INSTANT, 0]
        for one in (now, *past):
            await one.leave()

    served(backend, check)


def test_a_query_that_nobody_registered_is_listened_to_up_to_a_time(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        listener = Exchange(app, ASKED + "&until=2000", accept=EVENTS)
        await until(lambda: listener.status)
        [name] = live(backend)
        for n in range(1, 4):
            backend.evaluate(name, n * 1000, answer(n))
        await listener.task
        assert listener.instants == [1000, 2000]
        assert listener.events[-1]["event"] == "end"

    served(backend, check)


def test_the_end_of_all_streams_ends_the_result_stream(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        listener = Exchange(app, ASKED, accept=EVENTS)
        await until(lambda: listener.status)
        [name] = live(backend)
        backend.push(Evaluation(name, 1000, answer(1)), Ended(name, "all streams have ended"))
        await listener.task
        assert listener.instants == [1000]
        assert listener.events[-1]["event"] == "end"

    served(backend, check)


def test_a_query_that_cannot_be_registered_is_an_ordinary_error(client: TestClient, backend: FakeBackend) -> None:
    unknown = client.get("/sparql", params={"query": QUERY.replace("streams/s", "x")}, headers={"Accept": EVENTS})
    assert unknown.status_code == 400
    assert unknown.headers["content-type"] == "application/problem+json"
    assert unknown.json()["line"] == 3
    backend.failures["register"] = UnsupportedFeature("not yet")
    for accept in (EVENTS, "text/csv"):
        assert client.get(ASKED, headers={"Accept": accept}).status_code == 501
    backend.failures.clear()
    assert live(backend) == []


@pytest.mark.parametrize("headers", [{"Accept": EVENTS, "Last-Event-ID": "x"}, {"Accept": "image/png"}])
def test_a_wrong_request_registers_nothing(client: TestClient, backend: FakeBackend, headers: dict[str, str]) -> None:
    assert client.get(ASKED, headers=headers).status_code in (400, 406)
    assert client.get(ASKED + "&since=soon", headers={"Accept": EVENTS}).status_code == 400
    assert "register" not in backend.calls


def answering(app: Starlette, backend: FakeBackend, accept: str, data: bytes, query: str = QUERY) -> Exchange:
    async def check() -> Exchange:
        async with app.router.lifespan_context(app):
            asked = Exchange(app, f"/sparql?query={quote(query)}", accept=accept)
            await until(lambda: services_of(app).hub.listeners())
            [name] = live(backend)
            assert asked.status is None
            backend.evaluate(name, 1000, data)
            await asked.task
            return asked

    answers: list[Exchange] = []

    async def keep() -> None:
        answers.append(await check())

    run(keep())
    return answers[0]


def test_another_client_waits_for_the_next_answer_and_gets_a_table(backend: FakeBackend) -> None:
    asked = answering(create_app(Settings(threads=2), backend=backend), backend, "text/csv", answer(7))
    assert asked.status == 200
    assert asked.headers["content-type"] == "text/csv; charset=utf-8"
    assert list(csv.reader(io.StringIO(asked.body.decode()))) == [["n"], ["7"]]


def test_an_existing_client_s_accept_header_gets_json(backend: FakeBackend) -> None:
    accept = "application/sparql-results+json,application/json,text/javascript,application/javascript"
    asked = answering(create_app(Settings(threads=2), backend=backend), backend, accept, answer(7))
    assert asked.headers["content-type"] == "application/sparql-results+json"
    assert asked.body == answer(7)


def test_a_graph_is_answered_in_turtle_without_a_wish(backend: FakeBackend) -> None:
    triple = b"<http://e/a> <http://e/p> <http://e/b> .\n"
    asked = answering(create_app(Settings(threads=2), backend=backend), backend, "*/*", triple, CONSTRUCT)
    assert asked.headers["content-type"] == "text/turtle; charset=utf-8"
    assert asked.body == triple


def test_the_next_answer_is_not_the_one_before(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        listener = Exchange(app, ASKED, accept=EVENTS)
        await until(lambda: listener.status)
        [name] = live(backend)
        backend.evaluate(name, 1000, answer(1))
        await until(lambda: listener.instants)
        asked = Exchange(app, ASKED, accept="application/json")
        await until(lambda: services_of(app).hub.listeners() == {name: 2})
        backend.evaluate(name, 2000, answer(2))
        await asked.task
        assert asked.body == answer(2)
        assert asked.headers["content-type"] == "application/json"
        await listener.leave()

    served(backend, check)


def test_a_client_that_goes_away_while_it_waits_lets_go_of_everything(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        asked = Exchange(app, ASKED, accept="text/csv")
        await until(lambda: services_of(app).hub.listeners())
        await asked.leave()
        assert services_of(app).hub.listeners() == {}

    served(backend, check)


def test_who_waits_too_long_is_told_why(backend: FakeBackend) -> None:
    async def check() -> None:
        app = create_app(Settings(threads=2), backend=backend, answer_timeout=0.0)
        async with app.router.lifespan_context(app):
            asked = Exchange(app, ASKED, accept="text/csv")
            await asked.task
            assert asked.status == 504
            assert "watermarks" in asked.json["detail"]
            assert services_of(app).hub.listeners() == {}

    run(check())


def test_a_query_that_never_answers_is_warned_of_while_one_listens_and_where_nothing_came(backend: FakeBackend) -> None:
    never = quote(QUERY.replace("?n\n", "?n ?m\n"))
    warning = "?m is never bound here, so that no solution has it (line 2, column 11)"

    async def check(app: Starlette) -> None:
        listener = Exchange(app, f"/sparql?query={never}", accept=EVENTS)
        await until(lambda: listener.body)
        assert listener.body == f": warning: {warning}\n\n".encode()
        assert listener.events == []
        await listener.leave()
        asked = Exchange(app, f"/sparql?query={never}&timeout=0.01", accept="text/csv")
        await asked.task
        assert asked.status == 504
        assert asked.json["warnings"] == [warning]

    served(backend, check)


def test_who_waits_while_spark_is_starting_is_not_told_of_watermarks(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        asked = Exchange(app, ASKED + "&timeout=0.01", accept="text/csv")
        await asked.task
        assert asked.status == 503
        assert "Spark is starting" in asked.json["detail"]
        assert "watermark" not in asked.json["detail"]

    backend.state, backend.detail = "starting", "Spark is starting"
    served(backend, check)


def test_who_waits_says_how_long(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        asked = Exchange(app, ASKED + "&timeout=0.01", accept="text/csv")
        await asked.task
        assert asked.status == 504
        assert "within 0.01 s" in asked.json["detail"]

    served(backend, check)


@pytest.mark.parametrize("accept", [EVENTS, "text/csv"])
def test_who_asks_says_what_an_evaluation_may_take(backend: FakeBackend, accept: str) -> None:
    async def check(app: Starlette) -> None:
        asked = Exchange(app, ASKED + "&timeout=0.3&memory=128MB", accept=accept)
        await until(lambda: backend.limits)
        assert list(backend.limits.values()) == [EvaluationLimits(0.3, 2**27)]
        await asked.leave()

    served(backend, check)


def test_where_to_begin_may_be_said_in_a_form(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        form: dict[str, Any] = {"method": "POST", "content_type": "application/x-www-form-urlencoded", "accept": EVENTS}
        at, after, soon, twice = (
            Exchange(app, "/sparql", body=f"query={quote(QUERY)}&{where}".encode(), **form)
            for where in ("since=4999", f"lastEventId={resume_token(7000)}", "since=soon", "since=1&since=2")
        )
        await until(lambda: all(one.status for one in (at, after, soon, twice)))
        assert [one.status for one in (at, after, soon, twice)] == [200, 200, 400, 400]
        assert sorted(backend.since[name] or 0 for name in live(backend)) == [4999, 6999]
        for one in (at, after):
            await one.leave()

    served(backend, check)


def test_who_waits_does_not_keep_a_stopping_server(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        asked = Exchange(app, ASKED, accept="text/csv")
        await until(lambda: services_of(app).hub.listeners())
        await services_of(app).hub.stop()
        await asked.task
        assert asked.status == 503

    served(backend, check)


@pytest.mark.parametrize(("ended", "status"), [(True, 409), (False, 500)])
def test_no_answer_to_come_is_a_problem_at_once(backend: FakeBackend, ended: bool, status: int) -> None:
    async def check(app: Starlette) -> None:
        asked = Exchange(app, ASKED, accept="text/csv")
        await until(lambda: services_of(app).hub.listeners())
        [name] = live(backend)
        backend.push(Ended(name, "all streams have ended") if ended else Failed(name, 1, "out of memory"))
        await asked.task
        assert asked.status == status
        assert ("all streams have ended" if ended else "out of memory") in asked.json["detail"]

    served(backend, check)


def registration(name: str = "rooms", kind: str = "QUERY", query: str = QUERY) -> str:
    return query.replace("SELECT", f"REGISTER {kind} {name} AS SELECT").replace(
        "CONSTRUCT", f"REGISTER {kind} {name} AS CONSTRUCT"
    )


def test_register_makes_a_standing_query(client: TestClient) -> None:
    created = client.post("/sparql", content=registration(), headers=SPARQL)
    assert created.status_code == 201
    assert created.headers["location"] == "/queries/rooms"
    assert created.json()["name"] == "rooms"
    assert client.get("/queries/rooms").status_code == 200
    assert client.post("/sparql", data={"query": registration()}).status_code == 200


def test_register_of_another_query_s_name_is_a_conflict_that_names_put(client: TestClient) -> None:
    client.post("/sparql", content=registration(), headers=SPARQL)
    refused = client.post("/sparql", content=registration(query=QUERY.replace("PT1S", "PT2S")), headers=SPARQL)
    assert refused.status_code == 409
    assert "PUT /queries/rooms" in refused.json()["detail"]
    assert "PT1S" in client.get("/queries/rooms").json()["text"]


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("<http://e/out/rooms>", "rooms"),
        ("<http://e/out#rooms>", "rooms"),
        ("<http://e/out/rooms/>", "rooms"),
        ("<urn:x:rooms>", "rooms"),
        ("<http://e/r%C3%A4ume%20oben>", "r-ume-oben"),
        ("<http://e/.hidden>", "hidden"),
    ],
)
def test_an_iri_as_a_name_gives_its_last_segment(client: TestClient, name: str, segment: str) -> None:
    created = client.post("/sparql", content=registration(name), headers=SPARQL)
    assert created.status_code == 201
    assert created.headers["location"] == f"/queries/{segment}"
    assert created.json()["registered"]["name"] == name.strip("<>")


def test_an_iri_without_any_usable_letter_gives_a_name_that_stays_the_same(client: TestClient) -> None:
    first = client.post("/sparql", content=registration("<http://e/%E2%82%AC>"), headers=SPARQL)
    second = client.post("/sparql", content=registration("<http://e/%E2%82%AC>"), headers=SPARQL)
    assert first.headers["location"] == second.headers["location"]
    assert (first.status_code, second.status_code) == (201, 200)


def test_registering_needs_a_post(client: TestClient, backend: FakeBackend) -> None:
    refused = client.get("/sparql", params={"query": registration()})
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert "register" not in backend.calls


@pytest.mark.parametrize(
    ("kind", "query", "publishes"),
    [("STREAM", CONSTRUCT, True), ("ISTREAM", CONSTRUCT, True), ("QUERY", CONSTRUCT, False), ("STREAM", QUERY, False)],
)
def test_what_is_registered_as_a_stream_depends_on_the_form(
    client: TestClient, backend: FakeBackend, kind: str, query: str, publishes: bool
) -> None:
    created = client.post("/sparql", content=registration("out", kind, query), headers=SPARQL)
    assert (created.status_code, created.headers["location"]) == (201, "/queries/out")
    assert backend.query("out").query.publishes is publishes


@pytest.mark.parametrize(
    ("base_url", "mounted", "prefix"),
    [
        ("", "/rdf", "/rdf"),
        ("http://public.example/data/rdf", "", "/data/rdf"),
        ("http://public.example/data/rdf", "/rdf", "/data/rdf"),
        ("http://public.example/rdf", "/app/rdf", "/app/rdf"),
    ],
)
def test_the_location_is_below_the_mount_point_and_what_a_proxy_takes_away(
    backend: FakeBackend, base_url: str, mounted: str, prefix: str
) -> None:
    app = create_app(Settings(threads=2, base_url=base_url), backend=backend)
    with TestClient(app, root_path=mounted) as client:
        created = client.post(f"{mounted}/sparql", content=registration(), headers=SPARQL)
        assert created.status_code == 201
        assert created.headers["location"] == f"{prefix}/queries/rooms"
        assert created.json()["links"]["results"] == f"{prefix}/queries/rooms/results"
        page = client.get(f"{mounted}/sparql", headers={"Accept": "text/html"}, follow_redirects=False)
        assert page.headers["location"] == f"{prefix}/"
