"""Members of a sink's settings: read, or refused with what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from protocol.errors import ProtocolError
from protocol.formats.json.object import shown

LONGEST_TEXT = 8192
"""Characters of a text in the settings."""


class InvalidSinkSettings(ProtocolError):
    """A member of a sink's settings that is unknown, is missing, or has a value that is not one."""

    title = "The sink's settings are wrong"


def wrong(detail: str) -> NoReturn:
    """Raise InvalidSinkSettings."""
    raise InvalidSinkSettings(detail)


def required_text(members: Mapping[str, Any], member: str) -> str:
    """A text that has to be there, without the white space around it."""
    text = optional_text(members, member)
    if text is None:
        wrong(f"{member} is missing: it must be a text in quotes")
    return text


def optional_text(members: Mapping[str, Any], member: str) -> str | None:
    """A text that has something in it, or None."""
    value = members.get(member)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        wrong(f"{member} is {shown(value)}: it must be a text in quotes")
    if len(value) > LONGEST_TEXT:
        wrong(f"{member} has {len(value)} characters, more than {LONGEST_TEXT}")
    return value.strip()
