from __future__ import annotations

import pyoxigraph
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Graph, Literal

from protocol.grammar.portable import portable


def test_comments_become_spaces_and_tabs_outside_strings_stay_space() -> None:
    assert portable("SELECT # 'a\r*\t{ } # \"b\n") == "SELECT     \r* { }     \n"


def test_a_hash_or_a_quote_in_another_token_is_left_alone() -> None:
    text = "SELECT * { <u:#a'> <u:#b> '# c', \"it's # d\" }"
    assert portable(text) == text


@given(
    st.sampled_from(["'", '"', "'''", '"""']),
    st.lists(st.sampled_from(["a", "\t", "\\t", "\\\\", "\\'", '\\"', "é", "#", " ", "\\n", "😀"])).map("".join),
)
def test_every_string_is_the_same_to_both_parsers(quote: str, content: str) -> None:
    text = f"SELECT ({quote}{content}{quote} AS ?x) # it's a comment\r{{ }}"
    solutions = pyoxigraph.Store().query(text)
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    expected = next(iter(solutions))["x"]
    assert isinstance(expected, pyoxigraph.Literal)
    ((found,),) = Graph().query(portable(text))  # type: ignore[misc]  # rows, of a SELECT
    assert found == Literal(expected.value)
