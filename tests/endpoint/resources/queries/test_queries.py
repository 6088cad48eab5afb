from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from starlette.applications import Starlette

from endpoint.backend import Ended, Progress
from endpoint.live.unregistered_queries import unregistered_name
from protocol.errors import Conflict, UnsupportedFeature
from protocol.evaluation_limits import EvaluationLimits
from protocol.formats.sse import resume_token
from protocol.streams import StreamSettings
from protocol.time import FIRST_INSTANT
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, Exchange, answer, continuous, served, until

QUERY = """PREFIX : <http://e/>
SELECT ?n
FROM NAMED WINDOW :w ON <streams/s> [RANGE PT1S]
WHERE { WINDOW :w { ?s ?p ?n } }"""
CONSTRUCT = QUERY.replace("SELECT ?n", "CONSTRUCT { ?s ?p ?n }")
SPARQL = {"Content-Type": "application/sparql-query"}
EVENTS = {"Accept": "text/event-stream"}


def test_a_query_is_created_described_listed_and_removed(client: TestClient) -> None:
    created = client.put("/queries/q", content=QUERY, headers=SPARQL)
    assert created.status_code == 201
    assert created.headers["location"] == "/queries/q"
    description = client.get("/queries/q").json()
    assert description["text"] == QUERY
    assert description["streams"] == [STREAM]
    assert description["state"] == "waiting"
    assert description["lastError"] is None
    assert [query["name"] for query in client.get("/queries").json()["queries"]] == ["q"]
    assert client.delete("/queries/q").status_code == 204
    assert client.get("/queries/q").status_code == client.delete("/queries/q").status_code == 404
    assert client.get("/queries").json() == {"queries": []}


def test_a_query_that_cannot_be_evaluated_is_said_to_wait_and_can_be_removed(
    client: TestClient, backend: FakeBackend
) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    backend.fall_asleep("q")
    for path in ("/queries/q", "/queries/q/results"):
        absent = client.get(path)
        assert (absent.status_code, "GET /health says why" in absent.json()["detail"]) == (404, True)
    assert client.delete("/queries/q").status_code == 204
    assert "there is no query" in client.delete("/queries/q").json()["detail"]


@pytest.mark.parametrize("method", ["query", "latest"])
def test_the_latest_answer_is_given_as_what_it_is_also_where_the_query_is_replaced_meanwhile(
    client: TestClient, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    client.put("/queries/other", content=CONSTRUCT, headers=SPARQL)
    with monkeypatch.context() as before_a_restart:
        before_a_restart.setattr(backend, "_listener", None)
        backend.evaluate("q", 1000, answer(1))
    triple, asked = b"<http://e/s> <http://e/p> <http://e/o> .\n", getattr(backend, method)

    def replaced_meanwhile(name: str) -> Any:
        found = asked(name)
        monkeypatch.undo()
        backend.register("q", backend.query("other").query, standing=True)
        backend.evaluate("q", 2000, triple)
        return found if method == "query" else asked(name)

    monkeypatch.setattr(backend, method, replaced_meanwhile)
    given = client.get("/queries/q/results", headers={"Accept": "application/n-triples, text/csv"})
    assert (given.status_code, given.content) == (200, triple)


def test_another_text_replaces_the_query_and_the_same_leaves_it_running(
    client: TestClient, backend: FakeBackend
) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    assert client.put("/queries/q", content=QUERY + "\n", headers=SPARQL).status_code == 200
    assert backend.calls.count("register") == 1
    assert client.put("/queries/q", content=CONSTRUCT, headers=SPARQL).status_code == 200
    assert backend.calls.count("register") == 2
    assert client.get("/queries/q").json()["form"] == "CONSTRUCT"


LIMITS = "timeout=2.5&memory=128MB"


def test_a_registration_says_what_one_evaluation_may_take(client: TestClient, backend: FakeBackend) -> None:
    assert client.put(f"/queries/q?{LIMITS}", content=QUERY, headers=SPARQL).status_code == 201
    register = QUERY.replace("SELECT", "REGISTER QUERY r AS SELECT")
    assert client.post(f"/sparql?{LIMITS}", content=register, headers=SPARQL).status_code == 201
    assert client.post(f"/sparql?{LIMITS}", content=register, headers=SPARQL).status_code == 200
    other = client.post("/sparql?timeout=1", content=register, headers=SPARQL)
    assert (other.status_code, "other limits" in other.json()["detail"]) == (409, True)
    assert backend.limits == {"q": EvaluationLimits(2.5, 2**27), "r": EvaluationLimits(2.5, 2**27)}


def test_other_limits_replace_those_of_the_same_text_and_are_shown(client: TestClient, backend: FakeBackend) -> None:
    created = client.put(f"/queries/q?{LIMITS}", content=QUERY, headers=SPARQL).json()
    assert (created["timeout"], created["memory"]) == (2.5, 2**27)
    client.put(f"/queries/q?{LIMITS}", content=QUERY, headers=SPARQL)
    assert backend.calls.count("register") == 1
    client.put("/queries/q?timeout=5", content=QUERY, headers=SPARQL)
    assert backend.calls.count("register") == 2
    changed = client.get("/queries/q").json()
    assert (changed["timeout"], changed["memory"]) == (5, None)


@pytest.mark.parametrize("memory", ["63MB", "1", "much", "-1", "", "1GB&memory=2GB"])
def test_a_memory_that_is_none_is_refused_with_what_would_be_right(client: TestClient, memory: str) -> None:
    answer = client.put(f"/queries/q?memory={memory}", content=QUERY, headers=SPARQL)
    assert answer.status_code == 400
    assert "at least 64MB" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("lane", "overdue", "said"),
    [("common", 12.0, "will be late as well"), ("own", 12.0, "if it is heavy"), ("own", 9.0, None)],
)
def test_whoever_registers_a_query_is_warned_while_others_are_late(
    client: TestClient, backend: FakeBackend, lane: str, overdue: float, said: str | None
) -> None:
    client.put("/queries/late", content=QUERY, headers=SPARQL)
    backend.fall_behind("late", lane, overdue)
    register = QUERY.replace("SELECT", "REGISTER QUERY r AS SELECT")
    for registered in (
        client.put("/queries/q", content=QUERY, headers=SPARQL),
        client.post("/sparql", content=register, headers=SPARQL),
    ):
        assert registered.status_code == 201
        warning = registered.json().get("warning")
        assert warning is None if said is None else "1 " in warning and said in warning


