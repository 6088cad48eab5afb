"""rdflib-endpoint's classes, on this endpoint: ``from endpoint.rdflib_endpoint import SparqlEndpoint``.

Their constructors take what those of rdflib-endpoint 0.6 take (docs/embedding.md, "rdflib-endpoint").
"""

from endpoint.rdflib_endpoint.applications import SparqlEndpoint, SparqlRouter
from endpoint.rdflib_endpoint.dataset import DatasetExt

__all__ = ["DatasetExt", "SparqlEndpoint", "SparqlRouter"]
