"""RDF/XML (RDF 1.1 XML Syntax), triple by triple.

Oxigraph's own writer has markup for names that XML does not have (a predicate that ends in a digit), takes a class for
the name of an element, writes labels of blank nodes that are no XML names, and leaves carriage returns to be lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, Triple

from protocol.formats.xml.text import NotExpressible, Output, not_a_character

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_ITS = "http://www.w3.org/2005/11/its"
_XMLNS = "http://www.w3.org/2000/xmlns/"
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

_BEGINNING = f'<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF xmlns:rdf="{RDF}" xmlns:its="{_ITS}">\n'
_END = "</rdf:RDF>\n"

_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_START = re.compile(f"[{_START}]")
_NAME_CHARACTERS = re.compile(f"[{_START}.0-9\u00b7\u0300-\u036f\u203f-\u2040\\-]*")

_NO_PROPERTIES = frozenset(
    ["Description", "RDF", "ID", "about", "parseType", "resource", "nodeID", "datatype", "li",
     "aboutEach", "aboutEachPrefix", "bagID"]
)  # fmt: skip
"""Local names in the RDF namespace that are no names of property elements (section 7.2.2 and following)."""

_TO_ESCAPE = re.compile(r'[&<>"\r\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]')
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}
_CHUNK_CHARACTERS = 32 * 1024

Subject = NamedNode | BlankNode
Object = NamedNode | BlankNode | Literal | Triple


def write_rdf_xml(triples: Iterable[Triple], output: Output) -> None:
    """Write a graph. Raises NotExpressible for a predicate that XML has no name for, and a character XML does not have.

    Blank nodes keep their labels but for a prefix where these are no XML names; the same triples are the same bytes.
    """
    kept: list[str] = []
    size = 0
    for piece in _document(triples):
        kept.append(piece)
        size += len(piece)
        if size >= _CHUNK_CHARACTERS:
            output.write("".join(kept).encode())
            kept.clear()
            size = 0
    output.write("".join(kept).encode())
    output.flush()


def _document(triples: Iterable[Triple]) -> Iterator[str]:
    yield _BEGINNING
    current: object = None
    for triple in triples:
        if triple.subject != current:
            yield "\t</rdf:Description>\n" if current is not None else ""
            yield f"\t<rdf:Description {_about(triple.subject)}>\n"
            current = triple.subject
        yield f"\t\t{_property(triple.predicate, triple.object)}\n"
    yield "\t</rdf:Description>\n" if current is not None else ""
    yield _END


def _about(subject: object) -> str:
    assert isinstance(subject, Subject)
    if isinstance(subject, NamedNode):
        return f'rdf:about="{_escaped(subject.value)}"'
    return f'rdf:nodeID="{_label(subject)}"'


def _property(predicate: NamedNode, value: Object) -> str:
    name, namespace = _element(predicate.value)
    begin = f"<{name}{namespace}"
    if isinstance(value, NamedNode):
        return f'{begin} rdf:resource="{_escaped(value.value)}"/>'
    if isinstance(value, BlankNode):
        return f'{begin} rdf:nodeID="{_label(value)}"/>'
    if isinstance(value, Triple):  # RDF 1.2
        inner = _property(value.predicate, value.object)
        return (
            f'{begin} rdf:version="1.2" rdf:parseType="Triple">'
            f"<rdf:Description {_about(value.subject)}>{inner}</rdf:Description></{name}>"
        )
    return f"{begin}{_literal_attributes(value)}>{_escaped(value.value)}</{name}>"


def _literal_attributes(literal: Literal) -> str:
    if literal.direction is not None:  # RDF 1.2
        direction = "ltr" if literal.direction == BaseDirection.LTR else "rtl"
        return f' xml:lang="{literal.language}" rdf:version="1.2-basic" its:version="2.0" its:dir="{direction}"'
    if literal.language is not None:
        return f' xml:lang="{literal.language}"'
    datatype = literal.datatype.value
    return "" if datatype == _XSD_STRING else f' rdf:datatype="{_escaped(datatype)}"'


@lru_cache(maxsize=10_000)
def _element(predicate: str) -> tuple[str, str]:
    """The name of a property element, and the declaration of its namespace."""
    local = _name_at_the_end(predicate)
    if not local:
        raise NotExpressible(
            f"RDF/XML cannot name the predicate <{predicate}>: it does not end in an XML name. Ask for another format"
        )
    namespace = predicate[: -len(local)]
    if namespace == _XMLNS or (namespace == RDF and local in _NO_PROPERTIES):
        raise NotExpressible(
            f"RDF/XML cannot name the predicate <{predicate}>: the name has a meaning of its own there. "
            "Ask for another format"
        )
    if namespace == RDF:
        return f"rdf:{local}", ""
    return local, f' xmlns="{_escaped(namespace)}"'


def _label(node: BlankNode) -> str:
    """An NCName for each label, no two the same: ``_`` in front of those that are none, or begin with it."""
    label = node.value
    return label if label[0] != "_" and _NAME_START.match(label) else f"_{label}"


def _name_at_the_end(text: str) -> str:
    """The longest end of the text that is an NCName (Namespaces in XML 1.0 section 3); "" is none."""
    # From the end, for IRIs may be long.
    characters = _NAME_CHARACTERS.match(text[::-1])
    assert characters is not None
    tail = characters[0][::-1]
    start = _NAME_START.search(tail)
    return "" if start is None else tail[start.start() :]


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(_reference, text)


def _reference(match: re.Match[str]) -> str:
    character = match[0]
    if character not in _REFERENCES:
        raise not_a_character(character)
    return _REFERENCES[character]
