"""Where a graph pattern is evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from spark_backend.compiler.sql.dataset import DEFAULT_GRAPH, ActiveGraph
from spark_backend.compiler.sql.patterns.outer import Outer


@dataclass(frozen=True)
class Scope:
    """Where a pattern is evaluated: its active graph, the key columns its relation carries, what EXISTS is asked of."""

    graph: ActiveGraph = DEFAULT_GRAPH
    keys: tuple[str, ...] = ("instant",)
    outer: Outer | None = None

    @property
    def leaf(self) -> Scope:
        """The scope of a pattern that is matched in the active graph, and nothing else."""
        return Scope(self.graph, ("instant",) if self.graph.column is None else ("instant", self.graph.column))
