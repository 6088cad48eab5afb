"""As much of the grammar of Turtle and its relatives as tells text and names from syntax."""

from __future__ import annotations

import re

TURTLE_TOKEN = re.compile(
    rb'"""(?:[^"\\]++|\\.|"(?!""))*+"""'
    rb"|'''(?:[^'\\]++|\\.|'(?!''))*+'''"
    rb'|"(?:[^"\\\r\n]++|\\.)*+"'
    rb"|'(?:[^'\\\r\n]++|\\.)*+'"
    rb"|<[^<>\"{}|^`\x00-\x20]*+>"
    rb"|\\."
    rb"|#[^\r\n]*+"
    rb"|<<"
    rb"|>>",
    re.DOTALL,
)
"""Strings, IRIs, escapes and comments, each as a whole, and RDF 1.2's ``<<`` and ``>>``. All else is passed over."""

LINE_END = re.compile(rb"\r\n|\r|\n")


def has_long_quotes(document: bytes) -> bool:
    """Whether a token of Turtle or TriG may span lines in it."""
    return b'"""' in document or b"'''" in document
