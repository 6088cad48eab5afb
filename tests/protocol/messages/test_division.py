"""Documents divided by ``MESSAGE`` or by ``# @message`` comments, and put together again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from protocol.formats.media_types import RdfSyntax
from protocol.messages.division import divide, join
from protocol.messages.markers import find_markers, marker_bounds
from protocol.messages.message import Message
from protocol.messages.preambles import is_preamble

LINES_AND_BLOCKS = [RdfSyntax.N_TRIPLES, RdfSyntax.TURTLE]


def messages(text: str, syntax: RdfSyntax) -> list[Message]:
    return list(divide(text.encode().splitlines(keepends=True), syntax))


def bodies(text: str, syntax: RdfSyntax) -> list[str]:
    return [message.body.decode().strip() for message in messages(text, syntax)]


@pytest.mark.parametrize("syntax", LINES_AND_BLOCKS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a:s> <a:p> 'x' .\n", ["<a:s> <a:p> 'x' ."]),
        ("", [""]),
        ("# nothing but a comment\n", ["# nothing but a comment"]),
        ("# @message\n", [""]),
        ("# @message\n# @message\n", [""]),
        ("# @message\n# @message\n# @message\n", ["", ""]),
        ("<a:1> <a:p> <a:o> .\n# @message\n<a:2> <a:p> <a:o> .\n", ["<a:1> <a:p> <a:o> .", "<a:2> <a:p> <a:o> ."]),
        ("# @message\n<a:1> <a:p> <a:o> .\n# @message\n", ["<a:1> <a:p> <a:o> ."]),
        ("#@message 7\n#  @message\n<a:1> <a:p> <a:o> .", ["", "<a:1> <a:p> <a:o> ."]),
        ("# @messages are not markers\n<a:1> <a:p> <a:o> .", ["# @messages are not markers\n<a:1> <a:p> <a:o> ."]),
        ("<a:1> <a:p> <a:o> .\r# @message\r<a:2> <a:p> <a:o> .", ["<a:1> <a:p> <a:o> .", "<a:2> <a:p> <a:o> ."]),
        ("<a:1> <a:p> <a:o> . # @message\n", ["<a:1> <a:p> <a:o> . # @message"]),
        ("# @MESSAGE\n<a:1> <a:p> <a:o> .", ["# @MESSAGE\n<a:1> <a:p> <a:o> ."]),
    ],
)
def test_markers_divide_messages(syntax: RdfSyntax, text: str, expected: list[str]) -> None:
    assert bodies(text, syntax) == expected


def test_lines_are_divided_as_they_come() -> None:
    def lines() -> list[bytes]:
        return [b"<a:1> <a:p> <a:o> .\n", b"# @message\n", b"# @message\n", b"<a:2> <a:p> <a:o> .\n"]

    read = iter(lines())
    divided = divide(read, RdfSyntax.N_TRIPLES)
    assert next(divided).body == lines()[0]
    assert next(read) == lines()[2]


def test_a_marker_inside_a_string_or_an_iri_is_no_marker() -> None:
    text = '<a:1#@message> <a:p> """\n# @message\n""" .\n# @message\n<a:2> <a:p> "# @message" .\n'
    assert len(bodies(text, RdfSyntax.TURTLE)) == 2
    (marker,) = find_markers(text.encode(), RdfSyntax.TURTLE)
    assert marker == (text.index(" .\n#") + 3, text.index("\n<a:2>"))


def test_a_marker_begins_its_line_whichever_way_lines_end() -> None:
    text = "# @message\r\t # @message\n  # @message\r\n<a:1> <a:p> <a:o> . # @message\r"
    assert [start for start, _ in find_markers(text.encode(), RdfSyntax.TURTLE)] == [0, 13, 26]


def test_lines_that_end_as_on_old_machines_are_looked_at_in_linear_time() -> None:
    assert len(find_markers(b"\r # @message" * 400_000, RdfSyntax.TURTLE)) == 400_000


def test_prefixes_carry_over_to_later_messages_as_they_were_declared_last() -> None:
    text = (
        "@prefix : <http://a/> .\n# @message\n:x :p 1 .\n# @message\nPREFIX : <http://b/>\n:x :p 2 .\n"
        "# @message\n:x :p 3 .\n# @message\n@prefix : <http://a/> .\n:x :p 4 .\n# @message\n:x :p 5 .\n"
    )
    alone = messages(text, RdfSyntax.TURTLE)
    subjects = [next(iter(parse(message.alone, RdfFormat.TURTLE))).subject.value for message in alone]
    assert subjects == ["http://a/x", "http://b/x", "http://b/x", "http://a/x", "http://a/x"]


@pytest.mark.parametrize("again", ["BASE <http://x/1>", "@base<http://x/1>.", "BASE<http://x/2>\nBASE </1>"])
def test_a_relative_prefix_is_relative_to_the_base_before_it_also_where_bases_come_again(again: str) -> None:
    text = (
        "BASE <http://x/1>\nPREFIX : <#>\n:x :p 1 .\n# @message\nBASE <http://x/2>\n<#x> :p 2 .\n"
        f"# @message\n{again}\n<#x> :p 3 .\n# @message\n:x :p 4 .\n# @message\n<#x> :p 5 ."
    )
    alone = messages(text, RdfSyntax.TURTLE)
    subjects = [next(iter(parse(message.alone, RdfFormat.TURTLE))).subject.value for message in alone]
    assert subjects == [f"http://x/{number}#x" for number in (1, 2, 1, 1, 1)]


