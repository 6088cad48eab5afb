"""A file or a folder as a source: which files there are, and where each is read on."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from endpoint.sources.connection import MOST_BYTES, MOST_MESSAGES, Surroundings
from endpoint.sources.files.framing import Framing
from endpoint.sources.files.growing_file import FilePosition, GrowingFile
from protocol.errors import UnsupportedFeature
from protocol.formats.media_types import JSON_LINES, RDF_EXTENSIONS
from protocol.sources import SourceBatch, SourceFailed, SourceMessage

POLL_SECONDS = 0.2
_MOST_OPEN = 64
_QUIET_POLLS = 5
"""A file that was rotated is over when so many looks in a row have found nothing new in it: whoever writes it may have
it open for a moment."""
_JSON_LINES_ENDS = frozenset({"ndjson", "jsonl", "ndjsonld"})


class FileConnection:
    """Reads what is appended to a file, or to the files of a folder (not those below it, nor hidden ones).

    A file is known by its inode and its beginning, whatever it is called: one that was rotated is read to its end.
    Files of a folder are read in the order of their names.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        """Raises OSError where there is no such file, SourceFailed for one that may not be read."""
        self.notice: str | None = None
        self._surroundings = surroundings
        self._place = Path(unquote(urlsplit(surroundings.settings.url).path))
        self._known = {int(name): FilePosition.decode(one) for name, one in surroundings.positions.items()}
        self._open: dict[int, GrowingFile] = {}
        self._quiet: dict[int, int] = {}
        self._lost: set[int] = set()
        self._there()  # fails at once where there is nothing

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``Connection.take``."""
        batch = self._look()
        if batch is None and not self._surroundings.wait(min(seconds, POLL_SECONDS)):
            batch = self._look()
        return batch

    def stored(self, batch: SourceBatch) -> None:
        """Whoever writes a file awaits no word."""

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1].close()

    def forget(self) -> None:
        """Whoever writes a file knows of nobody."""

    def _look(self) -> SourceBatch | None:
        there = self._there()
        messages: list[SourceMessage] = []
        positions = {str(number): b"" for number in self._lost}
        self._lost.clear()
        size = MOST_BYTES
        gone = [number for number in self._open if number not in there]
        for number in [*gone, *there]:
            file = self._open.get(number) or self._opened(number, there[number])
            if file is None:
                continue
            rotated = number not in there or (there[number] != self._place and not self._place.is_dir())
            if file.was_cut():
                self._say(f"{file.path} was cut: it is read from its beginning")
            over = rotated and self._quiet.get(number, 0) >= _QUIET_POLLS
            taken = file.take(MOST_MESSAGES - len(messages), size, whole=over)
            messages += taken
            size -= sum(len(message.body) for message in taken)
            if file.position != self._known.get(number):
                self._known[number] = file.position
                positions[str(number)] = file.position.encode()
            if len(messages) >= MOST_MESSAGES or size <= 0:
                break
            if over and not taken:
                self._leave(number, positions)
            elif rotated:
                self._quiet[number] = 0 if taken else self._quiet.get(number, 0) + 1
        return SourceBatch(messages, positions) if positions else None

    def _there(self) -> dict[int, Path]:
        """The files there are, by inode: what was rotated comes before what is written now."""
        if self._place.is_dir():
            entries = sorted((entry for entry in os.scandir(self._place) if not entry.name.startswith(".")), key=_name)
            found = {entry.inode(): Path(entry.path) for entry in entries if entry.is_file()}
        else:
            now = self._present()
            # A file is rotated by giving it another name beside its old one.
            beside = os.scandir(self._place.parent) if self._known.keys() - {now, *self._open} else ()
            found = {entry.inode(): Path(entry.path) for entry in beside if entry.inode() in self._known}
            if now is not None:
                found.pop(now, None)
                found[now] = self._place
        for number in self._known.keys() - found.keys() - self._open.keys():
            self._say("a file that was being read is gone; had it grown meanwhile, that is not read")
            del self._known[number]
            self._lost.add(number)
        return found

    def _present(self) -> int | None:
        """The inode of the file; None while one that was being read is rotated, and the next one is not there."""
        try:
            return os.stat(self._place).st_ino
        except FileNotFoundError:
            if not self._known:
                raise SourceFailed(f"there is no file {self._place}") from None
            return None

    def _opened(self, number: int, path: Path) -> GrowingFile | None:
        """The file, where it was left; None for one of a folder that is of no format that is read."""
        position = self._known.get(number)
        known = None if position is None else position.framing.media_type  # whatever it was called since
        try:
            framing = Framing.of(self._surroundings.settings.content_type or known or _type_of(path))
        except UnsupportedFeature as error:
            if not self._place.is_dir():
                raise
            self._say(f"{path.name} is passed over: {error.detail}")
            return None
        real = Path(os.path.realpath(path))
        if not self._surroundings.allowed.permits(real.as_uri(), {"file"}):
            raise SourceFailed(f"{path} is {real}, which this server may not read: see --allow-fetch")
        while len(self._open) >= _MOST_OPEN:
            self._open.pop(next(iter(self._open))).close()
        file = GrowingFile(real, framing, self._surroundings.largest)
        if position is not None and not file.go_on(position):
            self._say(f"{path} is not the file that it was: it is read from its beginning")
        self._open[number] = file
        return file

    def _leave(self, number: int, positions: dict[str, bytes]) -> None:
        """A file that was rotated is read to its end."""
        self._open.pop(number).close()
        self._known.pop(number, None)
        self._quiet.pop(number, None)
        positions[str(number)] = b""

    def _say(self, notice: str) -> None:
        self.notice = notice


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _type_of(path: Path) -> str:
    ending = path.suffix[1:].lower()
    if ending in _JSON_LINES_ENDS:
        return JSON_LINES
    syntax = RDF_EXTENSIONS.get(ending)
    return "no format that its name tells" if syntax is None else syntax.value
