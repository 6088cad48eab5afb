"""The store's graphs as tests have them: as many as they say, in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence

from spark_backend.statics.graphs import Quad

_FEW = 3


class QuadsInMemory(ABC):
    """Gives what matches as N-Quads, too, in several parts if it is more than a few statements."""

    version = 0

    @property
    def settled_version(self) -> int:
        return self.version

    def touched(self, since: int, graphs: Collection[str] | None, predicate: str | None) -> bool:
        return since != self.version

    @abstractmethod
    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterable[Quad]:
        """As ``StaticGraphs.quads``."""

    def n_quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> list[bytes]:
        found = [f"{s} {p} {o} {g} .\n".encode() for g, s, p, o in self.quads(subject, predicate, object, graphs)]
        return [b"".join(found[:_FEW]), *([b"".join(found[_FEW:])] if found[_FEW:] else [])]
