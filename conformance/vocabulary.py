"""Namespaces of the test vocabularies."""

from __future__ import annotations

import pyoxigraph as ox


class Namespace:
    """IRIs that begin alike: ``MF["action"]``."""

    def __init__(self, iri: str) -> None:
        self.iri = iri

    def __getitem__(self, name: str) -> ox.NamedNode:
        return ox.NamedNode(self.iri + name)


RDF = Namespace("http://www.w3.org/1999/02/22-rdf-syntax-ns#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")
XSD = Namespace("http://www.w3.org/2001/XMLSchema#")
MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
UT = Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
RS = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")
HT = Namespace("http://www.w3.org/2011/http#")
CNT = Namespace("http://www.w3.org/2011/content#")
SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
EARL = Namespace("http://www.w3.org/ns/earl#")
DOAP = Namespace("http://usefulinc.com/ns/doap#")
DCT = Namespace("http://purl.org/dc/terms/")

RDF_TYPE = RDF["type"]
