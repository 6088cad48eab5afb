"""Answers read from files and responses: SPARQL results in XML, JSON, TSV and CSV, ``rs:`` result sets, graphs."""

from __future__ import annotations

import csv
import io

import pyoxigraph as ox

from conformance.answers.cases import Document
from conformance.answers.comparison import GraphAnswer, QueryResult, Solutions
from conformance.manifest import Description, Term
from conformance.vocabulary import RDF_TYPE, RS
from protocol.formats.media_types import GRAPH_OFFERS, SOLUTIONS_OFFERS, SolutionsFormat

_EXTENSIONS = {format.oxigraph.file_extension: format for format in SolutionsFormat}


class UnreadableAnswer(ValueError):
    """The text is not an answer in the format that it is said to be in."""


def expected_answer(document: Document) -> QueryResult:
    """The answer in a file of the suite, by its extension and, for RDF, by whether it is a result set."""
    extension = document.iri.rpartition(".")[2].lower()
    if extension in _EXTENSIONS:
        return _solutions(document.content, _EXTENSIONS[extension])
    quads = document.quads()
    if any(quad.predicate == RDF_TYPE and quad.object == RS["ResultSet"] for quad in quads):
        return _result_set(quads, document.iri)
    return GraphAnswer(frozenset(quad.triple for quad in quads))


def actual_answer(content: bytes, media_type: str) -> QueryResult:
    """The answer in a response. UnreadableAnswer if it is not what its media type says."""
    try:
        if media_type in SOLUTIONS_OFFERS:
            return _solutions(content, SOLUTIONS_OFFERS[media_type])
        if media_type in GRAPH_OFFERS:
            return graph(content, media_type)
    except SyntaxError as error:
        raise UnreadableAnswer(f"this is not {media_type}: {error}") from None
    raise UnreadableAnswer(f"{media_type!r} is no media type of an answer")


def graph(content: bytes, media_type: str, base: str | None = None) -> GraphAnswer:
    """The RDF graph in this text. UnreadableAnswer if there is none."""
    syntax = GRAPH_OFFERS.get(media_type)
    if syntax is None:
        raise UnreadableAnswer(f"{media_type!r} is no RDF syntax")
    try:
        quads = ox.parse(content, format=syntax.oxigraph, base_iri=base, rename_blank_nodes=True)
        return GraphAnswer(frozenset(quad.triple for quad in quads))
    except SyntaxError as error:
        raise UnreadableAnswer(f"this is not {media_type}: {error}") from None


def _solutions(content: bytes, format: SolutionsFormat) -> QueryResult:
    if format is SolutionsFormat.CSV:
        return solutions_of_csv(content)
    parsed = ox.parse_query_results(content, format.oxigraph)
    if isinstance(parsed, ox.QueryBoolean):
        return bool(parsed)
    names = tuple(variable.value for variable in parsed.variables)
    rows: list[dict[str, Term]] = []
    for solution in parsed:
        rows.append({name: term for name, term in zip(names, solution, strict=True) if term is not None})
    return Solutions(names, tuple(rows))


def solutions_of_csv(content: bytes) -> Solutions:
    """A table of texts: CSV keeps of a term its characters alone, and of a blank node that it is one (section 3)."""
    try:
        table = list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnreadableAnswer(f"this is not CSV: {error}") from None
    if not table:
        raise UnreadableAnswer("there is not even a line of variables")
    names = tuple(table[0])
    rows: list[dict[str, Term]] = []
    for cells in table[1:]:
        # The line of a solution without any binding of one variable is empty, and read as no cell at all.
        cells = cells or [""] * min(len(names), 1)
        if len(cells) != len(names):
            raise UnreadableAnswer(f"a line has {len(cells)} cells for {len(names)} variables")
        rows.append(
            {
                name: ox.BlankNode(text[2:]) if text.startswith("_:") else ox.Literal(text)
                for name, text in zip(names, cells, strict=True)
                if text
            }
        )
    return Solutions(names, tuple(rows), untyped=True)


def _result_set(quads: list[ox.Quad], place: str) -> QueryResult:
    """The answer in the vocabulary of result sets; ordered if its solutions are numbered (``rs:index``)."""
    store = ox.Store()
    store.extend(quads)
    about = Description(store, place)
    (subject,) = (quad.subject for quad in quads if quad.predicate == RDF_TYPE and quad.object == RS["ResultSet"])
    boolean = about.text(subject, RS["boolean"])
    if boolean is not None:
        return boolean in ("true", "1")
    names = [one.value for one in about.objects(subject, RS["resultVariable"]) if isinstance(one, ox.Literal)]
    rows: list[tuple[int, dict[str, Term]]] = []
    ordered = False
    for solution in about.objects(subject, RS["solution"]):
        index = about.text(solution, RS["index"])
        ordered = ordered or index is not None
        row = {
            about.text(binding, RS["variable"]) or "": about.required(binding, RS["value"])
            for binding in about.objects(solution, RS["binding"])
        }
        rows.append((int(index or 0), row))
    rows.sort(key=lambda one: one[0])
    return Solutions(tuple(names), tuple(row for _, row in rows), ordered)
