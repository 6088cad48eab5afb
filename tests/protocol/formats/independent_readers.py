"""Readers of the result formats that share nothing with what writes them: of the standard library, and rdflib's.

A term read is a pyoxigraph term, with its language tag in lower case (RDF 1.1 Concepts section 3.3).
"""

from __future__ import annotations

import csv
import io
import json
import logging
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import pyoxigraph as ox
import rdflib

from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from tests.protocol.formats.rdf_strategies import Row, Solutions, Term

_SRX = "{http://www.w3.org/2005/sparql-results#}"
_DEFAULT_GRAPH = rdflib.graph.DATASET_DEFAULT_GRAPH_ID
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def _literal(value: str, language: str | None, datatype: str | None) -> ox.Literal:
    if language is not None:
        return ox.Literal(value, language=language.lower())
    return ox.Literal(value) if datatype is None else ox.Literal(value, datatype=ox.NamedNode(datatype))


# --- solutions ---------------------------------------------------------------------------------


def read_json(body: bytes) -> Solutions:
    document = json.loads(body)
    variables = tuple(document["head"]["vars"])
    rows = []
    for binding in document["results"]["bindings"]:
        assert set(binding) <= set(variables)
        rows.append(tuple(_json_term(binding[name]) if name in binding else None for name in variables))
    return variables, rows


def _json_term(term: dict[str, str]) -> Term:
    match term["type"]:
        case "uri":
            return ox.NamedNode(term["value"])
        case "bnode":
            return ox.BlankNode(term["value"])
        case "literal":
            return _literal(term["value"], term.get("xml:lang"), term.get("datatype"))
        case kind:
            raise AssertionError(f"there is no kind of term {kind}")


def read_xml(body: bytes) -> Solutions:
    root = ElementTree.fromstring(body)
    head, results = root
    assert (head.tag, results.tag) == (f"{_SRX}head", f"{_SRX}results")
    variables = tuple(one.attrib["name"] for one in head)
    rows: list[Row] = []
    for result in results:
        bound = {binding.attrib["name"]: _xml_term(binding[0]) for binding in result}
        assert set(bound) <= set(variables)
        rows.append(tuple(bound.get(name) for name in variables))
    return variables, rows


def _xml_term(element: ElementTree.Element) -> Term:
    text = element.text or ""
    match element.tag.removeprefix(_SRX):
        case "uri":
            return ox.NamedNode(text)
        case "bnode":
            return ox.BlankNode(text)
        case "literal":
            return _literal(text, element.get(_XML_LANG), element.get("datatype"))
        case kind:
            raise AssertionError(f"there is no kind of term {kind}")


def read_tsv(body: bytes) -> Solutions:
    """SPARQL 1.1 Query Results CSV and TSV Formats, section 4: terms as in Turtle, unbound is nothing."""
    text = body.decode()
    assert text.endswith("\n")
    header, *lines = text[:-1].split("\n")
    variables = tuple(name[1:] for name in header.split("\t") if name)
    rows = []
    for line in lines:
        cells = line.split("\t") if variables else []
        assert len(cells) == len(variables)
        rows.append(tuple(_turtle_term(cell) if cell else None for cell in cells))
    return variables, rows


def _turtle_term(text: str) -> Term:
    if text.startswith("_:"):
        return ox.BlankNode(text[2:])
    ((_, _, term),) = _parsed(f"<urn:s> <urn:p> {text} .".encode(), "turtle")
    return _from_rdflib(term)


