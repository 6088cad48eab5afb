from __future__ import annotations

import errno
import os
from collections import Counter
from typing import Never

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route

from endpoint.problems import exception_handlers
from endpoint.resources.requests.request_body import UnsupportedCoding
from protocol.errors import ProtocolError, QuerySyntaxError, Unavailable
from protocol.sparql.request import MethodNotAllowed
from tests.endpoint.asgi_client import TestClient


def raised(error: Exception, method: str = "GET", path: str = "/") -> httpx.Response:
    async def fail(request: Request) -> Never:
        raise error

    app = Starlette(routes=[Route("/", fail)], exception_handlers=exception_handlers(Counter()))
    response: httpx.Response = TestClient(app, raise_server_exceptions=False).request(method, path)
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    return response


def test_a_protocol_error_is_its_own_problem_document() -> None:
    response = raised(QuerySyntaxError("what «this» is", line=2, column=3, extra={"hint": "x"}))
    assert response.json() == {
        "type": "about:blank",
        "title": "Syntax error in the query",
        "status": 400,
        "detail": "what «this» is",
        "line": 2,
        "column": 3,
        "hint": "x",
    }


@pytest.mark.parametrize(
    ("error", "header", "value"),
    [
        (Unavailable("Spark is starting"), "retry-after", "2"),
        (MethodNotAllowed("no", ("POST",)), "allow", "POST"),
        (UnsupportedCoding("br"), "accept-encoding", "gzip, deflate"),
    ],
)
def test_some_statuses_come_with_a_header(error: ProtocolError, header: str, value: str) -> None:
    response = raised(error)
    assert (response.status_code, response.headers[header]) == (error.status, value)


def test_where_no_file_can_be_opened_any_more_it_is_said_what_takes_them() -> None:
    response = raised(OSError(errno.EMFILE, "Too many open files"))
    assert (response.status_code, response.headers["retry-after"]) == (503, "2")
    assert "ulimit -n" in response.json()["detail"]
    assert raised(OSError(errno.EIO, "Input/output error")).status_code == 500


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_where_files_belong_to_others_it_is_said_what_would_be_right(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    response = raised(OSError(number, os.strerror(number), "/data/streams/s"))
    assert (response.status_code, response.json()["title"]) == (503, "Not available")
    assert "give what is there to that user" in response.json()["detail"]
    assert "/data" not in response.text
    assert "'/data/streams/s'" in caplog.text


def test_unknown_addresses_and_methods_are_problems_too() -> None:
    missing = raised(ValueError(), path="/none")
    assert (missing.status_code, missing.json()["title"]) == (404, "Not Found")
    assert "/none" in missing.json()["detail"]
    other = raised(ValueError(), method="DELETE")
    assert (other.status_code, other.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_a_problem_document_is_short_whatever_it_quotes() -> None:
    quoting = raised(QuerySyntaxError(f"unexpected {'x' * 100_000}: write SELECT")).json()["detail"]
    assert quoting.startswith("unexpected xxx")
    assert quoting.endswith("xxx: write SELECT")
    missing = raised(ValueError(), path=f"/{'x' * 30_000}").json()["detail"]
    assert len(quoting) < 2100
    assert len(missing) < 2100


def test_the_unforeseen_gives_nothing_away() -> None:
    response = raised(RuntimeError("password"))
    assert response.status_code == 500
    assert "password" not in response.text


def test_a_client_that_left_before_its_request_was_whole_is_no_error_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    async def read(request: Request) -> Never:
        raise ClientDisconnect

    app = Starlette(routes=[Route("/", read)], exception_handlers=exception_handlers(Counter()))
    assert TestClient(app).get("/").status_code == 499
    assert not caplog.records


def test_a_lone_surrogate_that_a_client_sent_is_told_as_json_writes_it() -> None:
    response = raised(ProtocolError("there is no member 'a\ud800é'"))
    assert response.status_code == 400
    assert response.json()["detail"] == "there is no member 'a\ud800é'"
