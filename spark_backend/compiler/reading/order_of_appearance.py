"""The variables that a query's text mentions, outside of strings, IRIs and comments, in order."""

from __future__ import annotations

import re

from protocol.language.model import WINDOW_VARIABLE_PREFIX

_TOKEN = re.compile(
    r"""\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\s]*>|\#[^\n]*|[?$](?P<variable>\w+)""",
    re.DOTALL,
)


def variables_in_order(text: str) -> dict[str, int]:
    """Variable names (those of WINDOW without their prefix) by place of first mention: the columns of SELECT *."""
    found = (match["variable"] for match in _TOKEN.finditer(text))
    names = (name.removeprefix(WINDOW_VARIABLE_PREFIX) for name in found if name)
    return {name: place for place, name in enumerate(dict.fromkeys(names))}
