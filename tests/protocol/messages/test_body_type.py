"""Media types of request bodies (docs/http.md, "Appending")."""

from __future__ import annotations

import pytest

from protocol.formats.media_types import RdfSyntax
from protocol.formats.negotiation import UnsupportedMediaType
from protocol.messages.body_type import (
    ACCEPTED,
    BodyType,
    Grouping,
    parse_content_type,
)


@pytest.mark.parametrize("format", list(RdfSyntax))
def test_every_format_alone_is_one_message(format: RdfSyntax) -> None:
    assert parse_content_type(format.value) == BodyType(format, Grouping.SINGLE)


@pytest.mark.parametrize(
    "media_type", ["text/turtle", "application/trig", "application/n-triples", "application/n-quads"]
)
def test_messages_rdfm_divides_the_four_formats_with_comments(media_type: str) -> None:
    assert parse_content_type(f"{media_type}; messages=rdfm").grouping is Grouping.MARKERS


@pytest.mark.parametrize("version", ["1.2-messages", "1.2-basic-messages", "1.1-messages", '"1.2-Messages"'])
def test_a_version_with_messages_divides_by_delimiters(version: str) -> None:
    assert parse_content_type(f"application/trig; version={version}").grouping is Grouping.DELIMITERS


@pytest.mark.parametrize("version", ["1.1", "1.2", "1.2-basic"])
def test_another_version_is_one_message(version: str) -> None:
    assert parse_content_type(f"text/turtle; version={version}").grouping is Grouping.SINGLE


@pytest.mark.parametrize("media_type", ["application/x-ndjson", "application/ndjson", "application/x-ld+ndjson"])
def test_newline_delimited_json_is_a_json_ld_document_a_line(media_type: str) -> None:
    assert parse_content_type(media_type) == BodyType(RdfSyntax.JSON_LD, Grouping.LINES)


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "application/json; charset=utf-8", "application/senml+json", "application/geo+json"],
)
def test_json_that_is_no_json_ld_takes_the_context_of_its_stream(media_type: str) -> None:
    body_type = parse_content_type(media_type, has_context=True)
    assert (body_type.format, body_type.grouping) == (RdfSyntax.JSON_LD, Grouping.SINGLE)
    assert body_type.takes_context
    with pytest.raises(
        UnsupportedMediaType, match=r"give the stream a JSON-LD context .* or send application/ld\+json"
    ):
        parse_content_type(media_type)


def test_lines_take_the_context_of_their_stream_unless_they_call_themselves_json_ld() -> None:
    assert parse_content_type("application/x-ndjson", has_context=True).takes_context
    assert not parse_content_type("application/x-ndjson").takes_context
    for media_type in ("application/x-ld+ndjson", "application/ld+json", "text/turtle"):
        assert not parse_content_type(media_type, has_context=True).takes_context


@pytest.mark.parametrize(
    "written",
    [
        'Application/N-Triples;Messages="rdfm"',
        "application/n-triples ; charset=utf-8 ;messages=RDFM",
        'application/n-triples; messages="r\\dfm";',
        "application/n-triples;version=1.2;messages=rdfm",
    ],
)
def test_case_quotes_and_white_space_of_the_header_do_not_matter(written: str) -> None:
    body_type = parse_content_type(written)
    assert (body_type.format, body_type.grouping) == (RdfSyntax.N_TRIPLES, Grouping.MARKERS)


def test_the_charset_is_a_codec_python_knows() -> None:
    assert parse_content_type("text/turtle; charset=UTF-8").charset == "utf-8"
    assert parse_content_type('text/turtle; charset="latin1"').charset == "iso8859-1"
    assert parse_content_type("text/turtle").charset is None


def test_a_profile_of_json_ld_is_no_obstacle() -> None:
    header = 'application/ld+json; profile="http://www.w3.org/ns/json-ld#expanded; http://ex/p"'
    assert parse_content_type(header).format is RdfSyntax.JSON_LD


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("", "no Content-Type"),
        ("   ", "no Content-Type"),
        ("turtle", "not a media type"),
        ("text/turtle messages=rdfm", "not a media type"),
        ("text/turtle; messages", "not a media type"),
        ("application/json", "application/ld+json"),
        ("application/x-www-form-urlencoded", "text/turtle"),
        ("text/html", "application/n-triples"),
        ("text/turtle; charset=klingon", "klingon"),
        ("text/turtle; charset=hex", "hex"),
        ("text/turtle; charset=undefined", "undefined"),
        ("text/turtle; charset=idna", "idna"),
        ("text/turtle; charset=unicode_escape", "unicode_escape"),
        ('text/turtle; charset="utf\0-8"', "not known"),
        ("text/turtle; messages=other", "version=1.2-messages"),
        ("application/ld+json; messages=rdfm", "application/x-ndjson"),
        ("application/rdf+xml; messages=rdfm", "messages=rdfm goes with"),
        ("application/x-ndjson; messages=rdfm", "each line"),
        ("text/turtle; version=2.0-messages", "1.2-basic-messages"),
        ("text/turtle; version=1.2-messages; messages=rdfm", "say one"),
        ("application/ld+json; version=1.2-messages", "application/x-ndjson"),
    ],
)
def test_what_streams_do_not_take_is_415_and_says_what_they_do(header: str, told: str) -> None:
    with pytest.raises(UnsupportedMediaType, match=told.replace("+", r"\+")) as raised:
        parse_content_type(header)
    assert raised.value.status == 415
    assert raised.value.problem()["status"] == 415


def test_the_accepted_media_types_are_accepted() -> None:
    for media_type in ACCEPTED:
        parse_content_type(media_type)
