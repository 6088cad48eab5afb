"""Text of others as a terminal can show it."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would do instead of showing it: a control is its code, as in JSON.

    Tabs and line breaks stay.
    """
    return _CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04X}", text)
