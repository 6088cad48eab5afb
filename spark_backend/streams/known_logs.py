"""Opening the logs of the streams that were there before."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from protocol.errors import ProtocolError
from protocol.time import Instant
from spark_backend.log.unreadable import UnreadableLog
from spark_backend.log.writer import StreamLog
from spark_backend.streams.catalogue import StreamEntry

_LOGGER = logging.getLogger(__name__)


def known_log(
    entry: StreamEntry, root: Path, clock: Callable[[], Instant], warnings: list[str]
) -> StreamLog | UnreadableLog:
    """The log of a stream in its directory below ``root``; one that cannot be opened keeps nothing else from being
    served. What is to be known of how it was found is added to ``warnings``.
    """
    directory = root / entry.log
    try:
        log = StreamLog.open(directory, entry.settings, clock, known=True)
    except (ProtocolError, OSError) as error:
        reason = error.detail if isinstance(error, ProtocolError) else error.strerror or str(error)
        _LOGGER.error("the log of the stream %s in %s cannot be opened: %s", entry.name, directory, reason)
        return UnreadableLog(directory, reason)
    if log.without_manifest:
        warnings.append(
            f"the manifest of the stream {entry.name} in streams/{entry.log} was missing or damaged, and was made "
            "anew from its segments: what the last of these has lost at its end would not be noticed"
        )
    return log
