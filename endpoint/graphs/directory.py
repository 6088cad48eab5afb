"""Where the store lies in a data directory (docs/operations.md, "The data directory")."""

from __future__ import annotations

from pathlib import Path

RESTORE_STORE = "restore it from a backup, or make it as an empty directory to go on without any graphs"
"""What to do where the store is missing."""

_BESIDE = ("streams", "catalogue.json", "catalogue.copy.json", "progress.json")
"""Made after the store, at the first start: where one of these is, there was a store."""


def store_directory(data: Path) -> Path:
    """The directory of the graphs in a data directory."""
    return data / "store"


def is_data_directory(data: Path) -> bool:
    """Whether a directory has anything of what a server makes there at its first start."""
    return store_directory(data).exists() or has_lost_store(data)


def has_lost_store(data: Path) -> bool:
    """Whether a data directory that was served before has no store any more."""
    return not store_directory(data).exists() and any((data / name).exists() for name in _BESIDE)


def require_store(data: Path) -> None:
    """Raises ValueError, naming the directory, where a data directory has lost its store."""
    if has_lost_store(data):
        raise ValueError(f"{store_directory(data)}, which had the graphs, is missing: {RESTORE_STORE}")