@pytest.mark.parametrize(
    "again",
    [
        "@prefix : # the new one\n <http://b/#> .",
        "@prefix # :\n: <http://b/#> # .\n .",
        "PREFIX#\n:#\n<http://b/#>",
        "@base # the new one\n <http://b/> .\nPREFIX : <#>",
        "BASE#\n<http://b/>\nPREFIX : <#>",
    ],
)
def test_declarations_with_comments_in_them_carry_over(again: str) -> None:
    text = f"PREFIX : <http://a/#>\n:x :p 1 .\n# @message\n{again}\n:x :p 2 .\n# @message\n:x :p 3 ."
    alone = messages(text, RdfSyntax.TURTLE)
    subjects = [next(iter(parse(message.alone, RdfFormat.TURTLE))).subject.value for message in alone]
    assert subjects == ["http://a/#x", "http://b/#x", "http://b/#x"]


@pytest.mark.parametrize("version", ['VERSION # of messages\n "1.2-messages"', '@version#\n"1.2-messages"#\n.'])
def test_a_version_with_a_comment_in_it_announces_messages(version: str) -> None:
    text = f"{version}\n<a:s> <a:p> 1 .\nMESSAGE\n<a:s> <a:p> 2 ."
    assert bodies(text, RdfSyntax.TURTLE)[1:] == ["<a:s> <a:p> 2 ."]


def test_of_declarations_that_come_again_and_again_those_that_hold_are_kept() -> None:
    said = "# @message\n".join(
        f"@base <http://x/{number}> .\n@prefix : <#> .\n@prefix a: <http://a/{number}> .\n:x :p 1 .\n"
        for number in range(100)
    )
    assert {len(message.preamble) for message in messages(said, RdfSyntax.TURTLE)} == {0, 3}


def test_what_looks_like_a_prefix_in_a_string_or_a_comment_is_none() -> None:
    text = '<a:s> <a:p> "@prefix : <a:> ." .\n# @prefix : <b:> .\n# @message\n<a:s> <a:p> 2 .\n'
    assert [message.preamble for message in messages(text, RdfSyntax.TURTLE)] == [(), ()]


def test_a_name_that_ends_as_a_declaration_begins_is_none() -> None:
    text = (
        "@base <http://a/> .\nPREFIX : <http://a/#>\n<x> :knowledge.base <http://b/> .\n:x.prefix :#\n<y> .\n"
        "# @message\n<x> :p 1 .PREFIX a: <a:> a:x a:p 2.BASE <http://c/>\n# @message\n<x> :p 3 ."
    )
    alone = messages(text, RdfSyntax.TURTLE)
    subjects = [next(iter(parse(message.alone, RdfFormat.TURTLE))).subject.value for message in alone]
    assert subjects == ["http://a/x", "http://a/x", "http://c/x"]


def test_a_graph_block_stays_whole() -> None:
    text = "PREFIX : <http://a/>\n:g { :s :p :o }\n# @message\n:g { :s :p '}' }"
    assert bodies(text, RdfSyntax.TRIG)[1] == ":g { :s :p '}' }"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (b"", True),
        (b"# a comment\n@prefix : <a:> . BASE <b:>PREFIX a: <a:>\n@version '1.2' .", True),
        (b"@prefix : <a:> . :s :p :o .", False),
        (b"<a:s> <a:p> <a:o> .", False),
    ],
)
def test_a_preamble_has_no_statement(text: bytes, is_one: bool) -> None:
    assert is_preamble(text) is is_one


_COUNTS = st.lists(st.integers(min_value=0, max_value=2), min_size=1, max_size=6)


@given(_COUNTS)
def test_messages_are_the_same_counted_and_as_they_come(counts: list[int]) -> None:
    segments = ["<a:s> <a:p> <a:o> .\n" * count for count in counts]
    first, last = marker_bounds(counts)
    found = [text.count("<a:s>") for text in bodies("# @message\n".join(segments), RdfSyntax.N_TRIPLES)]
    assert found == counts[first:last]


_TEXT = st.text(alphabet=st.sampled_from("ab\"\\'#@message \n\t<>.{}é"), max_size=25)


def quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@given(st.lists(st.lists(_TEXT, max_size=3), min_size=1, max_size=6), st.integers(min_value=1, max_value=4))
def test_what_is_divided_and_joined_in_any_batches_is_what_it_was(said: list[list[str]], size: int) -> None:
    text = "@prefix : <http://a/> .\n" + "".join(
        "# @message\n" + "".join(f':s :p """{quoted(value)}""" .\n' for value in values) for values in [*said, ["end"]]
    )
    found = messages(text, RdfSyntax.TURTLE)
    again: list[Message] = []
    for start in range(0, len(found), size):
        again += divide([join(found[start : start + size])], RdfSyntax.TURTLE)

    def triples(message: Message) -> list[str]:
        return [str(quad.object) for quad in parse(message.alone, RdfFormat.TURTLE)]

    assert [triples(message) for message in again] == [triples(message) for message in found]
    assert [len(triples(message)) for message in found] == [len(values) for values in [*said, ["end"]]]
