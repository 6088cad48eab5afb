"""Live queries on the disk: the text of those that are registered, and how the last answer of each is called.

``live/queries/NAME.json`` is written rarely and durably. ``live/answers/NAME`` is written before an answer is given
out, and not synced: by it an answer is known again after a restart, and what changed in between. Without it, the answer
is given out once more.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from protocol.entailment.regimes import Regime
from protocol.errors import StorageFull
from protocol.evaluation_limits import EvaluationLimits
from protocol.grammar.parser import parse_live
from protocol.language.model import ContinuousQuery
from protocol.processes.durable_files import synced
from protocol.sparql.dataset import RequestedGraphs
from protocol.time import Instant

_MOST_LINES = 1024 * 1024
"""Bytes of an answer that is kept whole; of a larger one it is known again, and not what changed since."""


@dataclass(frozen=True)
class KeptQuery:
    """A registered live query."""

    name: str
    query: ContinuousQuery
    limits: EvaluationLimits
    start: Instant


@dataclass(frozen=True)
class KeptAnswer:
    """The last answer of a query before a restart; ``lines`` only where the query gives out differences."""

    instant: Instant
    digest: str
    lines: bytes | None


class KeptQueries:
    """The directory of all live queries of an endpoint. From any thread.

    Under which regime they are answered is not kept: it is the endpoint's.
    """

    def __init__(self, data: Path, regime: Regime = Regime.NONE) -> None:
        self._regime = regime
        self._directory = data / "live"
        self._queries = self._directory / "queries"
        self._answers = self._directory / "answers"

    def queries(self) -> list[KeptQuery]:
        """All that are registered. ValueError names a file that is none."""
        found: list[KeptQuery] = []
        for file in sorted(self._queries.glob("*.json")):
            try:
                document = json.loads(file.read_bytes())
                query = parse_live(document["text"], base=document["base"], requested=_requested(document))
                query = replace(query, entailment=self._regime)
                limits = EvaluationLimits(document["timeout"])
                found.append(KeptQuery(file.name.removesuffix(".json"), query, limits, document["start"]))
            except Exception as error:
                raise ValueError(f"the query in {file} cannot be read, restore or remove it: {error}") from error
        return found

    def write(self, kept: KeptQuery) -> None:
        """Keep a query, durably, in place of the one of its name. Raises StorageFull and OSError.

        What was answered before its start is the one's before, also where a crash has kept that from being forgotten.
        """
        assert kept.query.one_shot is not None, "only queries of the store are kept here"
        document = {
            "text": kept.query.text,
            "base": kept.query.one_shot.base,
            "graphs": asdict(kept.query.requested),
            "timeout": kept.limits.seconds,
            "start": kept.start,
        }
        try:
            self._queries.mkdir(parents=True, exist_ok=True)
            text = json.dumps(document, ensure_ascii=False).encode()
            with synced(self._queries, self._directory, self._directory.parent):
                _write(self._queries / f"{kept.name}.json", text, durably=True)
            self.forget_answer(kept.name)
        except OSError as error:
            raise StorageFull.of(error, "the query") or error from error

    def remove(self, name: str) -> None:
        """Forget a query, durably, if it is there. Raises OSError."""
        self.forget_answer(name)
        file = self._queries / f"{name}.json"
        if file.exists():
            with synced(self._queries):
                file.unlink()

    def answer(self, name: str) -> KeptAnswer | None:
        """The last answer that was noted; None where there is none, or none that is whole."""
        with suppress(OSError, ValueError, KeyError):
            head, _, lines = (self._answers / name).read_bytes().partition(b"\n")
            document = json.loads(head)
            whole = document["bytes"] is not None and document["bytes"] == len(lines)
            return KeptAnswer(document["instant"], document["digest"], lines if whole else None)
        return None

    def note_answer(self, name: str, instant: Instant, digest: str, lines: bytes | None) -> None:
        """Note the last answer, before it is given out. Raises OSError."""
        if lines is not None and len(lines) > _MOST_LINES:
            lines = None
        head = {"instant": instant, "digest": digest, "bytes": None if lines is None else len(lines)}
        self._answers.mkdir(parents=True, exist_ok=True)
        _write(self._answers / name, json.dumps(head).encode() + b"\n" + (lines or b""))

    def forget_answer(self, name: str) -> None:
        """Forget the last answer of a query. Raises OSError."""
        (self._answers / name).unlink(missing_ok=True)

    def forget_answers_but(self, names: Collection[str]) -> None:
        """Forget the answers of all queries but these. Raises OSError."""
        for file in self._answers.glob("*"):
            if file.name not in names:
                file.unlink(missing_ok=True)

    def backup(self, data: Path) -> None:
        """Copy the registered queries into another data directory, while some may come and go. Raises OSError."""
        copies = KeptQueries(data)._queries
        for file in self._queries.glob("*.json"):
            copies.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                shutil.copy2(file, copies / file.name)


def _requested(document: dict[str, Any]) -> RequestedGraphs:
    # The version before kept none: it refused them.
    graphs = document.get("graphs", {"default": (), "named": ()})
    return RequestedGraphs(tuple(graphs["default"]), tuple(graphs["named"]))


def _write(file: Path, content: bytes, *, durably: bool = False) -> None:
    temporary = file.with_name(f".{file.name}.new")
    with temporary.open("wb") as written:
        written.write(content)
        if durably:
            written.flush()
            os.fsync(written.fileno())
    os.replace(temporary, file)
