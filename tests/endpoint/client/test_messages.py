from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from endpoint.client.messages import Message, joined, split, timestamp
from protocol.formats.media_types import JSON_LINES

NT, TTL, TRIG = "application/n-triples", "text/turtle", "application/trig"
RESULT_TIME = "http://www.w3.org/ns/sosa/resultTime"


def bodies(text: str, content_type: str) -> list[str]:
    return [message.body.decode().strip() for message in split(text.encode().splitlines(keepends=True), content_type)]


@pytest.mark.parametrize("content_type", [NT, TTL])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a:s> <a:p> 'x' .\n", ["<a:s> <a:p> 'x' ."]),
        ("", [""]),
        ("# nothing but a comment\n", ["# nothing but a comment"]),
        ("# @message\n", []),
        ("<a:1> <a:p> <a:o> .\n# @message\n<a:2> <a:p> <a:o> .\n", ["<a:1> <a:p> <a:o> .", "<a:2> <a:p> <a:o> ."]),
        ("# @message\n<a:1> <a:p> <a:o> .\n# @message\n", ["<a:1> <a:p> <a:o> ."]),
        ("#@message 7\n#  @message\n<a:1> <a:p> <a:o> .", ["", "<a:1> <a:p> <a:o> ."]),
        ("# @messages are not markers\n<a:1> <a:p> <a:o> .", ["# @messages are not markers\n<a:1> <a:p> <a:o> ."]),
    ],
)
def test_markers_divide_messages(content_type: str, text: str, expected: list[str]) -> None:
    assert bodies(text, content_type) == expected


def test_a_marker_inside_a_string_or_an_iri_is_no_marker() -> None:
    text = '<a:1#@message> <a:p> """\n# @message\n""" .\n# @message\n<a:2> <a:p> "# @message" .\n'
    assert len(bodies(text, TTL)) == 2


def test_prefixes_carry_over_to_later_messages_as_they_were_declared_last() -> None:
    text = (
        "@prefix : <http://a/> .\n# @message\n:x :p 1 .\n# @message\nPREFIX : <http://b/>\n:x :p 2 .\n"
        "# @message\n:x :p 3 .\n# @message\n@prefix : <http://a/> .\n:x :p 4 .\n# @message\n:x :p 5 .\n"
    )
    alone = list(split(text.encode().splitlines(keepends=True), TTL))
    subjects = [next(iter(parse(message.alone, RdfFormat.TURTLE))).subject.value for message in alone]
    assert subjects == ["http://a/x", "http://b/x", "http://b/x", "http://a/x", "http://a/x"]


def test_a_graph_block_stays_whole() -> None:
    text = "PREFIX : <http://a/>\n:g { :s :p :o }\n# @message\n:g { :s :p '}' }"
    assert bodies(text, TRIG)[1] == ":g { :s :p '}' }"


def test_every_line_of_ndjson_that_is_not_blank_is_a_message() -> None:
    assert bodies('{"a": 1}\n\n  \n{"b": 2}', JSON_LINES) == ['{"a": 1}', '{"b": 2}']


def test_one_message_goes_without_the_parameter_and_several_with_it() -> None:
    one, two = Message(b"<a:1> <a:p> <a:o> ."), Message(b"<a:2> <a:p> <a:o> .")
    assert joined([one], NT) == (one.body, NT)
    assert joined([one, two], NT)[1] == "application/n-triples; messages=rdfm"
    assert joined([one, two], JSON_LINES) == (b"<a:1> <a:p> <a:o> .\n<a:2> <a:p> <a:o> .\n", JSON_LINES)


_TEXT = st.text(alphabet=st.sampled_from("ab\"\\'#@message \n\t<>.{}é"), max_size=25)


@given(st.lists(st.lists(_TEXT, max_size=3), min_size=1, max_size=6), st.integers(min_value=1, max_value=4))
def test_what_is_split_and_joined_in_any_batches_is_what_it_was(messages: list[list[str]], size: int) -> None:
    def quoted(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"')

    text = "@prefix : <http://a/> .\n" + "".join(
        "# @message\n" + "".join(f':s :p """{quoted(value)}""" .\n' for value in values)
        for values in [*messages, ["end"]]
    )
    found = list(split(text.encode().splitlines(keepends=True), TTL))
    again: list[Message] = []
    for start in range(0, len(found), size):
        body, content_type = joined(found[start : start + size], TTL)
        again += split(body.splitlines(keepends=True), TTL) if "rdfm" in content_type else [Message(body)]

    def triples(message: Message) -> list[str]:
        return [str(quad.object) for quad in parse(message.alone, RdfFormat.TURTLE)]

    assert len(found) == len(messages) + 1
    assert [triples(message) for message in again] == [triples(message) for message in found]
    assert [len(triples(message)) for message in found] == [len(values) for values in [*messages, ["end"]]]


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
