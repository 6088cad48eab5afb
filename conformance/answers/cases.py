"""What evaluation and syntax tests are made of, read from their descriptions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyoxigraph as ox

from conformance.manifest import Description, ManifestError, Suite, Term, Test
from conformance.vocabulary import MF, QT, RDFS, SD, UT
from protocol.entailment.regimes import Regime
from protocol.sparql.dataset import dataset_clauses
from protocol.sparql.iris import named_iris


@dataclass(frozen=True)
class Document:
    """A file of the suite by its IRI, which is also the base of the relative IRIs in it."""

    iri: str
    suite: Suite
    graph: str | None = None
    """Of a file of several graphs the one that is meant, "" for the default graph; None: all that it says."""

    @property
    def content(self) -> bytes:
        return self.suite.read(self.iri)

    @property
    def syntax(self) -> ox.RdfFormat:
        """By the file's extension. ManifestError if that is none of RDF's."""
        found = ox.RdfFormat.from_extension(self.iri.rpartition(".")[2])
        if found is None:
            raise ManifestError(f"<{self.iri}> has no extension of an RDF syntax")
        return found

    def quads(self) -> list[ox.Quad]:
        """What the file says, with blank nodes of its own."""
        quads = ox.parse(self.content, format=self.syntax, base_iri=self.iri, rename_blank_nodes=True)
        return [quad for quad in quads if self.graph in (None, _graph_of(quad))]

    @property
    def parts(self) -> list[Document]:
        """Of a file in a syntax of datasets a document for each of its graphs, else the document."""
        if not self.syntax.supports_datasets:
            return [self]
        return [replace(self, graph=graph) for graph in sorted({_graph_of(quad) for quad in self.quads()})]


def _graph_of(quad: ox.Quad) -> str:
    """The IRI of a graph that is named, or an empty text."""
    return quad.graph_name.value if isinstance(quad.graph_name, ox.NamedNode) else ""


@dataclass(frozen=True)
class Dataset:
    """The graphs a test starts from or ends with: documents of the default graph, and of graphs by IRI."""

    default: tuple[Document, ...] = ()
    named: tuple[tuple[str, Document], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.named))


@dataclass(frozen=True)
class QueryCase:
    """A query over a dataset, and the file with its answer. ``services``: what endpoints elsewhere hold."""

    text: str
    base: str
    data: Dataset
    result: Document
    lax: bool = False
    """REDUCED: a solution may occur from once to as often as in the result (Query section 15.3)."""
    names_dataset: bool = False
    """The query has FROM or FROM NAMED; ``data`` is then what they name, each as a named graph."""
    services: tuple[tuple[str, tuple[Document, ...]], ...] = ()
    regimes: tuple[Regime, ...] = (Regime.NONE,)
    """It has this answer under each of these."""


@dataclass(frozen=True)
class UpdateCase:
    """An update, the graphs before it and the graphs after it."""

    text: str
    base: str
    before: Dataset
    after: Dataset


def query_case(test: Test) -> QueryCase:
    """The parts of a ``mf:QueryEvaluationTest``. ManifestError says what is not there."""
    about = test.description
    action = about.required(test.node, MF["action"])
    query = about.text(action, QT["query"])
    result = about.text(test.node, MF["result"])
    if query is None or result is None:
        raise ManifestError(f"{about.place}: {test.node} names no query or no result")
    services = []
    for service in about.objects(action, QT["serviceData"]):
        endpoint = about.text(service, QT["endpoint"]) or ""
        services.append((endpoint, tuple(_documents(test, service, QT["data"]))))
    text = test.suite.read(query).decode()
    lax = about.optional(test.node, MF["resultCardinality"]) == MF["LaxCardinality"]
    named = dict.fromkeys(name for names in graphs_of_from(text, query) for name in names)
    if named:
        data = Dataset((), tuple((iri, Document(iri, test.suite)) for iri in named))
    else:
        data = _dataset(test, action, QT["data"], QT["graphData"])
    services.sort(key=lambda one: one[0])
    return QueryCase(
        text, query, data, Document(result, test.suite), lax, bool(named), tuple(services), regimes_of(test)
    )


def regimes_of(test: Test) -> tuple[Regime, ...]:
    """The endpoint's regimes under which a test has its answer; none where it is of other regimes only.

    A test of RDF entailment or D-entailment is asked under RDFS, which entails no less; one of OWL's RDF-Based
    Semantics under the rules of OWL 2 RL, where that is one of its profiles.
    """
    about = test.description
    action = about.required(test.node, MF["action"])
    regimes = _named_by(about, about.optional(action, SD["entailmentRegime"]))
    if not regimes:
        return (Regime.NONE,)
    profiles = _named_by(about, about.optional(action, SD["EntailmentProfile"]))
    found = []
    if not regimes.isdisjoint({"RDF", "RDFS", "D"}):
        found.append(Regime.RDFS)
    if "OWL-RDF-Based" in regimes and (not profiles or "RL" in profiles):
        found.append(Regime.OWL_RL)
    return tuple(found)


def _named_by(about: Description, value: Term | None) -> set[str]:
    """The last parts of an IRI, or of those in a list."""
    members = about.items(value) if isinstance(value, ox.BlankNode) else [] if value is None else [value]
    return {member.value.rpartition("/")[2] for member in members if isinstance(member, ox.NamedNode)}


def graphs_of_from(text: str, base: str) -> tuple[list[str], list[str]]:
    """The IRIs that FROM and those that FROM NAMED names, resolved as the query's prologue says, each once."""
    clauses = dataset_clauses(text)
    default, named = (named_iris(clauses.prologue, names, base) for names in (clauses.default, clauses.named))
    if default is None or named is None:
        raise ManifestError(f"<{base}>: the dataset clauses of the query cannot be read")
    return default, named


