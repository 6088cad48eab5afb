"""A request's body that is to be a JSON object of settings: what is wrong with it is said with its place."""

from __future__ import annotations

import json
from typing import Any

from protocol.errors import ProtocolError
from protocol.formats.json.depth import check_json_depth


def read_object(body: bytes, wrong: type[ProtocolError], example: str) -> dict[str, Any]:
    """The members of the object, each once. Raises ``wrong``; ``example`` is what would be right."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, value in pairs:
            if name in members:
                raise wrong(f"{shown(name)} is there twice")
            members[name] = value
        return members

    try:
        check_json_depth(body)
        document = json.loads(body, object_pairs_hook=unique)
    except SyntaxError as error:
        raise wrong(error.msg, line=error.lineno, column=error.offset) from None
    except json.JSONDecodeError as error:
        raise wrong(f"the body is not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except UnicodeDecodeError as error:
        raise wrong(f"the body is not JSON in UTF-8: {error}") from None
    except (RecursionError, ValueError):
        raise wrong("the body is nested too deeply, or has a number too long, to be settings") from None
    if (escape := _surrogate_in(document)) is not None:
        raise wrong(f"{escape} is half of a character: \\u escapes beyond U+FFFF come in pairs")
    if not isinstance(document, dict):
        raise wrong(f"the body must be a JSON object, such as {example}")
    return document


def _surrogate_in(document: object) -> str | None:
    """An escape that stands for half of a character, which no text in UTF-8 has; None without."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return f"\\u{ord(error.object[error.start]):04x}"
    return None


def shown(value: object) -> str:
    """A value as it stands in a sentence: JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return text if len(text) <= 60 else text[:57] + "..."
