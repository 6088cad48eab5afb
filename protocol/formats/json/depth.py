"""What JSON-LD documents must satisfy before the JSON-LD parser may have them.

That parser needs memory and time quadratic in the depth of a document: 400 kB of brackets cost it 10 GB.
"""

from __future__ import annotations

import re

_MAX_DEPTH = 200
JSON_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\\.', re.DOTALL)
"""Strings, each as a whole. So are escapes outside of any: behind a quotation mark that nothing closes, none of those
that are escaped is taken for the beginning of a string, which would look to the end of the document for its own end.
"""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NO_MARKS = bytes(set(_NO_BRACKETS) - set(b'"\\'))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_json_depth(document: bytes) -> None:
    """Raise SyntaxError, with line and column, if arrays and objects are nested deeper than is ordinary."""
    if document.count(b"[") + document.count(b"{") <= _MAX_DEPTH:
        return
    depth = 0
    for bracket in brackets(document):  # so that Python looks at few bytes one by one
        depth += _STEP[bracket]
        if depth > _MAX_DEPTH:
            raise _too_deep(document)


def brackets(text: bytes) -> bytes:
    """The brackets of a part of a document that begins outside of its strings: those that are in none of these."""
    marks = text.translate(None, _NO_MARKS)
    # An escape is the next character's, too. Without any, most strings have no bracket, which is seen at once: where
    # one ends and another begins, they become one.
    marks = text if b"\\" in marks else marks.replace(b'""', b"")
    return JSON_STRING.sub(b"", marks).translate(None, _NO_BRACKETS)


def _too_deep(document: bytes) -> SyntaxError:
    depth = 0
    for match in re.finditer(JSON_STRING.pattern + rb"|[\[\]{}]", document, re.DOTALL):
        depth += _STEP.get(match[0][0], 0)
        if depth > _MAX_DEPTH:
            break
    line = document.count(b"\n", 0, match.start()) + 1
    column = match.start() - document.rfind(b"\n", 0, match.start())
    return SyntaxError(f"arrays and objects are nested deeper than {_MAX_DEPTH}", (None, line, column, None))
