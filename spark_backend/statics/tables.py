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
import pyarrow.compute as pc

from protocol.entailment.consequences import PLACES
from protocol.entailment.regimes import Regime
from protocol.formats.media_types import RdfSyntax
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.ingest.terms.facets import facet_columns
from spark_backend.ingest.terms.quads import quads_of
from spark_backend.ingest.terms.texts import characters_of
from spark_backend.statics.entailed_matches import EntailedMatches
from spark_backend.statics.graphs import Quad, StaticGraphs

_TERMS = pa.schema([(name, pa.string()) for name in ("g", "s", "p", "o")])
SCHEMA = pa.schema([*_TERMS, ("k", pa.uint8()), ("n", pa.float64())])


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

    @property
    def version(self) -> int:
        """Grows with every change of the store; between two that are the same, files are of one state of it."""
        return self._graphs.settled_version

    def file(self, pattern: StaticPattern) -> str | None:
        """The file of the pattern's matches, by name; None if there are none."""
        version = self._graphs.version
        known = self._known.get(pattern)
        if known is not None and known[0] == version:
            return known[1]
        if known is not None and not self._is_touched(pattern, known[0]):
            with self._changing:
                # Unless it was forgotten, and its file deleted, meanwhile.
                if self._known.get(pattern) == known:
                    self._known[pattern] = (version, known[1])
                    return known[1]
        rows = self._rows(pattern)
        with self._changing:
            file = self._write(pattern, rows)
            self._known[pattern] = (version, file)
        return file

    def is_found(self, pattern: StaticPattern) -> bool:
        """Whether ``file`` knows what the pattern matches in the store as it is."""
        known = self._known.get(pattern)
        return known is not None and known[0] == self._graphs.version

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

    def _is_touched(self, pattern: StaticPattern, since: int) -> bool:
        """Whether its matches may be others than they were in a version of the store."""
        if pattern.regime is not Regime.NONE or pattern.scope == "names":
            return True
        graphs = ("",) if pattern.scope == "default" else pattern.graphs
        return self._graphs.touched(since, graphs, pattern.predicate)

    def _rows(self, pattern: StaticPattern) -> pa.Table:
        """The matches, a set, in an order that is a function of them."""
        graphs = self._graphs.named_graphs() if pattern.graphs is None else pattern.graphs
        names = [name for name in graphs if name not in pattern.without]
        if pattern.scope == "names":
            return _sorted(_of_terms((name if name.startswith("_:") else f"<{name}>", "", "", "") for name in names))
        if pattern.regime is not Regime.NONE:
            return _sorted(_of_terms(self._entailed.rows(pattern, names)))
        parts = (pattern.subject, pattern.predicate, pattern.object)
        read = None if pattern.scope == "default" else list(dict.fromkeys(names))
        rows = pa.concat_tables([_TERMS.empty_table(), *map(_of_statements, self._graphs.n_quads(*parts, read))])
        if pattern.scope != "named":
            rows = rows.set_column(0, "g", pa.repeat("", len(rows)))
        return _sorted(rows.group_by(rows.column_names).aggregate([]) if pattern.scope == "merged" else rows)

    def _write(self, pattern: StaticPattern, rows: pa.Table) -> str | None:
        if not rows:
            return None
        name = f"{pattern.table}-{_digest(rows)}.arrow"
        target = self._directory / name
        # What a name says of a file is not believed of one that was there before: it may be damaged.
        if name not in self._written or not target.exists():
            temporary = target.with_suffix(".new")
            with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
                writer.write_table(_with_facets(rows))
            os.replace(temporary, target)
            self._written.add(name)
        return name


def _of_terms(quads: Iterable[Quad]) -> pa.Table:
    columns = list(zip(*set(quads), strict=True))
    return pa.table(columns, schema=_TERMS) if columns else _TERMS.empty_table()


def _of_statements(n_quads: bytes) -> pa.Table:
    quads = quads_of(n_quads, RdfSyntax.N_QUADS)
    g, *others = (column.cast(pa.string()) for column in quads.columns)
    return pa.table([pc.fill_null(g, ""), *others], schema=_TERMS)


def _sorted(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in rows.column_names]).combine_chunks()


def _digest(rows: pa.Table) -> str:
    """A name of what the rows say."""
    digest = hashlib.sha256()
    for column in rows.columns:
        for texts in column.chunks:
            bounds, characters = characters_of(texts)
            digest.update((bounds - bounds[0]).data)
            digest.update(characters[bounds[0] : bounds[-1]].data)
    return digest.hexdigest()[:16]


def _with_facets(rows: pa.Table) -> pa.Table:
    """The rows with the facets of their objects, by which SQL compares them."""
    objects = rows["o"].combine_chunks().dictionary_encode()
    terms = objects.dictionary
    is_term = pc.invert(pc.is_in(terms, pa.array(["", *PLACES])))
    k, n = facet_columns(terms.filter(is_term))
    # NaN would equal itself there.
    n = pc.if_else(pc.is_nan(n), None, n)
    columns = [
        pc.replace_with_mask(pa.nulls(len(terms), facet.type), is_term, facet).take(objects.indices) for facet in (k, n)
    ]
    return pa.table([*rows.columns, *columns], schema=SCHEMA)
