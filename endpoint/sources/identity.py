"""The name of a data directory by which others, such as brokers, know the clients of its sources."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

FILE = "client-identity"


def identity_of(data: Path) -> str:
    """ASCII letters and digits, made once: no copy of the directory elsewhere is taken for this one. Raises OSError."""
    file = data / FILE
    with suppress(FileNotFoundError):
        known = file.read_text("ascii")
        if known:  # an empty file is what a crash had left of it: such a name others would have, too
            return known
    made = uuid.uuid4().hex
    temporary = data / f".{FILE}.new"
    try:
        with temporary.open("w", encoding="ascii") as written:
            written.write(made)
            written.flush()
            os.fsync(written.fileno())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, file)
    _sync(data)
    return made


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
