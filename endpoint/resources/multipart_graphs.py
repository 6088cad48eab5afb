"""Several RDF documents in one body: ``multipart/form-data`` (Graph Store section 5.5, RFC 7578)."""

from __future__ import annotations

from werkzeug.datastructures import Headers
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder

from protocol.errors import InvalidMessage

FORM_DATA = "multipart/form-data"
MAXIMUM_PARTS = 1000


class InvalidMultipart(InvalidMessage):
    """The body is not made of parts as its Content-Type says (RFC 2046 section 5.1)."""

    title = "The parts of the body cannot be read"


def parts(content_type: str, body: bytes) -> list[tuple[str | None, bytes]]:
    """Each part's Content-Type (None: it has none) and content, in order.

    Raises InvalidMultipart for a body without boundary, cut off, without parts or with more than a thousand.
    """
    boundary = parse_options_header(content_type)[1].get("boundary", "")
    if not boundary:
        raise InvalidMultipart(f"{FORM_DATA} has no boundary: write it into the Content-Type")
    decoder = MultipartDecoder(boundary.encode("utf-8"), max_parts=MAXIMUM_PARTS)
    found: list[tuple[Headers, bytearray]] = []
    try:
        decoder.receive_data(body)
        decoder.receive_data(None)
        while not isinstance(event := decoder.next_event(), Epilogue):
            if isinstance(event, Field | File):
                found.append((event.headers, bytearray()))
            elif isinstance(event, Data):
                found[-1][1].extend(event.data)
    except ValueError as error:
        raise InvalidMultipart(f"the body is not {FORM_DATA} with the boundary {boundary}, whole: {error}") from None
    except RequestEntityTooLarge:
        raise InvalidMultipart(f"the body has more than {MAXIMUM_PARTS} parts") from None
    if not found:
        raise InvalidMultipart("the body has no parts: send one RDF document in each")
    return [(headers.get("Content-Type"), bytes(content)) for headers, content in found]
