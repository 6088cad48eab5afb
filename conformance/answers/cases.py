"""What evaluation and syntax tests are made of, read from their descriptions."""

from __future__ import annotations

from dataclasses import dataclass

import pyoxigraph as ox

from conformance.manifest import ManifestError, Suite, Term, Test
from conformance.vocabulary import MF, QT, RDFS, UT
from protocol.sparql.dataset import dataset_clauses
from protocol.sparql.iris import named_iris


@dataclass(frozen=True)
class Document:
    """A file of the suite by its IRI, which is also the base of the relative IRIs in it."""

    iri: str
    suite: Suite

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
        return list(ox.parse(self.content, format=self.syntax, base_iri=self.iri, rename_blank_nodes=True))


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
        data = Dataset(tuple(_documents(test, action, QT["data"])), _named(test, action, QT["graphData"]))
    services.sort(key=lambda one: one[0])
    return QueryCase(text, query, data, Document(result, test.suite), lax, bool(named), tuple(services))


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
    before, after = (
        Dataset(tuple(_documents(test, part, UT["data"])), _named(test, part, UT["graphData"]))
        for part in (action, result)
    )
    return UpdateCase(test.suite.read(request).decode(), request, before, after)


def syntax_text(test: Test) -> str:
    """The query or update that is to be accepted or refused."""
    action = test.description.required(test.node, MF["action"])
    if not isinstance(action, ox.NamedNode):
        raise ManifestError(f"{test.description.place}: the action of {test.node} is no file")
    return test.suite.read(action.value).decode()


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