def test_a_query_that_was_to_be_there_or_not_is_left_alone_where_that_is_not_so(
    client: TestClient, backend: FakeBackend
) -> None:
    there, absent = {"If-Match": "*", **SPARQL}, {"If-None-Match": "*", **SPARQL}
    assert client.put("/queries/q", content=QUERY, headers=there).status_code == 412
    assert client.delete("/queries/q", headers=there).status_code == 412
    assert client.put("/queries/q", content=QUERY, headers=absent).status_code == 201
    refused = client.put("/queries/q", content=CONSTRUCT, headers=absent)
    assert (refused.status_code, "the query q is there already" in refused.json()["detail"]) == (412, True)
    assert client.delete("/queries/q", headers=absent).status_code == 412
    assert backend.calls.count("register") == 1
    assert client.put("/queries/q", content=CONSTRUCT, headers=there).status_code == 200
    assert client.delete("/queries/q", headers=there).status_code == 204


def test_a_query_that_has_ended_starts_again_when_it_is_put_again(client: TestClient, backend: FakeBackend) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    backend.push(Ended("q", "over"))
    assert client.put("/queries/q", content=QUERY, headers=SPARQL).status_code == 200
    assert backend.calls.count("register") == 2


@pytest.mark.parametrize(("since", "instant"), [("beginning", FIRST_INSTANT), ("8000", 8000)])
def test_since_moves_the_start_back(client: TestClient, backend: FakeBackend, since: str, instant: int) -> None:
    assert client.put(f"/queries/q?since={since}", content=QUERY, headers=SPARQL).status_code == 201
    assert backend.since["q"] == instant


def test_keywords_written_with_codepoint_escapes_are_refused_at_their_place(client: TestClient) -> None:
    """SPARQL 1.2 has them in IRIs, strings and comments only."""
    escaped = QUERY.replace("WINDOW", r"\u0057INDO\U00000057")
    assert escaped != QUERY
    refused = client.put("/queries/q", content=escaped, headers=SPARQL)
    assert refused.status_code == 400
    problem = refused.json()
    assert (problem["line"], problem["column"]) == (3, 12)
    assert "codepoint escapes" in problem["detail"]


