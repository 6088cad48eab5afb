"""The static part of continuous queries: triples of the store's graphs, handed to the tasks as Arrow files.

Each static pattern is matched once per version of the store, not at every instant (C-SPARQL's split
into a static and a streaming part). A file is named after its content, so that an update which does
not touch a pattern's triples changes nothing for the queries that read them.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from protocol.entailment.consequences import PLACES
from protocol.entailment.regimes import Regime
from protocol.terms import comparable_facets
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.statics.entailed_matches import EntailedMatches
from spark_backend.statics.graphs import Quad, StaticGraphs

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("g", "s", "p", "o")),
        ("k", pa.uint8()),
        ("n", pa.float64()),
    ]
)


class StaticTables:
    """Arrow files of static patterns, at the store's current version. Thread-safe."""

    def __init__(self, directory: Path, graphs: StaticGraphs, schema: Sequence[str] = ()) -> None:
        """``schema`` are the IRIs of the graphs that the schema is taken from; none: it is the default graph's."""
        self._directory = directory
        self._graphs = graphs
        self._entailed = EntailedMatches(graphs, schema)
        self._known: dict[StaticPattern, tuple[int, str | None]] = {}
        self._written: set[str] = set()
        # Files are written for a query that is compiled while others are deleted with theirs.
        self._changing = threading.Lock()

    def file(self, pattern: StaticPattern) -> str | None:
        """The file of the pattern's matches, by name; None if there are none."""
        version = self._graphs.version
        known = self._known.get(pattern)
        if known is not None and known[0] == version:
            return known[1]
        rows = sorted(set(self._rows(pattern)), key=repr)
        with self._changing:
            file = self._write(pattern, rows)
            self._known[pattern] = (version, file)
        return file

    def files(self) -> set[str]:
        """The files that are there, also of patterns that nobody asks for any more."""
        return {path.name for path in self._directory.iterdir()}

    def forget(self, files: Collection[str], patterns: Collection[StaticPattern]) -> None:
        """Delete these files, and forget which patterns have no matches, but for ``patterns``.

        Who asks for one of them again has it looked up, and written, anew.
        """
        with self._changing:
            for name in files:
                (self._directory / name).unlink(missing_ok=True)
            self._written.difference_update(files)
            self._known = {
                pattern: (version, file)
                for pattern, (version, file) in self._known.items()
                if (pattern in patterns if file is None else file not in files)
            }

    def matches(self, pattern: StaticPattern) -> int:
        """How many matches the pattern has."""
        file = self.file(pattern)
        if file is None:
            return 0
        with pa.memory_map(str(self._directory / file)) as source, pa.ipc.open_file(source) as reader:
            return sum(reader.get_batch(number).num_rows for number in range(reader.num_record_batches))

    def _rows(self, pattern: StaticPattern) -> Iterable[Quad]:
        graphs = self._graphs.named_graphs() if pattern.graphs is None else pattern.graphs
        names = [name for name in graphs if name not in pattern.without]
        if pattern.scope == "names":
            return [(name if name.startswith("_:") else f"<{name}>", "", "", "") for name in names]
        if pattern.regime is not Regime.NONE:
            return self._entailed.rows(pattern, names)
        parts = (pattern.subject, pattern.predicate, pattern.object)
        found = self._graphs.quads(*parts, None if pattern.scope == "default" else names)
        return found if pattern.scope == "named" else (("", s, p, o) for _, s, p, o in found)

    def _write(self, pattern: StaticPattern, rows: list[Quad]) -> str | None:
        if not rows:
            return None
        digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:16]
        name = f"{pattern.table}-{digest}.arrow"
        target = self._directory / name
        # What a name says of a file is not believed of one that was there before: it may be damaged.
        if name not in self._written or not target.exists():
            temporary = target.with_suffix(".new")
            with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
                writer.write_table(_table(rows))
            os.replace(temporary, target)
            self._written.add(name)
        return name


def _table(rows: list[Quad]) -> pa.Table:
    objects = [(None, None) if not o or o in PLACES else comparable_facets(o) for _, _, _, o in rows]
    return pa.table(
        [
            [g for g, _, _, _ in rows],
            [s for _, s, _, _ in rows],
            [p for _, _, p, _ in rows],
            [o for _, _, _, o in rows],
            [None if kind is None else int(kind) for kind, _ in objects],
            [number for _, number in objects],
        ],
        schema=SCHEMA,
    )
