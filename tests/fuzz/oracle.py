"""What a response must be, whatever the request was."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from tests.fuzz.wire import Answered, FuzzedRequest

PROBLEM = "application/problem+json"
LONG = 4_000_000
"""Bytes: the server that is fuzzed gives little more in one answer."""

_CUT_OFF = re.compile(r"IncompleteRead IncompleteRead\((\d+) bytes read")
_BY_DESIGN = (501, 503, 504)
_ELSEWHERE = (b'"A service failed"', b'"The document could not be loaded"')
_BEYOND_EXPAT = re.compile("[\U00010000-\U0010ffff]")
"""Characters that names have in XML's fifth edition: Python's parser reads the fourth."""


def complaint(request: FuzzedRequest, answered: Answered) -> str | None:
    """What is wrong with the response; None: nothing."""
    cut_off = _CUT_OFF.match(answered.failure)
    if cut_off is not None and int(cut_off[1]) >= LONG:
        return None  # longer than an answer may be, which is known only after it has begun
    if answered.status == 0:
        return None if request.cut is not None or not request.is_http else f"no response: {answered.failure}"
    elsewhere = answered.status == 502 and any(title in answered.body for title in _ELSEWHERE)
    if answered.status >= 500 and answered.status not in _BY_DESIGN and not elsewhere:
        return f"a {answered.status}"
    if answered.status >= 400:
        return _problem(request, answered)
    if request.method == "HEAD" or answered.status in (204, 304):
        return "a body where none may be" if answered.body else None
    return None if answered.open else _document(answered)


def _problem(request: FuzzedRequest, answered: Answered) -> str | None:
    if answered.media_type != PROBLEM:
        return f"a {answered.status} that is {answered.media_type or 'of no type'}"
    if request.method == "HEAD":
        return None
    try:
        document = json.loads(answered.body)
    except ValueError as error:
        return f"a problem document that is no JSON: {error}"
    if document.get("status") != answered.status or not document.get("title") or not document.get("detail"):
        return "a problem document without status, title or detail"
    if "Traceback" in str(document) or 'File "/' in str(document):
        return "a problem document with a stack trace"
    if len(answered.body) > 20_000:
        return f"a problem document of {len(answered.body)} bytes"
    return None


def _document(answered: Answered) -> str | None:
    """Responses of these types must at least be well-formed."""
    try:
        if answered.media_type.endswith("json"):
            json.loads(answered.body)
        elif answered.media_type.endswith("xml"):
            ElementTree.fromstring(_BEYOND_EXPAT.sub("x", answered.body.decode()))
    except (ValueError, ElementTree.ParseError) as error:
        return f"an ill-formed {answered.media_type}: {error}"
    return None
