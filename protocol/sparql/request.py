"""What a SPARQL 1.1 Protocol request asks for (sections 2.1 and 2.2), read from its parts alone."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from protocol.entailment.regimes import Regime, read_regime
from protocol.errors import ProtocolError
from protocol.evaluation_limits import LEAST_EVALUATION_MEMORY, EvaluationLimits
from protocol.formats.media_types import FORM, SPARQL_QUERY, SPARQL_UPDATE
from protocol.formats.negotiation import UnsupportedMediaType, media_type_of, require_utf8
from protocol.sizes import parse_size
from protocol.sparql.dataset import NONE_REQUESTED, DatasetConflict, RequestedGraphs, require_absolute


class MalformedRequest(ProtocolError):
    """The request is not one of the SPARQL 1.1 Protocol."""

    title = "Not a SPARQL protocol request"


class MethodNotAllowed(ProtocolError):
    """The method is not for this; ``allow`` is the ``Allow`` header."""

    status = 405
    title = "Method not allowed"

    def __init__(self, detail: str, allow: Sequence[str]) -> None:
        super().__init__(detail)
        self.allow = ", ".join(allow)


@dataclass(frozen=True)
class QueryRequest:
    """A query; ``graphs``, if there are any, are its dataset instead of FROM's.

    ``timeout``, in seconds, is no parameter of the protocol, but one that many endpoints know; ``memory``, in bytes, is
    of continuous queries. ``since`` and ``last_event_id`` (the parameter ``lastEventId``) say where the result stream
    of a continuous query begins, ``until`` where it ends; they are as they were sent, and empty if they were not.
    ``entailment`` is the regime that it is asked under, None that of the endpoint.
    """

    text: str
    graphs: RequestedGraphs = NONE_REQUESTED
    timeout: float | None = None
    since: str = ""
    last_event_id: str = ""
    memory: int | None = None
    until: str = ""
    entailment: Regime | None = None


@dataclass(frozen=True)
class UpdateRequest:
    """An update, with the dataset its WHERE clauses are matched against, if the request names one.

    ``timeout``: in how many seconds it is to be evaluated.
    """

    text: str
    using_graphs: tuple[str, ...] = ()
    using_named_graphs: tuple[str, ...] = ()
    timeout: float | None = None


Parameters = Mapping[str, Sequence[str]]

_OF_QUERIES = ("default-graph-uri", "named-graph-uri")
_OF_UPDATES = ("using-graph-uri", "using-named-graph-uri")
MAXIMUM_PARAMETERS = 1000
_PIECE = 65_536
_NUMBER = re.compile(r"[+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def sparql_request(
    method: str, query_string: bytes, content_type: str | None, body: bytes
) -> QueryRequest | UpdateRequest | None:
    """The operation of a GET (HEAD), POST or QUERY; None for a GET without any, which asks for the description.

    QUERY is the method that is safe as GET is and has a body as POST has: it takes a query, and no update.

    Percent-encoding is undone exactly once and must be UTF-8. Raises ProtocolError: 400 for none, two
    or contradicting operations, 405 for an update by GET, 415 for a body of another type.
    """
    parameters = decode_form(query_string, "the query part of the URL")
    if method in ("GET", "HEAD"):
        if "update" in parameters:
            raise MethodNotAllowed("an update is sent with POST", ("POST",))
        if "query" not in parameters:
            if any(name in parameters for name in (*_OF_QUERIES, *_OF_UPDATES)):
                raise MalformedRequest("the request names graphs but no query: add the parameter query")
            return None
        return _query(_only(parameters, "query"), parameters)
    media_type = _media_type(content_type)
    if media_type == FORM:
        form = decode_form(body, "the form in the body")
        combined = {
            name: [*parameters.get(name, ()), *form.get(name, ())] for name in dict.fromkeys([*parameters, *form])
        }
        if "query" in combined and "update" in combined:
            raise MalformedRequest("the request has both a query and an update: send one of them")
        if "query" in combined:
            return _query(_only(combined, "query"), combined)
        if "update" in combined:
            _refuse_update(method)
            return _update(_only(combined, "update"), combined)
        raise MalformedRequest("the form has neither the parameter query nor update")
    for name in ("query", "update"):
        if name in parameters:
            raise MalformedRequest(f"the body is the whole operation: leave the parameter {name} out of the URL")
    if media_type == SPARQL_UPDATE:
        _refuse_update(method)
    text = _decode(body, "the body")
    return _query(text, parameters) if media_type == SPARQL_QUERY else _update(text, parameters)


def _refuse_update(method: str) -> None:
    if method != "POST":
        raise MethodNotAllowed("an update is sent with POST", ("POST",))


def decode_form(encoded: bytes, where: str) -> dict[str, list[str]]:
    """Names and values of ``application/x-www-form-urlencoded``, in order; strict UTF-8."""
    values: dict[str, list[str]] = {}
    if encoded.count(b"&") >= MAXIMUM_PARAMETERS:
        raise MalformedRequest(f"{where} has more than {MAXIMUM_PARAMETERS} parameters")
    try:
        encoded.decode("utf-8")  # what is not percent-encoded is whole by itself
        for pair in filter(None, encoded.split(b"&")):
            name, _, value = pair.partition(b"=")
            values.setdefault(_decoded(name), []).append(_decoded(value))
    except UnicodeDecodeError:
        raise MalformedRequest(f"{where} is not UTF-8") from None
    return values


def _decoded(encoded: bytes) -> str:
    """A name or a value. In pieces: each octet that is percent-encoded takes a hundred bytes while it is decoded."""
    encoded = encoded.replace(b"+", b" ")
    if b"%" not in encoded:
        return encoded.decode("utf-8")
    decoded, start = bytearray(), 0
    while start < len(encoded):
        end = start + _PIECE
        # Not within an octet: %7B.
        last = encoded.rfind(b"%", end - 2, end)
        end = end if last < 0 or end >= len(encoded) else last
        decoded += unquote_to_bytes(encoded[start:end])
        start = end
    return decoded.decode("utf-8")


def _media_type(content_type: str | None) -> str:
    expected = f"send {SPARQL_QUERY}, {SPARQL_UPDATE} or {FORM}"
    if not content_type:
        raise UnsupportedMediaType(f"the request has no Content-Type: {expected}")
    media_type = media_type_of(content_type)
    if media_type not in (SPARQL_QUERY, SPARQL_UPDATE, FORM):
        raise UnsupportedMediaType(f"{media_type} is not read here: {expected}")
    require_utf8(content_type)
    return media_type


def _decode(body: bytes, where: str) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedRequest(f"{where} is not UTF-8: byte {error.start + 1} fits nothing") from None


def _only(parameters: Parameters, name: str) -> str:
    values = parameters[name]
    if len(values) > 1:
        raise MalformedRequest(f"the request has {len(values)} parameters {name}: send exactly one")
    return values[0]


def read_graphs(default: Sequence[str], named: Sequence[str]) -> RequestedGraphs:
    """What the parameters ``default-graph-uri`` and ``named-graph-uri`` name. Raises DatasetConflict."""
    return RequestedGraphs(*map(_absolute, _OF_QUERIES, (default, named)))


def _absolute(name: str, iris: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(require_absolute(name, iri) for iri in iris))


def _refuse(parameters: Parameters, names: Sequence[str], kind: str) -> None:
    for name in names:
        if name in parameters:
            raise DatasetConflict(f"{name} is not a parameter of {kind}")


def _query(text: str, parameters: Parameters) -> QueryRequest:
    _refuse(parameters, _OF_UPDATES, "a query: use default-graph-uri or named-graph-uri")
    graphs = read_graphs(*(parameters.get(name, ()) for name in _OF_QUERIES))
    since, last_event_id, until = (
        _only(parameters, name) if name in parameters else "" for name in ("since", "lastEventId", "until")
    )
    limits = read_limits(parameters.get("timeout", ()), parameters.get("memory", ()))
    regime = read_regime(parameters.get("entailment", ()))
    return QueryRequest(text, graphs, limits.seconds, since, last_event_id, limits.memory, until, regime)


def read_limits(timeout: Sequence[str], memory: Sequence[str]) -> EvaluationLimits:
    """What the parameters ``timeout`` and ``memory`` ask for. Raises MalformedRequest."""
    return EvaluationLimits(read_timeout(timeout), _read_memory(memory))


def _read_memory(values: Sequence[str]) -> int | None:
    if not values:
        return None
    try:
        size = parse_size(values[0]) if len(values) == 1 else 0
    except ValueError:
        size = 0
    if size < LEAST_EVALUATION_MEMORY:
        shown = ", ".join(values)[:40]
        raise MalformedRequest(f"memory={shown} is not a size: write one of at least 64MB, such as 512MB")
    return size


def read_timeout(values: Sequence[str]) -> float | None:
    if not values:
        return None
    seconds = float(values[0]) if len(values) == 1 and _NUMBER.fullmatch(values[0].strip()) else math.nan
    if not 0 < seconds < math.inf:
        shown = ", ".join(values)[:40]
        raise MalformedRequest(f"timeout={shown} is not a time: write one number of seconds above 0, such as 2.5")
    return seconds


def _update(text: str, parameters: Parameters) -> UpdateRequest:
    _refuse(parameters, _OF_QUERIES, "an update: use using-graph-uri or using-named-graph-uri")
    using, named = (_absolute(name, parameters.get(name, ())) for name in _OF_UPDATES)
    return UpdateRequest(text, using, named, read_timeout(parameters.get("timeout", ())))
