"""The query registry: which queries are evaluated, as files that other processes read.

The server process writes it, the ET source reads it at each poll and the tasks read the plans it
points to. A *prepared query* file never changes: a new plan is a new file.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from protocol.processes.durable_files import Content, write_atomically
from protocol.time import Instant
from protocol.windows.spec import (
    CountWindow,
    FactsWindow,
    LandmarkWindow,
    NowWindow,
    Partition,
    Report,
    SessionWindow,
    Strategy,
    StreamWindow,
    TimeWindow,
    TriplePart,
    Unit,
    WindowSpec,
)
from spark_backend.budget import Lane
from spark_backend.compiler.plan import Plan
from spark_backend.files import DamagedDocument, document, read_document

_KINDS: dict[str, type[WindowSpec]] = {
    "time": TimeWindow,
    "count": CountWindow,
    "now": NowWindow,
    "landmark": LandmarkWindow,
    "facts": FactsWindow,
    "session": SessionWindow,
}
_KIND_OF = {kind: name for name, kind in _KINDS.items()}


def windows_to_json(windows: tuple[StreamWindow, ...]) -> list[dict[str, Any]]:
    return [{**asdict(member), "window": window_to_json(member.window)} for member in windows]


def window_to_json(window: WindowSpec) -> dict[str, Any]:
    report = window.report
    told = None if report is None else {"strategies": sorted(report.strategies), "period": report.period}
    return {"kind": _KIND_OF[type(window)], **asdict(window), "report": told}


def windows_from_json(documents: list[dict[str, Any]]) -> tuple[StreamWindow, ...]:
    return tuple(StreamWindow(**{**document, "window": window_from_json(document["window"])}) for document in documents)


def window_from_json(document: dict[str, Any]) -> WindowSpec:
    window = dict(document)
    report = window["report"]
    if report is not None:
        window["report"] = Report(frozenset(map(Strategy, report["strategies"])), report["period"])
    if "unit" in window:
        window["unit"] = Unit(window["unit"])
    if window.get("partition") is not None:
        key = window["partition"]
        window["partition"] = Partition(tuple(map(TriplePart, key["parts"])), tuple(key["properties"]))
    return _KINDS[window.pop("kind")](**window)


def read_windows(windows: Iterable[StreamWindow]) -> tuple[tuple[str, WindowSpec], ...]:
    """What tells the contents of a query's windows from those of other queries: not when they report."""
    return tuple((w.stream, replace(w.window, report=None)) for w in windows)


def family(plan: Plan, windows: Iterable[StreamWindow]) -> str:
    """A name of what a query reads, and of its shape: see ``RegisteredQuery.family``."""
    return f"{hashlib.sha256(repr(read_windows(windows)).encode()).hexdigest()[:12]}-{plan.mark}"


