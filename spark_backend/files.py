"""Files of the data directory: replaced while others read them, durable when it matters."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from itertools import count
from pathlib import Path
from typing import Any

from protocol.processes.durable_files import Content


class DamagedDocument(ValueError):
    """A file that is not as it was written."""


_DOCUMENT = re.compile(r'\{"sha256": "(?P<digest>[0-9a-f]{64})", "content": (?P<content>.*)\}', re.DOTALL)


def document(path: Path, text: str, *, durable: bool = False) -> Content:
    """A file that is a document with this content (JSON text) and its checksum."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Content(path, f'{{"sha256": "{digest}", "content": {text}}}', durable)


def read_document(path: Path) -> Any:
    """The content of a JSON document. Raises FileNotFoundError, or DamagedDocument if it does not match its
    checksum.
    """
    try:
        found = _DOCUMENT.fullmatch(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedDocument(f"{path.name} is no document with a checksum: {error}") from error
    if found is None:
        raise DamagedDocument(f"{path.name} is no document with a checksum")
    if hashlib.sha256(found["content"].encode()).hexdigest() != found["digest"]:
        raise DamagedDocument(f"{path.name} does not match its checksum")
    return json.loads(found["content"])


def link_or_copy(source: Path, target: Path) -> None:
    """Make a file appear a second time: linked, or where the file system has no links, copied."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def set_aside(path: Path) -> Path:
    """Rename a file or directory so that another can take its place; nothing is lost."""
    for attempt in count(1):
        aside = path.with_name(f"{path.name}.damaged-{attempt}")
        if not aside.exists():
            break
    os.rename(path, aside)
    return aside
