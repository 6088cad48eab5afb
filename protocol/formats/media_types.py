"""Formats of answers and syntaxes of RDF, by media type: one row each; everything else asks here.

The order of members is the server's preference: the first is what ``*/*`` or no ``Accept`` gets.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pyoxigraph import QueryResultsFormat, RdfFormat


class SolutionsFormat(StrEnum):
    """How SELECT and ASK answers are written (SPARQL 1.1 Query Results JSON, XML, CSV and TSV), by media type.

    ``oxigraph`` is what Oxigraph's parsers and serialisers call it.
    """

    oxigraph: QueryResultsFormat

    def __new__(cls, media_type: str, oxigraph: QueryResultsFormat) -> Self:
        """One row: see the class."""
        member = str.__new__(cls, media_type)
        member._value_ = media_type
        member.oxigraph = oxigraph
        return member

    JSON = "application/sparql-results+json", QueryResultsFormat.JSON
    XML = "application/sparql-results+xml", QueryResultsFormat.XML
    CSV = "text/csv", QueryResultsFormat.CSV
    TSV = "text/tab-separated-values", QueryResultsFormat.TSV


class RdfSyntax(StrEnum):
    """A syntax that RDF is read and written in, by its registered media type.

    ``oxigraph`` is what Oxigraph's parsers and serialisers call it, ``aliases`` are other media types that mean it and
    nothing else, ``extensions`` ends of file names, without the dot.
    """

    oxigraph: RdfFormat
    aliases: tuple[str, ...]
    extensions: tuple[str, ...]

    def __new__(cls, oxigraph: RdfFormat, extensions: tuple[str, ...], aliases: tuple[str, ...] = ()) -> Self:
        """One row: see the class."""
        member = str.__new__(cls, oxigraph.media_type)
        member._value_ = oxigraph.media_type
        member.oxigraph, member.aliases, member.extensions = oxigraph, aliases, extensions
        return member

    TURTLE = RdfFormat.TURTLE, ("ttl",), ("application/x-turtle",)
    N_TRIPLES = RdfFormat.N_TRIPLES, ("nt",)
    JSON_LD = RdfFormat.JSON_LD, ("jsonld", "json")
    RDF_XML = RdfFormat.RDF_XML, ("rdf", "owl", "xml")
    TRIG = RdfFormat.TRIG, ("trig",), ("application/x-trig",)
    N_QUADS = RdfFormat.N_QUADS, ("nq",), ("text/n-quads", "text/x-nquads")

    @property
    def iri(self) -> str:
        """Its name among W3C's formats; Oxigraph has another one for JSON-LD."""
        return f"http://www.w3.org/ns/formats/{self.oxigraph.name.replace('/', '_')}"

    @property
    def names_graphs(self) -> bool:
        """Whether a document may have named graphs."""
        return self.oxigraph.supports_datasets

    @property
    def has_a_statement_a_line(self) -> bool:
        """Whether a line holds one statement at most."""
        return self in (RdfSyntax.N_TRIPLES, RdfSyntax.N_QUADS)

    @property
    def has_comments(self) -> bool:
        """Whether there are comments, and with ``# @message`` among them documents of several messages."""
        return self not in (RdfSyntax.JSON_LD, RdfSyntax.RDF_XML)


RDF_TYPES: dict[str, RdfSyntax] = {
    **{syntax.value: syntax for syntax in RdfSyntax},
    **{alias: syntax for syntax in RdfSyntax for alias in syntax.aliases},
}
"""Media type → syntax, for types that mean RDF and nothing else; aliases last, so that wildcards pick the registered
type."""

SOLUTIONS_OFFERS: dict[str, SolutionsFormat] = {
    **{format.value: format for format in SolutionsFormat},
    "application/json": SolutionsFormat.JSON,
    "application/xml": SolutionsFormat.XML,
    "text/xml": SolutionsFormat.XML,
}
"""Media type → format, for SELECT and ASK."""

GRAPH_OFFERS: dict[str, RdfSyntax] = {
    **RDF_TYPES,
    "application/json": RdfSyntax.JSON_LD,
    "application/xml": RdfSyntax.RDF_XML,
    "text/xml": RdfSyntax.RDF_XML,
    "text/plain": RdfSyntax.N_TRIPLES,
}
"""Media type → syntax, for CONSTRUCT, DESCRIBE and graphs of the store."""

GRAPH_BODY_TYPES: dict[str, RdfSyntax] = {**RDF_TYPES, "text/plain": RdfSyntax.N_TRIPLES}
"""Content type of a request's body → syntax that a graph in it is parsed as."""

RDF_EXTENSIONS: dict[str, RdfSyntax] = {extension: syntax for syntax in RdfSyntax for extension in syntax.extensions}
"""End of a file's name, without the dot → syntax."""

FORM = "application/x-www-form-urlencoded"
SPARQL_QUERY = "application/sparql-query"
SPARQL_UPDATE = "application/sparql-update"
EVENT_STREAM = "text/event-stream"
PROBLEM = "application/problem+json"
JELLY = "application/x-jelly-rdf"
"""Jelly, a binary format; of streams only, for Oxigraph does not have it."""
JSON_LINES = "application/x-ndjson"
"""A JSON document a line: of JSON-LD, each a message."""

MESSAGE_TYPE = "RDF-Message-Content-Type"
"""The header in which a live channel says what its messages are (W3C RSP CG, *RDF Messages*)."""


def content_type(media_type: str) -> str:
    """The ``Content-Type`` to send: text types name their encoding, which is always UTF-8."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type
