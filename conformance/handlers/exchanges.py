"""Requests and expected responses as manifests describe them (W3C's HTTP Vocabulary in RDF), and their check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

import pyoxigraph as ox
from werkzeug.http import parse_options_header

from conformance.answers.comparison import Sameness, compare
from conformance.answers.results import UnreadableAnswer, actual_answer, graph
from conformance.engines.endpoints import Exchanged
from conformance.handlers.evaluation import difference
from conformance.manifest import Description, ManifestError, Term, Test
from conformance.vocabulary import CNT, HT, MF
from protocol.formats.media_types import GRAPH_OFFERS, SOLUTIONS_OFFERS

_STATUS_PREFIX = "http://www.w3.org/2011/http-statusCodes#"
_STATUSES = {"".join(part.capitalize() for part in status.name.split("_")): status.value for status in HTTPStatus}
_STATUSES["OK"] = 200
_BOOLEAN_TYPES = frozenset({"application/sparql-results+json", "application/sparql-results+xml"})


class Mismatch(Exception):
    """A response is not the one expected; says how."""


@dataclass(frozen=True)
class Request:
    """A request as it is sent; ``target`` is the description's ``ht:absolutePath``."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None


@dataclass(frozen=True)
class Expected:
    """What a response has to be. Each part that is None (or empty) may be anything."""

    statuses: tuple[range, ...] = ()
    boolean: bool | None = None
    format: str | None = None
    content_type: str | None = None
    graph: bytes | None = None
    location: str | None = None
    """A placeholder, which the response's Location replaces in the requests that follow."""


def exchanges(test: Test) -> list[tuple[Request, Expected]]:
    """The requests of a test in their order, each with its response. ManifestError if the test describes none."""
    about = test.description
    connection = about.required(test.node, MF["action"])
    found = [
        (_request(about, one), _expected(about, one)) for one in about.items(about.optional(connection, HT["requests"]))
    ]
    if not found:
        raise ManifestError(f"{about.place}: {test.node} describes no request")
    return found


def _request(about: Description, node: Term) -> Request:
    method, target = about.text(node, HT["methodName"]), about.text(node, HT["absolutePath"])
    if method is None or target is None:
        raise ManifestError(f"{about.place}: a request has no method or no path")
    return Request(method, target, _headers(about, node), _body(about, node))


def _headers(about: Description, node: Term) -> tuple[tuple[str, str], ...]:
    return tuple(
        (about.text(one, HT["fieldName"]) or "", about.text(one, HT["fieldValue"]) or "")
        for one in about.items(about.optional(node, HT["headers"]))
    )


def _body(about: Description, node: Term) -> bytes | None:
    body = about.optional(node, HT["body"])
    if body is None:
        return None
    return (about.text(body, CNT["chars"]) or "").encode(about.text(body, CNT["characterEncoding"]) or "utf-8")


def _expected(about: Description, request: Term) -> Expected:
    node = about.required(request, HT["resp"])
    statuses = tuple(_status(about, one) for one in about.objects(node, MF["expectedStatus"]))
    headers = {name.lower(): value for name, value in _headers(about, node)}
    boolean = about.text(node, MF["expectedBoolean"])
    return Expected(
        statuses,
        None if boolean is None else boolean in ("true", "1"),
        about.text(node, MF["expectedFormat"]),
        headers.get("content-type"),
        _body(about, node),
        about.text(node, MF["expectedLocation"]),
    )


def _status(about: Description, node: Term) -> range:
    name = node.value.removeprefix(_STATUS_PREFIX) if isinstance(node, ox.NamedNode) else str(node)
    if name.startswith("StatusCode") and name.endswith("xx"):
        first = int(name[len("StatusCode") : -2]) * 100
        return range(first, first + 100)
    if name not in _STATUSES:
        raise ManifestError(f"{about.place}: {node} is no status that is known here")
    return range(_STATUSES[name], _STATUSES[name] + 1)


def check(expected: Expected, actual: Exchanged, *, head: bool = False) -> None:
    """Raise Mismatch, saying how, unless the response is as expected; ``head``: it has no body."""
    if expected.statuses and not any(actual.status in statuses for statuses in expected.statuses):
        wanted = " or ".join(_range(one) for one in expected.statuses)
        raise Mismatch(f"expected status {wanted}, got {actual.status} {_text(actual.body)}")
    if expected.content_type is not None:
        said = actual.headers.get("content-type", "")
        if _parts(said) != _parts(expected.content_type):
            raise Mismatch(f"expected Content-Type {expected.content_type}, got {said or 'none'}")
    if expected.location is not None and not actual.headers.get("location"):
        raise Mismatch("the response has no Location")
    if head:
        if actual.body:
            raise Mismatch("the response to HEAD has a body")
        return
    try:
        _check_content(expected, actual)
    except UnreadableAnswer as error:
        raise Mismatch(str(error)) from None


def _check_content(expected: Expected, actual: Exchanged) -> None:
    if expected.format is not None:
        types = {"boolean": _BOOLEAN_TYPES, "tabular": SOLUTIONS_OFFERS.keys(), "RDF": GRAPH_OFFERS.keys()}
        if actual.media_type not in types[expected.format]:
            raise Mismatch(f"expected a {expected.format} format, got {actual.media_type or 'none'}")
        answer = actual_answer(actual.body, actual.media_type)
        if isinstance(answer, bool) is not (expected.format == "boolean"):
            raise Mismatch(f"expected {expected.format}, got {answer}")
        if expected.boolean is not None and answer is not expected.boolean:
            raise Mismatch(f"expected {expected.boolean}, got {answer}")
    if expected.graph is not None:
        media_type = _parts(expected.content_type or "")[0]
        wanted, found = graph(expected.graph, media_type), graph(actual.body, actual.media_type)
        if compare(wanted, found) is not Sameness.STRICT:
            raise Mismatch(difference(wanted, found))


def _parts(content_type: str) -> tuple[str, ...]:
    """The media type, then its parameters in order; upper and lower case do not matter in either (RFC 9110 8.3.1)."""
    media_type, parameters = parse_options_header(content_type.lower())
    return (media_type, *(f"{name}={value}" for name, value in sorted(parameters.items())))


def _range(statuses: range) -> str:
    return str(statuses.start) if len(statuses) == 1 else f"{statuses.start // 100}xx"


def _text(body: bytes) -> str:
    return body[:300].decode(errors="replace")


def filled(request: Request, values: Sequence[tuple[str, str]]) -> Request:
    """The request with placeholders replaced, in its target and in its body."""
    target, body = request.target, request.body
    for placeholder, value in values:
        target = target.replace(placeholder, value)
        body = None if body is None else body.replace(placeholder.encode(), value.encode())
    return Request(request.method, target, request.headers, body)
