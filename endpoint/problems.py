"""Every error as ``application/problem+json`` (RFC 9457): the one place where errors become HTTP statuses."""

from __future__ import annotations

import errno
import json
import logging
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from protocol.errors import ProtocolError, StorageFull, Unavailable, shortened
from protocol.formats.media_types import PROBLEM

logger = logging.getLogger(__name__)

_TOO_MANY_OPEN = frozenset({errno.EMFILE, errno.ENFILE})
_NOT_OURS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

_HEADERS = {"WWW-Authenticate": "challenge", "Allow": "allow", "Accept-Encoding": "accept_encoding"}
"""What errors of some kinds say in a header of the response, by the attribute that has it."""


def problem_response(document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """The response of a problem document, whose ``status`` is the response's."""
    # A lone surrogate, which may be in what a client sent, becomes the escape by which JSON writes it.
    written = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(
        written,
        status_code=int(document["status"]),
        media_type=PROBLEM,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def protocol_error(error: ProtocolError, refusals: Counter[str]) -> Response:
    """What the error says, with one of ``_HEADERS``, or ``Retry-After``, where that is due.

    A refusal (an error with ``refusal``) is counted in ``refusals``.
    """
    headers = {}
    if error.refusal:
        refusals[error.refusal] += 1
    for name, attribute in _HEADERS.items():
        value = getattr(error, attribute, None)
        if isinstance(value, str):
            headers[name] = value
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(getattr(error, "retry_after", 2))
    return problem_response(error.problem(), headers)


def http_exception(request: Request, error: Exception) -> Response:
    """Starlette's own 404, 405 and the like."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = error.detail
    headers = dict(error.headers or {})
    if status is HTTPStatus.METHOD_NOT_ALLOWED and "Allow" in headers:
        headers["Allow"] = ", ".join(sorted({*headers["Allow"].split(", "), "OPTIONS"}))
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=headers)
    if status is HTTPStatus.NOT_FOUND and detail == status.phrase:
        detail = f"there is nothing at {request.url.path}"
    elif status is HTTPStatus.METHOD_NOT_ALLOWED and detail == status.phrase:
        detail = f"{request.method} is not for {request.url.path}"
    document = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": shortened(detail)}
    return problem_response(document, headers)


def client_left(request: Request, error: Exception) -> Response:
    """The connection was closed before the body was whole: nothing is wrong here, and nobody reads the answer."""
    return Response(status_code=499)


def unexpected_error(request: Request, error: Exception) -> Response:
    """Whatever nobody foresaw: 500 without its innards, which go to the server's log."""
    document = {
        "type": "about:blank",
        "title": "Internal server error",
        "status": 500,
        "detail": f"an unexpected {type(error).__name__}; the server's log has more",
    }
    return problem_response(document)


def exception_handlers(refusals: Counter[str]) -> Mapping[Any, Any]:
    """For ``Starlette(exception_handlers=…)``; what is refused is counted in ``refusals``."""

    def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, ProtocolError)
        return protocol_error(error, refusals)

    def refused_by_system(request: Request, error: Exception) -> Response:
        assert isinstance(error, OSError)
        refused: ProtocolError | None = StorageFull.of(error, "the data directory")
        if error.errno in _TOO_MANY_OPEN:
            refused = Unavailable(
                "the server has as many files open as the system lets it have (ulimit -n), of which each stream takes "
                "two: delete streams, or start it where it may have more"
            )
        if error.errno in _NOT_OURS:
            refused = Unavailable(
                "the user that the server runs as may not write to its data directory, or read all of it: its log says "
                "where; give what is there to that user, then send it again"
            )
        if refused is None:
            raise error
        logger.error("a request could not be answered: %s", error)
        return protocol_error(refused, refusals)

    return {
        ProtocolError: refuse,
        OSError: refused_by_system,
        HTTPException: http_exception,
        ClientDisconnect: client_left,
        Exception: unexpected_error,
    }
