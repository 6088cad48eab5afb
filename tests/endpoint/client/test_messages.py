from __future__ import annotations

import pytest

from endpoint.client.messages import divide, divisible, join, timestamp
from protocol.formats.media_types import JSON_LINES
from protocol.messages.message import Message

NT, TTL, TRIG = "application/n-triples", "text/turtle", "application/trig"
RESULT_TIME = "http://www.w3.org/ns/sosa/resultTime"


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        (NT, "<a:1> <a:p> <a:o> .\n# @message\n<a:2> <a:p> <a:o> .\n"),
        (NT, 'VERSION "1.2-messages"\n<a:1> <a:p> <a:o> .\nMESSAGE\n# @message\n<a:2> <a:p> <a:o> .\nMESSAGE\n'),
        (TTL, "@prefix a: <a:> . @version '1.1-messages' .\na:1 a:p a:o . @message . a:2 a:p a:o ."),
        (TTL, "@prefix a: <a:> .\na:1 a:p a:o .\n# @message\na:2 a:p a:o ."),
        (JSON_LINES, '{"@context": {"p": "a:p"}}\n{"p": 1}\n{"p": 2}\n'),
    ],
)
def test_files_that_may_hold_several_messages_are_divided(content_type: str, text: str) -> None:
    assert divisible(content_type)
    assert len(list(divide(text.encode().splitlines(keepends=True), content_type))) == 2


@pytest.mark.parametrize("content_type", ["application/ld+json", "application/rdf+xml"])
def test_other_files_are_one_message(content_type: str) -> None:
    assert not divisible(content_type)
    assert list(divide([b"a\n", b"# @message\n", b"b"], content_type)) == [Message(b"a\n# @message\nb")]


def test_one_message_goes_without_the_parameter_and_several_with_it() -> None:
    one, two = Message(b"<a:1> <a:p> <a:o> ."), Message(b"<a:2> <a:p> <a:o> .")
    assert join([one], NT) == (one.body, NT)
    assert join([Message(b"# nothing")], NT) == (
        b'VERSION "1.2-messages"\n# nothing\nMESSAGE\n',
        f"{NT}; version=1.2-messages",
    )
    assert join([one, two], NT)[1] == "application/n-triples; version=1.2-messages"
    assert join([one, two], JSON_LINES) == (b"<a:1> <a:p> <a:o> .\n<a:2> <a:p> <a:o> .\n", JSON_LINES)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f'<a:s> <{RESULT_TIME}> "1970-01-01T00:00:02Z" .', 2000),
        (f"<a:s> <{RESULT_TIME}> 1500 .", 1500),
        ('<a:s> <a:other> "1970-01-01T00:00:02Z" .', None),
        (f"<a:s> <{RESULT_TIME}> <a:iri> .", None),
        ("", None),
    ],
)
def test_the_time_in_a_message(body: str, expected: int | None) -> None:
    assert timestamp(Message(body.encode()), TTL, [RESULT_TIME]) == expected


def test_the_first_property_of_the_path_decides() -> None:
    body = b'<a:s> <a:second> "1970-01-01T00:00:02Z" ; <a:first> "1970-01-01T00:00:01Z" .'
    assert timestamp(Message(body), TTL, ["a:first", "a:second"]) == 1000


@pytest.mark.parametrize("body", [b"no RDF", b'<a:s> <a:first> "yesterday" .'])
def test_a_message_whose_time_cannot_be_read_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        timestamp(Message(body), TTL, ["a:first"])


def test_the_time_in_a_line_of_json_ld_is_found_by_the_context_before_it() -> None:
    lines = [f'{{"@context": {{"t": "{RESULT_TIME}"}}}}\n'.encode(), b'{"t": "1970-01-01T00:00:02Z"}\n']
    (message,) = divide(lines, JSON_LINES)
    assert timestamp(message, JSON_LINES, [RESULT_TIME]) == 2000
