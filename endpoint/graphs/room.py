"""Whether there is room for what opening the store writes."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from protocol.errors import StorageFull

_SPARE_BYTES = 16 * 1024 * 1024
"""So much room there is to be, besides what the database's own log takes, before a full store is opened again."""

_PROBE_BYTES = 1024 * 1024


def require_space(directory: Path) -> None:
    """Raises StorageFull unless there is space for what opening the store, and what else a start does, will write."""
    free, needed = shutil.disk_usage(directory).free, _needed(directory)
    if free < needed:
        raise StorageFull(
            f"the disk of {directory} has {free / 2**20:.1f} MiB left, and a start needs {needed / 2**20:.1f} MiB "
            "there: make room, then start again"
        )


def require_room(directory: Path) -> None:
    """Raises StorageFull unless there is room for what opening the store writes, and some more."""
    needed = _needed(directory)
    probe = directory.with_name(f"{directory.name}-room")
    try:
        if shutil.disk_usage(directory).free < needed:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # What this user, or one file, may take is found out by taking it.
        with probe.open("wb", buffering=0) as file:
            for _ in range(needed // _PROBE_BYTES):
                file.write(bytes(_PROBE_BYTES))
    except OSError as error:
        raise StorageFull.of(error, "the store") or error from None
    finally:
        probe.unlink(missing_ok=True)


def _needed(directory: Path) -> int:
    """Bytes that opening the store may write, and some more."""
    return _SPARE_BYTES + 2 * sum(log.stat().st_size for log in directory.glob("*.log"))
