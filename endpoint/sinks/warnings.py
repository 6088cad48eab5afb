"""What is known at once to keep a sink from delivering."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from endpoint.logins.password import login_warnings
from endpoint.sinks.json_lines_file import path_of
from endpoint.sinks.sink_files import KeptSink
from protocol.errors import ProtocolError
from protocol.language.model import ContinuousQuery
from protocol.sinks.settings import SinkSettings


def sink_warnings(settings: SinkSettings) -> list[str]:
    """Why it would fail as things are, a sentence each: that may be put right later. Looks at the disk."""
    if settings.topic is not None:
        return login_warnings(settings.topic.login)
    if settings.rotation is not None:
        path = path_of(settings.url)
        try:
            return _file_warnings(path)
        except OSError as error:
            return [f"{path} cannot be looked at: {error.strerror}; the sink will be failing as long as it is so"]
    return []


def _file_warnings(path: Path) -> list[str]:
    """Raises OSError where nobody may look, or a name is none."""
    if not path.parent.is_dir():
        return [f"there is no folder {path.parent}: the sink will be failing until there is"]
    if path.exists() and not path.is_file():
        return [f"{path} is there and is no file: the sink will be failing as long as it is"]
    return []


def unsuited(sinks: Iterable[KeptSink], query: ContinuousQuery) -> list[str]:
    """Which of a query's sinks cannot send its answers, since it replaced the one that they were made for."""
    sentences: list[str] = []
    for sink in sinks:
        try:
            sink.settings.require_answers_of(query)
        except ProtocolError as error:
            sentences.append(f"the sink {sink.name} is failing until it or the query is replaced: {error.detail}")
    return sentences
