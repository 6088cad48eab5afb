"""Users and passwords of sources and sinks: which texts can be one."""

from __future__ import annotations

import unicodedata

_NEVER = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode: control characters, line breaks among them; halves of surrogate pairs; line and paragraph
separators.
"""


def is_one_line(text: str) -> bool:
    """Whether the text has no control character and no line break, which could end it early where it is written into a
    configuration or a header.
    """
    return not any(unicodedata.category(character) in _NEVER for character in text)
