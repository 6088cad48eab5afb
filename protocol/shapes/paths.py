"""Property paths (SHACL, section 2.3.1): which nodes they lead to, as text, and as RDF."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from protocol.shapes.graph import Graph
from protocol.shapes.vocabulary import RDF_FIRST, RDF_NIL, RDF_REST, sh

Triples = list[tuple[str, str, str]]


class Path(Protocol):
    """A property path."""

    def nodes(self, graph: Graph, node: str, backwards: bool = False) -> Collection[str]:
        """The nodes that the path leads to from a node, or from which it leads there; each once."""

    @property
    def text(self) -> str:
        """The path as SPARQL writes it."""

    def written(self, triples: Triples, blank: Iterator[str]) -> str:
        """The node that stands for the path in RDF; what describes it is added to ``triples``."""


@dataclass(frozen=True)
class Predicate:
    iri: str

    def nodes(self, graph: Graph, node: str, backwards: bool = False) -> Collection[str]:
        return graph.subjects(self.iri, node) if backwards else graph.objects(node, self.iri)

    @property
    def text(self) -> str:
        return self.iri

    def written(self, triples: Triples, blank: Iterator[str]) -> str:
        return self.iri


@dataclass(frozen=True)
class Inverse:
    path: Path

    def nodes(self, graph: Graph, node: str, backwards: bool = False) -> Collection[str]:
        return self.path.nodes(graph, node, not backwards)

    @property
    def text(self) -> str:
        return f"^{_bracketed(self.path)}"

    def written(self, triples: Triples, blank: Iterator[str]) -> str:
        return _described("inversePath", self.path, triples, blank)


@dataclass(frozen=True)
class Sequence:
    paths: tuple[Path, ...]

    def nodes(self, graph: Graph, node: str, backwards: bool = False) -> Collection[str]:
        found: Collection[str] = (node,)
        for path in reversed(self.paths) if backwards else self.paths:
            found = dict.fromkeys(one for before in found for one in path.nodes(graph, before, backwards))
        return found

    @property
    def text(self) -> str:
        return "/".join(map(_bracketed, self.paths))

    def written(self, triples: Triples, blank: Iterator[str]) -> str:
        return _list([path.written(triples, blank) for path in self.paths], triples, blank)


@dataclass(frozen=True)
class Alternative:
    paths: tuple[Path, ...]

    def nodes(self, graph: Graph, node: str, backwards: bool = False) -> Collection[str]:
        return dict.fromkeys(one for path in self.paths for one in path.nodes(graph, node, backwards))

    @property
    def text(self) -> str:
        return "|".join(map(_bracketed, self.paths))

    def written(self, triples: Triples, blank: Iterator[str]) -> str:
        members = _list([path.written(triples, blank) for path in self.paths], triples, blank)
        node = next(blank)
        triples.append((node, sh("alternativePath"), members))
        return node


@dataclass(frozen=True)
class Repeated:
    """A path taken so often: ``sign`` is ``*``, ``+`` or ``?``."""

    path: Path
    sign: str

    def nodes(self, graph: Graph, node: str, backwards: bool = False) -> Collection[str]:
        start = self.path.nodes(graph, node, backwards)
        if self.sign == "?":
            return {node: None, **dict.fromkeys(start)}
        found = dict.fromkeys([node, *start] if self.sign == "*" else start)
        waiting = list(start)
        while waiting:
            new = [one for one in self.path.nodes(graph, waiting.pop(), backwards) if one not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        return found

    @property
    def text(self) -> str:
        return _bracketed(self.path) + self.sign

    def written(self, triples: Triples, blank: Iterator[str]) -> str:
        return _described(_REPEATED[self.sign], self.path, triples, blank)


_REPEATED = {"*": "zeroOrMorePath", "+": "oneOrMorePath", "?": "zeroOrOnePath"}

OPERATORS: dict[str, Callable[[Path], Path]] = {
    "inversePath": Inverse,
    **{name: lambda path, sign=sign: Repeated(path, sign) for sign, name in _REPEATED.items()},  # type: ignore[misc]
}
"""What makes a path of another one, by the predicate that says so."""


def _bracketed(path: Path) -> str:
    return path.text if isinstance(path, Predicate) else f"({path.text})"


def _described(predicate: str, path: Path, triples: Triples, blank: Iterator[str]) -> str:
    inner = path.written(triples, blank)
    node = next(blank)
    triples.append((node, sh(predicate), inner))
    return node


def _list(members: list[str], triples: Triples, blank: Iterator[str]) -> str:
    rest = RDF_NIL
    for member in reversed(members):
        node = next(blank)
        triples += [(node, RDF_FIRST, member), (node, RDF_REST, rest)]
        rest = node
    return rest
