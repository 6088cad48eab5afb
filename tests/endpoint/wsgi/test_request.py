from __future__ import annotations

import io
import socket
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.wsgi.request import RequestBody, client_has_gone, scope
from protocol.errors import ProtocolError


def environ(**variables: Any) -> dict[str, Any]:
    return {"REQUEST_METHOD": "GET", "SERVER_NAME": "h", "SERVER_PORT": "80", "wsgi.url_scheme": "http", **variables}


def wsgi(raw: str) -> str:
    """A path as WSGI servers put it: decoded to bytes, each a character."""
    return unquote_to_bytes(raw).decode("latin-1")


CHARACTERS = st.characters(exclude_categories=["Cs"])
SEGMENTS = st.lists(st.text(CHARACTERS, max_size=6).map(lambda t: quote(t, safe="~:@")))


@given(SEGMENTS, SEGMENTS, st.sampled_from(["REQUEST_URI", "RAW_URI"]), st.sampled_from(["", "?a=/b%2Fc", "?"]))
def test_the_path_is_decoded_once_and_kept_as_it_came(
    mounted: list[str], below: list[str], variable: str, query: str
) -> None:
    script, path = ("".join(f"/{segment}" for segment in part) for part in (mounted, below))
    asked = scope(environ(SCRIPT_NAME=wsgi(script), PATH_INFO=wsgi(path), **{variable: f"{script}{path}{query}"}))
    if (script + path).startswith("/"):
        assert asked["raw_path"] == (script + path).encode()
    assert asked["path"] == unquote_to_bytes(script + path).decode()
    assert asked["root_path"] == unquote_to_bytes(script).decode()


@pytest.mark.parametrize(
    ("target", "raw"),
    [
        ("/p/graphs/a%2Fb", b"/p/graphs/a%2Fb"),
        ("http://h/p/graphs/a%2Fb?x", b"/p/graphs/a%2Fb"),  # absolute-form
        ("/graphs/a%2Fb", b"/p/graphs/a%2Fb"),  # the prefix was taken off by a proxy
        ("/elsewhere/a%2Fb", b"/p/graphs/a/b"),  # rewritten: what is known is the decoded path
        (None, b"/p/graphs/a/b"),
    ],
)
def test_the_raw_path_is_that_of_the_request_line_if_it_is_the_same_path(target: str | None, raw: bytes) -> None:
    named = {} if target is None else {"REQUEST_URI": target}
    assert scope(environ(SCRIPT_NAME="/p", PATH_INFO="/graphs/a/b", **named))["raw_path"] == raw


def test_a_path_made_anew_is_encoded() -> None:
    assert scope(environ(PATH_INFO=wsgi("/%C3%A9 %25/?")))["raw_path"] == b"/%C3%A9%20%25/%3F"


def test_headers_are_those_of_the_request() -> None:
    asked = scope(
        environ(
            HTTP_LAST_EVENT_ID="7", CONTENT_TYPE="text/turtle", CONTENT_LENGTH="", HTTP_CONTENT_TYPE="no", HTTP_X=""
        )
    )
    assert sorted(asked["headers"]) == [(b"content-type", b"text/turtle"), (b"last-event-id", b"7"), (b"x", b"")]


def test_who_asks_whom() -> None:
    asked = scope(
        environ(REMOTE_ADDR="10.0.0.1", REMOTE_PORT="99", SERVER_PROTOCOL="HTTP/1.0", QUERY_STRING="a=%C3%A9")
    )
    assert (asked["client"], asked["server"], asked["http_version"]) == (("10.0.0.1", 99), ("h", 80), "1.0")
    assert asked["query_string"] == b"a=%C3%A9"
    assert scope(environ())["client"] is None


def body(data: bytes, **variables: Any) -> RequestBody:
    return RequestBody.of(environ(**{"wsgi.input": io.BytesIO(data), **variables}))


def test_no_more_is_read_than_the_length_announced() -> None:
    one = body(b"abcdef", CONTENT_LENGTH="3")
    assert one.read() == (b"abc", False)


def test_a_request_without_a_length_has_no_body() -> None:
    assert body(b"the next request").empty


def test_both_a_length_and_chunks_are_read_to_the_mark() -> None:
    both = {"CONTENT_LENGTH": "1", "HTTP_TRANSFER_ENCODING": "chunked"}
    assert body(b"abc", **both, **{"wsgi.input_terminated": True}).read() == (b"abc", True)
    with pytest.raises(ProtocolError) as refused:
        body(b"abc", **both)
    assert refused.value.status == 411


@pytest.mark.parametrize("length", ["-1", "x", "1 2", "٣"])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    with pytest.raises(ProtocolError, match="Content-Length"):
        body(b"abc", CONTENT_LENGTH=length)


@pytest.mark.parametrize("name", ["gunicorn.socket", "werkzeug.socket"])
def test_a_connection_that_is_closed_is_seen_without_reading_from_it(name: str) -> None:
    ours, clients = socket.socketpair()
    with ours, clients:
        assert client_has_gone(environ(**{name: ours})) is False
        clients.sendall(b"more")
        assert client_has_gone(environ(**{name: ours})) is False
        assert ours.recv(10) == b"more"
        clients.close()
        assert client_has_gone(environ(**{name: ours})) is True
    assert client_has_gone(environ(**{name: ours})) is True
    assert client_has_gone(environ()) is False
