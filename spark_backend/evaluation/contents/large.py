"""The content of a large window as a set, without a copy: the log's rows as they are in memory.

Grouping a million triples costs more than most queries over them. Whether any triple is there twice is told by
sorted digests, and nearly always none is.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.evaluation.database import rows_as

LARGE = 100_000
"""Rows from which on this is what costs less; smaller contents are copied into tables, which are planned faster."""


def without_repetitions(connection: duckdb.DuckDBPyConnection, rows: pa.Table, *, timed: bool) -> pa.Table | None:
    """The rows (columns of LOG) with each triple once; None where that takes comparing all of them.

    If ``timed``, the row that is left of a triple would have to be its latest: repetitions are not looked for then.
    """
    with rows_as(connection, digested=rows):
        digests = connection.execute("SELECT hash(s, p, o) AS digest FROM digested").fetchnumpy()["digest"]
    ranked = np.sort(digests)
    if not (ranked[1:] == ranked[:-1]).any():
        return rows
    if timed:
        return None
    order = np.argsort(digests, kind="stable")
    again = np.flatnonzero(digests[order[1:]] == digests[order[:-1]])
    first, second = rows.take(pa.array(order[again])), rows.take(pa.array(order[again + 1]))
    if not all(pc.all(pc.equal(first[name], second[name])).as_py() for name in "spo"):  # a digest of two triples
        return None
    kept = np.ones(rows.num_rows, dtype=np.bool_)
    kept[order[again + 1]] = False
    return rows.filter(pa.array(kept))
