from __future__ import annotations

import pyoxigraph as ox
import pytest
import rdflib

from endpoint.graphs.fetching import Fetching
from endpoint.graphs.store import GraphStore
from endpoint.resources.service_description import RSP_QL, SD, VOID, service_description
from protocol.formats.allow_list import AllowList
from protocol.formats.media_types import RdfSyntax


@pytest.mark.parametrize("syntax", [RdfSyntax.TURTLE, RdfSyntax.RDF_XML, RdfSyntax.N_TRIPLES])
def test_the_description_names_the_endpoint_its_languages_and_its_graphs(syntax: RdfSyntax) -> None:
    store = GraphStore()
    store.update(
        "INSERT DATA { <http://ex/a> <http://ex/b> 1, 2 GRAPH <http://ex/g> { <http://ex/a> <http://ex/b> 1 } }"
    )
    graph = rdflib.Graph().parse(data=service_description(store, "http://ex/sparql", syntax), format=syntax.value)
    sd, service = rdflib.Namespace(SD), rdflib.URIRef("http://ex/sparql")
    assert (service, rdflib.RDF.type, sd.Service) in graph
    assert (service, sd.endpoint, service) in graph
    assert set(graph.objects(service, sd.supportedLanguage)) == {
        sd.SPARQL11Query, sd.SPARQL11Update, rdflib.URIRef(RSP_QL),
    }  # fmt: skip
    assert (rdflib.URIRef(RSP_QL), rdflib.RDF.type, sd.Language) in graph
    assert (service, sd.feature, sd.BasicFederatedQuery) not in graph
    dataset = graph.value(service, sd.defaultDataset)
    default = graph.value(dataset, sd.defaultGraph)
    named = graph.value(dataset, sd.namedGraph)
    sizes = rdflib.URIRef(f"{VOID}triples")
    assert str(graph.value(default, sizes)) == "2"
    assert str(graph.value(named, sd.name)) == "http://ex/g"
    assert str(graph.value(graph.value(named, sd.graph), sizes)) == "1"


def test_federated_queries_are_a_feature_exactly_where_addresses_may_be_fetched() -> None:
    store = GraphStore(fetching=Fetching(allowed=AllowList.of(["http://ex.org/"])))
    description = service_description(store, "http://ex/sparql", RdfSyntax.N_TRIPLES).decode()
    assert f"<{SD}feature> <{SD}BasicFederatedQuery>" in description


def test_the_sizes_are_those_of_one_state_however_often_the_graphs_are_changed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = GraphStore()
    store.update("INSERT DATA { GRAPH <http://ex/a> { <http://ex/s> <http://ex/p> 0 } } ; CREATE GRAPH <http://ex/b>")

    def changed_when_looked_at(self: GraphStore) -> ox.Store:
        found = self._views.latest(lambda: self.version)
        self.update("MOVE SILENT <http://ex/a> TO <http://ex/b>")
        return found

    monkeypatch.setattr(GraphStore, "oxigraph", property(changed_when_looked_at))
    described = service_description(store, "http://ex/sparql", RdfSyntax.N_TRIPLES)
    graph = rdflib.Graph().parse(data=described, format=RdfSyntax.N_TRIPLES.value)
    sd = rdflib.Namespace(SD)
    sizes = {
        str(name): str(graph.value(graph.value(named, sd.graph), rdflib.URIRef(f"{VOID}triples")))
        for named, name in graph.subject_objects(sd.name)
    }
    assert sizes == {"http://ex/a": "1", "http://ex/b": "0"}