def test_a_wrong_since_registers_nothing(client: TestClient, backend: FakeBackend) -> None:
    refused = client.put("/queries/q?since=soon", content=QUERY, headers=SPARQL)
    assert refused.status_code == 400
    assert "beginning" in refused.json()["detail"]
    assert "register" not in backend.calls


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("SELECT * WHERE { ?s ?p ?o FILTER(timestamp(?s) > 5) }", "reads no stream"),
        ("SELECT * WHERE {", ""),
        (QUERY.replace("streams/s", "streams/unknown"), "streams/unknown"),
    ],
)
def test_what_cannot_stand_is_refused_and_the_old_query_stays(client: TestClient, text: str, told: str) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    refused = client.put("/queries/q", content=text, headers=SPARQL)
    assert refused.status_code == 400
    assert told in refused.json()["detail"]
    assert client.get("/queries/q").json()["text"] == QUERY


def test_a_syntax_error_has_its_place(client: TestClient) -> None:
    refused = client.put("/queries/q", content=QUERY.replace("[RANGE PT1S]", "[RANGE PT0S]"), headers=SPARQL)
    assert refused.status_code == 400
    assert refused.json()["line"] == 3
    assert client.put("/queries/q", content=b"SELECT \xff", headers=SPARQL).json()["line"] == 1


def test_what_cannot_be_compiled_is_refused_with_nothing_changed(client: TestClient, backend: FakeBackend) -> None:
    backend.failures["register"] = UnsupportedFeature("property paths are not implemented yet")
    assert client.put("/queries/q", content=QUERY, headers=SPARQL).status_code == 501
    assert client.get("/queries/q").status_code == 404


def test_a_body_of_another_type_is_refused(client: TestClient) -> None:
    assert client.put("/queries/q", content=QUERY, headers={"Content-Type": "application/json"}).status_code == 415
    assert client.put("/queries/q", content=QUERY).status_code == 201


@pytest.mark.parametrize("name", [".q", "a b", "live-" + "0" * 32])
def test_what_is_not_a_name_is_told_so(client: TestClient, name: str) -> None:
    refused = client.put(f"/queries/{name}", content=QUERY, headers=SPARQL)
    assert (refused.status_code, refused.json()["title"]) == (400, "Not a name")


@pytest.mark.parametrize("kind", ["STREAM", "QUERY"])
def test_a_name_after_register_is_a_second_name(client: TestClient, kind: str) -> None:
    text = CONSTRUCT.replace("CONSTRUCT", f"REGISTER {kind} out AS CONSTRUCT", 1)
    assert client.put("/queries/q", content=text, headers=SPARQL).status_code == 201
    assert client.get("/queries/q").json()["registered"] == {"kind": kind, "name": "out"}


def test_a_query_that_others_read_is_not_ended(client: TestClient, backend: FakeBackend) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    backend.failures["remove"] = Conflict("the output of the query q is read by r: delete them first")
    refused = client.delete("/queries/q")
    assert (refused.status_code, "read by r" in refused.json()["detail"]) == (409, True)
    assert client.get("/queries/q").status_code == 200


def test_a_stream_may_be_named_by_its_url_or_by_its_iri(client: TestClient, backend: FakeBackend) -> None:
    backend.create_stream("t", StreamSettings("http://e/t"))
    for url in ("streams/t", "http://127.0.0.1:8000/streams/t", "http://testserver/streams/t", "http://e/t"):
        assert client.put("/queries/q", content=QUERY.replace("streams/s", url), headers=SPARQL).is_success
        assert backend.query("q").query.streams == ("http://e/t",)


def test_queries_of_listeners_are_not_standing_ones(client: TestClient, backend: FakeBackend) -> None:
    name = unregistered_name(continuous(), None)
    backend.register(name, continuous(), standing=False)
    assert client.get("/queries").json() == {"queries": []}
    for path in (f"/queries/{name}", f"/queries/{name}/results", f"/queries/{name}/plan"):
        assert client.get(path).status_code == 404
    assert client.delete(f"/queries/{name}").status_code == 404


def test_the_plan_is_text(client: TestClient) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    plan = client.get("/queries/q/plan")
    assert (plan.status_code, plan.text) == (200, "plan of q")
    assert plan.headers["content-type"].startswith("text/plain")
    assert client.get("/queries/other/plan").status_code == 404
    assert client.get("/queries/q/plan?measured=true").text == "plan of q, measured"
    assert client.get("/queries/q/plan?measured=false").text == "plan of q"
    for wrong in ("measured=yes", "measured=", "measured=true&measured=true"):
        assert client.get(f"/queries/q/plan?{wrong}").status_code == 400


