"""The older Graph Store tests: each one request and its response, as HTTP messages in the Markdown of a comment.

They build on each other: each test is run on the state that the requests of those before it leave, which
are sent again from an empty store, so that a test can be run alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlsplit

import pyoxigraph as ox

from conformance.engines.endpoints import Exchanged
from conformance.engines.http import HttpEngine
from conformance.handlers.exchanges import Expected, Mismatch, Request, check
from conformance.manifest import Description, ManifestError, Term, Test
from conformance.vocabulary import MF, RDFS

_SECTIONS = re.compile(r"#### Request\n(?P<request>.*)#### Response\n(?P<response>.*)\Z", re.DOTALL)
_STATUS = re.compile(r"(\d{3})\b")
_NEW_PATH = "$NEWPATH$"


def older_test(test: Test, engine: HttpEngine) -> None:
    """Send the requests of the tests before this one, then its own. Raises Mismatch if the response is not as told."""
    engine.empty()
    engine.touched()
    new_path = ""
    for node in _sequence(test):
        request, expected = _message(test.description, node)
        sent = _filled(request, engine, new_path)
        response = engine.endpoint.exchange(sent.method, sent.target, sent.headers, sent.body)
        if sent.method == "POST" and response.headers.get("location"):
            location = urlsplit(response.headers["location"])
            new_path = location.path + (f"?{location.query}" if location.query else "")
        if node == test.node:
            _check(_filled_response(expected, engine), sent, response)


def _check(expected: Expected, sent: Request, response: Exchanged) -> None:
    if expected.statuses == (range(200, 201),) and expected.graph is None and expected.content_type is None:
        # Without content 204 says the same (Graph Store sections 5.3 to 5.5; the newer tests have both).
        expected = replace(expected, statuses=(range(200, 201), range(204, 205)))
    try:
        check(expected, response, head=sent.method == "HEAD")
    except Mismatch as error:
        raise Mismatch(f"{sent.method} {sent.target}: {error}") from None


def _sequence(test: Test) -> list[Term]:
    """The entries of the manifest up to this test, in order."""
    about = test.description
    nodes = about.items(about.only(MF["entries"]))
    return nodes[: nodes.index(test.node) + 1]


def _message(about: Description, node: Term) -> tuple[Request, Expected]:
    for comment in about.objects(node, RDFS["comment"]):
        found = _SECTIONS.search(comment.value) if isinstance(comment, ox.Literal) else None
        if found:
            return _request(_lines(found["request"])), _response(_lines(found["response"]))
    raise ManifestError(f"{about.place}: {node} has neither an action nor a request in its comment")


def _lines(block: str) -> list[str]:
    """The indented block of a Markdown section, without its indent and the empty lines around it."""
    lines = [line.removeprefix("    ").rstrip() for line in block.split("\n")]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return lines


def _request(lines: list[str]) -> Request:
    method, target, _ = lines[0].split(" ")
    headers, body = _parts(lines[1:])
    sent = tuple((name, value) for name, value in headers if name.lower() != "host")
    multipart = any(value.startswith("multipart/") for _, value in headers)
    return Request(method, target, sent, None if not body else ("\r\n" if multipart else "\n").join(body).encode())


def _response(lines: list[str]) -> Expected:
    status = _STATUS.match(lines[0])
    if status is None:
        raise ManifestError(f"{lines[0]!r} is no status of a response")
    headers, body = _parts(lines[1:])
    named = {name.lower(): value for name, value in headers}
    code = int(status[1])
    return Expected(
        (range(code, code + 1),),
        content_type=named.get("content-type"),
        graph="\n".join(body).encode() if body else None,
        location=named.get("location"),
    )


def _parts(lines: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Headers up to the first empty line, and what comes after it."""
    end = lines.index("") if "" in lines else len(lines)
    pairs = [line.partition(":") for line in lines[:end]]
    return [(name.strip(), value.strip()) for name, _, value in pairs], lines[end + 1 :]


def _filled(request: Request, engine: HttpEngine, new_path: str) -> Request:
    target = request.target.replace(_NEW_PATH, new_path)
    body = None if request.body is None else _replaced(request.body, engine)
    return replace(request, target=_replaced(target.encode(), engine).decode(), body=body)


def _filled_response(expected: Expected, engine: HttpEngine) -> Expected:
    return replace(expected, graph=None if expected.graph is None else _replaced(expected.graph, engine))


def _replaced(text: bytes, engine: HttpEngine) -> bytes:
    """``$GRAPHSTORE$`` is a path, which in URLs is written after a slash of its own."""
    path = engine.endpoint.path("/graphs").encode()
    host = engine.endpoint.authority.encode()
    return text.replace(b"/$GRAPHSTORE$", path).replace(b"$GRAPHSTORE$", path).replace(b"$HOST$", host)
