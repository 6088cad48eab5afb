"""A complete answer in another result format (SPARQL 1.1 Query Results JSON, XML, CSV and TSV; RDF 1.1 syntaxes).

An evaluation is serialised once, as SPARQL JSON or N-Triples; an ordinary response in any other format is made from it.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import IO, Any, cast

from pyoxigraph import QueryResultsFormat, QuerySolutions, RdfFormat, parse, parse_query_results, serialize

from protocol.formats.csv_solutions import write_csv
from protocol.formats.json.ld import json_ld_lacks
from protocol.formats.long_tokens import LONGEST_TOKEN, is_long_token
from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from protocol.formats.xml.rdf_xml import write_rdf_xml
from protocol.formats.xml.text import NotExpressible, XmlOutput


def solutions_as(document: bytes, target: SolutionsFormat) -> bytes:
    """A SPARQL JSON document (SELECT, ASK) in another format; as JSON it is passed on as it is.

    Variables, the order of solutions and their multiplicities are kept; members beyond the standard's are not.
    Raises NotExpressible for a character that XML does not have, and for a term of more than 16 MiB.
    """
    if target is SolutionsFormat.JSON:
        return document
    try:
        return _solutions_as(document, target)
    except MemoryError as error:
        raise _not_read(error, "application/sparql-results+json") from None


def _solutions_as(document: bytes, target: SolutionsFormat) -> bytes:
    # pyoxigraph refuses members it does not know after the results, `evaluation` among them.
    parsed: dict[str, Any] = json.loads(document)
    standard = json.dumps({member: parsed[member] for member in ("head", "boolean", "results") if member in parsed})
    results = parse_query_results(standard, QueryResultsFormat.JSON)
    written = BytesIO()
    if target is SolutionsFormat.CSV and isinstance(results, QuerySolutions):
        write_csv(results, written)
        return written.getvalue()
    if target is SolutionsFormat.XML:
        results.serialize(cast("IO[bytes]", XmlOutput(written)), format=target.oxigraph)
        return written.getvalue()
    converted = results.serialize(format=target.oxigraph)
    assert converted is not None, "None only when it is written to a file"
    return converted


def graph_as(triples: bytes, target: RdfSyntax) -> bytes:
    """N-Triples (CONSTRUCT, DESCRIBE) in another syntax, with the same blank node labels: same answer, same bytes.

    Raises NotExpressible for what RDF/XML or JSON-LD has no way to write, and for a term of more than 16 MiB.
    """
    if target is RdfSyntax.N_TRIPLES:
        return triples
    try:
        return _graph_as(triples, target)
    except MemoryError as error:
        raise _not_read(error, "application/n-triples") from None


def _graph_as(triples: bytes, target: RdfSyntax) -> bytes:
    parsed = parse(triples, RdfFormat.N_TRIPLES)
    if target is RdfSyntax.RDF_XML:
        written = BytesIO()
        write_rdf_xml((quad.triple for quad in parsed), written)
        return written.getvalue()
    try:
        converted = serialize(parsed, format=target.oxigraph)
    except OSError as error:
        raise json_ld_lacks(error) or error from None
    assert converted is not None, "None only when it is written to a file"
    return converted


def _not_read(error: MemoryError, instead: str) -> Exception:
    if not is_long_token(error):
        return error
    return NotExpressible(f"the answer has a term of more than {LONGEST_TOKEN // 2**20} MiB: ask for {instead}")
