"""What the ``Accept`` header of a request decides (RFC 9110 section 12.5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from endpoint.backend import Evaluation
from endpoint.threads import WorkerThreads
from protocol.formats.answers import graph_as, solutions_as
from protocol.formats.media_types import EVENT_STREAM, GRAPH_OFFERS, SOLUTIONS_OFFERS, content_type
from protocol.formats.negotiation import accept_header, acceptable, in_turn
from protocol.language.model import Form


def accepted_of(request: Request) -> str | None:
    """The request's ``Accept``, as it came."""
    return accept_header(request.headers.getlist("accept"))


def chosen_type(request: Request, offers: Iterable[str]) -> str:
    """The media type among the offers that the client wants most. Raises NotAcceptable."""
    return chosen_types(request, offers)[0]


def chosen_types(request: Request, offers: Iterable[str]) -> list[str]:
    """The media types among the offers that the client takes: the one that it wants most, and what is to be tried next
    where an answer cannot be written in that. An event stream is no answer, and so not next. Raises NotAcceptable.
    """
    first, *others = acceptable(accepted_of(request), offers)
    return [first, *(other for other in others if other != EVENT_STREAM)]


def answer_types(request: Request, form: Form) -> list[str]:
    """As ``chosen_types``, for what answers a continuous query of this form: an answer, or an event stream."""
    return chosen_types(request, [*(GRAPH_OFFERS if _is_graph(form) else SOLUTIONS_OFFERS), EVENT_STREAM])


async def answer_response(
    threads: WorkerThreads, evaluation: Evaluation, form: Form, media_types: Sequence[str]
) -> Response:
    """One evaluation as an ordinary SPARQL response, in the first of the types from ``answer_types`` that can say it.

    Raises NotExpressible, of the first, where none can.
    """
    size = len(evaluation.data)
    return await in_turn(media_types, lambda one: threads.run_if_long(size, _answer_in, evaluation, form, one))


def _answer_in(evaluation: Evaluation, form: Form, media_type: str) -> Response:
    if _is_graph(form):
        written = graph_as(evaluation.data, GRAPH_OFFERS[media_type])
    else:
        written = solutions_as(evaluation.data, SOLUTIONS_OFFERS[media_type])
    headers = {"Content-Type": content_type(media_type), "Vary": "Accept", "Cache-Control": "no-store"}
    return Response(written, headers=headers)


def _is_graph(form: Form) -> bool:
    return form in (Form.CONSTRUCT, Form.DESCRIBE)
