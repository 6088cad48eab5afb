"""What passes may know besides the query."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.language import algebra as a
from spark_backend.compiler.algebra.traversal import with_operands
from spark_backend.compiler.sql.dataset import ActiveGraph, QueryDataset, active_graph
from spark_backend.compiler.statistics import Statistics


@dataclass(frozen=True)
class Knowledge:
    """The query's dataset, what its relative IRIs are resolved against, and how often terms occur where it reads.

    No answer depends on the statistics, only the work that it takes.
    """

    dataset: QueryDataset
    base: str | None = None
    statistics: Statistics | None = None

    def reads_the_store(self, pattern: a.Pattern, graph: ActiveGraph) -> bool:
        """Whether no window is a part of any graph that a pattern is matched in, in the active graph."""
        match pattern:
            case a.BGP(triples):
                return not triples or self.dataset.only_store(graph)
            case a.Closure():
                return self.dataset.only_store(graph)
            case a.Values():
                return True
            case a.ServiceSolutions():
                return False
            case a.Graph(name, inner):
                active = active_graph(name, pattern.windows_only)
                return self.dataset.only_store(active) and self.reads_the_store(inner, active)
        static = True

        def asked(operand: a.Pattern, _: bool) -> a.Pattern:
            nonlocal static
            static = static and self.reads_the_store(operand, graph)
            return operand

        with_operands(pattern, asked, False)
        return static
