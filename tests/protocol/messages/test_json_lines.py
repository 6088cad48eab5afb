"""Lines of JSON-LD as messages."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from protocol.messages.json_lines import JsonLine, divide, join, read_lines
from protocol.messages.message import Message

CONTEXT = '{"@context": {"p": "http://a/p"}}'


def divided(text: str) -> list[Message]:
    return list(divide(text.encode().splitlines(keepends=True)))


def predicates(line: JsonLine) -> list[str]:
    return [quad.predicate.value for quad in parse(line.document, RdfFormat.JSON_LD)]


def test_every_line_that_is_not_blank_is_a_message() -> None:
    assert divided('{"a": 1}\n\n  \n {"b": 2}\r\n') == [Message(b'{"a": 1}'), Message(b'{"b": 2}')]
    assert divided("") == []


def test_a_context_alone_on_its_line_holds_for_the_messages_after_it() -> None:
    text = f'{{"p": 1}}\n{CONTEXT}\n{{"p": 2}}\n{{"@context": {{"p": "http://b/p"}}, "p": 3}}\n'
    lines = list(read_lines(text.encode().split(b"\n")))
    assert [predicates(line) for line in lines] == [[], ["http://a/p"], ["http://b/p"]]
    assert [line.number for line in lines] == [1, 3, 4]


@given(
    st.lists(
        st.sampled_from(
            [
                CONTEXT,
                '{"@context": {"p": "http://b/p"}}',
                '{"@context": {"p": "http://b/p"}, "@context": {"p": "http://c/p"}}',
                '{"@context": {"p": "http://a/p"}, "p": 1}',
                '{"@context": {"p": "http://a/p"}, "p": "@context"}',
                '{"@context": {"p": "http://a/p"}, "p": 1, "@context": {}}',
                '{"@context": {"p": "http://b/p"}, "p":',
                '{"p": 1, "@context": {"p": "http://b/p"}}',
                '{"p": "@context"}',
                '{"@context": "',
            ]
        )
    )
)
def test_only_an_object_with_no_other_member_is_no_message(texts: list[str]) -> None:
    contexts: list[bytes | None] = [None]
    expected = []
    for text in texts:
        try:
            document = json.loads(text)
        except ValueError:
            document = {}
        if document.keys() == {"@context"}:
            contexts.append(json.dumps(document["@context"]).encode())
        else:
            expected.append((text.encode(), contexts[-1]))
    assert [(line.text, line.context) for line in read_lines(text.encode() for text in texts)] == expected


def test_columns_of_a_document_are_moved_to_those_of_its_line() -> None:
    without, within = list(read_lines([b'  {"p": 1}', CONTEXT.encode(), b'  {"p": 1}']))
    assert without.shift == 2
    assert within.document.index(b'{"p": 1}') + within.shift == 2


def test_a_context_goes_with_every_batch_of_its_messages() -> None:
    found = divided(f'{CONTEXT}\n{{"p": 1}}\n{{"p": 2}}\n')
    for batch in (found[:1], found[1:], found):
        body = join(batch)
        assert [predicates(line) for line in read_lines(body.split(b"\n"))] == [["http://a/p"]] * len(batch)
        assert body.count(b'{"@context"') == 1


def test_a_context_is_taken_back_for_a_message_that_has_none() -> None:
    with_context, without = *divided(f'{CONTEXT}\n{{"p": 1}}\n'), Message(b'{"p": 2}')
    lines = list(read_lines(join([with_context, without]).split(b"\n")))
    assert [predicates(line) for line in lines] == [["http://a/p"], []]
    assert json.loads(lines[1].text) == {"p": 2}
