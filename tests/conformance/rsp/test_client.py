"""The runner's client with an endpoint that says what it is told to say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx

from conformance.engines.endpoints import Endpoint
from conformance.rsp.case import Case, Refusal
from conformance.rsp.engine import RspEngine
from conformance.rsp.expected import Evaluation, read_expected
from conformance.rsp.script import read_script

XSD = "http://www.w3.org/2001/XMLSchema#"
SELECT = (
    "SELECT ?x FROM NAMED WINDOW <http://ex/w> ON <http://ex/s> [RANGE 5] WHERE { WINDOW <http://ex/w> { ?s ?p ?x } }"
)
CONSTRUCT = "CONSTRUCT { ?s ?p ?x } FROM STREAM <http://ex/s> [RANGE 5] WHERE { ?s ?p ?x }"
SCRIPT = 'PUT /streams/s\n{"iri": "http://ex/s"}\n\nPOST /streams/s?at=1\n<http://ex/a> <http://ex/v> 1 .\n'
ONE = json.dumps({"time": 5, "windows": {"http://ex/w": [0, 5]}, "solutions": [{"x": f'"1"^^<{XSD}integer>'}]})


def event(time: int, *values: str, operator: str = "RSTREAM", opening: int = 0) -> str:
    bindings = [{"x": {"type": "literal", "value": value, "datatype": XSD + "integer"}} for value in values]
    bounds = [f"1970-01-01T00:00:00.{instant:03}Z" for instant in (opening, time)]
    about = {"time": bounds[1], "operator": operator, "windows": {"http://ex/w": bounds}}
    document = {"head": {"vars": ["x"]}, "results": {"bindings": bindings}, "evaluation": about}
    return f"id: {time}\ndata: {json.dumps(document)}\n\n"


def progress_to(time: int) -> str:
    instant = f"1970-01-01T00:00:00.{time:03}Z"
    return f"event: progress\ndata: {json.dumps({'time': instant, 'watermark': instant})}\n\n"


END = 'event: end\ndata: {"reason": "over"}\n\n'


class Endpointed:
    """Requests as they came, and the result streams in turn, one for each connection."""

    def __init__(self, *streams: str) -> None:
        self.requests: list[httpx.Request] = []
        self.streams = list(streams)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.headers.get("accept") == "text/event-stream":
            return httpx.Response(200, text=self.streams.pop(0), headers={"content-type": "text/event-stream"})
        return httpx.Response(200, json={})

    @property
    def asked(self) -> list[str]:
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.requests]


def case(script: str, expected: str | Refusal, query: str = SELECT) -> Case:
    steps = tuple(read_script(script, "a.http", {"q.rq": query}.__getitem__))
    answers = expected if isinstance(expected, Refusal) else tuple(read_expected(expected, "a.jsonl"))
    return Case("a case", "tests", query, "q.rq", steps, answers, Path("a.jsonl"), None)


def complaint(played: Case, endpoint: Callable[[httpx.Request], httpx.Response]) -> str | None:
    return RspEngine(Endpoint("http://endpoint.example"), httpx.MockTransport(endpoint)).complaint(played)


def test_right_answers_are_right_and_what_was_made_is_removed() -> None:
    endpoint = Endpointed(event(5, "1") + END)
    assert complaint(case(SCRIPT, ONE), endpoint) is None
    assert endpoint.asked == [
        "PUT /streams/s", "POST /streams/s?at=1", "POST /sparql?since=beginning", "DELETE /streams/s",
    ]  # fmt: skip


def test_other_solutions_instants_bounds_and_operators_are_complained_of() -> None:
    for events, told in [
        (event(5, "2"), "at 5:"),
        (event(5, "1", "1"), "at 5:"),
        (event(5), "at 5:"),
        (event(6, "1"), "evaluated at [6], expected [5]"),
        (event(5, "1") + event(10), "evaluated at [5, 10]"),
        ("", "evaluated at []"),
        (event(5, "1", opening=1), "the bounds of <http://ex/w> are (1, 5), expected (0, 5)"),
        (event(5, "1", operator="ISTREAM"), "the operator is ISTREAM"),
    ]:
        assert told in (complaint(case(SCRIPT, ONE), Endpointed(events + END)) or "nothing"), events


def test_a_stream_of_results_that_breaks_off_or_fails_is_complained_of() -> None:
    assert complaint(case(SCRIPT, ONE), Endpointed(event(5, "1"))) == "the result stream broke off before its end"
    failed = 'event: error\ndata: {"title": "Spark is gone"}\n\n'
    assert "Spark is gone" in (complaint(case(SCRIPT, ONE), Endpointed(failed)) or "")


def test_heartbeats_and_progress_are_no_evaluations() -> None:
    progress = (
        'event: progress\ndata: {"time": "1970-01-01T00:00:00.004Z", "watermark": "1970-01-01T00:00:00.004Z"}\n\n'
    )
    events = f": heartbeat\n\n{progress}{event(5, '1')}: heartbeat\n\n{END}"
    assert complaint(case(SCRIPT, ONE), Endpointed(events)) is None


def test_a_graph_has_the_time_of_the_progress_behind_it() -> None:
    line = f'<http://ex/a> <http://ex/v> "1"^^<{XSD}integer> .'
    progress = (
        'event: progress\ndata: {"time": "1970-01-01T00:00:00.005Z", "watermark": "1970-01-01T00:00:00.009Z"}\n\n'
    )
    endpoint = Endpointed(f"id: 5\ndata: {line}\n\n{progress}{END}")
    expected = Evaluation(5, (line,)).write(graph=True)
    assert complaint(case(SCRIPT, expected, CONSTRUCT), endpoint) is None


def test_a_listener_resumes_behind_its_last_event() -> None:
    endpoint = Endpointed(event(5, "1"), event(10, "2") + END)
    second = json.dumps({"time": 10, "solutions": [{"x": f'"2"^^<{XSD}integer>'}]})
    assert complaint(case(SCRIPT + "LISTEN\nAWAIT 5\nRESUME\n", f"{ONE}\n{second}\n"), endpoint) is None
    assert endpoint.requests[-2].headers["last-event-id"] == "5"


def test_a_query_that_was_put_is_listened_to_by_its_name() -> None:
    endpoint = Endpointed(event(5, "1") + END)
    assert complaint(case(SCRIPT + "PUT /queries/mine\n< q.rq\n", ONE), endpoint) is None
    assert endpoint.asked[2:] == [
        "PUT /queries/mine", "GET /queries/mine/results?since=beginning", "DELETE /queries/mine", "DELETE /streams/s",
    ]  # fmt: skip


def test_a_request_that_fails_is_told_and_one_that_should_fail_has_to() -> None:
    def refuses(request: httpx.Request) -> httpx.Response:
        return httpx.Response(409 if request.method == "POST" else 200, text="no")

    assert complaint(case(SCRIPT, ONE), refuses) == "POST /streams/s?at=1: 409 no"
    told = complaint(case(SCRIPT.replace("at=1", "at=1 400"), ONE), Endpointed(event(5, "1") + END))
    assert told == "POST /streams/s?at=1: 200 {}"


def test_a_refusal_is_compared_by_status_and_place() -> None:
    def refuses(request: httpx.Request) -> httpx.Response:
        if request.url.path != "/sparql":
            return httpx.Response(200)
        problem = {"status": 400, "line": 2, "column": 7}
        return httpx.Response(400, json=problem, headers={"content-type": "application/problem+json"})

    assert complaint(case(SCRIPT, Refusal(400, 2, 7)), refuses) is None
    assert complaint(case(SCRIPT, Refusal(400)), refuses) is None
    assert "expected {'line': 3}" in (complaint(case(SCRIPT, Refusal(400, 3)), refuses) or "")
    assert complaint(case(SCRIPT, Refusal(400)), Endpointed()) == "the query was accepted"
