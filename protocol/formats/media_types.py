"""Media types of the SPARQL 1.1 result formats and of the RDF syntaxes, by name and alias.

The order in each table is the server's preference: the first is what ``*/*`` or no ``Accept`` gets.
"""

from __future__ import annotations

from enum import StrEnum


class SolutionsFormat(StrEnum):
    """How SELECT and ASK answers are written (SPARQL 1.1 Query Results JSON, XML, CSV and TSV)."""

    JSON = "application/sparql-results+json"
    XML = "application/sparql-results+xml"
    CSV = "text/csv"
    TSV = "text/tab-separated-values"


class GraphFormat(StrEnum):
    """How RDF graphs are written."""

    TURTLE = "text/turtle"
    N_TRIPLES = "application/n-triples"
    JSON_LD = "application/ld+json"
    RDF_XML = "application/rdf+xml"
    TRIG = "application/trig"
    N_QUADS = "application/n-quads"


SOLUTIONS_OFFERS: dict[str, SolutionsFormat] = {
    **{member.value: member for member in SolutionsFormat},
    "application/json": SolutionsFormat.JSON,
    "application/xml": SolutionsFormat.XML,
    "text/xml": SolutionsFormat.XML,
}
"""Media type → format, for SELECT and ASK; aliases last, so that wildcards pick the registered type."""

GRAPH_OFFERS: dict[str, GraphFormat] = {
    **{member.value: member for member in GraphFormat},
    "application/x-turtle": GraphFormat.TURTLE,
    "application/json": GraphFormat.JSON_LD,
    "application/xml": GraphFormat.RDF_XML,
    "text/xml": GraphFormat.RDF_XML,
    "text/plain": GraphFormat.N_TRIPLES,
}
"""Media type → syntax, for CONSTRUCT, DESCRIBE and graphs of the store."""

RDF_BODY_TYPES: dict[str, GraphFormat] = {
    **{member.value: member for member in GraphFormat},
    "application/x-turtle": GraphFormat.TURTLE,
    "application/x-trig": GraphFormat.TRIG,
    "text/x-nquads": GraphFormat.N_QUADS,
    "text/plain": GraphFormat.N_TRIPLES,
}
"""Content type of a request's body → syntax it is parsed as. RFC 3870, Turtle 1.1 section 5."""

FORM = "application/x-www-form-urlencoded"
SPARQL_QUERY = "application/sparql-query"
SPARQL_UPDATE = "application/sparql-update"
EVENT_STREAM = "text/event-stream"
PROBLEM = "application/problem+json"


def content_type(media_type: str) -> str:
    """The ``Content-Type`` to send: text types name their encoding, which is always UTF-8."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type
