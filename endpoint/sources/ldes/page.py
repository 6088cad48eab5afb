"""A page of a Linked Data Event Stream: its members and where it leads (TREE and LDES specifications)."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

import pyoxigraph as ox

from endpoint.graphs.documents import Document, InvalidGraph, n_quads
from protocol.errors import ProtocolError
from protocol.formats.media_types import RdfSyntax
from protocol.formats.rdf_documents import read_quads
from protocol.sources import SourceFailed
from protocol.time import FIRST_INSTANT, Instant, parse_instant

_TREE, _LDES = "https://w3id.org/tree#", "https://w3id.org/ldes#"
_MEMBER, _VIEW, _RELATION, _NODE, _VALUE = (
    ox.NamedNode(_TREE + name) for name in ("member", "view", "relation", "node", "value")
)
_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_ENDING_THERE = {ox.NamedNode(_TREE + name) for name in ("LessThanRelation", "LessThanOrEqualToRelation")}
"""Relations whose value is where the other page ends: it comes before the one that begins there."""
_TIMESTAMP_PATH = ox.NamedNode(_LDES + "timestampPath")
_DATE = re.compile(r"\s*(\d{4}-\d\d-\d\d)(Z|[+-]\d\d:\d\d)?\s*")
"""An ``xsd:date``."""


@dataclass(frozen=True)
class Member:
    """``iri`` names it for good; ``quads`` is what the page says of it, as N-Quads."""

    iri: str
    quads: bytes


@dataclass(frozen=True)
class Page:
    """Members in the order of their times, where all have one, and the addresses of other pages in the order of the
    relations' values, and of those that have one the least. ``nameless``: whether there are members without an IRI,
    which are left out. ``path``: the IRI of the property that has the times, if the page says it.
    """

    members: list[Member]
    pages: list[str]
    nameless: bool
    path: str = ""
    values: dict[str, Instant] = field(default_factory=dict)


def read_page(document: bytes, syntax: RdfSyntax, address: str, path: str = "") -> Page:
    """The page that was found at an address; ``path``: the property of times, where the page itself says none.

    Raises SourceFailed for what is not RDF, and what takes too long to be read.
    """
    quads = list(read_quads(_n_quads(document, syntax, address), RdfSyntax.N_QUADS, None))
    by_subject: dict[object, list[ox.Quad]] = defaultdict(list)
    by_graph: dict[object, list[ox.Quad]] = defaultdict(list)
    for quad in quads:
        by_subject[quad.subject].append(quad)
        by_graph[quad.graph_name].append(quad)
    found = list(dict.fromkeys(quad.object for quad in quads if quad.predicate == _MEMBER))
    named = [node for node in found if isinstance(node, ox.NamedNode)]
    said = (quad.object for quad in quads if quad.predicate == _TIMESTAMP_PATH)
    own = next((one.value for one in said if isinstance(one, ox.NamedNode)), "")
    described = [(node, _described(node, by_subject, by_graph)) for node in named]
    times = [_time(node, about, own or path) for node, about in described]
    if None not in times:
        # Sorting keeps the order of those of one time.
        order = sorted(range(len(times)), key=lambda place: times[place] or FIRST_INSTANT)
        described = [described[place] for place in order]
    members = [Member(node.value, ox.serialize(about, format=ox.RdfFormat.N_QUADS) or b"") for node, about in described]
    led = [(page.partition("#")[0], value) for page, value in _pages(quads, by_subject, address)]
    values: dict[str, Instant] = {}
    for page, value in led:
        if value is not None:
            values.setdefault(page, value)
    return Page(members, list(dict.fromkeys(page for page, _ in led)), len(named) < len(found), own, values)


def _n_quads(document: bytes, syntax: RdfSyntax, address: str) -> bytes:
    try:
        return n_quads(Document(syntax, document), address)
    except InvalidGraph as error:
        raise SourceFailed(f"{address} is not a page in {syntax}: {error.detail}") from None
    except ProtocolError as error:
        raise SourceFailed(f"{address} was not read: {error.detail}") from None


def _described(
    node: ox.NamedNode, by_subject: dict[object, list[ox.Quad]], by_graph: dict[object, list[ox.Quad]]
) -> list[ox.Quad]:
    """What is said of a member, by way of blank nodes too, and what is in the graph of its name."""
    about: dict[ox.Quad, None] = {}
    waiting: list[object] = [node]
    known = set(waiting)
    while waiting:
        for quad in by_subject.get(waiting.pop(), ()):
            about[quad] = None
            if isinstance(quad.object, ox.BlankNode) and quad.object not in known:
                known.add(quad.object)
                waiting.append(quad.object)
    about.update(dict.fromkeys(by_graph.get(node, ())))
    return list(about)


def _time(node: ox.NamedNode, about: list[ox.Quad], path: str) -> Instant | None:
    for quad in about:
        if quad.predicate.value == path and quad.subject == node and isinstance(quad.object, ox.Literal):
            return _instant(quad.object.value)
    return None


def _instant(text: str) -> Instant | None:
    date = _DATE.fullmatch(text)
    if date is not None:
        text = f"{date[1]}T00:00:00{date[2] or ''}"
    try:
        return parse_instant(text)
    except (ValueError, ProtocolError):
        return None


def _pages(
    quads: list[ox.Quad], by_subject: dict[object, list[ox.Quad]], address: str
) -> list[tuple[str, Instant | None]]:
    """Where the page leads, those without a value first, the others by theirs; and where each begins, or None."""
    relations = [quad.object for quad in quads if quad.predicate == _RELATION]
    if relations:
        found: list[tuple[Instant, str, Instant | None]] = []
        for relation in relations:
            about = by_subject.get(relation, [])
            values = [
                quad.object.value for quad in about if quad.predicate == _VALUE and isinstance(quad.object, ox.Literal)
            ]
            value = _instant(values[0]) if values else None
            ends = any(quad.predicate == _TYPE and quad.object in _ENDING_THERE for quad in about)
            order = FIRST_INSTANT if value is None else value - ends
            found += [
                (order, quad.object.value, None if ends else value)
                for quad in about
                if quad.predicate == _NODE and isinstance(quad.object, ox.NamedNode)
            ]
        return [(page, begin) for _, page, begin in sorted(found, key=lambda one: one[0])]
    views = [quad.object.value for quad in quads if quad.predicate == _VIEW and isinstance(quad.object, ox.NamedNode)]
    # Views say the same in different ways: one of them is enough. A page that is one has it here already.
    here = {address, address.partition("#")[0]}
    return [] if here & {view.partition("#")[0] for view in views} else [(view, None) for view in views[:1]]
