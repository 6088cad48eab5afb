"""The name of a data directory by which others, such as brokers, know the clients of its sources."""

from __future__ import annotations

import uuid
from contextlib import suppress
from pathlib import Path

from protocol.processes.durable_files import Content, write_atomically

FILE = "client-identity"


def identity_of(data: Path) -> str:
    """ASCII letters and digits, made once: no copy of the directory elsewhere is taken for this one. Raises OSError."""
    file = data / FILE
    with suppress(FileNotFoundError):
        known = file.read_text("ascii")
        if known:  # an empty file is what a crash had left of it: such a name others would have, too
            return known
    made = uuid.uuid4().hex
    write_atomically(Content(file, made, durable=True))
    return made
