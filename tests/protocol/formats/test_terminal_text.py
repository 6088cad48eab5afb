"""What a terminal would do instead of showing it is shown."""

from __future__ import annotations

from protocol.formats.terminal_text import visible


def test_controls_are_shown_and_lines_and_tabs_stay() -> None:
    assert visible("a\tb\nc \x1b[2J\r\x00\x7f\x9b é 😀") == "a\tb\nc \\u001B[2J\\u000D\\u0000\\u007F\\u009B é 😀"
