"""A complete answer in another result format (SPARQL 1.1 Query Results JSON, XML, CSV and TSV; RDF 1.1 syntaxes).

An evaluation is serialised once, as SPARQL JSON or N-Triples; an ordinary response in any other format is made from it.
"""

from __future__ import annotations

import json
from typing import Any

from pyoxigraph import QueryResultsFormat, RdfFormat, parse, parse_query_results, serialize

from protocol.formats.media_types import GraphFormat, SolutionsFormat

_RESULTS = {
    SolutionsFormat.XML: QueryResultsFormat.XML,
    SolutionsFormat.CSV: QueryResultsFormat.CSV,
    SolutionsFormat.TSV: QueryResultsFormat.TSV,
}
_GRAPHS = {
    GraphFormat.TURTLE: RdfFormat.TURTLE,
    GraphFormat.JSON_LD: RdfFormat.JSON_LD,
    GraphFormat.RDF_XML: RdfFormat.RDF_XML,
    GraphFormat.TRIG: RdfFormat.TRIG,
    GraphFormat.N_QUADS: RdfFormat.N_QUADS,
}


def solutions_as(document: bytes, target: SolutionsFormat) -> bytes:
    """A SPARQL JSON document (SELECT, ASK) in another format; as JSON it is passed on as it is.

    Variables, the order of solutions and their multiplicities are kept; members beyond the standard's are not.
    """
    if target is SolutionsFormat.JSON:
        return document
    # pyoxigraph refuses members it does not know after the results, `evaluation` among them.
    parsed: dict[str, Any] = json.loads(document)
    standard = json.dumps({member: parsed[member] for member in ("head", "boolean", "results") if member in parsed})
    converted = parse_query_results(standard, QueryResultsFormat.JSON).serialize(format=_RESULTS[target])
    assert converted is not None, "None only when it is written to a file"
    return converted


def graph_as(triples: bytes, target: GraphFormat) -> bytes:
    """N-Triples (CONSTRUCT, DESCRIBE) in another syntax, with the same blank node labels: same answer, same bytes."""
    if target is GraphFormat.N_TRIPLES:
        return triples
    converted = serialize(parse(triples, RdfFormat.N_TRIPLES), format=_GRAPHS[target])
    assert converted is not None, "None only when it is written to a file"
    return converted
