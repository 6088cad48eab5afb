"""The store's graphs as tests have them: as many as they say, in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from spark_backend.statics.graphs import Quad


class QuadsInMemory(ABC):
    """Gives what matches as N-Quads, too, a statement in each part."""

    @abstractmethod
    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterable[Quad]:
        """As ``StaticGraphs.quads``."""

    def n_quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> list[bytes]:
        return [f"{s} {p} {o} {g} .\n".encode() for g, s, p, o in self.quads(subject, predicate, object, graphs)]
