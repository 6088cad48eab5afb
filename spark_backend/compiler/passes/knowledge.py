"""What passes may know besides the query."""

from __future__ import annotations

from dataclasses import dataclass

from spark_backend.compiler.sql.dataset import QueryDataset
from spark_backend.compiler.statistics import Statistics


@dataclass(frozen=True)
class Knowledge:
    """The query's dataset, what its relative IRIs are resolved against, and how often terms occur where it reads.

    No answer depends on the statistics, only the work that it takes.
    """

    dataset: QueryDataset
    base: str | None = None
    statistics: Statistics | None = None