def update_case(test: Test) -> UpdateCase:
    """The parts of a ``mf:UpdateEvaluationTest``. ManifestError says what is not there."""
    about = test.description
    action, result = about.required(test.node, MF["action"]), about.required(test.node, MF["result"])
    request = about.text(action, UT["request"])
    if request is None:
        raise ManifestError(f"{about.place}: {test.node} names no request")
    before, after = (_dataset(test, part, UT["data"], UT["graphData"]) for part in (action, result))
    return UpdateCase(test.suite.read(request).decode(), request, before, after)


def syntax_text(test: Test) -> str:
    """The query or update that is to be accepted or refused."""
    action = test.description.required(test.node, MF["action"])
    if not isinstance(action, ox.NamedNode):
        raise ManifestError(f"{test.description.place}: the action of {test.node} is no file")
    return test.suite.read(action.value).decode()


def _dataset(test: Test, subject: Term, data: ox.NamedNode, graphs: ox.NamedNode) -> Dataset:
    """The graphs of a dataset; a document of several has graphs of both kinds."""
    parts = [part for document in _documents(test, subject, data) for part in document.parts]
    named = tuple((part.graph, part) for part in parts if part.graph)
    return Dataset(tuple(part for part in parts if not part.graph), (*named, *_named(test, subject, graphs)))


def _documents(test: Test, subject: Term, predicate: ox.NamedNode) -> list[Document]:
    found = test.description.objects(subject, predicate)
    return [Document(one.value, test.suite) for one in found if isinstance(one, ox.NamedNode)]


def _named(test: Test, subject: Term, predicate: ox.NamedNode) -> tuple[tuple[str, Document], ...]:
    """Graphs by name: ``<file>``, named by the file's own IRI, or ``[ut:graph <file>; rdfs:label "name"]``."""
    named = []
    for one in test.description.objects(subject, predicate):
        if isinstance(one, ox.NamedNode):
            named.append((one.value, Document(one.value, test.suite)))
            continue
        graph = test.description.text(one, UT["graph"]) or test.description.text(one, QT["graph"])
        name = test.description.text(one, RDFS["label"])
        if graph is None or name is None:
            raise ManifestError(f"{test.description.place}: a graph of {test.node} has no file or no name")
        named.append((name, Document(graph, test.suite)))
    return tuple(named)


def graph_data(test: Test) -> tuple[tuple[str, Document], ...]:
    """The named graphs that a protocol test wants to be there (``ut:graphData`` of the test itself)."""
    return _named(test, test.node, UT["graphData"])
