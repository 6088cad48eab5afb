"""The oracle complains of what it should, so that its silence means something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fuzz.oracle import complaint
from tests.fuzz.run import Findings, changes, read_log
from tests.fuzz.wire import Answered, FuzzedRequest

GET = FuzzedRequest("GET", "/")
HEAD = FuzzedRequest("HEAD", "/")
MANGLED = FuzzedRequest("GET", "/\x01")
PROBLEM = {"content-type": "application/problem+json"}


def problem(status: int, **more: object) -> Answered:
    document: dict[str, object] = {"status": status, "title": "Bad", "detail": "it is bad", **more}
    return Answered(status, PROBLEM, json.dumps(document).encode())


@pytest.mark.parametrize(
    ("request_", "answered"),
    [
        (GET, problem(500)),
        (GET, problem(502)),
        (GET, Answered(503, {"content-type": "text/plain"}, b"busy")),
        (GET, Answered(0, failure="IncompleteRead IncompleteRead(77 bytes read)")),
        (GET, Answered(400, {"content-type": "text/plain"}, b"no")),
        (GET, Answered(400, {"content-type": "text/plain"}, b"Invalid HTTP request received.")),
        (GET, Answered(400, PROBLEM, b"{")),
        (GET, Answered(400, PROBLEM, b'{"status": 404, "title": "x", "detail": "y"}')),
        (GET, problem(400, detail="")),
        (GET, problem(400, detail='Traceback: File "/x.py"')),
        (GET, problem(400, detail="x" * 30_000)),
        (GET, Answered(200, {"content-type": "application/json"}, b"{]")),
        (GET, Answered(200, {"content-type": "application/rdf+xml"}, b"<a>\x01</a>")),
        (GET, Answered(0, failure="timeout")),
        (HEAD, Answered(404, {"content-type": "text/plain"})),
    ],
)
def test_what_is_wrong_is_complained_of(request_: FuzzedRequest, answered: Answered) -> None:
    assert complaint(request_, answered) is not None


@pytest.mark.parametrize(
    ("request_", "answered"),
    [
        (GET, problem(400)),
        (GET, problem(501)),
        (GET, problem(504)),
        (HEAD, Answered(404, PROBLEM)),
        (GET, Answered(200, {"content-type": "text/event-stream"}, b": heartbeat\n\n", open=True)),
        (GET, Answered(200, {"content-type": "application/json"}, b"{}")),
        (
            MANGLED,
            Answered(431, {"content-type": "application/problem+json"}, b'{"status":431,"title":"t","detail":"d"}'),
        ),
        (MANGLED, Answered(0, failure="timeout")),
        (GET, Answered(0, failure="IncompleteRead IncompleteRead(4102877 bytes read)")),
    ],
)
def test_what_is_right_is_not(request_: FuzzedRequest, answered: Answered) -> None:
    assert complaint(request_, answered) is None


def test_stack_traces_in_the_log_are_found(tmp_path_factory: pytest.TempPathFactory) -> None:
    log = tmp_path_factory.mktemp("log") / "server.log"
    log.write_text(
        'ERROR x\nTraceback (most recent call last):\n  File "x.py", line 1\n    f()\nValueError: no\nINFO y\n'
    )
    findings = Findings()
    read_log(log, findings)
    assert list(findings.wrong) == ["a stack trace in the log: ValueError: no"]


STATE: dict[str, Any] = {
    "graphs": [b",urn:s,urn:p,urn:o"],
    "streams": [{"name": "s", "elements": 1}],
    "queries": [("q", "ASK {}"), ("waits", "ASK {}")],
    "starts": {"q": "1970-01-01T00:00:01Z"},
}


@pytest.mark.parametrize(
    ("key", "after"),
    [
        ("graphs", []),
        ("streams", [{"name": "s", "elements": 2}]),
        ("queries", [("q", "ASK {}")]),
        ("starts", {"q": "1970-01-01T00:00:02Z"}),
        ("starts", {}),
    ],
)
def test_what_a_refused_request_changed_is_found(key: str, after: object) -> None:
    (change,) = changes(STATE, {**STATE, key: after})
    assert change.startswith(f"{key} from ")


def test_a_query_that_got_its_first_data_is_no_change() -> None:
    begun = {"q": "1970-01-01T00:00:01Z", "waits": "1970-01-01T00:00:03Z"}
    assert changes(STATE, {**STATE, "starts": begun}) == []
