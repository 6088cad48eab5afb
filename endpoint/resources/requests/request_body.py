"""Request bodies, read up to a limit."""

from __future__ import annotations

import re
import zlib

import anyio.to_thread
from starlette.requests import Request

from protocol.errors import ProtocolError


class BodyTooLarge(ProtocolError):
    """The body is longer than this resource takes (RFC 9110 section 15.5.14)."""

    status = 413
    title = "The body is too large"
    refusal = "too_large"


class UnsupportedCoding(ProtocolError):
    """The body is coded in a way this server does not decode (RFC 9110 section 8.4).

    ``accept_encoding`` is the header that says in which it does (section 15.5.16).
    """

    status = 415
    title = "Unsupported content coding"
    accept_encoding = "gzip, deflate"


class PartialBody(ProtocolError):
    """The body is a part of what is to be there (RFC 9110 section 14.5)."""

    title = "A part of a body"


async def read_body(request: Request, limit: int) -> bytes:
    """The body, decoded, at most ``limit`` bytes of it.

    Raises BodyTooLarge as soon as there are more, or more are announced, UnsupportedCoding for a
    Content-Encoding other than gzip and deflate, InvalidCoding for a body that is not in its coding,
    PartialBody for a PUT with Content-Range, which would replace the whole by a part.
    """
    if request.method == "PUT" and "content-range" in request.headers:
        raise PartialBody("PUT replaces the whole, and the body is a part of it by its Content-Range: send it whole")
    # As one list, though it may be several lines (RFC 9110 section 5.3): each is a coding of what the one before gave.
    coding = ", ".join(request.headers.getlist("content-encoding")).strip().lower()
    if coding in ("gzip", "x-gzip", "deflate"):
        # Beside the loop: a long one takes tenths of a second.
        return await anyio.to_thread.run_sync(_decoded, await _read(request, limit), limit, coding)
    if coding not in ("", "identity"):
        raise UnsupportedCoding(f"the content coding {coding!r} is not decoded here: send gzip, deflate or none")
    return await _read(request, limit)


class InvalidCoding(ProtocolError):
    """The body is not what its Content-Encoding says."""

    title = "The body cannot be decoded"


_GZIP = b"\x1f\x8b"
"""How each member of a gzip file begins (RFC 1952 section 2.3.1)."""

_PADDING = re.compile(rb"\0*")
_MOST_MEMBERS = 10_000
"""Of a gzip file: each takes some 10 µs, however little is in it, in which nobody else is answered."""

_FIRST_BYTES, _MOST_BYTES = 256, 1024 * 1024
"""Of a member, which are given to its decoder at once: what is behind its end is copied."""


def _decoded(body: bytes, limit: int, coding: str) -> bytes:
    # By how it begins, whatever its coding is called.
    decode = _of_members if body.startswith(_GZIP) else _of_one_stream
    try:
        plain = decode(body, limit + 1)
    except zlib.error as error:
        raise InvalidCoding(f"the body is not {coding}: {error}") from None
    except EOFError:
        raise InvalidCoding(f"the {coding} body is cut off or has something after its end") from None
    if len(plain) > limit:
        raise too_large(limit)
    return plain


def _of_members(body: bytes, most: int) -> bytes:
    """The first ``most`` bytes of a gzip file, which may be several, one behind the other (RFC 1952 section 2.2), with
    zeros between.

    Raises EOFError for one that is cut off, InvalidCoding for one of too many.
    """
    view, place, left, members = memoryview(body), 0, most, 0
    plain: list[bytes] = []
    while place < len(body) and left:
        members += 1
        if members > _MOST_MEMBERS:
            raise InvalidCoding(
                f"the body is more than {_MOST_MEMBERS} gzip files, one behind the other: compress it as one"
            )
        decoder, size = zlib.decompressobj(zlib.MAX_WBITS | 16), _FIRST_BYTES
        while not decoder.eof and left:
            piece = view[place : place + size]
            if not piece:
                raise EOFError
            plain.append(decoder.decompress(piece, left))
            left -= len(plain[-1])
            place += len(piece) - len(decoder.unused_data)
            size = min(4 * size, _MOST_BYTES)
        padding = _PADDING.match(body, place)
        assert padding is not None, "there may be none"
        place = padding.end()
    return b"".join(plain)


def _of_one_stream(body: bytes, most: int) -> bytes:
    """The first ``most`` bytes of a zlib stream (RFC 1950). Raises EOFError unless that is the whole body."""
    decoder = zlib.decompressobj()
    plain = decoder.decompress(body, most)
    if len(plain) < most and (not decoder.eof or decoder.unused_data):
        raise EOFError
    return plain


async def _read(request: Request, limit: int) -> bytes:
    announced = request.headers.get("content-length", "")
    # A number of thousands of digits is none to Python.
    if announced.isascii() and announced.isdigit() and (len(announced) > 20 or int(announced) > limit):
        raise too_large(limit)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def too_large(limit: int) -> BodyTooLarge:
    """The error for a body, or a text in one, of more than ``limit`` bytes."""
    shown = f"{limit // 2**20} MiB" if limit >= 2**20 else f"{limit} bytes"
    return BodyTooLarge(f"what is sent is larger than {shown}: send it in parts", extra={"limit": limit})