@dataclass(frozen=True)
class PreparedQuery:
    """What a task needs: the plan, the windows with the directories of their logs, the static tables' files.

    ``windows[i].stream`` is the name of a log's directory below ``streams/``. ``start``: evaluations are after it.
    ``conditions``: the plans of what windows ask of messages (``CountWindow.where``), by that. ``records``: the
    registration whose records have what the plan's services gave (``federation.records``); ``bindings``: for each of
    these, the file of the prepared query of the terms it is given.
    """

    plan: Plan
    windows: tuple[StreamWindow, ...]
    statics: dict[str, str]
    start: Instant | None = None
    conditions: dict[str, Plan] = field(default_factory=dict)
    records: str = ""
    bindings: tuple[str | None, ...] = ()

    def condition(self, window: WindowSpec) -> Plan | None:
        """The plan of what a window asks of messages, None where it asks nothing."""
        if not isinstance(window, CountWindow) or window.where is None:
            return None
        return self.conditions[window.where]

    @cached_property
    def together(self) -> str:
        """A digest of what queries have in common that are evaluated together: of new matches also what was evaluated
        before.
        """
        before = (self.windows, self.start) if self.plan.new_matches else None
        same = (self.plan.shape, self.read_windows, tuple(self.statics.items()), before, self.records)
        return hashlib.sha256(repr(same).encode()).hexdigest()

    @property
    def read_windows(self) -> tuple[tuple[str, WindowSpec], ...]:
        return read_windows(self.windows)

    def to_json(self) -> str:
        return json.dumps(
            {
                "plan": self.plan.to_json(),
                "windows": windows_to_json(self.windows),
                "statics": self.statics,
                "start": self.start,
                "conditions": {text: plan.to_json() for text, plan in self.conditions.items()},
                "records": self.records,
                "bindings": self.bindings,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> PreparedQuery:
        document = json.loads(text)
        return cls(
            Plan.from_json(document["plan"]),
            windows_from_json(document["windows"]),
            document["statics"],
            document["start"],
            {text: Plan.from_json(plan) for text, plan in document["conditions"].items()},
            document["records"],
            tuple(document["bindings"]),
        )


@dataclass(frozen=True)
class RegisteredQuery:
    """One entry of the registry. ``key`` names this registration for ever: a replacement has another.

    Those of the same ``family`` are evaluated together where they are due together; where families begin alike, they
    read the same windows. ``start``: evaluations are those of ET after it, None for all. ``prepared``: file of its
    PreparedQuery. ``lane``: the one that it is evaluated in. When it came back to the common one, as it has so many
    ``moves``, it was evaluated up to ``resumed``.
    """

    key: str
    windows: tuple[StreamWindow, ...]
    prepared: str
    start: Instant | None
    lane: Lane = Lane.COMMON
    moves: int = 0
    resumed: Instant | None = None
    family: str = ""

    @property
    def place(self) -> str:
        """What its offset has as name: what was planned before it moved is no matter of what comes after."""
        return f"{self.key}+{self.moves}" if self.moves else self.key

    @property
    def reads(self) -> str:
        """A name of the windows that it reads, whatever it asks of them."""
        return self.family.partition("-")[0]

    @property
    def after(self) -> Instant | None:
        """The common lane has its evaluations after this."""
        return self.start if self.resumed is None else self.resumed

    def on_trial(self) -> RegisteredQuery:
        """New, where it is not known yet whether it is for the common lane."""
        return replace(self, lane=Lane.NEW if self.lane is Lane.COMMON else self.lane)

    def in_own_lane(self) -> RegisteredQuery:
        return replace(self, lane=Lane.OWN)

    def in_common_lane(self, resumed: Instant | None) -> RegisteredQuery:
        """There for the first time or back again, where everything up to ``resumed`` is out."""
        moves = self.moves if self.lane is Lane.NEW else self.moves + 1
        return replace(self, lane=Lane.COMMON, moves=moves, resumed=resumed)

    @cached_property
    def document(self) -> str:
        """The entry as JSON, written once however often the registry is."""
        return json.dumps(
            {
                "key": self.key,
                "windows": windows_to_json(self.windows),
                "prepared": self.prepared,
                "start": self.start,
                "lane": self.lane,
                "moves": self.moves,
                "resumed": self.resumed,
                "family": self.family,
            }
        )

    def with_prepared(self, prepared: str) -> RegisteredQuery:
        return replace(self, prepared=prepared)


class _FileState(NamedTuple):
    """What tells a file from what was, or will be, in its place: its number, when it was written, in ns, and bytes."""

    file: int
    changed: int
    size: int


class Registry:
    """The registry in a directory. One writer; readers poll ``has_changed`` and ``read``.

    Any number of threads write prepared queries.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._index = directory / "registry.json"
        self._planned = directory / "planned.json"
        self._version: int | None = None
        self._read: int | None = None
        self._seen: _FileState | None = None
        self._told: int | None = None
        self._written: set[str] = set()
        # Two replays that begin at once write the same file.
        self._writing = threading.Lock()
        directory.mkdir(parents=True, exist_ok=True)

    def write(self, queries: Iterable[RegisteredQuery], *, durable: bool = False) -> None:
        """Publish the whole registry."""
        write_atomically(self.content(queries, durable=durable))

    def content(self, queries: Iterable[RegisteredQuery], *, durable: bool = False) -> Content:
        """What publishes it as its next version, for writing it together with others."""
        self._version = self.version + 1
        listed = ", ".join(query.document for query in queries)
        return Content(self._index, f'{{"version": {self._version}, "queries": [{listed}]}}', durable)

    def has_changed(self) -> bool:
        """Whether the registry is another one than at the last ``read`` of this object."""
        try:
            return _state(os.stat(self._index)) != self._seen
        except FileNotFoundError:
            return False

    @property
    def version(self) -> int:
        """For the writer: the number of what it has published last, or was to publish; 0 before.

        It is no time, for a clock may be set back; it goes on where the writer before was.
        """
        if self._version is None:
            try:
                index = json.loads(self._index.read_text(encoding="utf-8"))
                written = 0 if isinstance(index, list) else int(index["version"])
            except (FileNotFoundError, ValueError, TypeError, KeyError):  # it may be damaged
                written = 0
            self._version = max(written, self.planned or 0)
        return self._version

    def tell_planned(self) -> None:
        """Let the writer know that no evaluation is under way that was planned before the last ``read``."""
        if self._read != self._told:
            write_atomically(document(self._planned, json.dumps(self._read)))
            self._told = self._read

    @property
    def planned(self) -> int | None:
        """What ``tell_planned`` has told last: nothing is planned by an earlier version, nor is to be."""
        try:
            told = read_document(self._planned)
        except (FileNotFoundError, DamagedDocument):
            return None
        return told if isinstance(told, int) else None

    def read(self) -> dict[str, RegisteredQuery]:
        """The registered queries by key."""
        try:
            with open(self._index, encoding="utf-8") as file:
                status = os.fstat(file.fileno())
                index = json.load(file)
        except FileNotFoundError:
            return {}
        self._seen = _state(status)
        # An earlier release has a list, without a version.
        documents, self._read = (index, 0) if isinstance(index, list) else (index["queries"], index["version"])
        return {
            document["key"]: RegisteredQuery(
                document["key"],
                windows_from_json(document["windows"]),
                document["prepared"],
                document["start"],
                Lane(document.get("lane", Lane.COMMON)),
                document.get("moves", 0),
                document.get("resumed"),
                document.get("family", ""),
            )
            for document in documents
        }

    def write_prepared(self, key: str, prepared: PreparedQuery) -> str:
        """Write a prepared query of a registration; the same content is the same file. Returns its name."""
        text = prepared.to_json()
        name = f"{key}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
        path = self._directory / name
        with self._writing:
            # What a name says of a file is not believed of one that was there before: it may be damaged.
            if name not in self._written or not path.exists():
                write_atomically(Content(path, text))
                self._written.add(name)
        return name

    def read_prepared(self, name: str) -> PreparedQuery:
        return PreparedQuery.from_json((self._directory / name).read_text(encoding="utf-8"))

    def prepared(self) -> set[str]:
        """The files of prepared queries that are there."""
        return {path.name for path in self._directory.glob("*-*.json")}

    def remove_prepared(self, name: str) -> None:
        (self._directory / name).unlink(missing_ok=True)
        self._written.discard(name)


def _state(status: os.stat_result) -> _FileState:
    return _FileState(status.st_ino, status.st_mtime_ns, status.st_size)


def write_progress(path: Path, progress: Mapping[str, Instant]) -> None:
    """Write how far registrations are: the latest instant that is out, by key."""
    write_atomically(document(path, json.dumps(dict(progress))))


def read_progress(path: Path) -> dict[str, Instant] | None:
    """What was written; None if that is missing or damaged."""
    try:
        progress: dict[str, Instant] = read_document(path)
    except (FileNotFoundError, DamagedDocument):
        return None
    return progress
