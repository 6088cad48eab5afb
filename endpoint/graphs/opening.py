"""How the store in its directory is opened, and what it is found to have lost."""

from __future__ import annotations

import errno
import fcntl
import itertools
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyoxigraph as ox

from endpoint.graphs.committed import NOTE, lost, unnoted
from protocol.formats.media_types import RdfSyntax
from protocol.formats.rdf_documents import read_graph

logger = logging.getLogger(__name__)

_OPEN_SECONDS = 5.0
_SAID = "LOG*"
"""Files in which the database says what it does; it renames those there are when it is opened."""
_NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS})
"""What the system answers to a hard link of another user's file, and where there are none."""
_TRIAL = "-trial-"
_LOCK = re.compile(r"\block\b")
_DROPPING = re.compile(r"([0-9]+\.log): dropping ([0-9]+) bytes")


def opened(directory: Path) -> tuple[ox.Store, list[str]]:
    """The store, made if there is none, and what it was found to have lost, a sentence each.

    OSError, with the directory, for one that cannot be opened. What the database leaves out of its own log it also
    removes: so where it does, all its files as they were are kept beside it.
    """
    _remove_trials(directory)
    before = _set_aside(directory)
    if before is None:
        return _opened(directory), []
    try:
        said = _lost(directory, before)
        more = None if said else unnoted(before)
        store = _opened(directory)
    except OSError:
        shutil.rmtree(before)
        raise
    said += _dropped(directory, _written_before(before), more)
    if not said:
        shutil.rmtree(before)
        return store, []
    kept = before.rename(_unused(directory))
    warning = (
        "what was changed last in the graphs may be lost, for the store's own log was not whole "
        f"({'; '.join(said)}): compare with a backup, unless the machine went down in the middle of an update, which "
        f"nobody was told is done. The files as they were are kept in {kept}"
    )
    logger.error("%s", warning)
    return store, [warning]


def has_lost_its_head(directory: Path) -> bool:
    """Whether the file is missing with which the database begins to read, of a store that has others."""
    others = (found for kind in ("*.sst", "*.log") for found in directory.glob(kind))
    return not (directory / "CURRENT").exists() and any(others)


def left_out(directory: Path) -> list[str]:
    """What opening a store that nobody has open would leave out, as tried with its files in a directory beside it.

    OSError, with the directory, for a store that cannot be opened.
    """
    _remove_trials(directory)
    prefix = f"{directory.name}{_TRIAL}"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=directory.parent) as beside, _held(Path(beside)):
        trial = Path(beside) / directory.name
        link(directory, trial)
        said = _lost(directory, directory)
        more = None if said else unnoted(directory)
        _opened(trial)
        return said + _dropped(trial, set(), more)


def _remove_trials(directory: Path) -> None:
    """Remove what a doctor that was killed has left beside a store; not what one is at."""
    for trial in directory.parent.glob(f"{directory.name}{_TRIAL}*"):
        with suppress(OSError), _held(trial):
            shutil.rmtree(trial)


@contextmanager
def _held(directory: Path) -> Iterator[None]:
    """Hold a directory, for whoever else would remove it. OSError where somebody holds it, or there is none."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _set_aside(directory: Path) -> Path | None:
    """The files of the store once more, as they are before it is opened; None if there is no store yet."""
    before = directory.with_name(f"{directory.name}-before")
    # One that is there is of a start that did not come to its end.
    if not before.exists():
        if not (directory / "CURRENT").exists():
            if has_lost_its_head(directory):
                # Opened, it would be an empty store, at the second attempt at the latest.
                raise OSError(f"the store in {directory} cannot be opened: its file CURRENT is missing")
            return None
        partly = directory.with_name(f"{directory.name}-before.part")
        shutil.rmtree(partly, ignore_errors=True)
        try:
            _copied(directory, partly)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            raise OSError(
                f"the store in {directory} cannot be opened: its files have to belong to the user that the server runs "
                f"as, on a file system that has hard links: {error}"
            ) from error
        partly.rename(before)
    return before


def _copied(directory: Path, beside: Path) -> None:
    """The files of the store once more, with what the database has said of them."""
    link(directory, beside)
    if (directory / NOTE).exists():
        # Copied, for it is written in its place.
        shutil.copy(directory / NOTE, beside)
    # So that those of the opening are known from them: by their times they are not, where the clock was set back.
    for log in directory.glob(_SAID):
        os.link(log, beside / log.name)


def _lost(directory: Path, before: Path) -> list[str]:
    """What there is to say of logs that are not whole. OSError if the list of the store's files is not."""
    said = lost(before)
    if manifests := [what for name, what in said.items() if name.startswith("MANIFEST")]:
        raise OSError(f"the store in {directory} cannot be opened: {'; '.join(manifests)}")
    return list(said.values())