def test_the_latest_answer_is_had_in_every_format(client: TestClient, backend: FakeBackend) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    none_yet = client.get("/queries/q/results")
    assert (none_yet.status_code, none_yet.json()["title"]) == (404, "No evaluation yet")
    assert "have not reached an instant" in none_yet.json()["detail"]
    backend.fall_behind("q", "own", 3.0)
    assert "is due, and not done" in client.get("/queries/q/results").json()["detail"]
    backend.evaluate("q", 1000, answer(1))
    backend.evaluate("q", 2000, answer(2))
    as_json = client.get("/queries/q/results")
    assert as_json.content == answer(2)
    assert as_json.headers["content-type"] == "application/sparql-results+json"
    as_csv = client.get("/queries/q/results", headers={"Accept": "text/csv"})
    assert as_csv.text == "n\r\n2\r\n"
    assert as_csv.headers["content-type"] == "text/csv; charset=utf-8"
    refused = client.get("/queries/q/results", headers={"Accept": "image/png"})
    assert refused.status_code == 406


def test_the_latest_graph_is_had_as_rdf(client: TestClient, backend: FakeBackend) -> None:
    client.put("/queries/q", content=CONSTRUCT, headers=SPARQL)
    triple = b"<http://e/a> <http://e/p> <http://e/b> .\n"
    backend.evaluate("q", 1000, triple)
    assert client.get("/queries/q/results").headers["content-type"] == "text/turtle; charset=utf-8"
    assert client.get("/queries/q/results", headers={"Accept": "application/n-triples"}).content == triple


def test_a_graph_that_the_first_format_cannot_say_is_written_in_the_next(
    client: TestClient, backend: FakeBackend
) -> None:
    client.put("/queries/q", content=CONSTRUCT, headers=SPARQL)
    backend.evaluate("q", 1000, b"<http://e/s> <http://e/1> <http://e/o> .\n")
    in_turtle = client.get("/queries/q/results", headers={"Accept": "application/rdf+xml, text/turtle;q=0.5"})
    assert in_turtle.headers["content-type"] == "text/turtle; charset=utf-8"
    assert "<http://e/1>" in in_turtle.text
    in_none = client.get("/queries/q/results", headers={"Accept": "application/rdf+xml, text/event-stream;q=0.5"})
    assert in_none.status_code == 406
    assert "cannot name the predicate" in in_none.json()["detail"]


def test_the_results_of_an_ended_query_are_a_stream_that_ends(client: TestClient, backend: FakeBackend) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    backend.evaluate("q", 1000, answer(1))
    backend.push(Ended("q", "all streams have ended"))
    streamed = client.get("/queries/q/results?since=beginning", headers=EVENTS)
    assert streamed.status_code == 200
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert b"data: " + answer(1) + b"\n\n" in streamed.content
    assert streamed.text.rstrip().endswith('data: {"reason":"all streams have ended"}')


@pytest.mark.parametrize(("header", "parameter"), [("nonsense", ""), ("", "nonsense"), ("1", "")])
def test_a_wrong_resume_point_is_a_bad_request(client: TestClient, header: str, parameter: str) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    path = f"/queries/q/results?lastEventId={parameter}"
    refused = client.get(path, headers={**EVENTS, "Last-Event-ID": header})
    assert refused.status_code == 400
    assert client.get("/queries/other/results", headers=EVENTS).status_code == 404


