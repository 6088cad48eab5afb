"""A frame's rows as rows of windows: those that are wanted, once for each instant, terms written out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.spark_sql.windows.cuts import Cut, with_triples

_SCHEMA = pa.schema(
    [
        pa.field("instant", pa.int64()),
        *(pa.field(name, pa.string()) for name in ("s", "p", "o")),
        pa.field("k", pa.int16()),
        pa.field("n", pa.float64()),
        pa.field("t", pa.int64()),
    ]
)


def window_rows(
    rows: pa.RecordBatch, cut: Cut, wanted: Mapping[str, Collection[str]], most: int
) -> Iterator[pa.RecordBatch]:
    """Batches of at most ``most`` rows of the windows, from a frame's rows (columns of STORED).

    ``wanted``: the terms that a column may have, of those columns that have to have some.
    """
    rows = with_triples(rows)
    # Before anything is left out: which of its element's triples a row is may decide.
    instants = cut.instants_of(rows)
    place, instant = pc.list_parent_indices(instants), instants.flatten()
    if wanted and len(place):
        chosen = _chosen(rows, wanted).take(place)
        place, instant = place.filter(chosen), instant.filter(chosen)
    for first in range(0, len(place), most):
        part = rows.take(place.slice(first, most))
        terms = [pc.dictionary_decode(part[name]) for name in ("s", "p", "o")]
        # A NaN equals itself in SQL and exceeds all numbers: it has no number to compare.
        n = pc.if_else(pc.is_nan(part["n"]), pa.scalar(None, pa.float64()), part["n"])
        columns = [instant.slice(first, most), *terms, part["k"].cast(pa.int16()), n, part["time"]]
        yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _chosen(rows: pa.RecordBatch, wanted: Mapping[str, Collection[str]]) -> pa.BooleanArray:
    """For each row, whether its terms are among the wanted ones; each distinct term is compared once."""
    chosen = np.ones(rows.num_rows, bool)
    for name, terms in wanted.items():
        column = rows[name]
        known = pc.is_in(column.dictionary, value_set=pa.array(sorted(terms), pa.string()))
        chosen &= known.take(column.indices).to_numpy(zero_copy_only=False)
    return pa.array(chosen)
