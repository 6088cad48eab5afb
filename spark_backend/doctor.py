"""A data directory looked through, and mended where that can be done (docs/operations.md, "Doctor").

Looking changes nothing, so it may be done beside a server: what a log's manifest says is committed is whole or damaged,
whatever is written meanwhile. Mending is what a server does when it opens the files; nothing is deleted by it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from protocol.errors import ProtocolError
from spark_backend.files import DamagedDocument, read_document, set_aside
from spark_backend.layout import Layout
from spark_backend.log.format.manifest import MANIFEST, decode_manifest
from spark_backend.log.reader import LogReader
from spark_backend.log.recovery import has_elements, is_dropped, is_of_another_log
from spark_backend.log.writer import StreamLog
from spark_backend.streams.catalogue import Catalogue, copy_of, read_catalogue

_NO_BACKUP = "what is lost is lost, unless a backup has it"


class Finding(NamedTuple):
    """Something that is not as it should be: where (a path in the data directory), what, and what to do.

    ``lost``: whether mending cannot bring it back.
    """

    place: str
    what: str
    advice: str
    lost: bool = False


def look(root: Path) -> list[Finding]:
    """All that is wrong in a data directory but for its store. Nothing is changed."""
    layout = Layout(root)
    return [*_documents(layout), *_logs(layout)]


def mend(root: Path) -> None:
    """Set aside what is damaged and make anew what can be. Nobody else may have the directory. Nothing is deleted."""
    layout = Layout(root)
    layout.make()
    catalogue = Catalogue.open(layout.catalogue)
    for entry in catalogue.streams.values():
        try:
            StreamLog.open(
                layout.streams / entry.log, entry.settings, lambda: time.time_ns() // 1_000_000, known=True
            ).close()  # fmt: skip
        except (ProtocolError, OSError):
            continue  # it is found again, and said
    if layout.progress.exists() and not _is_whole(layout.progress):
        set_aside(layout.progress)


def _documents(layout: Layout) -> Iterator[Finding]:
    pair = (layout.catalogue, copy_of(layout.catalogue))
    gone = not any(path.exists() for path in pair)
    for path, other in zip(pair, ("its copy", pair[0].name), strict=True):
        try:
            read_catalogue(path)
        except FileNotFoundError:
            if not gone:
                yield Finding(path.name, "the file is missing", f"--repair makes it from {other}, if that is whole")
            elif _has_logs(layout):
                yield Finding(path.name, f"the file is missing, and so is {other}", "restore it from a backup", True)
        except ValueError as error:
            yield Finding(path.name, str(error), f"--repair sets it aside and makes it from {other}, if that is whole")
    if layout.progress.exists() and not _is_whole(layout.progress):
        yield Finding(layout.progress.name, "it does not match its checksum", "--repair sets it aside")


def _has_logs(layout: Layout) -> bool:
    return layout.streams.is_dir() and any(layout.streams.iterdir())


def _is_whole(path: Path) -> bool:
    try:
        read_document(path)
    except DamagedDocument:
        return False
    return True


def _logs(layout: Layout) -> Iterator[Finding]:
    known, dropped = set[str](), set[str]()
    for path in (layout.catalogue, copy_of(layout.catalogue)):
        try:
            catalogue = read_catalogue(path)
            known, dropped = {entry.log for entry in catalogue.streams.values()}, set(catalogue.dropped)
            break
        except (FileNotFoundError, ValueError):
            continue
    there = {path.name for path in layout.streams.iterdir()} if layout.streams.is_dir() else set()
    for name in sorted(there | known):
        directory, place = layout.streams / name, f"streams/{name}"
        if name not in there:
            yield Finding(place, "the log of a stream is missing", _NO_BACKUP, True)
        elif name not in known:
            if not directory.is_dir() or (has_elements(directory) and not (name in dropped or is_dropped(directory))):
                yield Finding(place, "this belongs to no stream", "restore the catalogue that knows it, or remove it")
        else:
            yield from _log(directory, place)


def _log(directory: Path, place: str) -> Iterator[Finding]:
    try:
        manifest = decode_manifest((directory / MANIFEST).read_bytes())
        if manifest is None:
            yield Finding(
                f"{place}/{MANIFEST}", "it does not match its checksum", "--repair makes it from the segments"
            )
            return
        if is_of_another_log(directory, manifest):
            yield Finding(f"{place}/{MANIFEST}", "it is that of another log", "--repair makes it from the segments")
            return
        reader = LogReader(directory)
    except FileNotFoundError:
        yield Finding(f"{place}/{MANIFEST}", "the file is missing", "--repair makes it from the segments")
    except (ProtocolError, OSError) as error:
        yield Finding(place, str(error), "see to it that the files can be read")
    else:
        for damage in reader.check():
            told = damage.described(directory.name)
            count = "not known" if told.elements is None else told.elements
            yield Finding(f"{told.file}:{told.offset}", f"{told.what}; elements lost: {count}", _NO_BACKUP, True)
        reader.close()
