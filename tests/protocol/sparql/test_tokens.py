from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.sparql.tokens import TokenKind, skip, tokenize


def kinds(text: str) -> list[tuple[TokenKind, str]]:
    return [(token.kind, token.text) for token in tokenize(text)[:-1]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<http://example.org/stream>", TokenKind.IRI),
        ("<>", TokenKind.IRI),
        ("<http://exämple.org/…/fb>", TokenKind.IRI),
        ("stream:", TokenKind.PREFIXED_NAME),
        (":window", TokenKind.PREFIXED_NAME),
        ("stream:window", TokenKind.PREFIXED_NAME),
        ("a.b:c.d:e%20f\\,g", TokenKind.PREFIXED_NAME),
        (":", TokenKind.PREFIXED_NAME),
        ("ex:0-9", TokenKind.PREFIXED_NAME),
        ("日本:語", TokenKind.PREFIXED_NAME),
        ("?window", TokenKind.VARIABLE),
        ("$stream", TokenKind.VARIABLE),
        ("?été", TokenKind.VARIABLE),
        ("_:window", TokenKind.BLANK_NODE),
        ("_:a.b", TokenKind.BLANK_NODE),
        ('"FROM STREAM"', TokenKind.STRING),
        ("'FROM \\' STREAM'", TokenKind.STRING),
        ('"""FROM "STREAM"\n ""\\" """', TokenKind.STRING),
        ("'''FROM 'STREAM'\n'' '''", TokenKind.STRING),
        ('""', TokenKind.STRING),
        ("''''''", TokenKind.STRING),
        ("@en-stream", TokenKind.LANGUAGE_TAG),
        ("12", TokenKind.NUMBER),
        ("-1.5e-3", TokenKind.NUMBER),
        (".5", TokenKind.NUMBER),
        ("STREAM", TokenKind.WORD),
        ("Window", TokenKind.WORD),
        ("^^", TokenKind.PUNCTUATION),
        ("&&", TokenKind.PUNCTUATION),
    ],
)
def test_each_terminal_of_the_grammar_is_one_token(text: str, kind: TokenKind) -> None:
    assert kinds(text) == [(kind, text)]


@pytest.mark.parametrize(
    "text", ["# FROM STREAM <s> [RANGE 1s]", "#WINDOW\r", "  \t\r\n # a # b \n", "", "\ufeff # byte order mark"]
)
def test_comments_and_white_space_are_no_tokens(text: str) -> None:
    assert kinds(text) == []


def test_a_comment_ends_with_its_line_and_does_not_begin_inside_an_iri() -> None:
    assert kinds("# a\nSTREAM <http://e/#x> # b\rWINDOW") == [
        (TokenKind.WORD, "STREAM"),
        (TokenKind.IRI, "<http://e/#x>"),
        (TokenKind.WORD, "WINDOW"),
    ]


def test_a_full_stop_after_a_name_ends_the_triple() -> None:
    assert [text for _, text in kinds("?s a:b. _:c. 5. d:e.f.")] == [
        "?s",
        "a:b",
        ".",
        "_:c",
        ".",
        "5",
        ".",
        "d:e.f",
        ".",
    ]


def test_a_long_string_ends_at_its_first_three_quotes() -> None:
    assert [text for _, text in kinds('"""a"""" b"')] == ['"""a"""', '" b"']


def test_a_string_that_is_not_closed_is_an_illegal_character_and_lexing_goes_on() -> None:
    assert kinds("'abc\n?x") == [(TokenKind.ILLEGAL, "'"), (TokenKind.WORD, "abc"), (TokenKind.VARIABLE, "?x")]


def test_behind_a_string_that_is_not_closed_no_escape_begins_another() -> None:
    assert [text for _, text in kinds('"a\\"b\\\\')] == ['"', "a", '\\"', "b", "\\\\"]


def test_the_longest_match_is_an_iri_even_where_comparisons_could_stand() -> None:
    """Query section 19.8, note 2; W3C's syntax test syn-bad-26."""
    assert [text for _, text in kinds("(?a<?b)&&?c>?d")] == ["(", "?a", "<?b)&&?c>", "?d"]
    assert [text for _, text in kinds("(?a< ?b)&&?c>?d")] == ["(", "?a", "<", "?b", ")", "&&", "?c", ">", "?d"]
    assert kinds("?s <?query> ?o")[1] == (TokenKind.IRI, "<?query>")
    assert kinds("?s <http://e/?query> ?o")[1] == (TokenKind.IRI, "<http://e/?query>")


@pytest.mark.parametrize(
    "run",
    [
        "a.b",
        "a-",
        "é",
        "a.",
        "1",
        "_:a.",
        "<",
        "''a",
        'a"',
        '\\"',
        "\\'",
        '\\"""\n',
        "a:.",
        "?x.",
        "\\",
        "@a-",
        "#",
        "<a",
        "%20",
        "1e",
        "a.:",
    ],
)
def test_a_long_run_of_anything_takes_linear_time(run: str) -> None:
    text = run * (50_000 // len(run))
    assert sum(len(token.text) for token in tokenize(text)) <= len(text)


@pytest.mark.parametrize("number", ["1.", "1.e", "1e", "1.5.5", "+.e1", "5.e1x"])
def test_what_only_begins_like_a_number_is_cut_after_its_number(number: str) -> None:
    first = tokenize(number)[0]
    assert (first.kind, first.text) == {
        "1.": (TokenKind.NUMBER, "1"),
        "1.e": (TokenKind.NUMBER, "1"),
        "1e": (TokenKind.NUMBER, "1"),
        "1.5.5": (TokenKind.NUMBER, "1.5"),
        "+.e1": (TokenKind.PUNCTUATION, "+"),
        "5.e1x": (TokenKind.NUMBER, "5.e1"),
    }[number]


@given(st.text(alphabet=st.sampled_from("<>\"'\\#?$:_@.^&|[](){}+-aE1 \n\r\té")) | st.text())
def test_tokens_and_what_is_skipped_between_them_make_up_the_text(text: str) -> None:
    end = 1 if text.startswith("\ufeff") else 0
    for token in tokenize(text):
        assert skip(text, end) == token.start
        assert text[token.start : token.end] == token.text
        end = token.end
    assert end == len(text)
