"""A data directory: of which format it is, where the store lies in it, and who holds that.

See docs/operations.md, "The data directory".
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from protocol.processes.durable_files import Content, sync_directory, write_atomically

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


@contextmanager
def restoring(data: Path) -> Iterator[None]:
    """What is done within makes a data directory, of an empty one or of what was cut short: whole at the end, and empty
    again where it fails. Where it is ended from outside, the directory says so (``require_whole``).

    Raises ValueError where somebody else is at it, and OSError.
    """
    data.mkdir(parents=True, exist_ok=True)
    mark = _restoring_file(data)
    again = mark.exists()
    # One that is not there any more belongs to a restore that has just come to its end.
    held = os.open(mark, os.O_RDWR if again else os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{data} is just being restored by somebody else") from None
        if not os.fstat(held).st_nlink:
            raise ValueError(f"{data} has just been restored by somebody else")
        sync_directory(data)
        if again:
            _empty(data, mark)
        try:
            yield
        except BaseException:
            _empty(data, mark)
            mark.unlink()
            raise
        # All of it, before it is taken for whole: the machine may go down at any moment.
        os.sync()
        mark.unlink()
        sync_directory(data)
    finally:
        os.close(held)


def _empty(data: Path, mark: Path) -> None:
    """Remove all that is in a directory but the mark."""
    for path in data.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != mark:
            path.unlink()


def is_cut_short(data: Path) -> bool:
    """Whether a data directory has no more than a part of what a restore was to bring, or has just a part yet."""
    return _restoring_file(data).exists()


def require_whole(data: Path) -> None:
    """Raises ValueError, saying what to do, for a data directory whose restore was cut short, or goes on."""
    if is_cut_short(data):
        raise ValueError(
            f"{data} has a part of a backup alone, for its restore has not come to its end: restore it again"
        )


def _restoring_file(data: Path) -> Path:
    return data / "restoring"


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
