"""A data directory: of which format it is, where the store lies in it, and who holds that.

See docs/operations.md, "The data directory".
"""

from __future__ import annotations

import fcntl
import logging
import os
from pathlib import Path

from protocol.processes.durable_files import Content, write_atomically

logger = logging.getLogger(__name__)

FORMAT = 1
"""Of what this version writes; all before it are read. It grows when an earlier version would misread what is written.
"""

_DIGITS = 9

RESTORE_STORE = "restore it from a backup, or make it as an empty directory to go on without any graphs"
"""What to do where the store is missing."""

_BESIDE = ("streams", "catalogue.json", "catalogue.copy.json", "progress.json")
"""Made after the store, at the first start: where one of these is, there was a store."""


def require_format(data: Path) -> None:
    """Raises ValueError, naming the file and what to do, for a data directory of a format that is not known here.

    One that says none is of the first.
    """
    file = _format_file(data)
    try:
        said = file.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return
    if not said.isdecimal() or len(said) > _DIGITS:
        raise ValueError(f"{file} has {said[:40]!r}, which is no number of a format: this version has {FORMAT} there")
    if int(said) > FORMAT:
        raise ValueError(
            f"{data} was written by a later version of sparql-streams (its format is {said}, this version reads up to "
            f"{FORMAT}): start that version, or restore a backup that was made before"
        )


def note_format(data: Path) -> None:
    """Have a data directory say of which format it is. Raises OSError where that cannot be written."""
    file = _format_file(data)
    if not file.exists() or file.read_text(encoding="ascii") != f"{FORMAT}\n":
        write_atomically(Content(file, f"{FORMAT}\n", durable=True))


def _format_file(data: Path) -> Path:
    return data / "format"


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


class OwnedDirectory:
    """The directory of a store, made if there is none, and held for this process alone until it is let go.

    ``lost`` says that somebody has removed or replaced it meanwhile, and what to do; None while nobody has.
    """

    def __init__(self, directory: Path) -> None:
        """OSError names the directory: it cannot be made, or another process holds it."""
        self._directory = directory
        self._let_go = False
        self.lost: str | None = None
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._held = os.open(directory, os.O_RDONLY)
        except OSError as error:
            raise OSError(f"the store in {directory} cannot be opened: {error}") from error
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._held)
            raise OSError(
                f"the store in {directory} cannot be opened (another server, or a doctor that repairs, is using this "
                f"data directory): {error}"
            ) from error

    def let_go(self) -> None:
        """Let others have it; what becomes of it then is not looked at."""
        self._let_go = True
        os.close(self._held)

    def look(self) -> None:
        """See whether it is still there, with a store in it."""
        try:
            there = os.path.samestat(os.fstat(self._held), os.stat(self._directory))
            there = there and (self._directory / "CURRENT").exists()
        except OSError:
            there = False
        if not there and self.lost is None and not self._let_go:
            self.lost = (
                f"the directory {self._directory} was removed or replaced while the server runs: the graphs cannot be "
                "changed any more; stop the server, and restore them from a backup"
            )
            logger.error("%s", self.lost)
