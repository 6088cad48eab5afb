"""The catalogue: streams and standing queries, as they outlive a restart. One JSON file, replaced whole, and a copy
of it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from protocol.entailment.regimes import Regime
from protocol.login import Login, TlsFiles
from protocol.processes.durable_files import Content, write_atomically
from protocol.sources import SourceSettings, SourceType
from protocol.streams import JsonContext, OnInvalid, StreamSettings, TimeKind
from protocol.time import Instant
from spark_backend.files import DamagedDocument, document, read_document, set_aside


@dataclass(frozen=True)
class StreamEntry:
    """``log``: the directory of its log; a stream made anew under an old name has another.

    ``query``: the name of the standing query whose output it is. ``incarnation`` is more than that of a stream that had
    the name before.
    """

    name: str
    log: str
    settings: StreamSettings
    query: str | None = None
    incarnation: int = 0

    @cached_property
    def document(self) -> str:
        """The entry as JSON, written once however often the catalogue is."""
        return _document(self)


@dataclass(frozen=True)
class QueryEntry:
    """A standing query: its text as registered, where its evaluations start, the stream of each window.

    ``budget``: the seconds and bytes of memory that were asked for it, if any were. ``own_lane``: whether it is known
    to be heavy. ``failed`` says why it is evaluated no more, if that is so. ``facts``: the names of the queries whose
    facts it reads. ``graphs``: the graphs of the store that its registration named, instead of its text: those of the
    default graph, and named ones. ``entailment``: the regime under which it is answered. ``base``: what its relative
    IRIs are resolved against; None, as an earlier version wrote it: the endpoint's address of today.
    """

    name: str
    key: str
    text: str
    start: Instant | None
    streams: list[str]
    budget: tuple[float | None, int | None] = (None, None)
    own_lane: bool = False
    failed: str | None = None
    facts: list[str] = field(default_factory=list)
    graphs: tuple[Sequence[str], Sequence[str]] = ((), ())
    entailment: str = Regime.NONE.value
    base: str | None = None

    @cached_property
    def document(self) -> str:
        """The entry as JSON, written once however often the catalogue is."""
        return _document(self)


@dataclass
class Catalogue:
    """What is in the file. ``serial`` numbers logs and registrations; a number is never used again. ``deleted`` counts
    the streams that are no longer there; ``dropped``: the directories of their logs, as long as these are there.

    The file has a copy beside it, which is read where the file itself is missing or damaged. ``warnings``: what is
    to be known of that, a sentence each. ``unsaved``: it could not be written last, so that the files may have what was
    taken back since.
    """

    path: Path
    streams: dict[str, StreamEntry] = field(default_factory=dict)
    queries: dict[str, QueryEntry] = field(default_factory=dict)
    serial: int = 0
    deleted: int = 0
    dropped: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    unsaved: bool = False
    _saving: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @classmethod
    def open(cls, path: Path) -> Catalogue:
        """Read the file, or its copy, or start empty. What is damaged is set aside."""
        problems: list[str] = []
        found: Catalogue | None = None
        for candidate in (path, copy_of(path)):
            try:
                found = replace(read_catalogue(candidate), path=path)
                break
            except FileNotFoundError:
                problems.append(f"{candidate.name} is missing")
            except ValueError as error:
                aside = set_aside(candidate)
                problems.append(f"{candidate.name} is damaged ({error}) and was set aside as {aside.name}")
        if found is None:
            found = cls(path)
            if any("damaged" in problem for problem in problems):
                found.warnings.append(f"{' and '.join(problems)}: no stream and no standing query is known")
            return found
        if problems:
            found.warnings.append(f"{problems[0]}: what streams and standing queries there are was read from its copy")
            found.save()
        elif not copy_of(path).exists():
            found.save()
        else:
            with suppress(OSError):  # on a full disk it is written later
                if copy_of(path).read_bytes() != path.read_bytes():
                    # A crash came between the two, or it is damaged: one day it would be read for what there is.
                    found.save()
        return found

    def next_serial(self) -> int:
        """A number that was never given before (once the catalogue is saved)."""
        self.serial += 1
        return self.serial

    def save(self, *others: Content) -> None:
        """Write the file, durably, its copy, and others with them: all or none. Raises OSError."""
        with self._saving:
            self.unsaved = True
            # Whoever writes last has what all have changed before.
            streams, queries = (
                ",\n".join(entry.document for entry in entries)
                for entries in (list(self.streams.values()), list(self.queries.values()))
            )
            rest = f'"serial": {self.serial}, "deleted": {self.deleted}, "dropped": {json.dumps(self.dropped)}'
            text = f'{{{rest},\n"streams": [\n{streams}],\n"queries": [\n{queries}]}}'
            write_atomically(document(self.path, text, durable=True), document(copy_of(self.path), text), *others)
            self.unsaved = False


def read_catalogue(path: Path) -> Catalogue:
    """The catalogue in a file. Raises FileNotFoundError, or ValueError for a file that is not as it was written."""
    try:
        content = read_document(path)
    except DamagedDocument:
        # The version before wrote no checksum.
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or "sha256" in content:
            raise
    try:
        streams = {entry["name"]: _stream(entry) for entry in content["streams"]}
        queries = {entry["name"]: QueryEntry(**entry) for entry in content["queries"]}
        return Catalogue(
            path, streams, queries, content["serial"], content.get("deleted", 0), tuple(content.get("dropped", ()))
        )
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedDocument(f"it is not a catalogue of streams and queries: {error!r}") from error


def copy_of(path: Path) -> Path:
    """Where the copy of a catalogue is."""
    return path.with_name(f"{path.stem}.copy{path.suffix}")


def _document(entry: StreamEntry | QueryEntry) -> str:
    return json.dumps(asdict(entry), ensure_ascii=False)


def _stream(document: dict[str, Any]) -> StreamEntry:
    settings = document["settings"]
    context = settings.get("context")
    return StreamEntry(
        document["name"],
        document["log"],
        StreamSettings(
            **{
                **settings,
                "time": TimeKind(settings["time"]),
                "timestamp_path": tuple(settings["timestamp_path"]),
                "context": None if context is None else JsonContext(**context),
                "source": _source(settings.get("source")),
                "on_invalid": OnInvalid(settings.get("on_invalid", OnInvalid.REJECT)),
            }
        ),
        document.get("query"),
        document.get("incarnation", 0),
    )


def _source(document: dict[str, Any] | None) -> SourceSettings | None:
    if document is None:
        return None
    settings = {name: document[name] for name in ("url", "content_type", "version")}
    # The version before wrote the login's members among the others.
    login = document.get("login") or {one.name: document.get(one.name) for one in fields(Login)}
    tls = None if login["tls"] is None else TlsFiles(**login["tls"])
    return SourceSettings(
        **settings,
        type=SourceType(document["type"]),
        topics=tuple(document["topics"]),
        login=Login(**{**login, "tls": tls}),
    )
