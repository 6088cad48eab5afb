"""What requests say in parameters: times, and where a stream of events is to begin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request

from endpoint.live.subscription import RequestedSpan
from endpoint.services import services_of
from protocol.entailment.regimes import Regime, read_regime
from protocol.errors import ProtocolError
from protocol.evaluation_limits import EvaluationLimits
from protocol.formats import sse
from protocol.sparql.dataset import DatasetConflict, RequestedGraphs
from protocol.sparql.request import read_graphs, read_limits
from protocol.streams import InvalidPartition
from protocol.time import BEFORE_ALL, FIRST_INSTANT, LAST_INSTANT, Instant, parse_instant

_LONGEST_KEY = 255
_KEY = re.compile(rf'(?P<bare>[!#-\[\]-~]{{1,{_LONGEST_KEY}}})|"(?P<quoted>[ !#-\[\]-~]{{1,{_LONGEST_KEY}}})"')
_BEGINNING = "beginning"
_PARTITION = re.compile(r"[0-9]{1,9}")
_OFFSET_WITHOUT_PLUS = re.compile(r" (?=\d\d:\d\d\Z)")


class InvalidTime(ProtocolError):
    """A parameter or body that should be a time, and is not."""

    title = "Not a time"


class RepeatedParameter(ProtocolError):
    """A parameter of which there can be only one."""

    title = "A parameter is given more than once"


class InvalidFlag(ProtocolError):
    """A parameter that should be true or false, and is neither."""

    title = "Neither true nor false"


class InvalidIdempotencyKey(ProtocolError):
    """An ``Idempotency-Key`` that is none."""

    title = "Not an idempotency key"


def idempotency_key(request: Request) -> str | None:
    """The request's ``Idempotency-Key``; None without one. Raises InvalidIdempotencyKey.

    Quotes, which the IETF's draft has around it (a string of RFC 9651), are no part of it.
    """
    given = request.headers.getlist("idempotency-key")
    if not given:
        return None
    found = _KEY.fullmatch(given[0].strip())
    if len(given) > 1 or found is None:
        raise InvalidIdempotencyKey(
            f"Idempotency-Key: give one of 1 to {_LONGEST_KEY} visible ASCII characters without quotes, such as a UUID"
        )
    return found["bare"] or found["quoted"]


def mounted_at(request: Request) -> str:
    """The path with which links begin; "" for the root.

    Of a prefix that a proxy takes away only ``base_url`` knows, of one that the server adds only the request.
    """
    public = urlsplit(services_of(request.app).settings.base_url).path
    return max(str(request.scope.get("root_path", "")), public, key=len)


def requested_span(request: Request) -> RequestedSpan:
    """``Last-Event-ID`` (header, else ``?lastEventId=``), ``?since=`` and ``?until=``; an empty one is as good as none.

    Raises InvalidResumePoint, InvalidTime or RepeatedParameter.
    """
    last_event_id, since, until = (_only(request, name) for name in ("lastEventId", "since", "until"))
    return read_requested_span(request, last_event_id=last_event_id, since=since, until=until)


def read_requested_span(request: Request, *, last_event_id: str, since: str, until: str) -> RequestedSpan:
    """The same, with the parameters as they came: those of a query may be in a form (SPARQL 1.1 Protocol 2.1.2)."""
    token = _last_event_id(request, last_event_id)
    after = sse.parse_resume_token(token) if token else None
    return RequestedSpan(after, read_since(since), _instant_or_none(until, "until", also=""))


@dataclass(frozen=True)
class RequestedElements:
    """What a client asks a stream's own elements for: those after the one with the number ``after`` (-1: all that are
    held; None: those that come next) whose time is after ``since`` and not after ``until``, where these are given.

    ``incarnation``: of which stream of that name ``after`` is; None: of the one that is there.
    """

    after: int | None
    since: Instant | None = None
    until: Instant | None = None
    incarnation: int | None = None

    def have(self, time: Instant) -> bool:
        """Whether an element with this time is wanted."""
        return (self.since is None or time > self.since) and (self.until is None or time <= self.until)


def requested_elements(request: Request) -> RequestedElements:
    """The same for a stream's own elements. Raises InvalidResumePoint, InvalidTime or RepeatedParameter."""
    until = instant_parameter(request, "until")
    token = _last_event_id(request, _only(request, "lastEventId"))
    if token:
        after = sse.parse_element_id(token)
        return RequestedElements(after.number, until=until, incarnation=after.incarnation)
    if _only(request, "since").strip().lower() == _BEGINNING:
        return RequestedElements(-1, until=until)
    since = instant_parameter(request, "since", also=_BEGINNING)
    return RequestedElements(None if since is None else -1, since, until)


