"""Bodies of several messages are divided as a client divides the file they come from."""

from __future__ import annotations

from codecs import BOM_UTF8
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import InvalidMessage
from protocol.formats.media_types import RdfSyntax
from protocol.messages import json_lines
from protocol.messages.body_type import BodyType, Grouping
from protocol.messages.division import divide
from protocol.sources import SourceMessage
from protocol.streams import StreamSettings, TimeKind
from spark_backend.ingest.bodies import read_statements
from spark_backend.ingest.columns import read_elements
from spark_backend.ingest.divided_body import divide_body
from spark_backend.ingest.messages import parts
from spark_backend.ingest.messages.parts import TooMany
from spark_backend.ingest.source_messages import read_messages

_LINES = st.sampled_from(
    [
        "# @message", "  # @message 7", "#@message\r", "#@messages", "# a comment", "", "\t",
        "<http://a/s> <http://a/p> <http://a/o> .", '_:b <http://a/p> "# @message" .\r',
    ]
)  # fmt: skip
_MORE_LINES = st.sampled_from(
    [
        "@prefix : <http://a/> .", "PREFIX : <http://b/>", "@base <http://c/> .", ":s :p 1 .",
        '<s> <p> """\n# @message\n@prefix : <http://d/> .\n""" .', "[] :p :o . # @message",
    ]
)  # fmt: skip


@pytest.mark.parametrize("syntax", [RdfSyntax.N_TRIPLES, RdfSyntax.TURTLE])
@given(st.data())
def test_a_body_has_the_messages_that_a_client_divides_it_into(syntax: RdfSyntax, data: st.DataObject) -> None:
    lines = _LINES if syntax.has_a_statement_a_line else _LINES | _MORE_LINES
    begin = "" if syntax.has_a_statement_a_line else "@prefix : <http://e/> .\n"
    text = begin + "\n".join(data.draw(st.lists(lines, max_size=12)))
    whole = read_statements(text.encode(), BodyType(syntax, Grouping.MARKERS), "http://base/")
    divided = divide(text.encode().splitlines(keepends=True), syntax)
    apart = [read_statements(message.alone, BodyType(syntax), "http://base/").counts for message in divided]
    assert [[count] for count in whole.counts] == apart


def test_lines_of_json_ld_have_the_context_before_them() -> None:
    lines = [b'{"p": 1}', b'{"@context": {"p": "http://a/p"}}', b'{"p": 1}', b'{"p": 2}']
    for body in (b"\n".join(lines), json_lines.join(list(json_lines.divide(lines)))):
        statements = read_statements(body, BodyType(RdfSyntax.JSON_LD, Grouping.LINES), "http://base/")
        assert statements.counts == [0, 1, 1]


@pytest.mark.parametrize("marker", ["", "# @message\n"])
@pytest.mark.parametrize("syntax", [RdfSyntax.N_TRIPLES, RdfSyntax.TURTLE])
def test_a_literal_that_the_parser_does_not_hold_is_refused_with_its_place(syntax: RdfSyntax, marker: str) -> None:
    body = '<http://a/s> <http://a/p> "1" .\n' * 2000 + f'{marker}<http://a/s> <http://a/p> "é{"x" * 2**24}" .\n'
    grouping = Grouping.MARKERS if marker else Grouping.SINGLE
    with pytest.raises(InvalidMessage, match=r"message [12].*longer than 16 MiB") as refused:
        read_statements(body.encode(), BodyType(syntax, grouping), "http://base/")
    assert (refused.value.line, refused.value.column) == (2002 if marker else 2001, 27)


@pytest.mark.parametrize("syntax", [one for one in RdfSyntax if one.has_comments])
def test_a_byte_order_mark_hides_no_announcement(syntax: RdfSyntax) -> None:
    right = [b'<http://a/s> <http://a/p> "%d" .' % number for number in range(2)]
    body = BOM_UTF8 + b"\nMESSAGE\n".join([b'VERSION "1.2-messages"', *right])
    assert [message.body.strip() for message in divide(body.splitlines(keepends=True), syntax)][1:] == right
    settings = StreamSettings("http://a/stream", TimeKind.EVENT)
    read = partial(read_elements, settings=settings, at=0)
    divided = divide_body(body + b"\nMESSAGE\nnonsense", syntax.value, read, has_context=False)
    assert divided.elements["o"].to_pylist() == [None, '"0"', '"1"']
    assert [rejected.body for rejected in divided.rejected] == [b"nonsense"]


def _divided(body: bytes) -> tuple[int, list[bytes]]:
    """How many rows there are of what is right in JSON lines, and what is not."""
    read = partial(read_elements, settings=StreamSettings("http://a/stream"), at=None, blank_scope="b")
    divided = divide_body(body, "application/x-ndjson", read, has_context=False)
    return divided.elements.num_rows, [rejected.body for rejected in divided.rejected]


def test_more_wrong_messages_than_are_told_apart_make_the_body_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_WRONG", 2)
    assert _divided(b'x\n{"http://a/p": 1}\ny\n') == (1, [b"x", b"y"])
    with pytest.raises(TooMany, match=r"of 4 messages more than 2 are not right.*message 1, line 1, column 1"):
        _divided(b'x\ny\n{"http://a/p": 1}\nz')


@pytest.mark.parametrize("marker", [b"", b"# @message\n"])
def test_a_wrong_message_among_more_than_are_looked_through_makes_the_body_wrong(
    monkeypatch: pytest.MonkeyPatch, marker: bytes
) -> None:
    monkeypatch.setattr(parts, "MOST_PARTS", 2)
    right, wrong = (b'<http://a/s> <http://a/p> "1" .\n', b"x\n") if marker else (b'{"http://a/p": 1}\n', b"x\n")
    read = partial(read_elements, settings=StreamSettings("http://a/stream"), at=None, blank_scope="b")
    content_type = "application/n-triples; messages=rdfm" if marker else "application/x-ndjson"

    def divided(*messages: bytes) -> int:
        body = b"".join(marker + message for message in messages)
        return len(divide_body(body, content_type, read, has_context=False).rejected)

    assert [divided(right, wrong), divided(right, right, right)] == [1, 0]
    with pytest.raises(TooMany, match="more than 2 messages, and one of them is not right"):
        divided(right, wrong, right)


def test_a_message_of_a_source_with_too_many_that_are_wrong_is_rejected_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "MOST_WRONG", 1)
    bodies = [b'{"http://a/p": 1}', b"x\ny", b'{"http://a/p": 2}\nz']
    messages = [
        SourceMessage(body, "application/x-ndjson", "http://a/", b"%d" % number) for number, body in enumerate(bodies)
    ]
    parsed = read_messages(messages, StreamSettings("http://a/stream"))
    assert parsed.batch.num_rows == 2
    assert [rejected.body for rejected in parsed.rejected] == [b"x\ny", b"z"]


@pytest.mark.parametrize("empty", ["{}", "[ ]", " { } "])
def test_an_empty_line_goes_with_the_one_before_it(empty: str) -> None:
    time = '{"@id": "http://a/s", "http://a/at": %d}'
    lines = [time % 5, empty, empty, "x", empty, time % 7, empty]
    settings = StreamSettings("http://a/stream", time=TimeKind.EVENT, timestamp_path=("http://a/at",))
    read = partial(read_elements, settings=settings, at=None)
    divided = divide_body("\n".join(lines).encode(), "application/x-ndjson", read, has_context=False)
    assert divided.elements["time"].to_pylist() == [5, 5, 5, 7, 7]
    assert [rejected.body for rejected in divided.rejected] == [b"x"]
