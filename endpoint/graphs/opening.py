"""How the directory of the store is taken hold of and opened."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from pathlib import Path

import pyoxigraph as ox

logger = logging.getLogger(__name__)

_OPEN_SECONDS = 5.0


def own(directory: Path) -> int:
    """Make the directory, and a descriptor that holds it for this process alone. OSError names the directory."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        owned = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise OSError(f"the store in {directory} cannot be opened: {error}") from error
    try:
        fcntl.flock(owned, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(owned)
        raise OSError(
            f"the store in {directory} cannot be opened (another server, or a doctor that repairs, is using this data "
            f"directory): {error}"
        ) from error
    return owned


def opened(directory: Path) -> ox.Store:
    """The store, made if there is none. OSError names the directory."""
    deadline = time.monotonic() + _OPEN_SECONDS
    while True:
        try:
            return ox.Store(str(directory))
        except (OSError, RuntimeError, ValueError) as error:  # what is damaged is one of the last two
            # A server that was killed a moment ago: the process that it left ends by itself.
            if "lock" not in str(error).lower() or time.monotonic() > deadline:
                raise OSError(f"the store in {directory} cannot be opened: {error}") from error
            time.sleep(0.05)


def dropped(directory: Path) -> list[str]:
    """What opening the store has left out of the database's own log, which it tells nobody but a file of its own."""
    with (directory / "LOG").open(encoding="utf-8", errors="replace") as said:
        places = [line.rpartition("] ")[2].strip() for line in said if ": dropping " in line]
    if not places:
        return []
    warning = (
        "what was changed last in the graphs may be lost, for the store's own log was not whole "
        f"({'; '.join(places)}): compare with a backup, unless the machine went down in the middle of an "
        "update, which nobody was told is done"
    )
    logger.error("%s", warning)
    return [warning]


def load_file(oxigraph: ox.Store, path: Path) -> None:
    """Read a file into the store, in the syntax that its extension says. ValueError names a file that is no RDF."""
    syntax = ox.RdfFormat.from_extension(path.suffix.lstrip(".").lower())
    if syntax is None:
        raise ValueError(f"load: {str(path)!r} has no extension of an RDF syntax (ttl, nt, trig, nq, jsonld, rdf)")
    try:
        oxigraph.bulk_load(path=str(path), format=syntax, base_iri=path.resolve().as_uri())
    except (SyntaxError, OSError, ValueError, MemoryError) as error:
        raise ValueError(f"load: {str(path)!r} cannot be read: {error}") from error


def link(store: Path, snapshot: Path) -> None:
    """A snapshot of a store that nobody writes to: its files once more, which takes no room.

    Whoever opens the store later writes to files of its own, and takes these away from the store only.
    """
    snapshot.mkdir()
    for file in store.iterdir():
        if file.name != "LOCK" and not file.name.startswith("LOG"):
            os.link(file, snapshot / file.name)