def test_results_are_listened_to_resumed_and_ended_by_removal(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        put = Exchange(app, "/queries/q", method="PUT", body=QUERY.encode(), content_type="application/sparql-query")
        await put.task
        listener = Exchange(app, "/queries/q/results", accept="text/event-stream")
        await until(lambda: listener.status == 200)
        for n in range(1, 4):
            backend.evaluate("q", n * 1000, answer(n))
        await until(lambda: listener.instants == [1000, 2000, 3000])
        assert "lastError" in put.json
        described = Exchange(app, "/queries/q")
        await described.task
        assert described.json["listeners"] == 1
        token = listener.events[0]["id"]
        resumed = Exchange(app, f"/queries/q/results?lastEventId={token}", accept="text/event-stream")
        by_header = Exchange(app, "/queries/q/results?since=beginning", accept="text/event-stream", last_event_id=token)
        await until(lambda: resumed.instants == by_header.instants == [2000, 3000])
        await by_header.leave()
        await Exchange(app, "/queries/q", method="DELETE").task
        await listener.task
        await resumed.task
        assert listener.complete
        assert listener.events[-1]["event"] == resumed.events[-1]["event"] == "end"

    served(backend, check)


def test_results_are_listened_to_up_to_a_time(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        await Exchange(app, "/queries/q", method="PUT", body=QUERY.encode()).task
        for n in range(1, 4):
            backend.evaluate("q", n * 1000, answer(n))
        for last, instants in ((2000, [1000, 2000]), (2500, [1000, 2000]), (500, [])):
            past = Exchange(app, f"/queries/q/results?since=beginning&until={last}", accept="text/event-stream")
            await past.task
            assert past.instants == instants
            assert past.events[-1]["event"] == "end"
        begun = [
            Exchange(app, f"/queries/q/results?since=beginning&until={last}", accept="text/event-stream")
            for last in (4000, 4500, 5000)
        ]
        await until(lambda: all(one.instants == [1000, 2000, 3000] for one in begun))
        backend.evaluate("q", 4000, answer(4))
        await begun[0].task
        backend.push(Progress("q", 4800, 4800))
        await begun[1].task
        assert not begun[2].complete
        backend.evaluate("q", 6000, answer(6))
        await begun[2].task
        assert [one.instants for one in begun] == [[1000, 2000, 3000, 4000]] * 3
        assert all("every evaluation up to 1970-01-01T00:00:0" in one.events[-1]["data"] for one in begun)
        resumed = Exchange(
            app, "/queries/q/results?until=2000", accept="text/event-stream", last_event_id=resume_token(2000)
        )
        await resumed.task
        assert resumed.instants == []

    served(backend, check)


@pytest.mark.parametrize("name", ["since", "until", "lastEventId"])
def test_where_results_begin_and_end_is_said_once(client: TestClient, name: str) -> None:
    client.put("/queries/q", content=QUERY, headers=SPARQL)
    asked = client.get(f"/queries/q/results?{name}=1&{name}=2", headers=EVENTS)
    assert asked.status_code == 400
    assert asked.json()["detail"] == f"{name} is given 2 times: give one"


def test_listeners_of_a_replaced_query_are_ended(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        await Exchange(app, "/queries/q", method="PUT", body=QUERY.encode()).task
        listener = Exchange(app, "/queries/q/results", accept="text/event-stream")
        await until(lambda: listener.status)
        await Exchange(app, "/queries/q", method="PUT", body=CONSTRUCT.encode()).task
        await listener.task
        assert listener.events[-1]["event"] == "end"

    served(backend, check)


def test_a_head_request_is_answered_without_a_stream(backend: FakeBackend) -> None:
    async def check(app: Starlette) -> None:
        await Exchange(app, "/queries/q", method="PUT", body=QUERY.encode()).task
        head = Exchange(app, "/queries/q/results", method="HEAD", accept="text/event-stream")
        await head.task
        assert (head.status, head.body) == (200, b"")

    served(backend, check)


def test_what_never_answers_is_in_the_answer_to_the_registration_and_in_the_description(client: TestClient) -> None:
    never = QUERY.replace("WHERE {", "WHERE { FILTER(?never > 1) ")
    register = never.replace("SELECT", "REGISTER QUERY r AS SELECT")
    put = client.put("/queries/q", content=never, headers=SPARQL).json()
    (warning,) = put["warnings"]
    assert "?never is never bound here" in warning
    assert [warning] == client.get("/queries/q").json()["warnings"]
    assert len(client.post("/sparql", content=register, headers=SPARQL).json()["warnings"]) == 1
    assert client.put("/queries/q", content=QUERY, headers=SPARQL).json()["warnings"] == []


def test_who_makes_a_query_is_told_of_that_one_whatever_has_its_name_afterwards(
    client: TestClient, backend: FakeBackend
) -> None:
    overdue, others = backend.overdue, [None, continuous("SELECT other")]

    def meanwhile() -> Mapping[str, Sequence[float]]:
        """What is asked for after the query was made: by then another client has removed it, or made its own."""
        if others[0] is None:
            backend.remove("q")
        else:
            backend.register("q", others[0], standing=True)
        return overdue()

    backend.overdue = meanwhile  # type: ignore[method-assign]  # of this one object
    while others:
        for _ in range(2):
            made = client.put("/queries/q", content=QUERY, headers=SPARQL)
            assert made.status_code in (200, 201)
            assert made.json()["text"] == QUERY
        client.delete("/queries/q")
        register = QUERY.replace("SELECT", "REGISTER QUERY q AS SELECT")
        registered = client.post("/sparql", content=register, headers=SPARQL)
        assert registered.status_code == 201
        assert registered.json()["text"] == register
        client.delete("/queries/q")
        others.pop(0)
