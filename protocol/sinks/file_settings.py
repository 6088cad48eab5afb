"""What a sink that writes to a file has besides its url (docs/sinks.md, "Settings")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protocol.formats.json.object import shown
from protocol.sinks.members import wrong
from protocol.sizes import parse_size

MEMBERS = ("maxBytes", "keep")
_MOST_BYTES = 2**50
_MOST_KEPT = 1000


@dataclass(frozen=True)
class Rotation:
    """A file that would get longer than ``max_bytes`` makes room for a new one; the last ``keep`` before it stay."""

    max_bytes: int = 64 * 2**20
    keep: int = 10


def read_rotation(members: Mapping[str, Any]) -> Rotation:
    """Raises InvalidSinkSettings."""
    return Rotation(_size(members.get("maxBytes")), _kept(members.get("keep")))


def rotation_document(rotation: Rotation) -> dict[str, Any]:
    """The members as ``read_rotation`` takes them."""
    return {"maxBytes": rotation.max_bytes, "keep": rotation.keep}


def _size(value: object) -> int:
    if value is None:
        return Rotation().max_bytes
    try:
        size = parse_size(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else -1
    except ValueError:
        size = -1
    if not 1 <= size <= _MOST_BYTES:
        wrong(f'maxBytes must be a number of bytes, or a size such as "64MB", not {shown(value)}')
    return size


def _kept(value: object) -> int:
    if value is None:
        return Rotation().keep
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_KEPT:
        wrong(f"keep must be a number of files from 1 to {_MOST_KEPT}, not {shown(value)}")
    return value
