"""The files that one name has had, one after the other: each but the newest is beside it, under another name."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from endpoint.sources.files.growing_file import FilePosition

_TRIES = 5
_NOWHERE = frozenset({errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
"""That there is no file behind a name, or none for this process: it was renamed since, or it is a link that leads to
itself, say. Any other error is the disk's.
"""
_DATE = len("20260101")
_BEHIND = re.compile(r"[.\-_][0-9][0-9.\-_:TZ]*\Z")
"""What rotation puts behind a name: a number, or a date."""


class Found(NamedTuple):
    """A file as it was found: its inode, its size in bytes, and when it was last changed (ns since the epoch)."""

    number: int
    path: Path
    size: int
    changed: int


def files_of(folder: Path) -> list[Found]:
    """The files of a folder, in the order of their names. Raises OSError.

    A file that is renamed meanwhile may be in the list twice, or not at all: so a list is made again if the folder has
    changed, though not for ever. What a link leads to where nobody may look, or nowhere, is not in it; a folder of
    which only the names may be seen is not taken for one that has no files.
    """
    for _ in range(_TRIES):
        before = os.stat(folder).st_mtime_ns
        found = []
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            try:
                if entry.is_file():
                    status = entry.stat()
                    found.append(Found(status.st_ino, Path(entry.path), status.st_size, status.st_mtime_ns))
            except OSError as error:
                if error.errno not in _NOWHERE or (error.errno == errno.EACCES and not entry.is_symlink()):
                    raise
        if os.stat(folder).st_mtime_ns == before:
            break
    return found


class Rotation:
    """Tells the files of a name. ``since``: what was last changed by then (ns) is not new; None: that is to be seen."""

    def __init__(self, place: Path, since: int | None) -> None:
        self.since = since
        self._place = place

    def of(self, found: Sequence[Found], known: Mapping[int, FilePosition]) -> list[Found]:
        """The files to be read among those of the folder, the oldest first; at the end the one that has the name now.

        Those beside it are known ones, whatever they are called, and new ones whose name is this with a number or a
        date behind it; but for known ones that were read to their end. The first time, none that is there is new.
        """
        if self.since is None:
            self.since = max((one.changed for one in self.beside(found) if one.number not in known), default=0)
        now = [one for one in found if one.path == self._place]
        beside = [one for one in found if one.number not in {that.number for that in now}]
        return [*sorted((one for one in beside if self._is_to_be_read(one, known)), key=self._age), *now]

    def beside(self, found: Sequence[Found]) -> list[Found]:
        """Those of the folder whose name is this with a number or a date behind it, the oldest first."""
        now = {one.number for one in found if one.path == self._place}
        return sorted((one for one in found if self._is_named(one) and one.number not in now), key=self._age)

    def _is_to_be_read(self, one: Found, known: Mapping[int, FilePosition]) -> bool:
        position = known.get(one.number)
        if position is not None:
            return not _is_over(one, position)
        return self._is_named(one) and self.since is not None and one.changed > self.since

    def _age(self, one: Found) -> tuple[int, int, str]:
        return _age(one, self._place.name)

    def _is_named(self, one: Found) -> bool:
        name, own = one.path.name, self._place.name
        return name.startswith(own) and _BEHIND.fullmatch(name, len(own)) is not None


class FolderRotation:
    """Tells which files of a folder have had the same name. ``names``: that of each, whatever it is called since."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self._there: dict[str, int] = {}

    def of(self, found: Sequence[Found], known: Mapping[int, FilePosition]) -> list[Found]:
        """The files to be read: first those that were renamed, since what was renamed after them between two looks
        has only its new name, then the others; each in the order of the names that they have had, those of one name
        the oldest first. Known ones that were rotated and read to their end are left out.
        """
        self._there = {one.path.name: one.number for one in found}
        names = {one.number: self.names.get(one.number, one.path.name) for one in found}
        present = {*self._there, *names.values()}
        self.names = {
            number: before if (before := _BEHIND.sub("", name)) in present else name for number, name in names.items()
        }
        read = [one for one in found if not _is_over(one, known.get(one.number))]
        return sorted(read, key=self._place_of)

    def is_rotated(self, number: int) -> bool:
        """Whether another file has its name now."""
        return self.holder(number) != number

    def holder(self, number: int) -> int:
        """The file that has its name now; itself where no other one has it."""
        return self._there.get(self.names.get(number, ""), number)

    def _place_of(self, one: Found) -> tuple[bool, str, tuple[int, int, str]]:
        # Not by whether another file has the name: while it is rotated, none may have it for a moment.
        name = self.names[one.number]
        return one.path.name == name, name, _age(one, name)


def _is_over(one: Found, position: FilePosition | None) -> bool:
    return position is not None and (one.size, one.changed) == (position.offset, position.over)


def _age(one: Found, name: str) -> tuple[int, int, str]:
    """By this the oldest comes first; of those of one moment that with the highest number, or the first date."""
    behind = one.path.name[len(name) + 1 :]
    return one.changed, -int(behind) if behind.isdecimal() and len(behind) < _DATE else 0, behind