def _last_event_id(request: Request, parameter: str) -> str:
    """The id of the last event the client had: the header's, else the parameter's; "" for none."""
    return request.headers.get("last-event-id", "").strip() or parameter.strip()


def since_parameter(request: Request) -> Instant | None:
    """``?since=`` of the URL, as ``read_since`` reads it."""
    return read_since(_only(request, "since"))


def read_since(text: str) -> Instant | None:
    """Where to start: ``beginning`` is before all instants; None if ``text`` is empty. Raises InvalidTime."""
    return BEFORE_ALL if text.strip().lower() == _BEGINNING else _instant_or_none(text, "since", also=_BEGINNING)


def limits_parameters(request: Request) -> EvaluationLimits:
    """``?timeout=`` and ``?memory=`` of the URL. Raises MalformedRequest."""
    return read_limits(*(request.query_params.getlist(name) for name in ("timeout", "memory")))


def regime_parameter(request: Request) -> Regime | None:
    """``?entailment=`` of the URL; None without it. Raises UnknownRegime."""
    return read_regime(request.query_params.getlist("entailment"))


def graphs_parameters(request: Request) -> RequestedGraphs:
    """``?default-graph-uri=`` and ``?named-graph-uri=`` of the URL. Raises DatasetConflict."""
    return read_graphs(*(request.query_params.getlist(name) for name in ("default-graph-uri", "named-graph-uri")))


def refuse_graphs(request: Request) -> None:
    """Raise DatasetConflict for the same with the results of a standing query, which has its graphs already."""
    if graphs_parameters(request):
        raise DatasetConflict(
            "default-graph-uri and named-graph-uri go with PUT /queries/NAME: results are over the graphs given there"
        )


def instant_parameter(request: Request, name: str, *, also: str = "") -> Instant | None:
    """A time in the query string; None if it is not there or empty. Raises InvalidTime or RepeatedParameter."""
    return _instant_or_none(_only(request, name), name, also=also)


def partition_parameter(request: Request) -> int | None:
    """``?partition=``, the number of one of a stream's partitions; None without. Raises InvalidPartition."""
    given = [one.strip() for one in request.query_params.getlist("partition")]
    if not given:
        return None
    if len(given) > 1 or _PARTITION.fullmatch(given[0]) is None:
        raise InvalidPartition("partition: give the number of one of the stream's partitions, such as 0")
    return int(given[0])


def flag_parameter(request: Request, name: str) -> bool:
    """A parameter that is ``true`` or ``false``, or not there, which is ``false``. Raises InvalidFlag."""
    given = request.query_params.getlist(name) or ["false"]
    if len(given) > 1 or given[0] not in ("true", "false"):
        raise InvalidFlag(f"{name}: give true or false")
    return given == ["true"]


def _only(request: Request, name: str) -> str:
    """A parameter of the query string; "" without it. Raises RepeatedParameter."""
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise RepeatedParameter(f"{name} is given {len(given)} times: give one")
    return "".join(given)


def _instant_or_none(text: str, name: str, *, also: str) -> Instant | None:
    text = text.strip()
    if not text:
        return None
    # A plus sign that was not percent-encoded has become a space; a time has no other.
    return read_instant(_OFFSET_WITHOUT_PLUS.sub("+", text), name, also=also)


def read_instant(text: str, name: str, *, also: str = "") -> Instant:
    """``text`` as a time within the years 1 to 9999. Raises InvalidTime, naming it and what would be right."""
    try:
        instant = parse_instant(text)
        if not FIRST_INSTANT <= instant <= LAST_INSTANT:
            raise ValueError(f"{text[:40]} is outside the years 1 to 9999")
    except ValueError as error:
        raise InvalidTime(f"{name}: {error}{f', or {also!r}' if also else ''}") from None
    return instant
