from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.sparql.lexemes import LexemeKind, lexemes


def shown(text: str) -> list[tuple[str, str]]:
    return [(lexeme.kind.value, lexeme.text) for lexeme in lexemes(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<http://ex/#a> # <b>\r'c'", [("iri", "<http://ex/#a>"), ("string", "'c'")]),
        ('"""a"b""c\n"""', [("string", '"""a"b""c\n"""')]),
        ("'it\\'s' ''", [("string", "'it\\'s'"), ("string", "''")]),
        ("ex:a.b.", [("name", "ex:a.b"), ("other", ".")]),
        ("ex:a\\'b", [("name", "ex:a\\'b")]),
        (":", [("name", ":")]),
        ("?x$y", [("variable", "?x"), ("variable", "$y")]),
        ("_:b1.", [("blank", "_:b1"), ("other", ".")]),
        ("'a'@en-GB", [("string", "'a'"), ("language", "@en-GB")]),
        ("1SERVICE", [("other", "1"), ("word", "SERVICE")]),
        ("?a<?b", [("variable", "?a"), ("other", "<"), ("variable", "?b")]),
        ("'open", [("other", "'"), ("word", "open")]),
        ("été:à", [("name", "été:à")]),
    ],
)
def test_tokens_end_where_the_grammar_says(text: str, expected: list[tuple[str, str]]) -> None:
    assert shown(text) == expected


@given(st.text(alphabet="aé:.<>\"'\\#?_@{} \n1", max_size=40))
def test_tokens_lie_in_order_and_are_slices_of_the_text(text: str) -> None:
    end = 0
    for lexeme in lexemes(text):
        assert text[lexeme.start : lexeme.end] == lexeme.text
        assert lexeme.start >= end
        end = lexeme.end


def test_depth_counts_the_brackets_that_are_open() -> None:
    assert [(lexeme.text, lexeme.depth) for lexeme in lexemes("a{b{c}d}e") if lexeme.kind is LexemeKind.WORD] == [
        ("a", 0), ("b", 1), ("c", 2), ("d", 1), ("e", 0),
    ]  # fmt: skip


@pytest.mark.parametrize("unit", ["a.", "<a", "'", '"""a"', "?", "_:a.", "ex:a.b ", "{"])
def test_long_texts_are_scanned_in_linear_time(unit: str) -> None:
    # A quadratic scan of this would take minutes.
    assert sum(1 for _ in lexemes(unit * 100_000)) > 0