def read_csv(body: bytes) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Section 3: values without their kinds; unbound and the empty text are the same."""
    csv.field_size_limit(10**7)
    records = list(csv.reader(io.StringIO(body.decode(), newline=""), strict=True))
    assert body.endswith(b"\r\n")
    # A record of one empty field, or of no field, is an empty line, which Python reads as no fields.
    header, *rows = [record or [""] for record in records]
    if header == [""]:
        return (), [() for row in rows if row == [""]]
    assert all(len(row) == len(header) for row in rows)
    return tuple(header), [tuple(row) for row in rows]


def csv_values(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """What ``read_csv`` should find of these solutions."""
    return [tuple(_csv_value(term) for term in row) for row in rows]


def _csv_value(term: Term | None) -> str:
    if term is None:
        return ""
    return f"_:{term.value}" if isinstance(term, ox.BlankNode) else term.value


READERS = {SolutionsFormat.JSON: read_json, SolutionsFormat.XML: read_xml, SolutionsFormat.TSV: read_tsv}


def relabelled(rows: Sequence[Row]) -> list[Row]:
    """The rows with blank nodes named by their first place: equal if and only if they differ in labels alone."""
    names: dict[str, ox.BlankNode] = {}

    def one(term: Term | None) -> Term | None:
        if isinstance(term, ox.BlankNode):
            return names.setdefault(term.value, ox.BlankNode(f"n{len(names)}"))
        if isinstance(term, ox.Literal) and term.language is not None:
            return ox.Literal(term.value, language=term.language.lower())
        return term

    return [tuple(one(term) for term in row) for row in rows]


# --- graphs ------------------------------------------------------------------------------------


def read_graph(body: bytes, syntax: RdfSyntax) -> list[ox.Triple]:
    """The triples of a document's default graph, read by rdflib. AssertionError if there are named graphs."""
    names = {
        RdfSyntax.TURTLE: "turtle", RdfSyntax.N_TRIPLES: "nt", RdfSyntax.JSON_LD: "json-ld",
        RdfSyntax.RDF_XML: "xml", RdfSyntax.TRIG: "trig", RdfSyntax.N_QUADS: "nquads",
    }  # fmt: skip
    return [_triple(*(_from_rdflib(term) for term in triple)) for triple in _parsed(body, names[syntax])]


def read_dataset(body: bytes, syntax: RdfSyntax) -> list[ox.Quad]:
    """The quads of a document, read by rdflib."""
    names = {RdfSyntax.JSON_LD: "json-ld", RdfSyntax.TRIG: "trig", RdfSyntax.N_QUADS: "nquads"}
    quads = []
    for subject, predicate, value, graph in _quads(body, names[syntax]):
        triple = _triple(*(_from_rdflib(term) for term in (subject, predicate, value)))
        name = ox.DefaultGraph() if graph in (None, _DEFAULT_GRAPH) else _from_rdflib(graph)
        assert not isinstance(name, ox.Literal)
        quads.append(ox.Quad(triple.subject, triple.predicate, triple.object, name))
    return quads


def _triple(subject: Term, predicate: Term, value: Term) -> ox.Triple:
    assert not isinstance(subject, ox.Literal)
    assert isinstance(predicate, ox.NamedNode)
    return ox.Triple(subject, predicate, value)


def _parsed(body: bytes, name: str) -> list[tuple[Any, Any, Any]]:
    if name not in ("trig", "nquads"):
        with _as_written():
            return list(rdflib.Graph().parse(data=body, format=name))
    quads = _quads(body, name)
    assert all(graph in (None, _DEFAULT_GRAPH) for *_, graph in quads), "there are named graphs"
    return [(s, p, o) for s, p, o, _ in quads]


def _quads(body: bytes, name: str) -> list[tuple[Any, Any, Any, Any]]:
    with _as_written():
        return list(rdflib.Dataset().parse(data=body, format=name).quads())


@contextmanager
def _as_written() -> Iterator[None]:
    """Lexical forms are kept: rdflib would write "01"^^xsd:integer as "1"."""
    rdflib.NORMALIZE_LITERALS, before = False, rdflib.NORMALIZE_LITERALS
    log = logging.getLogger("rdflib.term")  # it says of each ill-typed literal that it is one
    log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's own parsers
            yield
    finally:
        rdflib.NORMALIZE_LITERALS = before
        log.disabled = False


def _from_rdflib(term: object) -> Term:
    if isinstance(term, rdflib.URIRef):
        return ox.NamedNode(str(term))
    if isinstance(term, rdflib.BNode):
        return ox.BlankNode(str(term))
    assert isinstance(term, rdflib.Literal)
    return _literal(str(term), term.language, None if term.datatype is None else str(term.datatype))


def canonical(triples: Iterable[ox.Triple]) -> ox.Dataset:
    """Equal if and only if the graphs are isomorphic."""
    return canonical_quads(ox.Quad(one.subject, one.predicate, one.object) for one in triples)


def canonical_quads(quads: Iterable[ox.Quad]) -> ox.Dataset:
    """Equal if and only if the datasets are isomorphic."""
    dataset = ox.Dataset(ox.Quad(one.subject, one.predicate, _lower_tag(one.object), one.graph_name) for one in quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def _lower_tag(term: Any) -> Any:
    if isinstance(term, ox.Literal) and term.language is not None:
        return ox.Literal(term.value, language=term.language.lower())
    return term
