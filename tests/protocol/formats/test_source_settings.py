from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.errors import ProtocolError, UnsupportedFeature
from protocol.formats.source_settings import parse_source, source_document
from protocol.formats.stream_settings import parse_stream_settings, stream_settings_document
from protocol.sources import SourceSettings, SourceType

FILE = {"type": "file", "url": "file:///srv/in", "contentType": "application/x-ndjson"}


def test_settings_with_a_source_written_and_read_again_are_the_same() -> None:
    settings = parse_stream_settings(json.dumps({"time": "event", "source": FILE}).encode(), default_iri="http://a/s")
    assert settings.source == SourceSettings(SourceType.FILE, "file:///srv/in", content_type="application/x-ndjson")
    document = stream_settings_document(settings)
    assert document["source"] == FILE
    assert parse_stream_settings(json.dumps(document).encode(), default_iri="http://b/") == settings


WRONG: list[tuple[Any, str]] = [
    ("mqtt", "source must be an object"),
    ({"url": "file:///x"}, "the type of a source is one of"),
    ({"type": "carrier-pigeon", "url": "x:y"}, "the type of a source is one of"),
    ({"type": "file"}, "begins with file:"),
    ({"type": "file", "url": "http://a/"}, "begins with file:"),
    ({"type": "file", "url": "file://other/x"}, "an absolute path"),
    ({"type": "file", "url": "file:///x?y"}, "without a query"),
    ({"type": "file", "url": "file:///x", "topics": ["a"]}, 'no setting "topics"'),
    ({"type": "file", "url": "file:///x", "contentType": 7}, "contentType must be a text"),
]


@pytest.mark.parametrize(("value", "message"), WRONG)
def test_what_is_wrong_is_named(value: object, message: str) -> None:
    with pytest.raises(ProtocolError, match=message) as caught:
        parse_source(value)
    assert caught.value.status == 400


def test_a_type_that_is_not_there_yet_says_so() -> None:
    with pytest.raises(UnsupportedFeature, match="kafka are not there yet"):
        parse_source({"type": "kafka", "url": "kafka://a", "topics": ["x"]})


def test_a_document_has_only_what_was_said() -> None:
    assert source_document(parse_source(FILE)) == FILE
