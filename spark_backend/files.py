"""Files of the data directory: replaced while others read them, durable when it matters."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace a file's content so that a reader sees the old or the new, never a part.

    ``durable``: the new content is on the disk on return. Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.new")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, path)
    if durable:
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the creation and removal of files in the directory durable. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
