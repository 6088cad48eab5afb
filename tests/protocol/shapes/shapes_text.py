"""Shapes and data as text, for the tests of shapes."""

from __future__ import annotations

import pyoxigraph as ox

from protocol.shapes.graph import Graph
from protocol.shapes.report import as_triples
from protocol.shapes.shape import Result, Results
from protocol.shapes.shapes_graph import ShapesGraph
from protocol.terms import term_text

PREFIXES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://ex/> .
"""


def compiled(text: str) -> ShapesGraph:
    return ShapesGraph.parse(PREFIXES + text, "http://base/")


def triples(text: str) -> list[tuple[str, str, str]]:
    parsed = ox.parse(PREFIXES + text, format=ox.RdfFormat.TURTLE)
    return [(str(one.subject), str(one.predicate), term_text(one.object)) for one in parsed]


def validated(shapes: str, data: str) -> Results:
    graph = compiled(shapes)
    return graph.validate(graph.graph(triples(data)))


def results(shapes: str, data: str) -> list[Result]:
    return validated(shapes, data).first


def report_graph(found: Results) -> Graph:
    s, p, o = zip(*as_triples(found, "_:report"), strict=True)
    return Graph(s, p, o)
