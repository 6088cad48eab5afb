from __future__ import annotations

import asyncio
import gzip
import random
import zlib

import pytest
from starlette.requests import Request

from endpoint.resources.requests.request_body import (
    BodyTooLarge,
    InvalidCoding,
    PartialBody,
    UnsupportedCoding,
    read_body,
)

TEXT = gzip.compress(b"text", mtime=0)
"""Without a time: parameters are names of tests, which all processes that share them have to agree on."""


def read(body: bytes, *codings: str, limit: int = 1000) -> bytes:
    headers = [(b"content-encoding", coding.encode()) for coding in codings]

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    request = Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive)
    return asyncio.run(read_body(request, limit))


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP"])
def test_a_gzip_body_is_decoded(coding: str) -> None:
    assert read(gzip.compress(b"<a:a> <a:b> <a:c> ."), coding) == b"<a:a> <a:b> <a:c> ."


@pytest.mark.parametrize("codings", [["gzip", "gzip"], ["identity", "gzip"]])
def test_codings_on_lines_of_their_own_are_all_read(codings: list[str]) -> None:
    with pytest.raises(UnsupportedCoding, match=", gzip"):
        read(TEXT, *codings)


def test_a_gzip_body_may_have_several_members() -> None:
    assert read(TEXT + gzip.compress(b" and more") + TEXT, "gzip") == b"text and moretext"


@pytest.mark.parametrize("size", [0, 255, 256, 257, 5_000, 3_000_000])
def test_members_of_any_length_may_have_zeros_behind_them(size: int) -> None:
    long = random.Random(size).randbytes(size)
    padded = gzip.compress(long, mtime=0) + bytes(700)
    assert read(TEXT + padded + TEXT + b"\0" + padded, "gzip", limit=10_000_000) == b"text" + long + b"text" + long


def test_a_gzip_body_has_so_many_members_that_they_are_read_at_once() -> None:
    assert read(TEXT * 10_000, "gzip", limit=1_000_000) == b"text" * 10_000
    with pytest.raises(InvalidCoding, match=r"more than 10000 gzip files.*compress it as one"):
        read(TEXT * 10_001, "gzip", limit=1_000_000)


def test_the_last_of_several_members_is_whole() -> None:
    with pytest.raises(InvalidCoding):
        read(TEXT + TEXT[:-4], "gzip")


def test_the_limit_is_that_of_all_members() -> None:
    member = gzip.compress(b"0" * 100)
    assert read(member * 3, "gzip", limit=300) == b"0" * 300
    with pytest.raises(BodyTooLarge):
        read(member * 3, "gzip", limit=299)


@pytest.mark.parametrize("body", [zlib.compress(b"text")[:-2], zlib.compress(b"text") + b"more", b"text"])
def test_a_deflate_body_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidCoding):
        read(body, "deflate")


def test_a_deflate_body_is_decoded() -> None:
    assert read(zlib.compress(b"text"), "deflate") == b"text"


def test_a_body_without_coding_is_taken_as_it_is() -> None:
    assert read(b"text") == read(b"text", "identity") == b"text"


def test_an_unknown_coding_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedCoding, match="'br'") as caught:
        read(b"text", "br")
    assert caught.value.status == 415


@pytest.mark.parametrize("body", [b"plain", TEXT[:-4], TEXT + b"more"])
def test_a_body_that_is_not_in_its_coding_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidCoding):
        read(body, "gzip")


def test_an_announced_length_that_is_no_number_to_python_is_too_large() -> None:
    request = Request(
        {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"9" * 5000)]},
    )
    with pytest.raises(BodyTooLarge):
        asyncio.run(read_body(request, 1000))


def test_the_limit_counts_what_comes_out_of_the_decoder() -> None:
    with pytest.raises(BodyTooLarge):
        read(gzip.compress(b"0" * 1001), "gzip")


def test_a_part_is_not_put_in_the_place_of_the_whole() -> None:
    headers = [(b"content-range", b"bytes 0-3/100")]
    with pytest.raises(PartialBody, match="Content-Range") as caught:
        asyncio.run(read_body(Request({"type": "http", "method": "PUT", "path": "/", "headers": headers}), 1000))
    assert caught.value.status == 400
