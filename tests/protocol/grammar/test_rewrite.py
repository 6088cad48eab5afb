from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.grammar.rewrite import Rewriter


def test_what_is_removed_becomes_spaces_and_line_ends_stay() -> None:
    rewriter = Rewriter("ab cd\r\nef gh")
    rewriter.remove(3, 9)
    assert rewriter.standard().text == "ab   \r\n   gh"


def test_a_replacement_keeps_the_line_ends_of_what_it_replaces() -> None:
    rewriter = Rewriter("STREAM\n<s>\n[x] {")
    rewriter.replace(0, 14, "GRAPH <g>")
    assert rewriter.standard().text == "GRAPH <g>\n\n {"


def test_the_checked_text_may_differ_from_the_standard_one() -> None:
    rewriter = Rewriter("WINDOW ?w {")
    rewriter.replace(7, 9, "?__window_w", "?w")
    assert rewriter.standard().text == "WINDOW ?__window_w {"
    assert rewriter.checked().text == "WINDOW ?w {"


@given(st.text(alphabet="abc\n", max_size=30), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.text("XY"))))
def test_every_copied_character_leads_back_to_where_it_was(text: str, gaps: list[tuple[int, int, str]]) -> None:
    rewriter = Rewriter(text)
    end = 0
    replaced: set[int] = set()
    for before, length, replacement in gaps:
        start = end + before + (end > 0)
        end = start + length
        if end > len(text):
            break
        rewriter.replace(start, end, replacement)
        replaced |= set(range(start, end))
    rewritten = rewriter.standard()
    copied = [
        rewritten.offset(offset)
        for offset, character in enumerate(rewritten.text)
        if text[rewritten.offset(offset) : rewritten.offset(offset) + 1] == character
        and rewritten.offset(offset) not in replaced
    ]
    assert set(range(len(text))) - replaced <= set(copied)
    assert copied == sorted(copied)
