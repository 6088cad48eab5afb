from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import QuerySemanticError
from protocol.sparql.source import Source, place


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_end_with_any_of_the_three_line_ends(line_end: str) -> None:
    source = Source(f"one{line_end}{line_end}three X")
    assert source.place(source.text.index("X")) == (3, 7)


def test_columns_count_code_points() -> None:
    source = Source("é😀日X")
    assert source.place(3) == (1, 4)


def test_the_end_of_the_text_has_a_place() -> None:
    assert Source("").place(0) == (1, 1)
    assert Source("ab\n").place(3) == (2, 1)


@given(st.text(alphabet="aé \r\n"), st.data())
def test_a_text_without_escapes_has_the_same_places_by_itself(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    assert place(text, offset) == Source(text).place(offset)


@given(st.text(alphabet="a\r\n"), st.data())
def test_a_place_is_in_the_line_of_what_stands_there(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    before = re.split(r"\r\n|\r|\n", text[:offset])
    if text[:offset].endswith("\r") and text[offset:].startswith("\n"):
        before[-2:] = [before[-2] + "\r"]  # in the middle of what ends a line
    assert Source(text).place(offset) == (len(before), len(before[-1]) + 1)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\u0053TREAM", "STREAM"),
        (r"<http://e/\u00e9\U0001F600>", "<http://e/é😀>"),
        (r"'\\u0053'", r"'\\u0053'"),
        (r"'\\\u0053'", r"'\\S'"),
        (r"'\u0027 \u0022 \u005C \u000A'", r"'\' \" \\ \n'"),
        (r"'\uD83D' \U00110000 \u12 \x", r"'\uD83D' \U00110000 \u12 \x"),
    ],
)
def test_codepoint_escapes_are_decoded_and_never_end_a_string(written: str, read: str) -> None:
    assert Source(written).text == read


@given(st.lists(st.tuples(st.sampled_from(["a", "é", "\n", "\\\\", "\\t"]), st.booleans()), max_size=20))
def test_places_are_those_of_the_original_text(parts: list[tuple[str, bool]]) -> None:
    original = decoded = ""
    for text, escape in parts:
        original += text + (r"\u0058" if escape else "")
        decoded += text + ("X" if escape else "")
    source = Source(original + "!")
    assert source.text == decoded + "!"
    before = original.split("\n")
    assert source.place(len(decoded)) == (len(before), len(before[-1]) + 1)


def test_an_error_says_its_place_in_words_and_in_numbers() -> None:
    error = Source("a\n b").error("no", 3, QuerySemanticError)
    assert isinstance(error, QuerySemanticError)
    assert (error.detail, error.line, error.column) == ("no (line 2, column 2)", 2, 2)
