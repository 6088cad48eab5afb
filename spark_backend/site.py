"""The two sites of evaluation, and which of them an evaluation is for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ROWS_IN_A_TASK = 8_000_000
"""What one process with DuckDB still holds: about 1.5 GB of terms, where they are as long as usual."""


class Site(StrEnum):
    """Where an evaluation runs: in DuckDB inside a task, or as a Spark SQL job over all tasks."""

    DUCKDB = "duckdb"
    SPARK = "spark"


@dataclass(frozen=True)
class SiteChoice:
    """Spark SQL where the windows' contents have more than ``spark_above`` triples together, or one site for all.

    A choice of time and memory, never of meaning: the answer is the same at both sites. What has no translation to
    Spark SQL stays in DuckDB, unless it is forced: then it is refused when it is registered.
    """

    forced: Site | None = None
    spark_above: int = ROWS_IN_A_TASK

    def of(self, rows: int) -> Site:
        """The site of an evaluation that reads so many triples."""
        if self.forced is not None:
            return self.forced
        return Site.SPARK if rows > self.spark_above else Site.DUCKDB


BY_SIZE = SiteChoice()
