"""A file or a folder as a source: which files there are, and where each is read on."""

from __future__ import annotations

import math
import os
import stat
import time
from collections.abc import Callable, Sequence, Set
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from endpoint.sources.connection import MOST_BYTES, MOST_MESSAGES, Surroundings
from endpoint.sources.files.framing import Framing
from endpoint.sources.files.growing_file import FilePosition, GrowingFile
from endpoint.sources.files.rotation import FolderRotation, Found, Rotation, files_of
from protocol.errors import UnsupportedFeature
from protocol.formats.media_types import JSON_LINES, RDF_EXTENSIONS
from protocol.settings.source import InvalidSource
from protocol.sources import SourceBatch, SourceFailed, SourceMessage, SourceSettings

POLL_SECONDS = 0.2
_REST = 9
"""So many times as long as a look takes nobody looks again: of many files each takes a while."""
_MOST_OPEN = 64
_MOST_KNOWN = 64
"""So many files that were rotated and read, or were there before, are known; others are told by when they were changed.
"""
_SINCE = "since"
"""The position that says what was changed too long ago to be new."""
_QUIET_SECONDS = 1.0
"""A file that was rotated is over when nothing new was in it for so long: whoever writes it may have it open for a
moment."""
_MOST_MISSED = 5
"""A file that is missing for more looks in a row is gone."""
_JSON_LINES_ENDS = frozenset({"ndjson", "jsonl", "ndjsonld"})
_COMPRESSED_ENDS = frozenset({".gz", ".bz2", ".xz", ".lzma", ".zst", ".lz4", ".z", ".zip"})
"""What rotation makes of files that it has put aside, and were read before."""


