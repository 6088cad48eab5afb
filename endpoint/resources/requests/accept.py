"""What the ``Accept`` header of a request decides (RFC 9110 section 12.5.1)."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from endpoint.backend import Evaluation
from protocol.formats.answers import graph_as, solutions_as
from protocol.formats.media_types import EVENT_STREAM, GRAPH_OFFERS, SOLUTIONS_OFFERS, content_type
from protocol.formats.negotiation import accept_header, choose
from protocol.language.model import Form


def accepted_of(request: Request) -> str | None:
    """The request's ``Accept``, as it came."""
    return accept_header(request.headers.getlist("accept"))


def chosen_type(request: Request, offers: Iterable[str]) -> str:
    """The media type among the offers that the client wants most. Raises NotAcceptable."""
    return choose(accepted_of(request), offers)


def answer_type(request: Request, form: Form) -> str:
    """The media type in which a continuous query of this form is answered: of an answer, or of an event stream."""
    return chosen_type(request, [*(GRAPH_OFFERS if _is_graph(form) else SOLUTIONS_OFFERS), EVENT_STREAM])


def answer_response(evaluation: Evaluation, form: Form, media_type: str) -> Response:
    """One evaluation as an ordinary SPARQL response in the type that ``answer_type`` gave."""
    if _is_graph(form):
        written = graph_as(evaluation.data, GRAPH_OFFERS[media_type])
    else:
        written = solutions_as(evaluation.data, SOLUTIONS_OFFERS[media_type])
    headers = {"Content-Type": content_type(media_type), "Vary": "Accept", "Cache-Control": "no-store"}
    return Response(written, headers=headers)


def _is_graph(form: Form) -> bool:
    return form in (Form.CONSTRUCT, Form.DESCRIBE)
