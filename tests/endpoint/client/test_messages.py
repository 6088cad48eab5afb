from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

from endpoint.client.messages import divide, is_empty, join, timestamp
from protocol.formats.media_types import JELLY, JSON_LINES
from protocol.messages.jelly_frames import write_frames
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
    assert len(list(divide(text.encode().splitlines(keepends=True), content_type))) == 2


@pytest.mark.parametrize("content_type", ["application/ld+json", "application/rdf+xml"])
def test_other_files_are_one_message(content_type: str) -> None:
    assert list(divide([b"a\n", b"# @message\n", b"b"], content_type)) == [Message(b"a\n# @message\nb")]


def test_what_a_type_announces_divides_a_file_that_does_not() -> None:
    lines = [b"<a:1> <a:p> <a:o> .\n", b"MESSAGE\n", b"<a:2> <a:p> <a:o> .\n"]
    found = list(divide(lines, f"{NT}; version=1.2-messages"))
    assert [message.body for message in found] == [lines[0], lines[2]]
    assert join(found, f"{NT}; version=1.2-messages") == (
        b"MESSAGE\n".join([*lines[::2], b""]), f"{NT}; version=1.2-messages",
    )  # fmt: skip
    assert join(found[:1], f"{NT}; version=1.2-messages") == (lines[0], NT)


@pytest.mark.parametrize("content_type", [NT, TTL])
def test_the_lines_of_a_file_are_those_of_the_request(content_type: str) -> None:
    log = b'VERSION "1.2-messages"\n<a:1> <a:p> <a:o> .\n\nMESSAGE\nMESSAGE\n# a comment\n<a:2> <a:p> wrong .\n'
    found = list(divide(log.splitlines(keepends=True), content_type))
    assert join(found, content_type)[0] == log + b"MESSAGE\n"
    assert join(found[1:], content_type)[0] == log.partition(b"MESSAGE\n")[2] + b"MESSAGE\n"


@pytest.mark.parametrize(("first", "line"), [(0, 10), (1, 6), (3, 2)])
def test_lines_are_counted_from_the_first_message_where_prefixes_are_said_again(first: int, line: int) -> None:
    log = b"@prefix : <http://e/> .\nPREFIX a: <a:>\n:a :p 1 .\nMESSAGE\n:b :p 2 .\n\nMESSAGE\nMESSAGE\n:c :p\na:? ?\n"
    found = list(divide([log], f"{TTL}; version=1.2-messages"))
    body, _ = join(found[first:], f"{TTL}; version=1.2-messages")
    with pytest.raises(SyntaxError) as wrong:
        list(parse(body.replace(b"MESSAGE", b""), RdfFormat.TURTLE))
    assert wrong.value.lineno == line


def test_what_is_said_again_before_a_message_that_is_empty_leaves_it_one() -> None:
    log = b"@prefix : <http://e/> .\n:a :p 1 .\nMESSAGE\nMESSAGE\n:b :p 2 .\n"
    found = list(divide([log], f"{TTL}; version=1.2-messages"))
    body, _ = join(found[1:], f"{TTL}; version=1.2-messages")
    assert [is_empty(one, TTL) for one in divide([body], f"{TTL}; version=1.2-messages")] == [True, False]


@pytest.mark.parametrize("content_type", [NT, TTL])
def test_the_time_in_the_message_behind_the_version(content_type: str) -> None:
    log = f'VERSION "1.2-messages"\n<a:s> <{RESULT_TIME}> "1970-01-01T00:00:02Z" .\nMESSAGE\n'
    (message,) = divide(log.encode().splitlines(keepends=True), content_type)
    assert timestamp(message, content_type, [RESULT_TIME]) == 2000


@pytest.mark.parametrize(
    ("content_type", "log"),
    [
        (NT, 'VERSION "1.2-messages"\n# nothing\nMESSAGE\n<a:s> <a:p> <a:o> .\n'),
        (TTL, 'VERSION "1.2-messages"\nPREFIX a: <a:>\nMESSAGE\na:s a:p 1 .\n'),
        (TRIG, 'VERSION "1.2-messages"\nGRAPH <a:g> {}\nMESSAGE\n<a:g> { <a:s> <a:p> 1 }\n'),
        (JSON_LINES, '{ }\n{"temperature": 1}\n'),
        (NT, "# @message\n# @message\nnot RDF\n"),
    ],
)
def test_what_an_empty_message_is(content_type: str, log: str) -> None:
    found = list(divide(log.encode().splitlines(keepends=True), content_type))
    assert [is_empty(message, content_type) for message in found] == [True, False]


def test_frames_of_jelly_are_sent_in_n_quads() -> None:
    quad = Quad(NamedNode("a:s"), NamedNode(RESULT_TIME), Literal("1970-01-01T00:00:02Z"), NamedNode("a:g"))
    document = b"".join(write_frames([[quad], [], [quad, quad]]))
    found = list(divide(document.splitlines(keepends=True), JELLY))
    assert [message.body.count(b"\n") for message in found] == [1, 0, 2]
    assert timestamp(found[0], JELLY, [RESULT_TIME]) == 2000
    body, content_type = join(found, JELLY)
    assert content_type == "application/n-quads; version=1.2-messages"
    assert body.count(b"MESSAGE\n") == 3
    with pytest.raises(ValueError, match="message 1: the body is not Jelly"):
        list(divide([document[:-1]], JELLY))


def test_one_message_goes_without_the_parameter_and_several_with_it() -> None:
    one, two = Message(b"<a:1> <a:p> <a:o> ."), Message(b"<a:2> <a:p> <a:o> .")
    assert join([one], NT) == (one.body, NT)
    assert join([Message(b"# nothing")], NT) == (
        b"# nothing\nMESSAGE\n",
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
