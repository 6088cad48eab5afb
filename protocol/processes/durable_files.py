"""Files that are whole and on the disk, whatever ends the process that writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple


class Content(NamedTuple):
    """What a file is to have. ``durable``: it is on the disk when it was written."""

    path: Path
    text: str
    durable: bool = False


def write_atomically(*contents: Content) -> None:
    """Replace what files have so that a reader sees the old or the new, never a part.

    All or none of them: what needs room, or other files to be open, is done before the first is replaced. Raises
    OSError.
    """
    written: list[Path] = []
    with ExitStack() as stack:
        try:
            for path, text, durable in contents:
                temporary = path.with_name(f".{path.name}.new")
                with open(temporary, "w", encoding="utf-8") as file:
                    written.append(temporary)
                    file.write(text)
                    if durable:
                        file.flush()
                        os.fsync(file.fileno())
            stack.enter_context(synced(*{content.path.parent for content in contents if content.durable}))
            for temporary, content in zip(written, contents, strict=True):
                os.replace(temporary, content.path)
        except BaseException:
            # On a full disk, what there was of it would be in the way.
            for temporary in written:
                temporary.unlink(missing_ok=True)
            raise


def sync_directory(directory: Path) -> None:
    """Make the creation and removal of files in the directory durable. Raises OSError."""
    with synced(directory):
        pass


@contextmanager
def synced(*directories: Path) -> Iterator[None]:
    """Make the creation and removal of files in the directories within durable at the end. Raises OSError: before
    anything is done within where they cannot be opened.
    """
    with ExitStack() as stack:
        descriptors: list[int] = []
        for directory in directories:
            descriptors.append(os.open(directory, os.O_RDONLY | os.O_DIRECTORY))
            stack.callback(os.close, descriptors[-1])
        yield
        for descriptor in descriptors:
            os.fsync(descriptor)
