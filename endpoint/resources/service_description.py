"""What the endpoint can do, as RDF: SPARQL 1.1 Service Description."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox

from endpoint.graphs.pattern import graph_names
from endpoint.graphs.store import GraphStore
from protocol.entailment.regimes import Regime
from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from protocol.functions.aggregates import AGGREGATES
from protocol.functions.geosparql import GEOSPARQL
from protocol.functions.table import FUNCTIONS

RSP_QL = "urn:x-sparql-streams:language:RSP-QL"
"""SPARQL 1.1 Query with windows over streams, as this endpoint reads it: a ``sd:Language``."""

CONTINUOUS_QUERIES = "urn:x-sparql-streams:feature:continuous-queries"
"""Queries that are evaluated again and again, with result streams (``text/event-stream``): a ``sd:Feature``."""

Node = ox.NamedNode | ox.BlankNode

SD = "http://www.w3.org/ns/sparql-service-description#"
VOID = "http://rdfs.org/ns/void#"
_RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_INTEGER = ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")


def service_description(
    store: GraphStore,
    endpoint: str,
    syntax: RdfSyntax,
    functions: Sequence[str] = (),
    about: bytes = b"",
    regime: Regime = Regime.NONE,
) -> bytes:
    """The description of the service at this URL, with the sizes its graphs have now: all in one state of the store.

    ``functions`` are IRIs of the application's own, ``about`` is what it says besides (N-Triples). ``regime`` is the
    one that queries are answered under that ask for none.
    """
    triples: list[ox.Triple] = [quad.triple for quad in ox.parse(about, format=ox.RdfFormat.N_TRIPLES)]
    # Once: looked at again after a change, it is another snapshot, which takes a quarter of a second for each graph.
    graphs = store.oxigraph

    def say(subject: Node, predicate: str, value: Node | ox.Literal) -> None:
        name = _RDF_TYPE if predicate == "a" else ox.NamedNode(predicate)
        triples.append(ox.Triple(subject, name, value))

    service, dataset, default = ox.NamedNode(endpoint), ox.BlankNode("dataset"), ox.BlankNode("default")
    say(service, "a", ox.NamedNode(f"{SD}Service"))
    say(service, f"{SD}endpoint", service)
    for language in ("SPARQL11Query", "SPARQL11Update"):
        say(service, f"{SD}supportedLanguage", ox.NamedNode(SD + language))
    say(service, f"{SD}supportedLanguage", ox.NamedNode(RSP_QL))
    say(ox.NamedNode(RSP_QL), "a", ox.NamedNode(f"{SD}Language"))
    say(service, f"{SD}languageExtension", ox.NamedNode(CONTINUOUS_QUERIES))
    say(ox.NamedNode(CONTINUOUS_QUERIES), "a", ox.NamedNode(f"{SD}Feature"))
    say(service, f"{SD}feature", ox.NamedNode(f"{SD}EmptyGraphs"))
    for function in (*FUNCTIONS, *GEOSPARQL, *functions):
        say(service, f"{SD}extensionFunction", ox.NamedNode(function))
        say(ox.NamedNode(function), "a", ox.NamedNode(f"{SD}Function"))
    for aggregate in AGGREGATES:
        say(service, f"{SD}extensionAggregate", ox.NamedNode(aggregate))
        say(ox.NamedNode(aggregate), "a", ox.NamedNode(f"{SD}Aggregate"))
    if store.fetching.allowed:
        say(service, f"{SD}feature", ox.NamedNode(f"{SD}BasicFederatedQuery"))
    for written in (*(format.oxigraph.iri for format in SolutionsFormat), *(syntax.iri for syntax in RdfSyntax)):
        say(service, f"{SD}resultFormat", ox.NamedNode(written))
    for read in RdfSyntax:
        say(service, f"{SD}inputFormat", ox.NamedNode(read.iri))
    say(service, f"{SD}defaultDataset", dataset)
    say(service, f"{SD}defaultEntailmentRegime", ox.NamedNode(regime.iri))
    say(ox.NamedNode(regime.iri), "a", ox.NamedNode(f"{SD}EntailmentRegime"))
    if regime.profile is not None:
        say(ox.NamedNode(regime.profile), "a", ox.NamedNode(f"{SD}EntailmentProfile"))
        say(service, f"{SD}defaultSupportedEntailmentProfile", ox.NamedNode(regime.profile))
    say(dataset, "a", ox.NamedNode(f"{SD}Dataset"))
    say(dataset, f"{SD}defaultGraph", default)
    say(default, "a", ox.NamedNode(f"{SD}Graph"))
    say(default, f"{VOID}triples", ox.Literal(str(_size(graphs, ox.DefaultGraph())), datatype=_INTEGER))
    for number, iri in enumerate(name for name in graph_names(graphs) if not name.startswith("_:")):
        named, graph = ox.BlankNode(f"named{number}"), ox.BlankNode(f"graph{number}")
        say(dataset, f"{SD}namedGraph", named)
        say(named, "a", ox.NamedNode(f"{SD}NamedGraph"))
        say(named, f"{SD}name", ox.NamedNode(iri))
        say(named, f"{SD}graph", graph)
        say(named, f"{SD}entailmentRegime", ox.NamedNode(regime.iri))
        if regime.profile is not None:
            say(named, f"{SD}supportedEntailmentProfile", ox.NamedNode(regime.profile))
        say(graph, "a", ox.NamedNode(f"{SD}Graph"))
        say(graph, f"{VOID}triples", ox.Literal(str(_size(graphs, ox.NamedNode(iri))), datatype=_INTEGER))
    return ox.serialize(triples, format=syntax.oxigraph, prefixes={"sd": SD, "void": VOID}) or b""


def _size(graphs: ox.Store, graph: ox.NamedNode | ox.DefaultGraph) -> int:
    counted = graphs.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", default_graph=graph)
    assert isinstance(counted, ox.QuerySolutions)
    size = next(counted)["n"]
    assert isinstance(size, ox.Literal)
    return int(size.value)
