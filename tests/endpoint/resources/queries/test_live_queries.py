"""Live queries through the application, in process: its own store, its own readers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette

from endpoint import create_app
from endpoint.resources.queries.queries import MAXIMUM_TEXT
from endpoint.services import services_of
from endpoint.settings import Settings
from protocol.access import AccessToken, Scope, Tokens
from protocol.formats.allow_list import AllowList
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import Exchange, run, until

QUERY, UPDATE = "application/sparql-query", "application/sparql-update"
EVENTS = "text/event-stream"
P = "PREFIX : <http://e/> "
ALL = P + "SELECT ?o { :s :p ?o }"


def serve(check: Callable[[Starlette], Awaitable[None]], **settings: Any) -> None:
    async def alive() -> None:
        app = create_app(Settings(threads=2, **settings), backend=FakeBackend())
        async with app.router.lifespan_context(app):
            await check(app)

    # The processes of a busy machine take their time.
    run(alive(), timeout=240)


async def asked(app: Starlette, path: str, method: str, body: str = "", **headers: Any) -> Exchange:
    exchange = Exchange(app, path, method=method, body=body.encode(), **headers)
    await exchange.task
    return exchange


async def update(app: Starlette, text: str) -> None:
    done = await asked(app, "/sparql", "POST", P + text, content_type=UPDATE)
    assert done.status == 204, done.body


def listen(app: Starlette, path: str, method: str = "GET", body: str = "", **headers: Any) -> Exchange:
    headers = {"accept": EVENTS, **headers}
    return Exchange(app, path, method=method, body=body.encode(), **headers)


async def came(exchange: Exchange, count: int) -> list[dict[str, str]]:
    await until(lambda: len(exchange.events) >= count or exchange.complete, attempts=100_000)
    assert len(exchange.events) == count, exchange.body
    return exchange.events


def objects(event: Mapping[str, str]) -> list[str]:
    return [row["o"]["value"] for row in json.loads(event["data"])["results"]["bindings"]]


def test_any_query_can_be_followed_and_resumed() -> None:
    async def check(app: Starlette) -> None:
        await update(app, "INSERT DATA { :s :p 1 }")
        listener = listen(app, f"/sparql?query={quote(ALL)}")
        (first,) = await came(listener, 1)
        assert listener.headers["content-type"].startswith(EVENTS)
        assert objects(first) == ["1"]
        await update(app, "INSERT DATA { :s :q 1 }")
        await update(app, "INSERT DATA { :s :p 2 }")
        _, second = await came(listener, 2)
        assert objects(second) == ["1", "2"]
        assert second["id"] > first["id"]
        await listener.leave()
        # It has the newest answer; then it misses two, and gets the last.
        back = listen(app, "/sparql", "POST", ALL, content_type=QUERY, last_event_id=second["id"])
        await update(app, "DELETE DATA { :s :p 1 }")
        assert objects((await came(back, 1))[0]) == ["2"]
        await back.leave()
        done = await asked(app, "/sparql", "POST", ALL, content_type=QUERY, accept="text/csv")
        assert done.body == b"o\r\n2\r\n"

    serve(check)


def test_the_graphs_that_a_request_names_are_the_dataset() -> None:
    async def check(app: Starlette) -> None:
        graph = quote("http://e/g")
        listener = listen(app, f"/sparql?query={quote(ALL)}&default-graph-uri={graph}&timeout=30")
        assert objects((await came(listener, 1))[0]) == []
        await update(app, "INSERT DATA { :s :p 1 }")
        await update(app, "INSERT DATA { GRAPH :g { :s :p 2 } }")
        assert objects((await came(listener, 2))[1]) == ["2"]
        await listener.leave()
        named = listen(app, "/sparql", "POST", P + "CONSTRUCT { ?s ?p ?o } FROM :g { ?s ?p ?o }", content_type=QUERY)
        triples, progress = await came(named, 2)
        assert triples["data"].startswith("<http://e/s> <http://e/p> ")
        assert progress["event"] == "progress"
        await named.leave()

    serve(check)


def test_the_graphs_that_a_registration_names_are_kept_and_shown() -> None:
    text = ALL.replace("{", "FROM :other {", 1)

    async def check(app: Starlette) -> None:
        await update(app, "INSERT DATA { GRAPH :g { :s :p 2 } GRAPH :other { :s :p 3 } }")
        for path, method in (
            ("/queries/q?default-graph-uri=http://e/g", "PUT"),
            ("/sparql?default-graph-uri=http://e/g", "POST"),
        ):
            sent = text if method == "PUT" else text.replace("SELECT", "REGISTER QUERY r AS SELECT", 1)
            made = await asked(app, path, method, sent, content_type=QUERY)
            assert made.status == 201, made.body
            assert made.json["graphs"] == {"default": ["http://e/g"], "named": []}
        for name in "qr":
            answer = await asked(app, f"/queries/{name}/results", "GET", accept="text/csv")
            assert answer.body == b"o\r\n2\r\n"
        replaced = await asked(app, "/queries/q", "PUT", text, content_type=QUERY)
        assert replaced.status == 200
        assert replaced.json["graphs"] == {"default": ["http://e/other"], "named": []}
        everything = await asked(app, "/queries/q", "PUT", ALL, content_type=QUERY)
        assert everything.json["graphs"] is None

    serve(check)


def test_differences_are_given_to_who_asks_for_them() -> None:
    async def check(app: Starlette) -> None:
        await update(app, "INSERT DATA { :s :p 1 , 2 }")
        added = listen(app, "/sparql", "POST", ALL.replace("SELECT", "SELECT ISTREAM"),
                       content_type=QUERY)  # fmt: skip
        removed = listen(app, "/sparql", "POST", ALL.replace("SELECT", "SELECT DSTREAM"), content_type=QUERY)
        assert objects((await came(added, 1))[0]) == ["1", "2"]
        # It has an answer, of which it is told the id alone, and resumes from that.
        await until(lambda: b"\nevent: resume\n" in removed.body, attempts=100_000)
        token = removed.body.decode().partition("id: ")[2].partition("\n")[0]
        await removed.leave()
        assert removed.events == []
        await update(app, "DELETE DATA { :s :p 2 } ; INSERT DATA { :s :p 3 }")
        removed = listen(
            app, "/sparql", "POST", ALL.replace("SELECT", "SELECT DSTREAM"), content_type=QUERY, last_event_id=token
        )
        assert objects((await came(added, 2))[1]) == ["3"]
        assert objects((await came(removed, 1))[0]) == ["2"]
        for one in (added, removed):
            await one.leave()
        # Who knows nothing of streams gets a table all the same.
        table = await asked(
            app, "/sparql", "POST", ALL.replace("SELECT", "SELECT ISTREAM"), content_type=QUERY, accept="text/csv"
        )
        assert table.body == b"o\r\n1\r\n3\r\n"

    serve(check)


def test_who_asks_for_one_answer_has_an_empty_difference_at_once() -> None:
    async def check(app: Starlette) -> None:
        for text, accept, empty in (
            (ALL.replace("SELECT", "SELECT ISTREAM"), "text/csv", "o"),
            (ALL.replace("SELECT", "SELECT DSTREAM"), "text/csv", "o"),
            (P + "CONSTRUCT ISTREAM { :s :p ?o } WHERE { :s :p ?o }", "application/n-triples", ""),
        ):
            answer = await asked(app, "/sparql", "POST", text, content_type=QUERY, accept=accept)
            assert (answer.status, answer.body.decode().strip()) == (200, empty)

    serve(check)


def test_a_standing_query_of_the_store_is_described_replaced_and_ended(tmp_path: Path) -> None:
    async def check(app: Starlette) -> None:
        made = await asked(app, "/queries/all?timeout=5", "PUT", ALL, content_type=QUERY)
        assert made.status == 201, made.body
        document = made.json
        assert (document["streams"], document["lane"], document["timeout"]) == ([], "store", 5)
        assert (document["evaluated"], document["state"]) == (None, "running")
        assert (await asked(app, "/queries/all?timeout=5", "PUT", ALL, content_type=QUERY)).status == 200
        listener = listen(app, "/queries/all/results")
        await came(listener, 1)
        await update(app, "INSERT DATA { :s :p 1 }")
        await came(listener, 2)
        latest = await asked(app, "/queries/all/results", "GET", accept="text/csv")
        assert latest.body == b"o\r\n1\r\n"
        described = (await asked(app, "/queries/all", "GET")).json
        assert (described["evaluations"], described["solutions"], described["listeners"]) == (2, 1, 1)
        assert [one["name"] for one in (await asked(app, "/queries", "GET")).json["queries"]] == ["all"]
        assert b"a live query of the store" in (await asked(app, "/queries/all/plan", "GET")).body
        metrics = (await asked(app, "/metrics", "GET")).body
        assert b'sparql_streams_query_evaluations_total{query="all"} 2.0' in metrics
        registered = await asked(
            app, "/sparql", "POST", ALL.replace("SELECT", "REGISTER QUERY other AS SELECT ISTREAM"), content_type=QUERY
        )
        assert registered.status == 201
        assert registered.headers["location"] == "/queries/other"
        assert (await asked(app, "/queries/all", "DELETE")).status == 204
        assert (await came(listener, 3))[2]["event"] == "end"
        assert (await asked(app, "/queries/all", "GET")).status == 404

    async def later(app: Starlette) -> None:
        (kept,) = (await asked(app, "/queries", "GET")).json["queries"]
        assert (kept["name"], kept["operator"]) == ("other", "ISTREAM")

    serve(check, data=tmp_path)
    serve(later, data=tmp_path)


def test_a_listener_goes_on_where_it_was_after_a_restart(tmp_path: Path) -> None:
    ids: list[str] = []

    async def first(app: Starlette) -> None:
        await update(app, "INSERT DATA { :s :p 1 }")
        for text in (ALL, ALL.replace("SELECT", "SELECT ISTREAM")):
            listener = listen(app, "/sparql", "POST", text, content_type=QUERY)
            ids.append((await came(listener, 1))[0]["id"])
            await listener.leave()
        # Not of its answer.
        await update(app, "INSERT DATA { :s :q 1 }")

    async def second(app: Starlette) -> None:
        both = [
            listen(app, "/sparql", "POST", text, content_type=QUERY, last_event_id=token)
            for text, token in zip((ALL, ALL.replace("SELECT", "SELECT ISTREAM")), ids, strict=True)
        ]
        await until(lambda: sum(one.evaluations for one in services_of(app).live.queries()) == 2, attempts=100_000)
        await update(app, "INSERT DATA { :s :p 2 }")
        assert [objects((await came(one, 1))[0]) for one in both] == [["1", "2"], ["2"]]
        for one in both:
            await one.leave()

    serve(first, data=tmp_path)
    serve(second, data=tmp_path)


def test_what_cannot_be_followed_is_refused_before_the_stream_begins() -> None:
    async def check(app: Starlette) -> None:
        for path, text, status, told in (
            ("/sparql", "SELECT * { ?s ?p }", 400, "line 1"),
            ("/sparql", "SELECT * { SERVICE <http://e/> { ?s ?p ?o } }", 501, "SERVICE"),
            ("/sparql?since=2026-01-01T00:00:00Z", ALL, 501, "the past of the store"),
            ("/sparql?memory=64MB", ALL, 501, "memory"),
            ("/sparql?lastEventId=x", ALL, 400, "id of an event"),
            ("/sparql", ALL + "#" * MAXIMUM_TEXT, 413, ""),
        ):
            refused = await asked(app, path, "POST", text, content_type=QUERY, accept=EVENTS)
            assert refused.status == status, refused.body
            assert told in refused.json["detail"]
        assert (await asked(app, "/queries/q", "PUT", "SELECT * { ?s ?p }", content_type=QUERY)).status == 400
        for parameter in ("default-graph-uri", "named-graph-uri"):
            refused = await asked(app, f"/queries/q?{parameter}=relative", "PUT", ALL, content_type=QUERY)
            assert refused.status == 400, refused.body
            assert "not an absolute IRI" in refused.json["detail"]
            refused = await asked(app, f"/queries/q/results?{parameter}=http://e/g", "GET")
            assert refused.status == 400, refused.body
            assert "go with PUT" in refused.json["detail"]
        assert (await asked(app, "/queries/q", "GET")).status == 404

    serve(check)


def test_live_queries_count_and_need_a_token_that_reads() -> None:
    reader = AccessToken.of("reader", frozenset({Scope.READ}), "reader-0123456789")

    async def check(app: Starlette) -> None:
        assert (await asked(app, f"/sparql?query={quote(ALL)}", "GET", accept=EVENTS)).status == 401
        authorization = {"authorization": "Bearer reader-0123456789"}
        listener = listen(app, f"/sparql?query={quote(ALL)}", **authorization)
        await came(listener, 1)
        another = await asked(app, f"/sparql?query={quote(P + 'ASK {}')}", "GET", accept=EVENTS, **authorization)
        assert (another.status, another.json["title"]) == (503, "Too many continuous queries")
        registering = ALL.replace("SELECT", "REGISTER QUERY q AS SELECT")
        refused = await asked(app, "/sparql", "POST", registering, content_type=QUERY, **authorization)
        assert refused.status == 403
        await listener.leave()

    serve(check, tokens=Tokens((reader,), frozenset()), max_live_queries=1)


def test_what_takes_too_long_is_an_error_event_and_the_stream_goes_on() -> None:
    slow = P + "SELECT (COUNT(*) AS ?o) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?x }"

    async def check(app: Starlette) -> None:
        values = " ".join(f":s{number} :p {number} ." for number in range(200))
        await update(app, f"INSERT DATA {{ {values} }}")
        listener = listen(app, "/sparql?timeout=6", "POST", slow, content_type=QUERY)
        (error,) = await came(listener, 1)
        assert error["event"] == "error"
        assert "stopped after 6 s" in json.loads(error["data"])["detail"]
        await update(app, "CLEAR ALL")
        assert objects((await came(listener, 2))[1]) == ["0"]
        await listener.leave()

    serve(check)


def test_a_sink_gets_the_answer_now_and_each_after_it(tmp_path: Path) -> None:
    file = tmp_path / "out" / "answers.jsonl"
    file.parent.mkdir()

    def lines() -> list[Any]:
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    async def check(app: Starlette) -> None:
        await asked(app, "/queries/all", "PUT", ALL, content_type=QUERY)
        settings = json.dumps({"type": "file", "url": f"file://{file}", "format": "json"})
        made = await asked(app, "/queries/all/sinks/a", "PUT", settings, content_type="application/json")
        assert made.status == 201, made.body
        await until(lambda: len(lines()) == 1, attempts=100_000)
        await update(app, "INSERT DATA { :s :p 1 }")
        await until(lambda: len(lines()) == 2, attempts=100_000)
        assert [[row["o"]["value"] for row in one["results"]["bindings"]] for one in lines()] == [[], ["1"]]

    serve(check, data=tmp_path / "data", allow_fetch=AllowList.of([f"file://{file.parent}"]))