class FileConnection:
    """Reads what is appended to a file, or to the files of a folder (not those below it, nor hidden ones).

    A file is known by its inode and what it says, whatever it is called. One that was rotated is read to its end, and
    so are those that had its name meanwhile, before the one that has it now is begun. Files of a folder are read in
    the order of their names.
    """

    is_kept = False

    def __init__(self, surroundings: Surroundings, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises OSError where there is no such file, SourceFailed for one that may not be read."""
        self.notice: str | None = None
        self._surroundings = surroundings
        self._clock = clock
        self._place = Path(unquote(urlsplit(surroundings.settings.url).path))
        positions = surroundings.positions
        self._known = {int(name): FilePosition.decode(one) for name, one in positions.items() if name != _SINCE}
        self._rotation = Rotation(self._place, int(positions[_SINCE]) if _SINCE in positions else None)
        self._folder = FolderRotation()
        self._changed: dict[str, bytes] = {}
        """Positions that are to be stored with the next batch."""
        self._there: dict[int, Found] = {}
        self._is_folder = bool(positions) and _SINCE not in positions
        """Whether it is one, or was one when it was read last."""
        self._here: tuple[int, int] | None = None
        """What tells the folder that has the name from others."""
        self._home: tuple[int, int] | None = None
        """The one in which files were found last: a mount point without its disk is another."""
        self._now: int | None = None
        """The file that has the name, if it is no folder's."""
        self._open: dict[int, GrowingFile] = {}
        self._read: dict[int, tuple[int, int]] = {}
        """Of files that are not open now: their size, and when they were changed last, when all of them was read."""
        self._quiet: dict[int, float] = {}
        """Since when nothing new was in a file that was rotated."""
        self._missing: dict[int, int] = {}
        self._find()  # fails at once where there is nothing

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``Connection.take``."""
        began = self._clock()
        batch = self._look()
        if batch is None:
            self._surroundings.wait(min(seconds, max(POLL_SECONDS, _REST * (self._clock() - began))))
        return batch

    def stored(self, batch: SourceBatch) -> None:
        """Whoever writes a file awaits no word."""

    def close(self) -> None:
        """Close all files."""
        for number in list(self._open):
            self._put_away(number)

    def forget(self) -> None:
        """Whoever writes a file knows of nobody."""

    def _look(self) -> SourceBatch | None:
        self._find()
        messages: list[SourceMessage] = []
        size = MOST_BYTES
        gone = [number for number in self._open if number not in self._there]
        unfinished: set[Path] = set()
        for number in [*gone, *self._there]:
            there = self._there.get(number)
            if number not in self._known and there is not None and there.path in unfinished:
                continue  # it took the name of one that may still have something before it
            if self._is_as_it_was_read(number):
                continue
            try:
                file = self._open.get(number) or self._opened(number, self._there[number].path)
            except FileNotFoundError:
                self._now = None  # renamed since: those behind it are not read before it is found again
                break
            if file is None:
                continue
            if file.was_cut:
                file.begin_again()
                self._say(f"{file.path} was cut or written anew: it is read from its beginning")
            rotated = self._is_rotated(number)
            quiet_since = self._quiet.get(number, math.inf) if rotated else math.inf
            over = self._clock() - quiet_since >= _QUIET_SECONDS
            try:
                taken = file.take(MOST_MESSAGES - len(messages), size, whole=over)
            except SourceFailed as error:
                if not messages:
                    raise
                self._say(error.detail)  # it fails at the next look: what was before it is stored first
                break
            messages += taken
            size -= sum(len(message.body) for message in taken)
            if file.position != self._known.get(number):
                self._move(number, file.position)
            if len(messages) >= MOST_MESSAGES or size <= 0:
                break
            if over and not taken:
                self._leave(number)
            elif rotated:
                self._quiet[number] = self._clock() if taken else min(quiet_since, self._clock())
                unfinished.add(self._named(number))
        positions, self._changed = self._changed, {}
        return SourceBatch(messages, positions) if positions else None

    def _find(self) -> None:
        """Look which files there are to be read, and in which order. Raises SourceFailed where a folder is there no
        more: what is known of its files holds when it is back.
        """
        is_folder = self._place.is_dir()
        # In this order: a folder that vanishes in between would be taken for a file that was rotated.
        if self._is_folder and not is_folder and not self._place.is_file():
            raise SourceFailed(f"there is no folder {self._place}")
        self._is_folder = is_folder
        if self._is_folder:
            status = os.stat(self._place)
            self._here = status.st_dev, status.st_ino
            found = [one for one in files_of(self._place) if not one.path.name.startswith(".")]
            self._there = {one.number: one for one in self._folder.of(found, self._known)}
            if found:
                self._home = self._here
        elif self._is_another() or self._missing:
            since = self._rotation.since
            found = files_of(self._place.parent)
            if since is None:
                self._know_as_read(self._rotation.beside(found)[-_MOST_KNOWN:])
            read = self._rotation.of(found, self._known)
            self._now = next((one.number for one in read if one.path == self._place), None)
            self._there = {one.number: one for one in read}
            if self._rotation.since != since:
                self._changed[_SINCE] = str(self._rotation.since).encode()
        else:
            return
        self._note_missing({one.number for one in found})

    def _know_as_read(self, there: Sequence[Found]) -> None:
        """Know what was there before the source was by what it has: when it was changed says little where somebody
        changes it once more, or a clock is set back. What cannot be opened is told by that.
        """
        for one in there:
            real = Path(os.path.realpath(one.path))
            if self._surroundings.allowed.permits(real.as_uri(), {"file"}):
                with suppress(OSError, SourceFailed, UnsupportedFeature):
                    framing = Framing.of(self._surroundings.settings.content_type or _type_of(self._place))
                    with closing(GrowingFile(real, framing, self._surroundings.largest)) as file:
                        self._move(file.number, file.at_end)

    def _is_another(self) -> bool:
        """Whether the file that has the name is not the one that had it, or was cut."""
        try:
            status = os.stat(self._place)
        except FileNotFoundError:
            if not self._known:
                raise SourceFailed(f"there is no file {self._place}") from None
            return True  # it is rotated, and the next one is not there
        if not stat.S_ISREG(status.st_mode):
            raise SourceFailed(f"{self._place} is not a regular file")
        known, file = self._known.get(status.st_ino), self._open.get(status.st_ino)
        cut = (known is not None and status.st_size < known.offset) or (file is not None and file.was_cut)
        return cut or status.st_ino != self._now

    def _note_missing(self, found: Set[int]) -> None:
        """Forget files that are not found for a while; one that is renamed may be missed once.

        Where a folder has none at all, it may be a mount point without its disk, and nothing is forgotten.
        """
        if self._is_folder and not found:
            return
        missing = self._known.keys() - found - self._open.keys()
        self._missing = {number: self._missing.get(number, 0) + 1 for number in missing}
        for number in [number for number, looks in self._missing.items() if looks > _MOST_MISSED]:
            del self._missing[number]
            if not self._known[number].over:
                self._say("a file that was being read is gone; had it grown meanwhile, that is not read")
            self._forget(number)

    def _opened(self, number: int, path: Path) -> GrowingFile | None:
        """The file, where it was left; None for one of a folder that has no format that is read, is compressed, or may
        not be read, and for a copy of what is read where it was copied from.

        Raises FileNotFoundError where another one is there now.
        """
        if self._is_folder and path.suffix.lower() in _COMPRESSED_ENDS:
            self._say(f"{path.name} is passed over: it is compressed")
            return None
        position = self._known.get(number)
        known = None if position is None else position.framing.media_type  # whatever it was called since
        try:
            framing = Framing.of(self._surroundings.settings.content_type or known or _type_of(self._named(number)))
        except UnsupportedFeature as error:
            if not self._is_folder:
                raise
            self._say(f"{path.name} is passed over: {error.detail}")
            return None
        real = Path(os.path.realpath(path))
        if not self._surroundings.allowed.permits(real.as_uri(), {"file"}):
            refused = f"{path} is {real}, which this server may not read: see --allow-fetch"
            if not self._is_folder:
                raise SourceFailed(refused)
            self._say(f"{path.name} is passed over: {refused}")
            return None
        while len(self._open) >= _MOST_OPEN:
            self._put_away(next(iter(self._open)))
        try:
            file = GrowingFile(real, framing, self._surroundings.largest)
        except PermissionError as error:
            if not self._is_folder:
                raise
            self._say(f"{path.name} is passed over: {error.strerror}")
            return None
        with ExitStack() as unless_read:
            unless_read.callback(file.close)
            if file.number != number:
                raise FileNotFoundError(path)
            if position is not None and not position.over:
                if not file.go_on(position):
                    self._say(f"{path} is not the file that it was: it is read from its beginning")
            elif not self._go_on_in_copy(number, file, position):
                return None
            unless_read.pop_all()
        self._open[number] = file
        return file

    def _put_away(self, number: int) -> None:
        file = self._open.pop(number)
        if file.exhausted is not None:
            self._read[number] = file.exhausted
        file.close()

    def _is_as_it_was_read(self, number: int) -> bool:
        """Whether a file of a folder, which is looked at each time, need not be opened to know that it has no more."""
        if not self._is_folder or number in self._open or number not in self._read or self._is_rotated(number):
            return False
        found = self._there[number]
        return self._read[number] == (found.size, found.changed)

    def _go_on_in_copy(self, number: int, file: GrowingFile, over: FilePosition | None) -> bool:
        """Where a file is rotated by copying and then cutting it, go on in the copy; ``over``: so far was read what had
        its number before, which was rotated. False while the copy has nothing but what is read of its original.

        Raises FileNotFoundError where that is another file now.
        """
        original = self._folder.holder(number) if self._is_folder else self._now
        position = None if original in (None, number) else self._known.get(original)
        if position is not None:
            path = Path(os.path.realpath(self._named(number)))
            with suppress(PermissionError), closing(GrowingFile(path, position.framing, file.largest)) as uncut:
                if uncut.go_on(position) and file.is_beginning_of(uncut):
                    return False
            if position.offset and file.go_on(position):
                return True
        if over is not None:
            file.go_on(over)
        return True

    def _leave(self, number: int) -> None:
        """A file that was rotated is read to its end. It is known on, so that it is not taken for a new one."""
        file = self._open.pop(number)
        self._there.pop(number, None)
        self._quiet.pop(number, None)
        if self._is_folder and self._here == self._home and number not in self._folder.names:
            self._forget(number)  # it is there no more
        else:
            self._move(number, file.at_end)
        file.close()
        if self._is_folder:
            return  # what is there and not known would be new
        over = sorted((position.over, one) for one, position in self._known.items() if position.over)
        for changed, oldest in over[:-_MOST_KNOWN]:
            self._rotation.since = max(changed, self._rotation.since or 0)
            self._changed[_SINCE] = str(self._rotation.since).encode()
            self._forget(oldest)

    def _is_rotated(self, number: int) -> bool:
        if self._is_folder:
            return number not in self._there or self._folder.is_rotated(number)
        return number not in self._there or self._there[number].path != self._place

    def _named(self, number: int) -> Path:
        """The file whose name this one has, or had before it was rotated."""
        return self._place / self._folder.names.get(number, "") if self._is_folder else self._place

    def _move(self, number: int, position: FilePosition) -> None:
        self._known[number] = position
        self._changed[str(number)] = position.encode()

    def _forget(self, number: int) -> None:
        del self._known[number]
        self._read.pop(number, None)
        self._changed[str(number)] = b""

    def _say(self, notice: str) -> None:
        self.notice = notice


def require_growing(source: SourceSettings) -> None:
    """Raises InvalidSource for a file whose type is none in which messages end before the file does.

    An end of a name that tells no type may be a folder's: that is seen when it is read.
    """
    path = Path(unquote(urlsplit(source.url).path))
    if source.content_type is None and path.suffix[1:].lower() not in _JSON_LINES_ENDS | RDF_EXTENSIONS.keys():
        return
    try:
        Framing.of(source.content_type or _type_of(path))
    except UnsupportedFeature as error:
        raise InvalidSource(error.detail) from None


def _type_of(path: Path) -> str:
    ending = path.suffix[1:].lower()
    if ending in _JSON_LINES_ENDS:
        return JSON_LINES
    syntax = RDF_EXTENSIONS.get(ending)
    return "" if syntax is None else syntax.value
