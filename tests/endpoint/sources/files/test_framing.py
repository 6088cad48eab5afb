"""Where messages of growing files end does not depend on how the bytes come."""

from __future__ import annotations

from codecs import BOM_UTF8

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.sources.files.framing import Ends, Framing
from protocol.errors import UnsupportedFeature

TRIPLES = "application/n-triples"
LOG = (
    b'VERSION "1.2-messages"\n<a:a> <a:p> "1" .\nMESSAGE\nMESSAGE\n'
    b'# a comment\n<a:b> <a:p> "MESSAGE" .\nmessage # x\n<a:c>'
)
MARKED = b"# @message\n<a:a> <a:p> <a:o> .\n# @message with a remark\n# @messages\n# @message\n<a:b> <a:p> <a:o> .\n"
JSON = b'{"@id":"a:a"}\n\n{"@context":{"@vocab":"a:"}}\n{"@id":"a:b"}\r\n{"@context":{},"@id":"a:c"}\n{"@id"'


def bodies(content_type: str, data: bytes, *, whole: bool = False) -> list[bytes]:
    return [framed.body for framed, _, _ in Framing.of(content_type).divide(data, whole=whole) if framed is not None]


def test_a_log_of_triples_ends_messages_at_its_delimiters() -> None:
    assert bodies(TRIPLES, LOG) == [b'<a:a> <a:p> "1" .\n', b"", b'# a comment\n<a:b> <a:p> "MESSAGE" .\n']
    assert bodies(TRIPLES, LOG, whole=True)[3:] == [b"<a:c>"]
    assert bodies(f"{TRIPLES}; version=1.2-messages", b"MESSAGE\n<a:a> <a:p> <a:o> .\nMESSAGE\n")[0] == b""


def test_markers_open_the_first_message_and_end_the_others() -> None:
    assert bodies(f"{TRIPLES}; messages=rdfm", MARKED) == [b"<a:a> <a:p> <a:o> .\n", b"# @messages\n"]
    assert bodies(f"{TRIPLES}; messages=rdfm", b"<a:a> <a:p> <a:o> .\n# @message\n") == [b"<a:a> <a:p> <a:o> .\n"]


def test_without_delimiters_each_statement_is_a_message() -> None:
    data = b'# head\nVERSION "1.2"\n\n<a:a> <a:p> <a:o> .\n<a:b> <a:p> <a:o> .\n<a:c> '
    assert bodies(TRIPLES, data) == [b"<a:a> <a:p> <a:o> .", b"<a:b> <a:p> <a:o> ."]
    assert bodies(TRIPLES, data, whole=True)[2:] == [b"<a:c>"]


@pytest.mark.parametrize(("content_type", "data"), [(TRIPLES, LOG), (TRIPLES, MARKED), ("application/x-ndjson", JSON)])
def test_a_byte_order_mark_at_the_beginning_changes_nothing(content_type: str, data: bytes) -> None:
    whole = bodies(content_type, BOM_UTF8 + data, whole=True)
    assert [body.removeprefix(BOM_UTF8) for body in whole] == bodies(content_type, data, whole=True)


def test_each_line_of_json_is_a_message_under_the_context_before_it() -> None:
    assert bodies("application/x-ndjson", JSON) == [
        b'{"@id":"a:a"}',
        b'{"@context":{"@vocab": "a:"},"@graph":{"@id":"a:b"}}',
        b'{"@context":{"@vocab": "a:"},"@graph":{"@context":{},"@id":"a:c"}}',
    ]


@pytest.mark.parametrize("line", [b"not JSON", b"5", b"null", b'{"a:p":1},"a:q":{"a:p":2}', b'{"a:p":', b"[" * 100_000])
def test_a_line_that_is_no_document_stays_as_it_came(line: bytes) -> None:
    assert bodies("application/x-ndjson", b'{"@context":{"@vocab":"a:"}}\n%b\n' % line) == [line]


@pytest.mark.parametrize("content_type", ["text/turtle", "application/ld+json", "text/csv", "nothing"])
def test_what_has_no_ends_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedFeature, match="contentType"):
        Framing.of(content_type)


def test_a_file_whose_type_nothing_tells_is_refused_in_a_sentence() -> None:
    with pytest.raises(UnsupportedFeature, match="and its name tells none of these: in other formats nothing says"):
        Framing.of("")


CASES = st.sampled_from(
    [(TRIPLES, LOG), (f"{TRIPLES}; messages=rdfm", MARKED), ("application/x-ndjson", JSON), (TRIPLES, MARKED)]
)


@given(CASES, st.lists(st.integers(1, 40)))
def test_messages_are_the_same_however_the_bytes_come(case: tuple[str, bytes], sizes: list[int]) -> None:
    content_type, data = case
    framing, pending, found = Framing.of(content_type), b"", []
    place = 0
    for size in [*sizes, len(data)]:
        pending += data[place : place + size]
        place += size
        done = 0
        for framed, end, after in framing.divide(pending):
            done, framing = end, Framing(after.media_type, Ends(after.ends), after.context, after.opened)
            found += [framed.body] if framed is not None else []
        pending = pending[done:]
    assert found == bodies(content_type, data)
