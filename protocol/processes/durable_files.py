"""Files that are whole and on the disk, whatever ends the process that writes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Content(NamedTuple):
    """What a file is to have. ``durable``: it is on the disk when it was written."""

    path: Path
    text: str
    durable: bool = False


def write_atomically(*contents: Content) -> None:
    """Replace what files have so that a reader sees the old or the new, never a part.

    All or none of them: what needs room is done before the first is replaced. Raises OSError.
    """
    written: list[Path] = []
    try:
        for path, text, durable in contents:
            temporary = path.with_name(f".{path.name}.new")
            with open(temporary, "w", encoding="utf-8") as file:
                written.append(temporary)
                file.write(text)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
    except OSError:
        # On a full disk, what there was of it would be in the way.
        for temporary in written:
            temporary.unlink(missing_ok=True)
        raise
    for temporary, content in zip(written, contents, strict=True):
        os.replace(temporary, content.path)
    for directory in {content.path.parent for content in contents if content.durable}:
        sync_directory(directory)


def sync_directory(directory: Path) -> None:
    """Make the creation and removal of files in the directory durable. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
