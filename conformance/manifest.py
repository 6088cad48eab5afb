"""Manifests of tests: which tests a suite has, in their order, and where each one's description is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from conformance.vocabulary import MF, RDF, RDF_TYPE, RDFS

BASE = "https://w3c.github.io/rdf-tests/sparql/"
"""Base IRI of the W3C suite's files: a file's IRI is this and its path below the suite's directory."""

Node = ox.NamedNode | ox.BlankNode
Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple


class ManifestError(ValueError):
    """A manifest that is not there, is no RDF, or does not say what it has to; names the file."""


class Description:
    """The graph of one manifest, asked property by property."""

    def __init__(self, store: ox.Store, place: str) -> None:
        self.store = store
        self.place = place

    def objects(self, subject: Term, predicate: ox.NamedNode) -> list[Term]:
        """All values, in a stable order: the manifest's own is not kept by RDF."""
        if isinstance(subject, ox.Literal | ox.Triple):
            return []
        found: list[Term] = [quad.object for quad in self.store.quads_for_pattern(subject, predicate, None)]
        return sorted(found, key=str)

    def optional(self, subject: Term, predicate: ox.NamedNode) -> Term | None:
        found = self.objects(subject, predicate)
        if len(found) > 1:
            raise ManifestError(f"{self.place}: {subject} has {len(found)} values of {predicate}, not one")
        return found[0] if found else None

    def required(self, subject: Term, predicate: ox.NamedNode) -> Term:
        found = self.optional(subject, predicate)
        if found is None:
            raise ManifestError(f"{self.place}: {subject} has no {predicate}")
        return found

    def text(self, subject: Term, predicate: ox.NamedNode) -> str | None:
        """The value's characters: a literal's, or an IRI's."""
        found = self.optional(subject, predicate)
        return found.value if isinstance(found, ox.Literal | ox.NamedNode) else None

    def only(self, predicate: ox.NamedNode) -> Term | None:
        """The one value that the property has in the whole graph; None if it has none."""
        found: list[Term] = [quad.object for quad in self.store.quads_for_pattern(None, predicate, None)]
        if len(found) > 1:
            raise ManifestError(f"{self.place}: there are {len(found)} values of {predicate}, not one")
        return found[0] if found else None

    def items(self, head: Term | None) -> list[Term]:
        """The members of an RDF collection; none of None."""
        members: list[Term] = []
        while head is not None and head != RDF["nil"]:
            members.append(self.required(head, RDF["first"]))
            head = self.required(head, RDF["rest"])
        return members


@dataclass(frozen=True)
class Test:
    """One entry of a manifest. ``directory`` is its place below the suite's root (``sparql11/aggregates``)."""

    __test__ = False  # not one of pytest's

    iri: str
    name: str
    types: tuple[str, ...]
    directory: str
    node: ox.NamedNode
    description: Description
    suite: Suite


class Suite:
    """A directory of manifests and the files they name, with the IRI its root stands for."""

    def __init__(self, root: Path, base: str = BASE) -> None:
        self.root = root
        self.base = base

    def path(self, iri: str) -> Path:
        """The file with this IRI. ManifestError if it is not below the root."""
        relative = iri.removeprefix(self.base)
        path = self.root / relative
        if relative == iri or ".." in Path(relative).parts:
            raise ManifestError(f"<{iri}> is not a file of the suite at {self.base}")
        return path

    def read(self, iri: str) -> bytes:
        try:
            return self.path(iri).read_bytes()
        except OSError as error:
            raise ManifestError(f"<{iri}> cannot be read: {error.strerror}") from None

    def iri(self, path: Path) -> str:
        return self.base + path.relative_to(self.root).as_posix()

    def tests(self, manifest: str) -> list[Test]:
        """The tests of this manifest (its path below the root) and of all it includes; each IRI once."""
        found: dict[str, Test] = {}
        for test in self._tests(self.base + manifest, set()):
            found.setdefault(test.iri, test)
        return list(found.values())

    def _tests(self, iri: str, seen: set[str]) -> Iterator[Test]:
        if iri in seen:
            return
        seen.add(iri)
        description = self._description(iri)
        # One manifest of the suite calls itself [] and not <>.
        for included in description.items(description.only(MF["include"])):
            assert isinstance(included, ox.NamedNode)
            yield from self._tests(included.value, seen)
        directory = iri.removeprefix(self.base).rpartition("/")[0]
        for node in description.items(description.only(MF["entries"])):
            assert isinstance(node, ox.NamedNode)
            types = tuple(one.value for one in description.objects(node, RDF_TYPE) if isinstance(one, ox.NamedNode))
            if not types:
                raise ManifestError(f"{description.place}: the entry {node} is not described")
            name = description.text(node, MF["name"]) or description.text(node, RDFS["label"]) or node.value
            yield Test(node.value, name, types, directory, node, description, self)

    def _description(self, iri: str) -> Description:
        path = self.path(iri)
        store = ox.Store()
        try:
            store.load(self.read(iri), format=ox.RdfFormat.TURTLE, base_iri=iri)
        except SyntaxError as error:
            raise ManifestError(f"{path}: {error}") from None
        return Description(store, str(path))
