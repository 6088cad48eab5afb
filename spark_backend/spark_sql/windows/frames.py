"""Windows' contents as Spark SQL sees them: the same tables as ``evaluation.tables`` makes, as data frames."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from protocol.time import Instant
from protocol.windows.spec import WindowSpec
from spark_backend.spark_sql.windows.source import WINDOW_FORMAT, StreamLogWindow, source_options

_knowing: weakref.WeakSet[SparkSession] = weakref.WeakSet()
"""The sessions that know the source."""


def window_frame(
    session: SparkSession,
    root: Path,
    log: str,
    window: WindowSpec,
    instants: Sequence[Instant],
    terms: Mapping[str, Collection[str]] | None = None,
    tasks: int | None = None,
) -> DataFrame:
    """The window's content at each of ascending instants, a set of triples (docs/model.md, "Windows").

    Columns ``instant bigint, s string, p string, o string, k smallint, n double, t bigint``: the object's facets (``n``
    null for NaN), and the triple's latest time among the elements that take part. ``log``: the name of the log's
    directory below the data directory ``root``. ``terms``: where only some terms of a column (s, p or o) are asked for,
    these; other triples never leave the log. ``tasks``: so many read it at the most. Nothing is read before the frame
    is, and then for each use of it.
    """
    if session not in _knowing:
        session.dataSource.register(StreamLogWindow)
        _knowing.add(session)
    # When a window reports is no matter of its content.
    options = source_options(root, log, replace(window, report=None), instants, terms)
    rows = session.read.format(WINDOW_FORMAT).options(**options).load()
    if tasks is not None:
        rows = rows.coalesce(tasks)
    # Facets are functions of the object.
    facets = (f.first("k").alias("k"), f.first("n").alias("n"))
    return rows.groupBy("instant", "s", "p", "o").agg(*facets, f.max("t").alias("t"))