def _opened(directory: Path) -> ox.Store:
    deadline = time.monotonic() + _OPEN_SECONDS
    while True:
        try:
            return ox.Store(str(directory))
        except (OSError, RuntimeError, ValueError) as error:  # what is damaged is one of the last two
            # A server that was killed a moment ago: the process that it left ends by itself.
            if not _LOCK.search(str(error)) or time.monotonic() > deadline:
                raise OSError(f"the store in {directory} cannot be opened: {error}") from error
            time.sleep(0.05)


def _written_before(before: Path) -> set[int]:
    """The numbers of the database's files of its own, by which it tells things, that it had before it was opened."""
    return {file.stat().st_ino for file in before.glob(_SAID)}


def _dropped(directory: Path, before: set[int], more: set[str] | None) -> list[str]:
    """What opening the store has left out of the database's own log, which it tells nobody but files of its own, other
    than those of these numbers.

    ``more`` are the logs that have more than is noted, where all that is noted is there; None where that is not known.
    """
    return [
        line.rpartition("] ")[2].strip()
        for file in sorted(directory.glob(_SAID))
        if file.stat().st_ino not in before
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
        if ": dropping " in line and (more is None or not _was_never_committed(line, more))
    ]


def _was_never_committed(line: str, more: set[str]) -> bool:
    """Whether what was left out is only what followed the last change: most often the rest of a log written over.

    Of 0 bytes, it is that behind a change, too, that came after the note.
    """
    dropping = _DROPPING.search(line)
    return dropping is not None and (dropping[1] not in more or int(dropping[2]) == 0)


def _unused(directory: Path) -> Path:
    """A name beside the directory that is not taken."""
    return next(path for number in itertools.count(1) if not (path := Path(f"{directory}.damaged-{number}")).exists())


def load_file(oxigraph: ox.Store, path: Path) -> None:
    """Read a file into the store, in the syntax that its extension says. ValueError names a file that is no RDF."""
    syntax = ox.RdfFormat.from_extension(path.suffix.lstrip(".").lower())
    if syntax is None:
        raise ValueError(f"load: {str(path)!r} has no extension of an RDF syntax (ttl, nt, trig, nq, jsonld, rdf)")
    base = path.resolve().as_uri()
    try:
        if syntax == ox.RdfFormat.RDF_XML:
            # Of which Oxigraph alone takes the beginning of a document for the whole.
            oxigraph.bulk_extend(ox.Quad(*triple) for triple in read_graph(path.read_bytes(), RdfSyntax.RDF_XML, base))
        else:
            oxigraph.bulk_load(path=str(path), format=syntax, base_iri=base)
    except (SyntaxError, OSError, ValueError, MemoryError) as error:
        raise ValueError(f"load: {str(path)!r} cannot be read: {error}") from error


def link(store: Path, snapshot: Path) -> None:
    """A snapshot of a store that nobody writes to: its files once more, which takes no room.

    Whoever opens the store later writes to files of its own, and takes these away from the store only. OSError, and
    then there is none: what is linked takes room as soon as the store has done with it.
    """
    snapshot.mkdir()
    try:
        for file in store.iterdir():
            if file.name not in ("LOCK", NOTE) and not file.name.startswith("LOG"):
                os.link(file, snapshot / file.name)
    except BaseException:
        shutil.rmtree(snapshot, ignore_errors=True)
        raise
