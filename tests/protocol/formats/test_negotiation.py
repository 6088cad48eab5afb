from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.formats.media_types import GRAPH_OFFERS, SOLUTIONS_OFFERS
from protocol.formats.negotiation import (
    NotAcceptable,
    UnsupportedMediaType,
    accept_header,
    acceptable,
    media_ranges,
    media_type_of,
    require_utf8,
)

JSON, XML, CSV = "application/sparql-results+json", "application/sparql-results+xml", "text/csv"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("", JSON),
        ("  ", JSON),
        ("*/*", JSON),
        ("*", JSON),
        ("text/csv", CSV),
        ("TEXT/CSV", CSV),
        ("text/*", CSV),
        ("application/*", JSON),
        ("text/csv;q=0.5, application/sparql-results+xml", XML),
        ("text/csv;q=0.5, application/sparql-results+xml;q=0.4", CSV),
        ("text/csv; q=0.5 , */* ; q=0.1", CSV),
        ("application/sparql-results+xml, application/sparql-results+json", XML),
        ("text/csv, */*", CSV),
        ("*/*, application/sparql-results+json;q=0", XML),
        ("text/*;q=0.9, text/csv;q=0", "text/tab-separated-values"),
        ("application/json", "application/json"),
        ("text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", "application/xml"),
        ('text/plain;x="a,b;q=0", text/csv', CSV),
        ("text/csv;charset=utf-8;header=present", CSV),
        ("nonsense, text/csv", CSV),
        ("text/csv;q=high, application/sparql-results+xml;q=0.1", XML),
        (",,text/csv,", CSV),
    ],
)
def test_the_type_the_client_wants_most_is_chosen(accept: str | None, chosen: str) -> None:
    assert acceptable(accept, SOLUTIONS_OFFERS)[0] == chosen


@pytest.mark.parametrize("accept", ["image/png", "*/*;q=0", "text/csv;q=0", "text/html", "nonsense", "*/csv"])
def test_when_nothing_fits_the_error_names_what_there_is(accept: str) -> None:
    with pytest.raises(NotAcceptable) as caught:
        acceptable(accept, SOLUTIONS_OFFERS)
    assert caught.value.status == 406
    assert caught.value.problem()["available"] == list(SOLUTIONS_OFFERS)


def test_graphs_are_turtle_unless_asked_otherwise() -> None:
    assert acceptable("*/*", GRAPH_OFFERS)[0] == "text/turtle"
    assert acceptable("application/rdf+xml, text/turtle;q=0.9", GRAPH_OFFERS)[0] == "application/rdf+xml"


def test_the_most_specific_range_decides_the_quality_of_a_type() -> None:
    offers = ["text/turtle", "image/png", "text/csv"]
    assert acceptable("text/*;q=0.3, text/csv;q=0.7, */*;q=0.5", offers) == ["text/csv", "image/png", "text/turtle"]
    assert acceptable("text/csv", offers) == ["text/csv"]


def test_ranges_keep_their_place_in_the_header() -> None:
    assert [(one.type, one.subtype, one.position) for one in media_ranges("a/b, c/*")] == [("a", "b", 0), ("c", "*", 1)]


def test_several_headers_are_one_list_and_none_accepts_everything() -> None:
    assert acceptable(accept_header(["text/csv;q=0.1", XML]), SOLUTIONS_OFFERS)[0] == XML
    assert accept_header([]) is None


@pytest.mark.parametrize(
    ("content_type", "media_type"),
    [
        (None, ""),
        ("", ""),
        ("Text/Turtle", "text/turtle"),
        (" text/turtle ;charset=utf-8", "text/turtle"),
        ('application/ld+json; profile="a;b"', "application/ld+json"),
    ],
)
def test_a_media_type_is_read_without_its_parameters(content_type: str | None, media_type: str) -> None:
    assert media_type_of(content_type) == media_type


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", '"utf-8"', "us-ascii"])
def test_utf8_may_be_named(charset: str) -> None:
    require_utf8(f"text/turtle; charset={charset}")
    require_utf8(f'text/turtle; x="; charset=latin1"; charset={charset}')


@pytest.mark.parametrize("content_type", ["text/turtle; charset=latin1", 'text/turtle;x=y; Charset="utf-16"'])
def test_another_encoding_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="send UTF-8"):
        require_utf8(content_type)


_PIECES = st.sampled_from(
    [*'ab0.5*/;=," \\%\'\t-é\0', "text/csv", ";q=0.5", "; charset=utf-8", "charset*0*=", "UTF-8''"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=15).map("".join))
def test_whatever_stands_in_a_header_is_read_or_refused(header: str) -> None:
    assert all(0 <= one.quality <= 1 for one in media_ranges(header))
    assert media_type_of(header) == media_type_of(header).lower()
    with suppress(UnsupportedMediaType):
        require_utf8(header)
    with suppress(NotAcceptable):
        assert acceptable(header, SOLUTIONS_OFFERS)[0] in SOLUTIONS_OFFERS
